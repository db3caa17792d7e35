"""The common scale of scores: not where the most likely parameters are, which lie too close together."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.methods.pairs.leaderboard import fit, scale
from crowdrank.methods.pairs.leaderboard.scale import _next
from crowdrank.methods.pairs.leaderboard.solver import LEAST_LEFT, _left
from leaderboard_votes import simulated


def test_scores_of_many_votes_lie_as_far_apart_as_true_ones(monkeypatch):
    """Without draws, from a sample first: the most likely scores are a fifth too close together."""
    monkeypatch.setattr(fit, "MOST_SAMPLED_VOTES", 1000)
    monkeypatch.setattr(scale, "MANY_VOTES", 3000)
    slopes, rng = [], np.random.default_rng(0)
    for seed in range(3):
        quality = rng.beta(8, 2, size=30)
        truth = simulated(seed=seed, items=20, annotators=30, votes=9000, categories=10, quality=quality)
        found = cr.fit("crowd-bt", truth.judgments)
        assert any("are from the curvature" in note for note in found.notes)
        slopes.append(np.polyfit(truth.score, found.score, 1)[0])
    assert 0.85 <= np.mean(slopes) <= 1.15, slopes


def test_the_lowest_point_of_a_parabola_is_found():
    tried = {0.0: 0.0}
    while (new := _next({at: (value, None, None) for at, value in tried.items()})) is not None:
        tried[new] = (new - 0.41) ** 2 - 0.41**2
    assert min(tried, key=tried.get) == pytest.approx(0.41, abs=1e-9)


def test_annotators_take_away_no_more_than_there_is():
    """Where they take away a part of each direction, exactly that; else a little is left."""
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    whole = np.diag([1.0, 2.0, 4.0])

    def taken(shares):
        root = np.sqrt(whole) @ rotation
        return root @ np.diag(shares) @ root.T

    assert _left(whole, taken([0.5, 0.2, 0.0])) == pytest.approx(whole - taken([0.5, 0.2, 0.0]))
    assert _left(whole, taken([1.3, 0.2, 0.0])) == pytest.approx(whole - taken([1 - LEAST_LEFT, 0.2, 0.0]))
