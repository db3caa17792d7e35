"""Every method once, on a small study: with the lowest versions of all dependencies (`make lowest`)."""

import pytest

import crowdrank as cr
from crowdrank.warming import warm_up

KIND = {"pairs": cr.simulate.pairs, "grades": cr.simulate.grades, "rankings": cr.simulate.rankings}


def test_everything_runs():
    assert warm_up() > 60


@pytest.mark.parametrize("name", cr.METHODS)
def test_every_method(name):
    method = cr.METHODS[name]()
    judgments = KIND[method.description.takes[0]](items=6, annotators=6, seed=0).judgments
    consensus = cr.fit(method, judgments)
    assert consensus.ranking.height == judgments.vocabulary.n_entries
    assert consensus.annotators.height == 6
