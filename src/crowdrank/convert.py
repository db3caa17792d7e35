"""From the judgments of a study to what a method takes: lists, pairs, wins. The only data preparation there is.

Equal grades and equal ranks are ties. A tie is half a win for each side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.study import LEFT, TIE, Codes, Floats, Grades, JudgmentError, Judgments, Pairs, Rankings, Vocabulary

MOST_PAIRS = 500_000_000  # 6.5 GB of arrays; more is a mistake or needs a method that does not look at pairs


def as_rankings(judgments: Judgments) -> Rankings:
    """The study's rankings, and each annotator's grades on a task as one more list, best grade first."""
    if not len(judgments.grades):
        return judgments.rankings
    graded = _grades_as_rankings(judgments.grades, judgments.vocabulary)
    if not len(judgments.rankings):
        return graded
    first = judgments.rankings
    return Rankings(
        list_annotator=np.concatenate([first.list_annotator, graded.list_annotator]),
        list_task=np.concatenate([first.list_task, graded.list_task]),
        unlisted_below=np.concatenate([first.unlisted_below, graded.unlisted_below]),
        row_list=np.concatenate([first.row_list, graded.row_list + np.int32(len(first.list_annotator))]),
        entry=np.concatenate([first.entry, graded.entry]),
        position=np.concatenate([first.position, graded.position]),
    )


def _grades_as_rankings(grades: Grades, vocabulary: Vocabulary) -> Rankings:
    task = vocabulary.entry_task[grades.entry]
    order = np.lexsort((grades.entry, -grades.grade, grades.annotator, task))
    task, annotator = task[order], grades.annotator[order]
    first = np.r_[True, (task[1:] != task[:-1]) | (annotator[1:] != annotator[:-1])]
    return Rankings(
        list_annotator=annotator[first],
        list_task=task[first],
        unlisted_below=np.zeros(first.sum(), dtype=bool),
        row_list=(np.cumsum(first) - 1).astype(np.int32),
        entry=grades.entry[order],
        position=-grades.grade[order],
    )


def as_pairs(judgments: Judgments) -> Pairs:
    """Every preference the study holds, as pairs: its own, and those between the items of each list or set of grades."""
    lists = as_rankings(judgments)
    if not len(lists):
        return judgments.pairs
    parts = [judgments.pairs, *_pairs_of_lists(lists, judgments.vocabulary)]
    return Pairs(*(np.concatenate([getattr(part, name) for part in parts]) for name in Pairs.__slots__))


def _pairs_of_lists(lists: Rankings, vocabulary: Vocabulary) -> tuple[Pairs, Pairs]:
    starts = lists.list_starts
    lengths = np.diff(starts)
    task_starts = vocabulary.task_starts
    open_lists = np.flatnonzero(lists.unlisted_below)
    task_sizes = np.diff(task_starts)[lists.list_task[open_lists]]
    count = int((lengths * (lengths - 1) // 2).sum() + (lengths[open_lists] * task_sizes).sum())
    if count > MOST_PAIRS:
        raise JudgmentError(
            f"grades and rankings give {count:,} pairs, more than the {MOST_PAIRS:,} that fit; "
            "use a method that works on grades or rankings themselves (mean, borda)"
        )
    better, worse = _within(starts[:-1], starts[1:])
    different = lists.entry[better] != lists.entry[worse]  # an item graded twice is not compared with itself
    better, worse = better[different], worse[different]
    outcome = np.where(lists.position[better] < lists.position[worse], LEFT, TIE).astype(np.int8)
    inside = _unordered(lists.list_annotator[lists.row_list[better]], lists.entry[better], lists.entry[worse], outcome)
    return inside, _pairs_with_unlisted(lists, open_lists, starts, task_starts)


def _within(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs of rows (first < second) within each segment."""
    rows = np.arange(ends[-1] if len(ends) else 0)
    after = np.repeat(ends, ends - starts) - rows - 1  # how many rows of its segment follow each row
    first = np.repeat(rows, after)
    offset = np.arange(len(first)) - np.repeat(np.cumsum(after) - after, after)
    return first, first + 1 + offset


