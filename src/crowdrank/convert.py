"""From the judgments of a study to the input of a method: lists, pairs, votes. All data preparation is here.

Equal grades and equal ranks are ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.groups import run_starts
from crowdrank.numerics.keys import MOST_BITS, count_runs, key_widths, packed, unpacked
from crowdrank.numerics.keys import TIED as TIED
from crowdrank.numerics.keys import WON_LEFT as WON_LEFT
from crowdrank.numerics.keys import WON_RIGHT as WON_RIGHT
from crowdrank.study import LEFT, TIE, Codes, Floats, Grades, JudgmentError, Judgments, Pairs, Rankings, Vocabulary

MOST_LEVELS = 32  # of grades; methods with parameters for each grade merge more grades into so many levels
MOST_PAIRS = 500_000_000  # 6.5 GB of arrays; more pairs need a method that does not expand lists


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The grades of a study as levels of one scale: row r has level `code[r]`, whose grade is `value[code[r]]`."""

    value: Floats  # ascending
    code: Codes
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.value)


def grade_levels(grades: Grades) -> Levels:
    """The distinct grades as levels.

    More than MOST_LEVELS grades are merged into so many about equally frequent levels; the value of such a level is the
    mean of its grades. Without grades, the scale has one level.
    """
    if not len(grades):
        return Levels(np.zeros(1), np.zeros(0, np.int32))
    value, code = _distinct(grades.grade)
    if len(value) <= MOST_LEVELS:
        return Levels(value, code)
    count = np.bincount(code)
    middle = np.cumsum(count) - count / 2
    _, level = np.unique((middle * MOST_LEVELS / len(code)).astype(np.int64), return_inverse=True)
    mean = np.bincount(level, value * count) / np.bincount(level, count)
    note = f"{len(value):,} different grades are merged into {len(mean)} levels (mean uses them as they are)"
    return Levels(mean, level.astype(np.int32)[code], (note,))


def _distinct(grade: Floats) -> tuple[Floats, Codes]:
    """The distinct values, ascending, and the number of each row's value."""
    least = grade.min()
    if grade.max() - least < 1000:
        whole = (grade - least).astype(np.int64)
        if bool(np.all(whole + least == grade)):  # whole numbers need no sorting
            present = np.flatnonzero(np.bincount(whole))
            return present + least, np.searchsorted(present, np.arange(whole.max() + 1)).astype(np.int32)[whole]
    value, code = np.unique(grade, return_inverse=True)
    return value, code.astype(np.int32)


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


def as_lists(judgments: Judgments) -> Rankings:
    """As `as_rankings`, with every entry once in a list: repeated grades of an item count as their mean."""
    lists = as_rankings(judgments)
    return _once_each(lists) if len(judgments.grades) else lists


def _once_each(lists: Rankings) -> Rankings:
    order = np.lexsort((lists.position, lists.entry, lists.row_list))
    row_list, entry, position = lists.row_list[order], lists.entry[order], lists.position[order]
    first = np.flatnonzero(run_starts(row_list, entry))
    if len(first) == len(order):
        return lists
    count = np.diff(np.r_[first, len(order)])
    # Equal grades keep their exact value: the mean of three times 0.1 is not exactly 0.1.
    mean = np.where(
        position[first] == position[first + count - 1], position[first], np.add.reduceat(position, first) / count
    )
    kept = np.lexsort((entry[first], mean, row_list[first]))
    return replace(lists, row_list=row_list[first][kept], entry=entry[first][kept], position=mean[kept])


def _grades_as_rankings(grades: Grades, vocabulary: Vocabulary) -> Rankings:
    task = vocabulary.entry_task[grades.entry]
    order = np.lexsort((grades.entry, -grades.grade, grades.annotator, task))
    task, annotator = task[order], grades.annotator[order]
    first = run_starts(task, annotator)
    return Rankings(
        list_annotator=annotator[first],
        list_task=task[first],
        unlisted_below=np.zeros(first.sum(), dtype=bool),
        row_list=(np.cumsum(first) - 1).astype(np.int32),
        entry=grades.entry[order],
        position=-grades.grade[order],
    )


