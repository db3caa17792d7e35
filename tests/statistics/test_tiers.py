"""Tiers, by hand: a fixed anchor, not a chain."""

from dataclasses import replace

import numpy as np
import pytest

import build
import crowdrank as cr
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.statistics import tiers


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


def test_methods_without_intervals_say_so():
    with pytest.raises(cr.JudgmentError, match="no intervals"):
        tiers(cr.Borda().fit(cr.simulate.rankings(4, 3, tasks=1, seed=0).judgments))
