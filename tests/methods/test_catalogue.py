"""The method for a study whose user names none."""

import pytest

from crowdrank.methods.catalogue import usual_method

LIST = [["a"], ["b"]]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("crowd-bt", {"pairs": [("t", "k", "a", "b", "a")], "grades": [("t", "k", "a", 1)]}),
        ("rrf", {"lists": [("t", "run", LIST, True), ("u", "run", LIST, True)]}),
        ("plackett-luce", {"lists": [("t", "ann", LIST, False), ("u", "ann", LIST, False)]}),
        ("plackett-luce", {"lists": [("t", "ann", LIST, True)]}),
        ("gda", {"grades": [("t", "k", "a", 1)]}),
    ],
)
def test_the_usual_method_follows_the_kind(build, name, rows):
    assert usual_method(build.judgments(**rows)) == name
