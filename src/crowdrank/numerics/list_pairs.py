"""Pairs of the items of lists: written out one by one, or counted for each two items.

Rows of a list are contiguous and ascend by position; equal positions are ties. A list with `below` puts the other
entries of its task, those from `task_start` to `task_end`, below its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.compiled import kernel
from crowdrank.study import LEFT, TIE, Codes, Floats


class Lists(NamedTuple):
    """Lists: rows of list l are `starts[l]:starts[l + 1]`."""

    starts: NDArray[np.int64]
    entry: Codes
    position: Floats
    annotator: Codes  # of each list
    below: NDArray[np.bool_]
    task_start: NDArray[np.int64]
    task_end: NDArray[np.int64]


@kernel
def write_inner_pairs(lists, annotator, left, right, outcome, strength):
    """Write the pairs of items of the same list, and return how many there are; without space, only count them."""
    count, write = 0, len(left) > 0
    for number in range(len(lists.annotator)):
        for a in range(lists.starts[number], lists.starts[number + 1]):
            for b in range(a + 1, lists.starts[number + 1]):
                if lists.entry[a] == lists.entry[b]:  # an item graded twice is not compared with itself
                    continue
                if write:
                    gap = lists.position[b] - lists.position[a]
                    gap = gap if gap > 0 else 0.0  # two rows at infinity have no difference
                    annotator[count], strength[count] = lists.annotator[number], gap
                    _write(lists.entry[a], lists.entry[b], LEFT if gap > 0 else TIE, count, left, right, outcome)
                count += 1
    return count


@kernel
def write_outer_pairs(lists, n_entries, annotator, left, right, outcome):
    """Write the pairs of items on a list and items that it puts below; return how many there are."""
    count, write = 0, len(left) > 0
    listed = np.full(n_entries, -1)
    for number in np.flatnonzero(lists.below):
        for a in range(lists.starts[number], lists.starts[number + 1]):
            listed[lists.entry[a]] = number
        for a in range(lists.starts[number], lists.starts[number + 1]):
            for other in range(lists.task_start[number], lists.task_end[number]):
                if listed[other] != number:
                    if write:
                        annotator[count] = lists.annotator[number]
                        _write(lists.entry[a], other, LEFT, count, left, right, outcome)
                    count += 1
    return count


@kernel
def _write(better, worse, result, at, left, right, outcome):
    """Which item is left must not depend on the outcome: a fixed, balanced choice by the two codes alone."""
    swap = (better > worse) != ((better + worse) % 2 == 1)
    left[at], right[at] = (worse, better) if swap else (better, worse)
    outcome[at] = -result if swap else result


@kernel
def count_in_table(lists, counts, wanted, first, wins, ties):
    """Add the pairs of the wanted lists, all of one task whose entries begin at `first`, to tables over its entries.

    `wins[i, j]`: how often i was preferred to j; `ties[i, j]` for i < j. List l counts `counts[l]` times.
    """
    listed = np.full(len(wins), -1)
    for number in wanted:
        begin, end, times = lists.starts[number], lists.starts[number + 1], counts[number]
        for a in range(begin, end):
            i = lists.entry[a] - first
            listed[i] = number
            for b in range(a + 1, end):
                j = lists.entry[b] - first
                if i == j:
                    continue
                if lists.position[a] < lists.position[b]:
                    wins[i, j] += times
                else:
                    ties[min(i, j), max(i, j)] += times
        if lists.below[number]:
            for j in range(len(wins)):
                if listed[j] != number:
                    for a in range(begin, end):
                        wins[lists.entry[a] - first, j] += times
