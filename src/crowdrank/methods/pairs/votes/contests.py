"""The contests of a study: for every two entries that were compared, how often each was preferred.

Rankings and grades are counted without expanding them to pairs: a thousand tasks of a hundred items ranked ten times
are fifty million pairs, but only five million contests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import as_pairs, as_rankings
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.groups import run_starts
from crowdrank.study import Codes, Judgments, Pairs, Vocabulary

MOST_CELLS = 64_000_000  # 256 MB of counts; where more contests are possible, pairs are sorted and counted


@dataclass(frozen=True, slots=True, eq=False)
class Contests:
    """The contests of each entry.

    Rows `starts[e]:starts[e + 1]` are those of entry `e`, by ascending opponent; every contest has a row for each side.
    Counts are whole numbers of half wins (a tie is half a win for each side), so the order of the judgments does not
    matter.
    """

    starts: NDArray[np.int64]
    other: Codes
    won: NDArray[np.int32]
    lost: NDArray[np.int32]

    @property
    def majority(self) -> NDArray[np.int8]:
        """1 where most prefer the entry, -1 where most prefer its opponent, 0 where neither."""
        return (self.won > self.lost).view(np.int8) - (self.won < self.lost).view(np.int8)

    @property
    def preference(self) -> NDArray[np.float64]:
        """From -1 to 1: the share of wins less the share of losses."""
        return (self.won - self.lost) / (self.won + self.lost)


def contests(judgments: Judgments) -> Contests:
    """Count every preference of the study, whatever its kind."""
    vocabulary = judgments.vocabulary
    sizes = np.diff(vocabulary.task_starts)
    if int((sizes**2).sum()) <= MOST_CELLS:
        return _in_tables(judgments)
    return _by_sorting(as_pairs(judgments), vocabulary)


def _in_tables(judgments: Judgments) -> Contests:
    """With a table of all pairs of items for each task."""
    vocabulary, pairs, lists = judgments.vocabulary, judgments.pairs, as_rankings(judgments, counted=True)
    sizes = np.diff(vocabulary.task_starts)
    size = sizes[vocabulary.entry_task]
    place = np.arange(vocabulary.n_entries) - vocabulary.task_starts[:-1][vocabulary.entry_task]
    first_cell = np.cumsum(sizes**2) - sizes**2
    row = first_cell[vocabulary.entry_task] + place * size  # where the table row of an entry begins
    table = np.zeros(int((sizes**2).sum()), dtype=np.int32)
    _count_pairs(pairs.left, pairs.right, pairs.outcome, row, place, table)
    in_task = vocabulary.task_starts[lists.list_task], vocabulary.task_starts[lists.list_task + 1]
    by_task = np.argsort(lists.list_task, kind="stable")  # so that the table of one task stays in the cache
    _count_lists(
        by_task,
        lists.counts,
        lists.list_starts,
        lists.entry,
        lists.position,
        lists.unlisted_below,
        *in_task,
        row,
        place,
        table,
    )
    first = vocabulary.task_starts[vocabulary.entry_task]
    number = _rows(row, place, size, table)
    starts = np.r_[0, np.cumsum(number)]
    other, won, lost = (np.empty(starts[-1], np.int32) for _ in range(3))
    _fill(row, place, size, first, table, starts, other, won, lost)
    return Contests(starts, other, won, lost)


def _by_sorting(pairs: Pairs, vocabulary: Vocabulary) -> Contests:
    """With one sort of all pairs: for tasks of so many items that most were never compared."""
    low, high = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    points = 1 + np.where(pairs.left < pairs.right, pairs.outcome, -pairs.outcome)  # half wins of the lower code
    keys = np.sort((low.astype(np.int64) * vocabulary.n_entries + high) * 4 + points)
    begin = np.flatnonzero(run_starts(keys // 4))
    won = np.add.reduceat(keys % 4, begin) if len(begin) else np.zeros(0, np.int64)
    lost = 2 * np.diff(np.r_[begin, len(keys)]) - won
    low, high = keys[begin] // 4 // vocabulary.n_entries, keys[begin] // 4 % vocabulary.n_entries
    entry, other = np.r_[low, high], np.r_[high, low]
    order = np.argsort(entry * vocabulary.n_entries + other)
    starts = np.searchsorted(entry[order], np.arange(vocabulary.n_entries + 1))
    columns = (column[order].astype(np.int32) for column in (other, np.r_[won, lost], np.r_[lost, won]))
    return Contests(starts, *columns)


@kernel
def _count_pairs(left, right, outcome, row, place, table):
    for r in range(len(left)):
        i, j = left[r], right[r]
        table[row[i] + place[j]] += 1 + outcome[r]
        table[row[j] + place[i]] += 1 - outcome[r]


@kernel
def _count_lists(order, counts, starts, entry, position, unlisted_below, task_start, task_end, row, place, table):
    listed = np.full(len(row), -1)
    for number in order:
        for a in range(starts[number], starts[number + 1]):
            i = entry[a]
            listed[i] = number
            for b in range(a + 1, starts[number + 1]):
                j = entry[b]
                if i != j:  # an item graded twice is not compared with itself
                    above = position[a] < position[b]
                    table[row[i] + place[j]] += (2 if above else 1) * counts[number]
                    if not above:
                        table[row[j] + place[i]] += counts[number]
        if unlisted_below[number]:
            for a in range(starts[number], starts[number + 1]):
                for j in range(task_start[number], task_end[number]):
                    if listed[j] != number:
                        table[row[entry[a]] + place[j]] += 2 * counts[number]


@kernel
def _rows(row, place, size, table):
    number = np.zeros(len(row), dtype=np.int64)
    for e in range(len(row)):
        top = row[e] - place[e] * size[e]
        for j in range(size[e]):
            if table[row[e] + j] + table[top + j * size[e] + place[e]] > 0:
                number[e] += 1
    return number


@kernel
def _fill(row, place, size, first, table, starts, other, won, lost):
    for e in range(len(row)):
        top = row[e] - place[e] * size[e]
        at = starts[e]
        for j in range(size[e]):
            for_e, against = table[row[e] + j], table[top + j * size[e] + place[e]]
            if for_e + against > 0:
                other[at], won[at], lost[at] = first[e] + j, for_e, against
                at += 1
