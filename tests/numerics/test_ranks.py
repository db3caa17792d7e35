from itertools import pairwise

import numpy as np
import pytest

from crowdrank.numerics.ranks import rank_interval


def by_drawing(score, error, rng, draws=20_000, level=0.95):
    """Quantiles of the ranks of one task among many draws of its scores."""
    drawn = score + error * rng.normal(size=(draws, len(score)))
    rank = np.argsort(np.argsort(-drawn, axis=1), axis=1) + 1
    return np.quantile(rank, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")


@pytest.mark.parametrize(
    ("items", "spread", "error"),
    [(2, 1.0, 1.0), (5, 1.0, 0.5), (30, 1.0, 0.1), (30, 1.0, 1.0), (100, 2.0, 0.3), (30, 0.0, 1.0)],
)
def test_agrees_with_drawing_scores(items, spread, error):
    rng = np.random.default_rng(items)
    score, errors = rng.normal(0, spread, items), error * rng.uniform(0.5, 2.0, items)
    low, high = rank_interval(score, errors, np.array([0, items]))
    expected_low, expected_high = by_drawing(score, errors, rng)
    # The mean and variance of the number above stand for its distribution: a place off here and there.
    for found, expected in ((low, expected_low), (high, expected_high)):
        assert np.abs(found - expected).max() <= 2
        assert np.mean(np.abs(found - expected) <= 1) >= 0.97
    assert np.mean(low == expected_low) > 0.5
    assert np.mean(high == expected_high) > 0.5


def test_errors_of_very_different_sizes():
    items = 40
    rng = np.random.default_rng(7)
    score, error = rng.normal(size=items), 10 ** rng.uniform(-3, 0.5, items)
    low, high = rank_interval(score, error, np.array([0, items]))
    expected_low, expected_high = by_drawing(score, error, rng)
    assert np.abs(low - expected_low).max() <= 2
    assert np.abs(high - expected_high).max() <= 2


def test_without_error_it_is_the_rank():
    score = np.array([0.3, 2.0, -1.0, 0.7])
    low, high = rank_interval(score, np.zeros(4), np.array([0, 4]))
    assert low.tolist() == high.tolist() == [3, 1, 4, 2]


def test_tasks_of_one_item_and_none_have_no_choice():
    low, high = rank_interval(np.array([5.0, -1.0, 1.0]), np.ones(3), np.array([0, 1, 1, 3]))
    assert (low[0], high[0]) == (1, 1)
    assert (low[1:].tolist(), high[1:].tolist()) == ([1, 1], [2, 2])


def test_many_tasks_are_each_their_own():
    rng = np.random.default_rng(5)
    starts = np.r_[0, np.cumsum(rng.integers(1, 20, 50))]
    score, error = rng.normal(size=starts[-1]), rng.uniform(0.1, 1.0, starts[-1])
    low, high = rank_interval(score, error, starts)
    for start, end in pairwise(starts):
        alone = rank_interval(score[start:end], error[start:end], np.array([0, end - start]))
        assert low[start:end].tolist() == alone[0].tolist()
        assert high[start:end].tolist() == alone[1].tolist()


def test_one_far_away_does_not_blur_the_others():
    score = np.r_[np.linspace(0, 1, 30), 1e6]
    low, high = rank_interval(score, np.full(31, 0.01), np.array([0, 31]))
    expected = by_drawing(score, np.full(31, 0.01), np.random.default_rng(0))
    assert np.abs(low - expected[0]).max() <= 1
    assert np.abs(high - expected[1]).max() <= 1
