"""What each annotator says about each entry, in a few numbers: the cells that supervised methods weigh.

A cell is an annotator and an entry they judged. Supervised methods score an entry by a weighted sum over its cells; an annotator
who did not judge it has no cell there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import as_rankings, middle_places
from crowdrank.numerics.sums import sum_by
from crowdrank.study import LEFT, TIE, Codes, Floats, Judgments, Rankings, Vocabulary

POTENTIALS = ("log", "difference", "binary")


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Annotator `annotator[c]` says `value[c]` about entry `entry[c]`. Sorted by entry, then annotator."""

    entry: Codes
    annotator: Codes
    value: Floats  # one row per cell

    def starts(self, n_entries: int) -> NDArray[np.int64]:
        """The cells of entry e are `starts[e] : starts[e + 1]`."""
        return np.searchsorted(self.entry, np.arange(n_entries + 1))


def cells_of(judgments: Judgments, potential: str) -> Cells:
    """For each cell: −1 (the annotator did not miss the entry), how far it is preferred to others, and minus how far others are to it.

    Preference between two items of a list is 1 (`binary`), the difference of their ranks over the largest rank (`difference`), or the
    same with logarithms of ranks (`log`); summed over the items of the list and divided by the number of items of the task. A vote
    on a pair counts 1. Items that a top-k list leaves out are missed by it, and those it lists are preferred to them.
    """
    words, pairs, lists = judgments.vocabulary, judgments.pairs, as_rankings(judgments)
    preferred, beaten = list_preferences(lists, words, potential)
    left_won, told = pairs.outcome == LEFT, (pairs.outcome != TIE) * (1.0 if pairs.weight is None else pairs.weight)
    entry = np.concatenate([lists.entry, pairs.left, pairs.right])
    annotator = np.concatenate([lists.list_annotator[lists.row_list], pairs.annotator, pairs.annotator])
    preferred = np.concatenate([preferred, told * left_won, told * ~left_won])
    beaten = np.concatenate([beaten, told * ~left_won, told * left_won])
    size = np.diff(words.task_starts)[words.entry_task[entry]]
    return with_missing(summed(entry, annotator, np.stack([preferred / size, -beaten / size], axis=1), words))


def summed(entry: Codes, annotator: Codes, value: Floats, words: Vocabulary) -> Cells:
    """One cell for every annotator and entry, of all that is said there."""
    keys, number = np.unique(entry.astype(np.int64) * max(len(words.annotators), 1) + annotator, return_inverse=True)
    total = np.stack([sum_by(number, column, len(keys)) for column in value.T], axis=1)
    who = max(len(words.annotators), 1)
    return Cells((keys // who).astype(np.int32), (keys % who).astype(np.int32), total)


def with_missing(cells: Cells) -> Cells:
    """The same with −1 in front: an annotator adds their weight of missed entries to all of a task, and takes it off where they have a cell."""
    return Cells(cells.entry, cells.annotator, np.column_stack([np.full(len(cells.entry), -1.0), cells.value]))


def list_preferences(lists: Rankings, words: Vocabulary, potential: str) -> tuple[Floats, Floats]:
    """For each row of the lists, how far it is preferred to the others of its list, and they to it."""
    starts = lists.list_starts
    first, end = starts[:-1][lists.row_list], starts[1:][lists.row_list]
    unlisted = np.where(lists.unlisted_below, np.diff(words.task_starts)[lists.list_task] - np.diff(starts), 0)[lists.row_list]
    if potential == "binary":
        row = np.arange(len(lists))
        same = np.r_[True, (np.diff(lists.row_list) != 0) | (np.diff(lists.position) != 0)][: len(row)]
        tied_from = np.maximum.accumulate(np.where(same, row, 0)) if len(row) else row
        tied_to = np.searchsorted(tied_from, tied_from, side="right") if len(row) else row
        return (end - tied_to + unlisted).astype(np.float64), (tied_from - first).astype(np.float64)
    rank = ranks_of(lists)
    last = rank[end - 1] + lists.unlisted_below[lists.row_list]  # unlisted items share the place after the last
    height, top = (np.log(rank), np.log(last)) if potential == "log" else (rank, last)
    below, above = np.zeros(len(rank)), np.zeros(len(rank))
    _sums_of_gaps(starts, height, below, above)
    scale = np.where(top > 0, top, 1.0)  # a list whose largest rank is 1 has no two different ranks
    return (below + unlisted * (top - height)) / scale, above / scale


@nb.njit(cache=True, nogil=True)
def _sums_of_gaps(starts, height, below, above):
    """How far each row stands before the rows below it in its list, summed, and behind those above; heights ascend within lists."""
    for number in range(len(starts) - 1):
        for row in range(starts[number] + 1, starts[number + 1]):
            above[row] = above[row - 1] + (row - starts[number]) * (height[row] - height[row - 1])
        for row in range(starts[number + 1] - 2, starts[number] - 1, -1):
            below[row] = below[row + 1] + (starts[number + 1] - 1 - row) * (height[row + 1] - height[row])


def ranks_of(lists: Rankings) -> Floats:
    """Ranks as they were given, where they are ranks (1 and above); else the places in the list, as for grades."""
    if not len(lists):
        return np.zeros(0)
    given = lists.position[lists.list_starts[:-1]] >= 1
    return np.where(given[lists.row_list], lists.position, middle_places(lists))
