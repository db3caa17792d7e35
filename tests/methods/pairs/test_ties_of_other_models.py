"""Ties in crowd-bt where they do not follow Davidson's model."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank import CrowdBT


def covered(low, truth, high):
    """The share of the truth inside the intervals."""
    return np.mean((low <= truth) & (truth <= high))


def votes_with_ties(chance, seed, items=60, annotators=40, votes=6000):
    """Votes of annotators with quality Beta(5, 1), who tie with the given chance of the gap; scores and votes."""
    rng = np.random.default_rng(seed)
    score, quality = rng.normal(0, 1.5, items), rng.beta(5, 1, annotators)
    left, who = rng.integers(0, items, votes), rng.integers(0, annotators, votes)
    right = (left + rng.integers(1, items, votes)) % items
    gap = score[left] - score[right]
    first = rng.random(votes) < 0.5 + (quality[who] - 0.5) * np.tanh(gap / 2)
    winner = np.where(rng.random(votes) < chance(gap), "tie", np.where(first, left, right).astype(str))
    return score - score.mean(), cr.judgments(
        {"annotator": who.astype(str), "left": left.astype(str), "right": right.astype(str), "winner": winner}
    )


def threshold_ties(gap):
    """Rao and Kupper's model with the threshold log 2."""
    return 1 - 1 / (1 + 2 * np.exp(-gap)) - 1 / (1 + 2 * np.exp(gap))


def by_lot(gap):
    return np.full(len(gap), 0.3)


@pytest.mark.parametrize("chance", [threshold_ties, by_lot])
@pytest.mark.parametrize("large", [50_000, 1000])
def test_ties_of_other_models_leave_the_scale_of_scores(chance, large, monkeypatch):
    """With Davidson's model alone scores were twice as far apart, or .7 as far, and .4 to .8 inside their intervals."""
    monkeypatch.setattr("crowdrank.methods.pairs.votes.fit.LARGE", large)
    truth, study = votes_with_ties(chance, seed=1)
    consensus = CrowdBT().fit(study)
    order = np.argsort([int(item) for item in consensus.ranking["item"]])
    score, low, high = (consensus.ranking[name].to_numpy()[order] for name in ("score", "low", "high"))
    assert 0.75 < (score @ truth) / (truth @ truth) < 1.35
    assert covered(low, truth, high) > 0.65


@pytest.mark.parametrize(("chance", "least", "most"), [(threshold_ties, 1.3, 4.0), (by_lot, 0.0, 0.7)])
def test_the_sharpness_of_ties_is_learned(chance, least, most):
    _, study = votes_with_ties(chance, seed=2)
    assert least < CrowdBT().fit(study).settings["tie_sharpness"] < most
    assert "tie_sharpness" not in CrowdBT(prior=1.0).fit(study).settings
