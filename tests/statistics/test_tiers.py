"""Tiers, by hand: a fixed anchor, not a chain."""

from dataclasses import replace

import numpy as np
import pytest

import build
import crowdrank as cr
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.statistics import tiers
from crowdrank.statistics.tiers import chance_above


def ranked(score, error, tasks=None):
    names = tasks or ["t"] * len(score)
    study = build.judgments(grades=[(task, "a", f"i{n}", 1) for n, task in enumerate(names)])
    half = NORMAL_95_ROUNDED * np.broadcast_to(error, len(score))
    score = np.array(score, dtype=float)
    return replace(cr.Mean().fit(study), score=score, low=score - half, high=score + half)


def test_a_chain_of_overlaps_is_cut_at_the_anchor():
    """Errors of 1/√2 give gaps an error of 1: 1.645 apart is 95 %. Neighbours are 1 apart, none is settled; yet the
    third is 2 below the first, and starts a tier, and so does the fifth.
    """
    assert tiers(ranked([4, 3, 2, 1, 0], np.sqrt(0.5))).tolist() == [1, 1, 2, 2, 3]


def test_the_level_decides():
    consensus = ranked([4, 3, 2, 1, 0], np.sqrt(0.5))
    assert tiers(consensus, level=0.8).tolist() == [1, 2, 3, 4, 5]  # Φ(1) = .84
    assert tiers(consensus, level=0.9999).tolist() == [1, 1, 1, 1, 2]  # Φ(4) = .99997


def test_tasks_have_tiers_of_their_own_and_the_unranked_none():
    assert tiers(ranked([5, 0, np.nan, 1, 0], 0.1, ["s", "s", "s", "t", "t"])).tolist() == [1, 2, 0, 1, 2]


def test_equal_scores_share_a_tier():
    assert tiers(ranked([1, 1, 1], 0.0)).tolist() == [1, 1, 1]


def test_draws_know_that_errors_are_correlated():
    """Scores of one uncertain scale: wide intervals, and yet the same order in every draw."""
    scale = np.random.default_rng(0).gamma(2.0, 1.0, 500)
    consensus = ranked([3, 2, 1], 2.0)
    assert tiers(consensus).tolist() == [1, 1, 1]
    draws = np.outer(scale, [3, 2, 1]).astype(np.float32)
    assert tiers(replace(consensus, draws=draws)).tolist() == [1, 2, 3]
    assert tiers(replace(consensus, draws=draws, upright=0.9)).tolist() == [1, 1, 1]  # the reverse may be right


def test_tiers_agree_with_the_probabilities_of_neighbours():
    study = cr.simulate.pairs(items=12, annotators=10, votes=800, seed=2).judgments
    consensus = cr.fit("crowd-bt", study)
    first, second = consensus.best_first[:2]
    chance = chance_above(consensus, np.array([first]), np.array([second]))
    assert chance == pytest.approx(cr.neighbours(consensus)["probability"][0])


def test_after_a_bootstrap_tiers_follow_its_intervals():
    study = cr.simulate.pairs(items=6, annotators=8, votes=300, seed=1).judgments
    assert cr.bootstrap("crowd-bt", study, rounds=5, seed=0).draws is None


def test_methods_without_intervals_say_so():
    with pytest.raises(cr.JudgmentError, match="no intervals"):
        tiers(cr.Borda().fit(cr.simulate.rankings(4, 3, tasks=1, seed=0).judgments))
