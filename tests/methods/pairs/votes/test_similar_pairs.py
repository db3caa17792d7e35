"""Items that were only compared with similar ones: found, and ranked by how the gaps add up."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, multivariate_normal

import crowdrank as cr
from crowdrank.convert import TIED, as_pairs, votes
from crowdrank.methods.pairs.votes.similar_pairs import (
    CURVATURE,
    _log_evidence,
    _lowest_eigenvalue,
    _slope,
    _spectrum,
    spread_of_gaps,
)


def table_of(judgments):
    return votes(as_pairs(judgments), judgments.vocabulary, pooled=True)


def near_votes(items, count, furthest, seed, annotators=60):
    """Votes on items that are at most `furthest` places apart, and the true scores."""
    rng = np.random.default_rng(seed)
    score, quality = np.sort(rng.normal(0, 2, items)), rng.beta(5, 1, annotators)
    left = rng.integers(0, items, count)
    right = np.clip(left + rng.integers(1, furthest + 1, count) * rng.choice([-1, 1], count), 0, items - 1)
    left, right = left[left != right], right[left != right]
    who = rng.integers(0, annotators, len(left))
    chance = 1 / (1 + np.exp(score[right] - score[left]))
    chance = quality[who] * chance + (1 - quality[who]) * (1 - chance)
    won = np.where(rng.random(len(left)) < chance, left, right)
    columns = {"annotator": who, "left": left, "right": right, "winner": won}
    judgments = cr.judgments(pl.DataFrame({name: column.astype(str) for name, column in columns.items()}))
    truth = score[judgments.vocabulary.items.astype(int)]
    return judgments, truth - truth.mean()


@pytest.mark.parametrize(("items", "count", "furthest"), [(100, 4000, 5), (200, 4000, 40)])
def test_the_order_is_found_and_intervals_hold_the_truth(items, count, furthest):
    judgments, truth = near_votes(items, count, furthest, seed=3)
    assert spread_of_gaps(table_of(judgments), judgments.vocabulary) is not None
    for name in ("bradley-terry", "crowd-bt"):
        consensus = cr.fit(name, judgments)
        assert kendalltau(consensus.score, truth)[0] > 0.75
    assert np.mean((consensus.low <= truth) & (truth <= consensus.high)) > 0.9


@pytest.mark.parametrize(
    ("items", "count", "spread"),
    [(30, 100, 2.0), (30, 600, 4.0), (100, 300, 3.0), (100, 2000, 1.0), (300, 60_000, 2.5)],
)
def test_pairs_by_lot_are_not_similar(items, count, spread):
    for seed in range(5):
        judgments = cr.simulate.pairs(items, 60, count, spread=spread, seed=seed).judgments
        assert spread_of_gaps(table_of(judgments), judgments.vocabulary) is None


def test_votes_that_contradict_each_other_are_not_similar():
    """Nearly as many reversed annotators as others: together their votes say that all items are equal."""
    study = cr.simulate.pairs(items=30, annotators=40, votes=3000, seed=1)
    spoilt = cr.simulate.spam(study.judgments, 0.8, "malicious", seed=1)
    assert spread_of_gaps(table_of(spoilt), spoilt.vocabulary) is None


@given(st.integers(0, 1000), st.integers(3, 15), st.integers(1, 60))
def test_the_lowest_eigenvalue_is_that_of_the_graph(seed, items, count):
    judgments = cr.simulate.pairs(items, 5, count, seed=seed).judgments
    table, n = table_of(judgments), judgments.vocabulary.n_entries
    laplacian = np.zeros((n, n))
    for won, lost, weight in zip(table.winner, table.loser, table.weight, strict=True):
        step = np.eye(n)[won] - np.eye(n)[lost]
        laplacian += weight * np.outer(step, step)
    values, vectors = np.linalg.eigh(laplacian)
    slope = _slope(table, n)
    seen = np.abs(vectors.T @ slope) > 1e-6
    found = _lowest_eigenvalue(table, judgments.vocabulary, slope)
    if seen.any() and (values > 1e-9).sum() == n - 1:  # connected
        assert found == pytest.approx(values[seen].min(), rel=1e-6, abs=1e-6)


@given(st.integers(0, 1000), st.floats(0.01, 10), st.floats(0.0, 10))
def test_the_evidence_is_that_of_a_normal_model(seed, precision, of_gaps):
    """The votes' slope g = H s + noise of variance H has the log-density of a normal distribution, up to a constant."""
    judgments = cr.simulate.pairs(6, 5, 60, ties=0.2, seed=seed).judgments
    table, n = table_of(judgments), judgments.vocabulary.n_entries
    laplacian, slope = np.zeros((n, n)), np.zeros(n)
    for won, lost, kind, weight in zip(table.winner, table.loser, table.kind, table.weight, strict=True):
        step = np.eye(n)[won] - np.eye(n)[lost]
        laplacian += weight * np.outer(step, step)
        slope += 0 if kind == TIED else weight * step / 2
    prior, votes_say = precision * np.eye(n) + of_gaps * laplacian, CURVATURE * laplacian
    inside = np.linalg.svd(laplacian)[0][:, : n - 1]  # the mean of all scores is not known

    def log_density(covariance):
        return multivariate_normal(np.zeros(n - 1), inside.T @ covariance @ inside).logpdf(inside.T @ slope)

    expected = log_density(votes_say @ np.linalg.inv(prior) @ votes_say + votes_say) - log_density(votes_say)
    eigenvalue, pull = _spectrum(table, judgments.vocabulary, _slope(table, n))
    assert _log_evidence(eigenvalue, pull, precision + of_gaps * eigenvalue) == pytest.approx(
        expected, rel=1e-6, abs=1e-6
    )
