"""What notebooks show of results: a table, everything escaped."""

import pytest

import build
import crowdrank as cr

NAME = "<script>alert(1)</script>"


@pytest.fixture
def study():
    votes = [("t", NAME, NAME, "y", NAME), ("t", "b", "y", "z", "y"), ("t", "b", "z", NAME, NAME)]
    return build.judgments(pairs=votes)


def test_results_are_tables_without_scripts(study):
    gold = build.gold(study, [2.0, 1.0, 0.0])
    consensus = cr.BradleyTerry().fit(study)
    found = [consensus, study, cr.evaluate(consensus, gold), cr.compare(study, gold, ["elo", "bradley-terry"])]
    for each in found:
        assert "<script" not in each._repr_html_()
    assert "&lt;script&gt;" in consensus._repr_html_()
    assert consensus._repr_html_().count("<tr>") == 4
    assert "bradley-terry" in found[3]._repr_html_()
    assert "acc" in found[2]._repr_html_()
