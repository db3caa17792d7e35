"""Agreement between two orders (acc, τ, Spearman), for all tasks at once and without a loop over pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.groups import run_starts
from crowdrank.study import Floats

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RankingAndGold:
    """The items with both a rank and gold: two orders of them per task, ties included."""

    n_tasks: int
    task: Ints  # ascending
    score: Ints  # levels from 0, higher is better, comparable within a task
    gold: Ints  # likewise

    @staticmethod
    def of(n_tasks: int, task: Ints, rank: NDArray[np.int32], gold: Floats) -> RankingAndGold:
        """From ranks (1 is best) and gold values (higher is better)."""
        values = np.unique(gold)
        return RankingAndGold(n_tasks, task, rank.max(initial=0) - rank.astype(np.int64), np.searchsorted(values, gold))

    @cached_property
    def pairs(self) -> PairCounts:
        """How the two orders agree, counted over the pairs of each task."""
        levels = int(self.gold.max(initial=0)) + 1
        by_score = self.task * (int(self.score.max(initial=0)) + 1) + self.score
        both = np.sort(by_score * levels + self.gold)  # by task, then score, then gold: tied scores make no inversion
        size = np.bincount(self.task, minlength=self.n_tasks)
        tied_gold = self._tied(np.sort(self.task * levels + self.gold))
        tied_score = self._tied(both // levels)
        discordant = inversions(both % levels, self.task, self.n_tasks)
        different = size * (size - 1) // 2 - tied_gold
        return PairCounts(
            different_gold=different,
            different_score=size * (size - 1) // 2 - tied_score,
            concordant=different - tied_score + self._tied(both) - discordant,
            discordant=discordant,
        )

    def _tied(self, ascending: Ints) -> Ints:
        """The number of pairs of equal keys in each task."""
        new = np.flatnonzero(run_starts(ascending))
        run = np.diff(new, append=len(ascending))
        return np.bincount(self.task[new], run * (run - 1) // 2, self.n_tasks).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Numbers of pairs of items, per task."""

    different_gold: Ints
    different_score: Ints
    concordant: Ints
    discordant: Ints


@dataclass(frozen=True, slots=True, eq=False)
class KnownPairs:
    """How a ranking agrees with pairs of which one item is known to be better."""

    pairs: PairCounts

    @staticmethod
    def of(n_tasks: int, task: Ints, better: NDArray[np.int32], worse: NDArray[np.int32]) -> KnownPairs:
        """From the task of each pair and the ranks (1 is best) of its items."""
        every, same, right = (
            np.bincount(task[rows], minlength=n_tasks)
            for rows in (np.full(len(task), True), better == worse, better < worse)
        )
        return KnownPairs(PairCounts(every, every - same, right, every - same - right))


def inversions(level: Ints, task: Ints, n_tasks: int) -> Ints:
    """Per task (ascending), the number of pairs of rows in which the earlier row has the higher level.

    It goes through the bits from the highest: among rows with the same higher bits, a 1 before a 0 is an inversion;
    then the zeros are moved before the ones.

    >>> inversions(np.array([2, 0, 1, 1, 0]), np.array([0, 0, 0, 1, 1]), 2).tolist()
    [2, 1]
    """
    count = np.zeros(n_tasks)
    row = np.arange(len(level))
    for bit in reversed(range(int(level.max(initial=0)).bit_length())):
        prefix = level >> (bit + 1)
        new = run_starts(task, prefix)
        start, block = np.flatnonzero(new), np.cumsum(new) - 1
        one = (level >> bit) & 1
        ones_before = np.cumsum(one) - one
        ones_before -= ones_before[start][block]
        count += np.bincount(task, np.where(one == 0, ones_before, 0), n_tasks)
        zeros = np.bincount(block, 1 - one).astype(np.int64)
        target = np.where(one == 0, row - ones_before, (start + zeros)[block] + ones_before)
        moved = np.empty_like(level)
        moved[target] = level
        level = moved
    return count.astype(np.int64)


def accuracy(orders: RankingAndGold | KnownPairs) -> Floats:
    """The share of pairs of different gold that the scores put strictly in the same order; tied scores are wrong."""
    pairs = orders.pairs
    return _defined(pairs.concordant, pairs.different_gold)


def kendall(orders: RankingAndGold | KnownPairs) -> Floats:
    """Kendall's τ-b; 0 where all scores are tied, NaN where all gold values are."""
    pairs = orders.pairs
    scale = np.sqrt(pairs.different_gold.astype(float) * np.maximum(pairs.different_score, 1))
    return _defined(pairs.concordant - pairs.discordant, scale)


def spearman(orders: RankingAndGold) -> Floats:
    """Correlation of the average ranks; 0 where all scores are tied, NaN where all gold values are."""
    score, gold = (_centred_ranks(level, orders) for level in (orders.score, orders.gold))
    covariance, score_spread, gold_spread = (
        np.bincount(orders.task, product, orders.n_tasks) for product in (score * gold, score**2, gold**2)
    )
    return _defined(covariance, np.sqrt(gold_spread * np.where(score_spread > 0, score_spread, 1.0)))


def _centred_ranks(level: Ints, orders: RankingAndGold) -> Floats:
    """Average ranks within each task, minus their mean."""
    key = orders.task * (int(level.max(initial=0)) + 1) + level
    _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - (count + 1) / 2  # of each run of ties, counted over all tasks
    starts = np.searchsorted(orders.task, np.arange(orders.n_tasks + 1))
    centre = (starts[:-1] + starts[1:] - 1) / 2
    return np.asarray(middle[inverse] - centre[orders.task], dtype=np.float64)


def _defined(value: NDArray[Any], scale: NDArray[Any]) -> Floats:
    """Value divided by scale; NaN where scale is 0: gold has no two different values there."""
    ratio: Floats = np.full(len(scale), np.nan)
    np.divide(value, scale, out=ratio, where=scale > 0)
    return ratio