def _pairs_with_unlisted(
    lists: Rankings, open_lists: NDArray[np.intp], starts: NDArray[np.int64], task_starts: NDArray[np.int64]
) -> Pairs:
    annotator, better, worse = [], [], []
    for number in open_lists:
        entries = lists.entry[starts[number] : starts[number + 1]]
        task = lists.list_task[number]
        others = np.setdiff1d(np.arange(task_starts[task], task_starts[task + 1], dtype=np.int32), entries)
        better.append(np.repeat(entries, len(others)))
        worse.append(np.tile(others, len(entries)))
        annotator.append(np.full(len(better[-1]), lists.list_annotator[number]))
    above = np.concatenate([np.zeros(0, np.int32), *better])
    return _unordered(
        np.concatenate([np.zeros(0, np.int32), *annotator]),
        above,
        np.concatenate([np.zeros(0, np.int32), *worse]),
        np.full(len(above), LEFT, dtype=np.int8),
    )


def _unordered(annotator: Codes, first: Codes, second: Codes, outcome: NDArray[np.int8]) -> Pairs:
    """Pairs that were never shown side by side: which one is called left must not depend on who won."""
    swap = unshown_order(first, second)
    return Pairs(annotator, np.where(swap, second, first), np.where(swap, first, second), np.where(swap, -outcome, outcome))


def unshown_order(first: Codes, second: Codes) -> NDArray[np.bool_]:
    """Which pairs to turn around: a fixed, balanced choice by the two codes alone, whichever comes first."""
    return np.asarray((first > second) ^ ((first + second) % 2 == 1))


@dataclass(frozen=True, slots=True, eq=False)
class Wins:
    """Equal preferences counted together: `weight[r]` times, `winner[r]` was put before `loser[r]`.

    Sorted, so that what is computed from them does not depend on the order of the judgments.
    """

    annotator: Codes  # all zero when annotators are pooled
    winner: Codes
    loser: Codes
    weight: Floats

    def __len__(self) -> int:
        return len(self.winner)


def wins(pairs: Pairs, vocabulary: Vocabulary, *, pooled: bool = False) -> Wins:
    """Count the pairs, by annotator or (`pooled`) over all of them; a tie is half a win for each side."""
    tie = pairs.outcome == TIE
    left_wins = pairs.outcome == LEFT
    winner = np.where(left_wins, pairs.left, pairs.right)
    loser = np.where(left_wins, pairs.right, pairs.left)
    annotator = np.zeros_like(pairs.annotator) if pooled else pairs.annotator
    # Sorting one packed integer per row is twenty times faster than sorting rows by three columns.
    task_starts = vocabulary.task_starts[vocabulary.entry_task].astype(np.int32)
    entry_bits, task_bits = _bits(vocabulary.n_entries), _bits(int(np.diff(vocabulary.task_starts).max(initial=0)))
    if _bits(len(vocabulary.annotators)) + entry_bits + task_bits + 1 > 63:
        raise JudgmentError("too many annotators and items for one fit: fit tasks, or halves of the annotators, separately")

    def packed(annotator: Codes, winner: Codes, loser: Codes, half: int) -> NDArray[np.int64]:
        keys = annotator.astype(np.int64) << entry_bits
        keys |= winner
        keys <<= task_bits
        keys |= loser - task_starts[loser]
        keys <<= 1
        keys |= half
        return keys

    whole = packed(annotator[~tie], winner[~tie], loser[~tie], 0)
    halves = [packed(annotator[tie], one[tie], other[tie], 1) for one, other in ((winner, loser), (loser, winner))]
    keys = np.concatenate([whole, *halves])
    keys.sort()
    starts = np.flatnonzero(np.r_[True, (keys[1:] >> 1) != (keys[:-1] >> 1)]) if len(keys) else np.zeros(0, np.intp)
    weight = np.add.reduceat(1.0 - 0.5 * (keys & 1), starts) if len(keys) else np.zeros(0)
    keys = keys[starts] >> 1
    winner = ((keys >> task_bits) & ((1 << entry_bits) - 1)).astype(np.int32)
    loser = (keys & ((1 << task_bits) - 1)).astype(np.int32) + task_starts[winner]
    return Wins((keys >> (task_bits + entry_bits)).astype(np.int32), winner, loser, weight)


def _bits(count: int) -> int:
    """Bits that hold any code below `count`."""
    return max(count - 1, 0).bit_length()
