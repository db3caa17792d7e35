"""How many preferences the scores share: those of votes, and, in n log n, those between the items of a list."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from crowdrank.study import TIE, Floats, Pairs


def pair_agreement(pairs: Pairs, score: Floats, n_annotators: int) -> tuple[Floats, Floats]:
    """Per annotator: the preferences between scored entries, and how many of them the scores share (equal scores count half).

    A vote with a weight counts as many.
    """
    total, agree = np.zeros((2, n_annotators))
    weight = np.ones(1) if pairs.weight is None else pairs.weight
    _pair_agreement(pairs.annotator, pairs.left, pairs.right, pairs.outcome, weight, score, total, agree)
    return total, agree


@nb.njit(cache=True, nogil=True)
def _pair_agreement(annotator, left, right, outcome, weight, score, total, agree):
    for r in range(len(left)):
        gap = (score[left[r]] - score[right[r]]) * outcome[r]
        if outcome[r] != TIE and gap == gap:  # not NaN
            told = weight[r] if len(weight) > 1 else weight[0]
            total[annotator[r]] += told
            agree[annotator[r]] += told if gap > 0 else told / 2 if gap == 0 else 0.0


def count_answers(pairs: Pairs, n_annotators: int) -> NDArray[np.int64]:
    """Per annotator: how often they said right, tie, left."""
    answers = np.zeros((n_annotators, 3), np.int64)
    _count_answers(pairs.annotator, pairs.outcome, answers)
    return answers


@nb.njit(cache=True, nogil=True)
def _count_answers(annotator, outcome, answers):
    for r in range(len(outcome)):
        answers[annotator[r], outcome[r] + 1] += 1


def concordance(starts: NDArray[np.int64], position: Floats, score: Floats) -> tuple[Floats, Floats]:
    """Per list: pairs with different positions, and how many of them the scores put the same way (equal scores count half).

    Rows ascend by position within each list.
    """
    pairs, agree = np.zeros(len(starts) - 1), np.zeros(len(starts) - 1)
    # Sorted here, not in the kernel: there, sorting takes three seconds to compile.
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((score, group))
    new = np.r_[True, np.diff(score[order]) != 0] | np.r_[True, np.diff(group) != 0]
    count = np.cumsum(new[: len(order)])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = count - count[starts[group]]
    _concordance(starts, position, place, pairs, agree)
    return pairs, agree


@nb.njit(cache=True, nogil=True)
def _concordance(starts, position, place, pairs, agree):
    """A Fenwick tree over the places of the scores in their list, from 0 for the lowest, holds the rows passed so far."""
    for number in range(len(starts) - 1):
        start, end = starts[number], starts[number + 1]
        size = end - start
        tree = np.zeros(size + 1, dtype=np.int64)
        group = start
        while group < end:
            after = group
            while after < end and position[after] == position[group]:
                after += 1
            passed = group - start
            for row in range(group, after):
                below, not_above = _count(tree, place[row]), _count(tree, place[row] + 1)
                pairs[number] += passed
                agree[number] += passed - (below + not_above) / 2
            for row in range(group, after):
                at = place[row] + 1
                while at <= size:
                    tree[at] += 1
                    at += at & -at
            group = after


def concordance_of_ranks(starts: NDArray[np.int64], place: NDArray[Any], rank: NDArray[Any]) -> tuple[Floats, Floats]:
    """Per list: pairs of different place and different rank, and how many of them the ranks put the same way.

    Rows ascend by place within each list; ranks are whole numbers from 1 up to at most the length of the list. Without sorting: the
    ranks themselves are the leaves of the tree.
    """
    pairs, agree = np.zeros(len(starts) - 1), np.zeros(len(starts) - 1)
    if len(rank):  # compiling takes a second
        _concordance_of_ranks(starts, place, rank, np.zeros(np.diff(starts).max() + 1, np.int64), pairs, agree)
    return pairs, agree


@nb.njit(cache=True, nogil=True)
def _concordance_of_ranks(starts, place, rank, tree, pairs, agree):
    for number in range(len(pairs)):
        start, end = starts[number], starts[number + 1]
        size = end - start
        for leaf in range(size + 1):
            tree[leaf] = 0
        group = start
        for row in range(start, end):
            if place[row] != place[group]:
                for passed in range(group, row):
                    at = rank[passed]
                    while at <= size:
                        tree[at] += 1
                        at += at & -at
                group = row
            above, not_below = _count(tree, rank[row] - 1), _count(tree, rank[row])
            agree[number] += above
            pairs[number] += above + (group - start) - not_below


@nb.njit(cache=True, nogil=True)
def _count(tree, upto):
    total = 0
    while upto > 0:
        total += tree[upto]
        upto -= upto & -upto
    return total
