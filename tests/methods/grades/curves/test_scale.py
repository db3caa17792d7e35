"""Few items decide the shape of gda's scale; its intervals say so."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.statistics import tiers


@pytest.fixture(scope="module")
def studies():
    """Twelve items that sixty annotators grade: each relevance is known well, but not the scale."""
    found = []
    for seed in range(100, 120):
        study = cr.simulate.grades(12, 60, 60, seed=seed)
        found.append((cr.fit("gda", study.judgments), study.gold.value))
    return found


def _inside(error, consensus, truth):
    """The share of true scores, on the scale of the result, within 1.96 errors."""
    on_scale = np.polyval(np.polyfit(truth, consensus.score, 1), truth)
    return np.mean(np.abs(consensus.score - on_scale) <= 1.96 * error)


def test_intervals_of_few_items_contain_the_truth(studies):
    """Without the unknown shape of the scale they would contain 88 %."""
    inside = np.mean([_inside((each.high - each.low) / 3.92, each, truth) for each, truth in studies])
    assert 0.92 < inside < 0.99


def test_the_shape_of_the_scale_does_not_blur_the_order(studies):
    """Items far from the mean have the widest intervals; their order is known as well as before."""
    for each, _ in studies:
        bend = np.abs(each.score**2 - 1) / np.sqrt(6 * 12)
        assert np.hypot(each.score_error, bend) == pytest.approx((each.high - each.low) / 3.92, rel=0.1)
    assert all(tiers(each).max() >= 5 for each, _ in studies)