def middle_places(lists: Rankings) -> Floats:
    """The place of each row in its list, 1 for the first; tied rows share the middle of their places."""
    rows = np.arange(len(lists))
    first = run_starts(lists.row_list, lists.position)
    starts = np.flatnonzero(first)
    ends = np.r_[starts[1:], len(rows)]
    middle = np.repeat((starts + ends - 1) / 2, ends - starts)
    return np.asarray(middle - lists.list_starts[:-1][lists.row_list] + 1.0)


def as_pairs(judgments: Judgments) -> Pairs:
    """Every preference of the study as a pair: its own pairs, and those between the items of each list."""
    lists = as_rankings(judgments)
    if not len(lists):
        return judgments.pairs
    parts = [judgments.pairs, *_pairs_of_lists(lists, judgments.vocabulary)]
    columns = {name: [getattr(part, name) for part in parts] for name in Pairs.__slots__}
    return Pairs(**{name: stacked_or_none(values, [len(part) for part in parts]) for name, values in columns.items()})


def links(judgments: Judgments) -> Pairs:
    """A few pairs that connect the same entries as all preferences do: the study's own, and neighbours in its lists.

    Outcomes are not filled in.
    """
    vocabulary, lists = judgments.vocabulary, judgments.rankings
    # A list that has all entries of its task, or puts the others below its own, connects them all.
    whole = np.zeros(len(vocabulary.tasks), dtype=bool)
    complete = np.diff(lists.list_starts) >= np.diff(vocabulary.task_starts)[lists.list_task]
    whole[lists.list_task[complete | lists.unlisted_below]] = True
    next_to = np.flatnonzero(
        whole[vocabulary.entry_task[:-1]] & (vocabulary.entry_task[1:] == vocabulary.entry_task[:-1])
    ).astype(np.int32)
    listed_left, listed_right = _neighbours_in_lists(lists, ~whole[lists.list_task])
    graded_left, graded_right = _neighbours_in_grades(judgments.grades, vocabulary)
    left = np.concatenate([judgments.pairs.left, listed_left, graded_left, next_to])
    right = np.concatenate([judgments.pairs.right, listed_right, graded_right, next_to + np.int32(1)])
    return Pairs(np.zeros_like(left), left, right, np.full(len(left), TIE, dtype=np.int8))


def _neighbours_in_lists(lists: Rankings, used: NDArray[np.bool_]) -> tuple[Codes, Codes]:
    """Entries that follow each other in the used lists."""
    if not used.any():
        return lists.entry[:0], lists.entry[:0]
    same = lists.row_list[1:] == lists.row_list[:-1]
    first = np.flatnonzero(same if used.all() else same & used[lists.row_list[1:]])
    return lists.entry[first], lists.entry[first + 1]


def _neighbours_in_grades(grades: Grades, vocabulary: Vocabulary) -> tuple[Codes, Codes]:
    """Entries of a task that follow each other among those an annotator graded."""
    keys = np.sort((grades.annotator.astype(np.int64) << 32) | grades.entry)
    annotator, entry = keys >> 32, (keys & 0xFFFFFFFF).astype(np.int32)
    task = vocabulary.entry_task[entry]
    first = np.flatnonzero((annotator[1:] == annotator[:-1]) & (task[1:] == task[:-1]))
    return entry[first], entry[first + 1]


def stacked_or_none(columns: Sequence[NDArray[Any] | None], lengths: Sequence[int]) -> Any:
    """The columns of all parts, concatenated: 1 for a part without the column; None where no part has it."""
    if all(column is None for column in columns):
        return None
    filled = [np.ones(n) if column is None else column for column, n in zip(columns, lengths, strict=True)]
    return np.concatenate(filled)


