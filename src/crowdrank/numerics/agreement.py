"""How many preferences of annotators the scores agree with: those of votes and, in n log n, those of lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.compiled import for_work, kernel
from crowdrank.numerics.groups import run_starts
from crowdrank.numerics.sums import ROWS, sum_by
from crowdrank.study import TIE, Floats, Pairs


def pair_agreement(pairs: Pairs, score: Floats, n_annotators: int) -> tuple[Floats, Floats]:
    """Per annotator: the preferences between scored entries, and how many of them the scores agree with.

    Equal scores count half; a vote counts by its weight.
    """
    total, agree = np.zeros((2, n_annotators))
    for start in range(0, len(pairs), ROWS):
        rows = slice(start, start + ROWS)
        annotator, outcome = pairs.annotator[rows], pairs.outcome[rows]
        gap = (score[pairs.left[rows]] - score[pairs.right[rows]]) * outcome
        weight = np.where((outcome != TIE) & ~np.isnan(gap), 1.0 if pairs.weight is None else pairs.weight[rows], 0.0)
        total += sum_by(annotator, weight, n_annotators)
        agree += sum_by(annotator, weight * ((gap > 0) + (gap == 0) / 2), n_annotators)
    return total, agree


def count_answers(pairs: Pairs, n_annotators: int) -> NDArray[np.int64]:
    """Per annotator: how often they answered right, tie, left."""
    answers = np.zeros((n_annotators, 3), np.int64)
    for start in range(0, len(pairs), ROWS):
        rows = slice(start, start + ROWS)
        answer = 3 * pairs.annotator[rows].astype(np.int64) + pairs.outcome[rows] + 1
        answers += np.bincount(answer, minlength=answers.size).reshape(answers.shape)
    return answers


def concordance(starts: NDArray[np.int64], position: Floats, rank: NDArray[Any]) -> tuple[Floats, Floats]:
    """Per list: pairs with different positions, and how many of them the ranks agree with; equal ranks count half.

    Rows ascend by position within each list; ranks are whole numbers from 1 up.
    """
    group = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    new = run_starts(position, group)
    place = np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
    clear, agree = concordance_of_ranks(starts, place, rank)
    pairs = sum_by(group, place - starts[group], len(starts) - 1)  # those of each row with rows of earlier places
    return pairs, agree + (pairs - clear) / 2


def preference_variance(starts: NDArray[np.int64], position: Floats) -> tuple[Floats, Floats]:
    """Per list: its number of preferences, and the variance of how many of them a random order agrees with (Kendall).

    The variance of a single preference is 1. The preferences of a list are not independent: whoever puts the best item
    last is wrong about all its pairs at once.
    """
    group = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    first = np.flatnonzero(run_starts(position, group))
    listed, tied = np.diff(starts).astype(np.float64), np.diff(np.r_[first, len(group)]).astype(np.float64)

    def without_ties(count: Callable[[Floats], Floats]) -> Floats:
        return np.asarray(count(listed) - sum_by(group[first], count(tied), len(listed)))

    return without_ties(lambda n: n * (n - 1) / 2), without_ties(lambda n: n * (n - 1) * (2 * n + 5) / 18)


def evidence_per_list_preference(starts: NDArray[np.int64], position: Floats) -> Floats:
    """Per list: how many independent votes each of its preferences counts as."""
    preferences, variance = preference_variance(starts, position)
    return np.divide(preferences, variance, out=np.ones(len(preferences)), where=variance > 0)


def concordance_of_ranks(starts: NDArray[np.int64], place: NDArray[Any], rank: NDArray[Any]) -> tuple[Floats, Floats]:
    """Per list: pairs of different place and different rank, and how many of them the ranks agree with.

    Rows ascend by place within each list; ranks are whole numbers from 1 up.
    """
    pairs, agree = np.zeros(len(starts) - 1), np.zeros(len(starts) - 1)
    if len(rank):
        tree = np.zeros(rank.max() + 1, np.int64)
        place, rank = place.astype(np.int64, copy=False), rank.astype(np.int64, copy=False)
        for_work(_concordance, 4 * len(rank))(starts, place, rank, tree, pairs, agree)
    return pairs, agree


@kernel
def _concordance(starts, place, rank, tree, pairs, agree):
    """A Fenwick tree over the ranks counts the rows of earlier places."""
    for number in range(len(pairs)):
        group = start = starts[number]
        for row in range(start, starts[number + 1]):
            if place[row] != place[group]:
                _count_in(tree, rank, group, row, np.int64(1))  # a plain 1 would have its own version compiled
                group = row
            above, not_below = _count(tree, rank[row] - 1), _count(tree, rank[row])
            agree[number] += above
            pairs[number] += above + (group - start) - not_below
        _count_in(tree, rank, start, group, np.int64(-1))  # empties the tree, only where it was filled


@kernel
def _count_in(tree, rank, first, end, times):
    for row in range(first, end):
        at = rank[row]
        while at < len(tree):
            tree[at] += times
            at += at & -at


@kernel
def _count(tree, upto):
    total = 0
    while upto > 0:
        total += tree[upto]
        upto -= upto & -upto
    return total
