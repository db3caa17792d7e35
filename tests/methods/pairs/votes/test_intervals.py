"""Coverage: the share of true values inside 95 % intervals, on votes simulated from the model itself."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank import simulate
from crowdrank.methods.pairs.bradley_terry import BradleyTerry
from crowdrank.methods.pairs.crowd_bt import CrowdBT
from crowdrank.methods.pairs.thurstone import Thurstone
from crowdrank.methods.pairs.votes.fit import beta_prior
from crowdrank.numerics import laplace

SIZES = [(votes, ties) for votes in (5000, 20_000) for ties in (0.0, 0.4)]
SEEDS = 8


def coverage(method, seeds=SEEDS, gold=False, **crowd):
    """Mean over seeds of the share of scores (relative to their mean), ranks and qualities inside their intervals."""
    found = []
    for seed in range(seeds):
        study = simulate.pairs(items=100, annotators=50, **crowd, seed=seed)
        consensus = method.fit(study.judgments, gold=study.gold) if gold else method.fit(study.judgments)
        assert consensus.fit.converged
        truth, centre = study.gold.value, consensus.score.mean()
        rank = np.argsort(np.argsort(-truth)) + 1
        columns = consensus.annotator_columns
        found.append(
            (
                inside(consensus.low - centre, truth - truth.mean(), consensus.high - centre),
                inside(consensus.rank_low, rank, consensus.rank_high),
                inside(columns["quality_low"], study.quality, columns["quality_high"])
                if "quality_low" in columns
                else np.nan,
            )
        )
    return np.mean(found, axis=0)


def inside(low, truth, high):
    return np.mean((low <= truth) & (truth <= high))


# `docs/coverage.md` has the figures of 40 seeds. Those of eight vary more: the scale of scores is one draw per seed.
@pytest.mark.parametrize(("votes", "ties"), SIZES)
def test_intervals_of_bradley_terry_hold(votes, ties):
    scores, ranks, _ = coverage(BradleyTerry(), quality=(1e9, 1.0), votes=votes, ties=ties)
    assert 0.925 <= scores <= 0.975
    assert 0.93 <= ranks <= 0.985


@pytest.mark.parametrize(("votes", "ties"), SIZES)
def test_intervals_of_crowd_bt_hold_in_a_good_crowd(votes, ties):
    """Quality is near 1 there, where it has no bell shape."""
    scores, ranks, quality = coverage(CrowdBT(), quality=(10.0, 1.0), votes=votes, ties=ties)
    assert 0.925 <= scores <= 0.975
    assert 0.93 <= ranks <= 0.985
    assert 0.925 <= quality <= 0.98


@pytest.mark.parametrize(("votes", "ties"), SIZES)
def test_intervals_hold_where_quality_may_be_anything(votes, ties):
    """Quality as the prior takes it to be, uniform; gold says which of the two mirror images is meant."""
    scores, ranks, quality = coverage(CrowdBT(), gold=True, quality=(1.0, 1.0), votes=votes, ties=ties)
    assert 0.91 <= scores <= 0.98
    assert 0.93 <= ranks <= 0.985
    assert 0.925 <= quality <= 0.975


@pytest.mark.parametrize("votes", [5000, 20_000])
def test_intervals_hold_in_a_weak_crowd(votes):
    """Those around the mode hold 77 to 89 % of the scores."""
    scores, ranks, quality = coverage(CrowdBT(), quality=(4.0, 2.0), votes=votes)
    assert scores >= 0.90
    assert 0.93 <= ranks <= 0.985
    assert 0.91 <= quality <= 0.98


@pytest.mark.parametrize("method", [BradleyTerry, CrowdBT, Thurstone])
def test_probed_intervals_come_near_those_of_the_inverse(method, monkeypatch):
    study = simulate.pairs(items=300, annotators=30, votes=10_000, ties=0.1, tasks=2, seed=1).judgments
    dense = method(prior=1.0).fit(study)
    monkeypatch.setattr("crowdrank.methods.pairs.votes.intervals.LARGEST_DENSE", 0)
    probed = method(prior=1.0).fit(study)
    assert laplace.LARGEST_DENSE > 600  # the first fit inverted
    ratio = (probed.high - probed.low) / (dense.high - dense.low)
    assert np.abs(ratio - 1).max() < 0.3
    assert np.quantile(np.abs(ratio - 1), 0.95) < 0.1
    assert abs(ratio.mean() - 1) < 0.01
    assert np.mean(np.abs(probed.rank_low - dense.rank_low) <= 5) > 0.9


def test_the_prior_on_quality_depends_on_that_on_scores():
    assert beta_prior(None, None) == (2.0, 2.0)
    assert beta_prior(None, 1.0) == (1.05, 1.05)
    assert beta_prior((3.0, 4.0), None) == beta_prior((3.0, 4.0), 1.0) == (3.0, 4.0)


@pytest.mark.parametrize("method", [BradleyTerry, CrowdBT, Thurstone])
def test_intervals_do_not_touch_the_scores(method):
    study = simulate.pairs(items=20, annotators=10, votes=500, ties=0.1, seed=2).judgments
    with_intervals, without = method().fit(study), method(intervals=False).fit(study)
    assert with_intervals.score.tobytes() == without.score.tobytes()
    assert without.low is None
    assert "quality_low" not in without.annotator_columns


@pytest.mark.parametrize("method", [BradleyTerry, CrowdBT])
def test_one_nobody_compared_is_the_least_sure_and_does_not_blur_the_others(build, method):
    study = simulate.pairs(items=30, annotators=10, votes=6000, seed=2).judgments
    alone = (study.pairs.left != 0) & (study.pairs.right != 0)
    consensus = method(prior=0.01).fit(build.rows_of(study, alone))
    width = consensus.high - consensus.low
    assert width[0] > 3 * np.delete(width, 0).max()
    others = np.arange(30) > 0
    assert (consensus.rank_low <= consensus.rank)[others].all()
    assert (consensus.rank <= consensus.rank_high)[others].all()
    assert np.median((consensus.rank_high - consensus.rank_low)[others]) <= 6


@pytest.mark.parametrize("method", ["bradley-terry", "crowd-bt", "trueskill", "online-crowd-bt"])
def test_intervals_from_lists_come_with_a_warning(method):
    lists = {"annotator": list("aaabbb"), "item": list("xyzyxz"), "rank": [1, 2, 3] * 2}
    votes = {"annotator": ["a"], "left": ["x"], "right": ["y"], "winner": ["x"]}
    assert any("not independent" in note for note in cr.fit(method, cr.judgments(lists)).notes)
    assert not any("not independent" in note for note in cr.fit(method, cr.judgments(votes)).notes)
