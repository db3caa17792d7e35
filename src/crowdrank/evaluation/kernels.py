"""Measures of ranked lists: arrays over all tasks in, one number per task out.

All tasks are computed at once. Only items of positive grade contribute to these measures, so only they are kept, with
their place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.study import Floats

Ints = NDArray[np.int64]

RELEVANT = 1.0  # the lowest grade that counts as relevant in precision, recall, map, rbp and mrr


@dataclass(frozen=True, slots=True, eq=False)
class PositiveGrades:
    """The items of positive grade in one list per task, in the order of the lists."""

    task: Ints  # ascending
    place: Ints  # 0 for the top of the list
    grade: Floats

    @staticmethod
    def of(task: Ints, grade: Floats) -> PositiveGrades:
        """From whole lists: the task (ascending) and the grade of every item, best first; NaN where it has none."""
        place = np.arange(len(task)) - np.searchsorted(task, np.arange(task[-1] + 1 if len(task) else 0))[task]
        positive = np.flatnonzero(grade > 0)
        return PositiveGrades(task[positive], place[positive], grade[positive])

    def top(self, depth: int | None, grade: float = 0.0) -> PositiveGrades:
        """The first `depth` places of every list, and of these the items of at least that grade."""
        kept = self.grade >= grade
        if depth is not None:
            kept &= self.place < depth
        return PositiveGrades(self.task[kept], self.place[kept], self.grade[kept])


@dataclass(frozen=True, slots=True, eq=False)
class GradedLists:
    """The ranked lists of all tasks, and the best possible lists."""

    n_tasks: int
    ranked: PositiveGrades
    ideal: PositiveGrades  # gold, best grade first, ranked or not
    top_grade: float  # the largest grade in gold

    def total(self, rows: PositiveGrades, values: Floats) -> Floats:
        """The sum of the values over each task."""
        return np.bincount(rows.task, values, self.n_tasks).astype(float)

    @property
    def relevant(self) -> Floats:
        """The number of relevant items of each task."""
        found = self.ideal.top(None, RELEVANT)
        return np.bincount(found.task, minlength=self.n_tasks).astype(float)


def exponential_gain(grade: Floats, top_grade: float) -> Floats:
    """2^g − 1, divided by 2^top: ratios stay the same, and large grades do not overflow."""
    return np.asarray(np.exp2(grade - top_grade) - np.exp2(-top_grade), dtype=np.float64)


def linear_gain(grade: Floats, top_grade: float) -> Floats:  # noqa: ARG001  (the same parameters as `exponential_gain`)
    """The grade itself."""
    return grade


def log_discount(places: int) -> Floats:
    """1 / log2(i + 1) for position i = 1, 2, …"""
    return 1 / np.log2(np.arange(places) + 2)


def letor_discount(places: int) -> Floats:
    """1 / log2(i), and no discount at positions 1 and 2, as in LETOR's evaluation script."""
    return 1 / np.log2(np.maximum(np.arange(places) + 1, 2))


def ndcg(
    lists: GradedLists,
    depth: int | None,
    gain: Callable[[Floats, float], Floats] = exponential_gain,
    discount: Callable[[int], Floats] = log_discount,
) -> Floats:
    """Discounted gain of the list, divided by that of the best list."""

    def dcg(rows: PositiveGrades) -> Floats:
        top = rows.top(depth)
        factor = discount(int(top.place.max(initial=0)) + 1)
        return lists.total(top, gain(top.grade, lists.top_grade) * factor[top.place])

    return _ratio(dcg(lists.ranked), dcg(lists.ideal))


def precision(lists: GradedLists, depth: int) -> Floats:
    """The share of relevant items among the first `depth`; places missing in a shorter list count as not relevant."""
    top = lists.ranked.top(depth, RELEVANT)
    return np.bincount(top.task, minlength=lists.n_tasks) / depth


def recall(lists: GradedLists, depth: int) -> Floats:
    """The share of all relevant items that is among the first `depth`."""
    top = lists.ranked.top(depth, RELEVANT)
    return _ratio(np.bincount(top.task, minlength=lists.n_tasks).astype(float), lists.relevant)


def average_precision(lists: GradedLists, depth: int | None) -> Floats:
    """The sum of the precision at each relevant item found, divided by the number of all relevant items."""
    top = lists.ranked.top(depth, RELEVANT)
    found = _count_within(top.task, lists.n_tasks) + 1
    return _ratio(lists.total(top, found / (top.place + 1)), lists.relevant)


def reciprocal_rank(lists: GradedLists, depth: int | None) -> Floats:
    """1 / the position of the first relevant item."""
    top = lists.ranked.top(depth, RELEVANT)
    first = _count_within(top.task, lists.n_tasks) == 0
    value = np.zeros(lists.n_tasks)
    value[top.task[first]] = 1 / (top.place[first] + 1)
    return value


def rank_biased_precision(lists: GradedLists, depth: int | None, persistence: float) -> Floats:
    """(1 − p) Σ p^(i − 1) over relevant items: users go on to the next item with probability p, the `persistence`."""
    top = lists.ranked.top(depth, RELEVANT)
    return (1 - persistence) * lists.total(top, np.power(persistence, top.place, dtype=np.float64))


def expected_reciprocal_rank(lists: GradedLists, depth: int | None) -> Floats:
    """Expected 1 / position where a user stops, if an item of grade g stops them with probability (2^g − 1) / 2^top."""
    top = lists.ranked.top(depth)
    stops = exponential_gain(top.grade, lists.top_grade)
    passes = np.log1p(-np.minimum(stops, 1 - np.finfo(float).epsneg))  # of a grade above 53 the probability rounds to 1
    before = np.cumsum(passes) - passes
    first = np.searchsorted(top.task, np.arange(lists.n_tasks))
    reached = np.exp(before - np.append(before, 0.0)[first][top.task])
    return lists.total(top, reached * stops / (top.place + 1))


def _count_within(task: Ints, n_tasks: int) -> Ints:
    """How many rows of the same task precede each row."""
    return np.arange(len(task)) - np.searchsorted(task, np.arange(n_tasks))[task]


def _ratio(value: Floats, best: Floats) -> Floats:
    """Value divided by best, 0 where best is 0."""
    return np.divide(value, best, out=np.zeros(len(best)), where=best > 0)
