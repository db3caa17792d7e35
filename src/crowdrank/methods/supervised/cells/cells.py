"""Cells: the features that each annotator's judgments give to each entry.

A cell is an annotator and an entry they judged. Linear methods score an entry by a weighted sum over its cells; an
annotator who did not judge the entry has no cell there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import as_rankings, middle_places
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.groups import grouped, run_starts
from crowdrank.study import LEFT, TIE, Codes, Floats, Judgments, Rankings, Vocabulary

POTENTIALS = ("log", "difference", "binary")
SMALLEST_DEVIATION = 1e-12  # smaller ones are rounding errors


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Annotator `annotator[c]` gives entry `entry[c]` the features `value[c]`. Sorted by entry, then annotator."""

    entry: Codes
    annotator: Codes
    value: Floats  # one row per cell, one column per feature

    def starts(self, n_entries: int) -> NDArray[np.int64]:
        """The cells of entry e are `starts[e]:starts[e + 1]`."""
        return np.searchsorted(self.entry, np.arange(n_entries + 1))


def cells_of(judgments: Judgments, potential: str) -> Cells:
    """The features of crf: −1 (the annotator did not miss the entry), preferences for it, minus preferences against it.

    The preference between two items of a list is 1 (`binary`), the difference of their ranks divided by the largest
    rank (`difference`), or the same with logarithms of ranks (`log`); summed over the items of the list and divided by
    the number of items of the task. A vote on a pair counts 1. A top-k list misses the items it leaves out, and prefers
    the listed ones to them.
    """
    vocabulary, pairs, lists = judgments.vocabulary, judgments.pairs, as_rankings(judgments)
    preferred, beaten = list_preferences(lists, vocabulary, potential)
    left_won, weight = pairs.outcome == LEFT, (pairs.outcome != TIE) * (1.0 if pairs.weight is None else pairs.weight)
    entry = np.concatenate([lists.entry, pairs.left, pairs.right])
    annotator = np.concatenate([lists.list_annotator[lists.row_list], pairs.annotator, pairs.annotator])
    preferred = np.concatenate([preferred, weight * left_won, weight * ~left_won])
    beaten = np.concatenate([beaten, weight * ~left_won, weight * left_won])
    size = np.diff(vocabulary.task_starts)[vocabulary.entry_task[entry]]
    return with_missing(summed(entry, annotator, np.stack([preferred / size, -beaten / size], axis=1), vocabulary))


def summed(entry: Codes, annotator: Codes, value: Floats, vocabulary: Vocabulary) -> Cells:
    """One cell for every annotator and entry: the sum of the features of all their judgments."""
    order = grouped(annotator, len(vocabulary.annotators))[0]
    order = order[grouped(entry[order], vocabulary.n_entries)[0]]
    entry, annotator, value = entry[order], annotator[order], value[order]
    first = np.flatnonzero(run_starts(entry, annotator))
    if len(first) < len(order):
        value = np.add.reduceat(value, first)
    return Cells(entry[first], annotator[first], value)


def with_missing(cells: Cells) -> Cells:
    """The same with −1 as the first feature.

    An annotator's weight of missed entries counts where they have no cell; subtracting it where they have one gives the
    same order.
    """
    return Cells(cells.entry, cells.annotator, np.column_stack([np.full(len(cells.entry), -1.0), cells.value]))


def list_preferences(lists: Rankings, vocabulary: Vocabulary, potential: str) -> tuple[Floats, Floats]:
    """For each row of the lists, the sum of its preferences over the others of its list, and of theirs over it."""
    starts = lists.list_starts
    unlisted = np.where(lists.unlisted_below, np.diff(vocabulary.task_starts)[lists.list_task] - np.diff(starts), 0)
    preferred, beaten = np.empty(len(lists)), np.empty(len(lists))
    if potential == "binary":
        _counts_of_others(starts, lists.position, unlisted, preferred, beaten)
        return preferred, beaten
    rank = ranks_of(lists)
    last = rank[starts[1:] - 1] + lists.unlisted_below  # unlisted items share the place after the last
    height, top = (np.log(rank), np.log(last)) if potential == "log" else (rank, last)
    _sums_of_gaps(starts, height, unlisted, top, preferred, beaten)
    return preferred, beaten


@kernel
def _counts_of_others(starts, position, unlisted, preferred, beaten):
    """How many items of its list each row is before, and after; positions ascend within lists."""
    for number in range(len(starts) - 1):
        first, end = starts[number], starts[number + 1]
        for row in range(first, end):
            tied = row > first and position[row] == position[row - 1]
            beaten[row] = beaten[row - 1] if tied else row - first
        for row in range(end - 1, first - 1, -1):
            tied = row + 1 < end and position[row] == position[row + 1]
            preferred[row] = preferred[row + 1] if tied else end - 1 - row + unlisted[number]


@kernel
def _sums_of_gaps(starts, height, unlisted, top, preferred, beaten):
    """The sums of the distances of each row to the rows below it, and to those above, divided by the largest height.

    Heights ascend within lists; items that a list leaves out, and puts last, are at `top`.
    """
    for number in range(len(starts) - 1):
        first, end = starts[number], starts[number + 1]
        scale = top[number] if top[number] > 0 else 1.0  # a list whose largest rank is 1 has no two different ranks
        above, below = 0.0, 0.0
        for row in range(first, end):
            if row > first:
                above += (row - first) * (height[row] - height[row - 1])
            beaten[row] = above / scale
        for row in range(end - 1, first - 1, -1):
            if row < end - 1:
                below += (end - 1 - row) * (height[row + 1] - height[row])
            preferred[row] = (below + unlisted[number] * (top[number] - height[row])) / scale


def ranks_of(lists: Rankings) -> Floats:
    """Ranks as they were given, where they are ranks (1 and above); else, as for grades, the places in the list."""
    if not len(lists):
        return np.zeros(0)
    given = lists.position[lists.list_starts[:-1]] >= 1
    return lists.position if given.all() else np.where(given[lists.row_list], lists.position, middle_places(lists))


def standardised(values: Floats, vocabulary: Vocabulary) -> Floats:
    """Columns minus their mean over the task, divided by their standard deviation there; 0 where all are equal."""
    if not len(values):
        return values
    starts, known = vocabulary.task_starts[:-1], ~np.isnan(values)
    size = np.maximum(np.add.reduceat(known.astype(np.float64), starts), 1.0)
    centred = values - (np.add.reduceat(np.where(known, values, 0.0), starts) / size)[vocabulary.entry_task]
    deviation = np.sqrt(np.add.reduceat(np.where(known, centred, 0.0) ** 2, starts) / size)[vocabulary.entry_task]
    return np.asarray(centred / np.where(deviation > SMALLEST_DEVIATION, deviation, np.inf))