def count_pairs(lists: Rankings, vocabulary: Vocabulary) -> int:
    """The largest number of pairs that the lists may give."""
    lengths, sizes = np.diff(lists.list_starts), np.diff(vocabulary.task_starts)[lists.list_task]
    return int((lengths * (lengths - 1) // 2).sum() + (lengths * sizes)[lists.unlisted_below].sum())


def _pairs_of_lists(lists: Rankings, vocabulary: Vocabulary) -> tuple[Pairs, Pairs]:
    starts, task_starts = lists.list_starts, vocabulary.task_starts
    open_lists = np.flatnonzero(lists.unlisted_below)
    count = count_pairs(lists, vocabulary)
    if count > MOST_PAIRS:
        raise JudgmentError(
            f"grades and rankings give {count:,} pairs, more than the {MOST_PAIRS:,} that fit in memory: "
            "use a method that takes grades or rankings themselves (mean, borda)"
        )
    better, worse = _within(starts[:-1], starts[1:])
    different = lists.entry[better] != lists.entry[worse]  # an item graded twice is not compared with itself
    better, worse = better[different], worse[different]
    strength = lists.position[worse] - lists.position[better]
    outcome = np.where(strength > 0, LEFT, TIE).astype(np.int8)
    annotator = lists.list_annotator[lists.row_list[better]]
    inside = _unordered(annotator, lists.entry[better], lists.entry[worse], outcome, strength)
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


def _unordered(
    annotator: Codes, first: Codes, second: Codes, outcome: NDArray[np.int8], strength: Floats | None = None
) -> Pairs:
    """Pairs that were never shown side by side: which item is left must not depend on the outcome."""
    swap = unshown_order(first, second)
    left, right = np.where(swap, second, first), np.where(swap, first, second)
    return Pairs(annotator, left, right, np.where(swap, -outcome, outcome), strength=strength)


def unshown_order(first: Codes, second: Codes) -> NDArray[np.bool_]:
    """Which pairs to swap: a fixed, balanced choice that depends only on the two codes, not on their order."""
    return np.asarray((first > second) ^ ((first + second) % 2 == 1))


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """Equal votes, counted: `weight[r]` times, `winner[r]` was preferred to `loser[r]`, or (TIED) called equal.

    Sorted, so that results do not depend on the order of the judgments.
    """

    annotator: Codes  # all zero when annotators are pooled
    winner: Codes  # of a tie, the left one
    loser: Codes
    kind: NDArray[np.int8]
    weight: Floats

    def __len__(self) -> int:
        return len(self.winner)


def votes(pairs: Pairs, vocabulary: Vocabulary, *, pooled: bool = False, sides: bool = False) -> Votes:
    """Count the pairs, by annotator or (`pooled`) over all, and (`sides`) by which item was shown on the left."""
    widths = key_widths(vocabulary.n_entries, vocabulary.task_starts, 0 if pooled else len(vocabulary.annotators))
    if sum(widths) > MOST_BITS:
        raise JudgmentError(
            "too many annotators and items for one fit: fit the tasks, or halves of the annotators, separately"
        )
    first = vocabulary.task_starts[vocabulary.entry_task].astype(np.int32)  # entry of each entry's task
    keys = packed(pairs.annotator, pairs.left, pairs.right, pairs.outcome, first, widths, sides)
    keys, weight = _counted(keys, pairs.weight)
    if pairs.weight is not None:
        keys, weight = keys[weight > 0], weight[weight > 0]
    return Votes(*unpacked(keys, first, widths), weight)


def _counted(keys: NDArray[np.int64], weight: Floats | None) -> tuple[NDArray[np.int64], Floats]:
    """The distinct keys, ascending, and how often each occurs, or the sum of its weights."""
    if weight is None:
        keys.sort()
        return count_runs(keys)
    order = np.lexsort((weight, keys))  # by weight too: sums of floats depend on the order of their terms
    keys, weight = keys[order], weight[order]
    starts = np.flatnonzero(run_starts(keys))
    return keys[starts], np.add.reduceat(weight, starts) if len(starts) else np.zeros(0)
