"""How far two halves of the annotators lie apart."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.methods.grades.curves.halves import _expected_squares


@pytest.mark.parametrize(("one", "other"), [(0.3, 0.3), (0.8, 0.5), (1.0, 0.2)])
def test_the_expected_distance_of_two_posterior_means(one, other):
    """Relevance is N(0, 1) and each half measures it with normal noise: the posterior mean is known in closed form."""
    rng = np.random.default_rng(0)
    relevance = rng.normal(size=200_000)
    means, errors = [], []
    for noise in (one, other):
        precision = 1 + 1 / noise**2
        means.append((relevance + rng.normal(0, noise, len(relevance))) / noise**2 / precision)
        errors.append(np.array([precision**-0.5]))
    assert ((means[0] - means[1]) ** 2).mean() == pytest.approx(_expected_squares(*errors)[0], rel=0.02)


def test_intervals_hold_where_annotators_are_imprecise():
    """Annotators whose error is twice as large as the differences between items, 20 grades an item."""
    inside = []
    for seed in range(4):
        study = cr.simulate.grades(items=100, annotators=50, labels=20, noise=2.0, seed=seed)
        found, truth = cr.fit("gda", study.judgments), study.gold.value
        truth = truth - truth.mean() + found.score.mean()
        inside += ((found.low <= truth) & (truth <= found.high)).tolist()
    assert np.mean(inside) >= 0.87  # .78 where distances were compared with the errors alone
