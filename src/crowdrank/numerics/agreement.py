"""How many pairs of a list are ordered as the scores order them, in n log n."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from crowdrank.study import Floats


@nb.njit(cache=True, nogil=True)
def concordance(starts, position, score):
    """Per list: pairs with different positions, and how many of them the scores put the same way (equal scores count half).

    Rows ascend by position within each list. A Fenwick tree over the ranks of the scores holds the rows passed so far.
    """
    n_lists = len(starts) - 1
    pairs, agree = np.zeros(n_lists), np.zeros(n_lists)
    for number in range(n_lists):
        start, end = starts[number], starts[number + 1]
        size = end - start
        values = np.sort(score[start:end])
        tree = np.zeros(size + 1, dtype=np.int64)
        group = start
        while group < end:
            after = group
            while after < end and position[after] == position[group]:
                after += 1
            passed = group - start
            for row in range(group, after):
                below = _count(tree, np.searchsorted(values, score[row], side="left"))
                not_above = _count(tree, np.searchsorted(values, score[row], side="right"))
                pairs[number] += passed
                agree[number] += passed - (below + not_above) / 2
            for row in range(group, after):
                at = np.searchsorted(values, score[row], side="left") + 1
                while at <= size:
                    tree[at] += 1
                    at += at & -at
            group = after
    return pairs, agree


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
