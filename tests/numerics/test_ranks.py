from itertools import pairwise

import numpy as np
import pytest

from crowdrank.numerics.ranks import rank_interval


def check_by_drawing(score, error, rng, draws=20_000, level=0.95):
    """In many draws of a task's scores, ranks are inside as often as promised, and intervals not too long."""
    low, high = rank_interval(score, error, np.array([0, len(score)]))
    drawn = score + error * rng.normal(size=(draws, len(score)))
    rank = np.argsort(np.argsort(-drawn, axis=1), axis=1) + 1
    inside = np.mean((low <= rank) & (rank <= high), axis=0)
    shares = np.array([np.bincount(column, minlength=len(score) + 2) / draws for column in rank.T])
    everyone = np.arange(len(score))
    # The mean and variance of the number above stand for its distribution: a place off here and there.
    assert inside.min() > level - 0.04
    assert np.mean(inside > level - 0.015) >= 0.9
    without_an_end = inside - np.minimum(shares[everyone, low], shares[everyone, high])
    assert np.sum(without_an_end[low < high] > level + 0.02) <= 0.1 * len(score)


@pytest.mark.parametrize(
    ("items", "spread", "error"),
    [(2, 1.0, 1.0), (5, 1.0, 0.5), (30, 1.0, 0.1), (30, 1.0, 1.0), (100, 2.0, 0.3), (30, 0.0, 1.0)],
)
def test_agrees_with_drawing_scores(items, spread, error):
    rng = np.random.default_rng(items)
    check_by_drawing(rng.normal(0, spread, items), error * rng.uniform(0.5, 2.0, items), rng)


def test_errors_of_very_different_sizes():
    rng = np.random.default_rng(7)
    check_by_drawing(rng.normal(size=40), 10 ** rng.uniform(-3, 0.5, 40), rng)


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
    without = rank_interval(score[:-1], np.full(30, 0.01), np.array([0, 30]))
    assert np.abs(low[:-1] - 1 - without[0]).max() <= 1
    assert np.abs(high[:-1] - 1 - without[1]).max() <= 1
    check_by_drawing(score, np.full(31, 0.01), np.random.default_rng(0))
