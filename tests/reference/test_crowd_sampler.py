"""The reference sampler: its gradient, its calibration, and Crowd-BT's intervals beside it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

import crowdrank as cr
from reference.crowd_sampler import CROWD_COUNTS, QUALITIES, SCALE, SHAPE, Chain, Votes, log_likelihood


def draw_votes(rng, score, quality, per_annotator):
    """Each annotator votes on random pairs."""
    annotator = np.repeat(np.arange(len(quality)), per_annotator)
    first = rng.integers(0, len(score), len(annotator))
    second = (first + rng.integers(1, len(score), len(annotator))) % len(score)
    right = 1 / (1 + np.exp(score[second] - score[first]))
    chance = np.where(rng.random(len(annotator)) < quality[annotator], right, 1 - right)
    won = rng.random(len(annotator)) < chance
    return Votes(annotator, np.where(won, first, second), np.where(won, second, first), len(score))


def test_the_gradient_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    votes = draw_votes(rng, rng.normal(size=5), rng.random(4), 10)
    score, share = rng.normal(size=5), rng.dirichlet(np.ones(len(QUALITIES)))
    _, gradient, posterior = log_likelihood(votes, score, share)
    steps = 1e-5 * np.eye(5)
    slopes = [(log_likelihood(votes, score + h, share)[0] - log_likelihood(votes, score - h, share)[0]) for h in steps]
    assert gradient == pytest.approx(np.array(slopes) / 2e-5, abs=1e-7)
    assert posterior.sum(axis=1) == pytest.approx(1.0)


def test_draws_are_calibrated():
    """Simulation-based calibration: the truth, drawn from the prior, has any rank among the draws equally often."""
    ranks = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        score = rng.normal(0, np.sqrt(min(SCALE / rng.gamma(SHAPE), 25.0)), 4)  # a spread above 5 would be separable
        share = rng.dirichlet(CROWD_COUNTS)
        votes = draw_votes(rng, score, rng.choice(QUALITIES, 6, p=share), 5)
        draws, _ = Chain(votes, rng.normal(size=4), seed).run(50, 126)
        gap = draws[::6, 0] - draws[::6, 1]
        ranks.append(int((gap < score[0] - score[1]).sum()))
    counts = np.bincount(np.minimum(np.array(ranks) * 5 // 22, 4), minlength=5)
    assert chisquare(counts).pvalue > 0.001, counts


def test_crowd_bt_agrees_with_the_sampler_where_votes_are_many():
    """Scores lie within the sampler's intervals; Crowd-BT's own intervals are narrower, by less than a third."""
    study = cr.simulate.pairs(items=8, annotators=12, votes=2400, quality=(6.0, 2.0), seed=3)
    pairs, consensus = study.judgments.pairs, cr.CrowdBT().fit(study.judgments)
    order = np.argsort(pairs.annotator, kind="stable")
    won = pairs.outcome == 1
    winner, loser = np.where(won, pairs.left, pairs.right), np.where(won, pairs.right, pairs.left)
    votes = Votes(pairs.annotator[order].astype(np.int64), winner[order], loser[order], 8)
    draws = np.concatenate([Chain(votes, consensus.score, seed).run(100, 300)[0] for seed in (0, 1)])
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    score = consensus.score - consensus.score.mean()
    assert ((low <= score) & (score <= high)).all()
    assert 2 / 3 < np.mean(consensus.high - consensus.low) / np.mean(high - low) < 1.1
