"""From the judgments of a study to the input of a method: lists, pairs, votes. All data preparation is here.

Equal grades and equal ranks are ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics import list_pairs
from crowdrank.numerics.compiled import for_work
from crowdrank.numerics.groups import grouped, ranges, run_starts
from crowdrank.numerics.keys import MOST_BITS, count_runs, key_widths, packed, unpacked
from crowdrank.numerics.keys import TIED as TIED
from crowdrank.numerics.keys import WON_LEFT as WON_LEFT
from crowdrank.numerics.keys import WON_RIGHT as WON_RIGHT
from crowdrank.study import (
    LEFT,
    TIE,
    Codes,
    Floats,
    Grades,
    JudgmentError,
    Judgments,
    Kind,
    Pairs,
    Rankings,
    Vocabulary,
)

MOST_CELLS = 50_000_000  # of a table of all pairs of items of a task
MOST_PAIRS = 5_000_000  # of lists and grades; a fit needs up to 170 bytes for each
STEPS = 4  # of a kernel for one pair of a list
MOST_ROWS = 20_000_000  # of equal lists that are written out


def as_rankings(judgments: Judgments, *, counted: bool = False) -> Rankings:
    """The study's rankings, and each annotator's grades on a task as one more list, best grade first.

    A list that stands for several equal ones is written out as often, unless the method counts them (`counted`).
    """
    first = judgments.rankings if counted else _written_out(judgments.rankings)
    if not len(judgments.grades):
        return first
    graded = _grades_as_rankings(judgments.grades, judgments.vocabulary)
    if not len(judgments.rankings):
        return graded
    return Rankings(
        list_annotator=np.concatenate([first.list_annotator, graded.list_annotator]),
        list_task=np.concatenate([first.list_task, graded.list_task]),
        unlisted_below=np.concatenate([first.unlisted_below, graded.unlisted_below]),
        row_list=np.concatenate([first.row_list, graded.row_list + np.int32(len(first.list_annotator))]),
        entry=np.concatenate([first.entry, graded.entry]),
        position=np.concatenate([first.position, graded.position]),
        list_count=None if first.list_count is None else np.concatenate([first.counts, graded.counts]),
    )


def lists_of(lists: Rankings, which: NDArray[np.integer]) -> Rankings:
    """Whole lists, in the order given; they may repeat."""
    starts = lists.list_starts
    lengths = np.diff(starts)[which]
    rows = ranges(starts[:-1][which], lengths)
    return Rankings(
        list_annotator=lists.list_annotator[which],
        list_task=lists.list_task[which],
        unlisted_below=lists.unlisted_below[which],
        row_list=np.repeat(np.arange(len(which), dtype=np.int32), lengths),
        entry=lists.entry[rows],
        position=lists.position[rows],
        list_count=None if lists.list_count is None else lists.list_count[which],
        list_time=None if lists.list_time is None else lists.list_time[which],
        list_seconds=None if lists.list_seconds is None else lists.list_seconds[which],
    )


def _written_out(lists: Rankings) -> Rankings:
    """Every list as often as it was given."""
    if lists.list_count is None:
        return lists
    rows = int((np.diff(lists.list_starts) * lists.counts).sum())
    if rows > MOST_ROWS:
        raise JudgmentError(
            f"{int(lists.counts.sum()):,} rankings have {rows:,} rows, more than the {MOST_ROWS:,} that this method "
            "writes out: use one that counts equal rankings (borda, plackett-luce, mallows, condorcet, bradley-terry)"
        )
    return replace(lists_of(lists, np.repeat(np.arange(len(lists.counts)), lists.counts)), list_count=None)


def as_lists(judgments: Judgments, *, counted: bool = False) -> Rankings:
    """As `as_rankings`, with every entry once in a list: repeated grades of an item count as their mean."""
    lists = as_rankings(judgments, counted=counted)
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


def as_pairs(judgments: Judgments, *, pooled: bool = False, counted: bool = False, merged: bool = False) -> Pairs:
    """Every preference of the study as a pair: its own pairs, and those between the items of each list.

    `pooled`: who gave a preference does not matter. Those of lists and grades are then counted for each two items, and
    have weights instead of strengths: as many rows as items that were compared, however many annotators there are.
    `counted`: the method uses weights, so that pairs of a list that stands for several equal ones are written once.
    `merged`: so are equal preferences of an annotator, where that saves rows; strengths are then lost.
    """
    own, lists = in_order_of_time(judgments.pairs), as_rankings(judgments, counted=pooled or counted)
    if not len(lists):
        return own
    if pooled or (merged and _repeats_pairs(lists, judgments.vocabulary)):
        return _stacked([replace(own, strength=None), _counted_pairs(lists, judgments.vocabulary, pooled)])
    return _stacked([own, *_pairs_of_lists(lists, judgments.vocabulary)])


def of_kind(judgments: Judgments, kind: Kind) -> Judgments:
    """The judgments of one kind; of pairs, also those that grades and rankings imply."""
    if kind != "pairs":
        return judgments.only(kind)
    return replace(judgments.only("pairs"), pairs=as_pairs(judgments, counted=True))


def in_order_of_time(pairs: Pairs) -> Pairs:
    """The pairs as they were given one after the other, where their times are known; those without a time come last."""
    if pairs.time is None or bool(np.all(pairs.time[1:] >= pairs.time[:-1])):
        return pairs
    order = np.argsort(pairs.time, kind="stable")
    columns = {name: getattr(pairs, name) for name in Pairs.__slots__}
    ordered: dict[str, Any] = {name: column if column is None else column[order] for name, column in columns.items()}
    return Pairs(**ordered)


def _stacked(parts: Sequence[Pairs]) -> Pairs:
    left_out = "time", "covariates", "category", "seconds"  # which pairs of lists and grades do not have
    columns = {name: [getattr(part, name) for part in parts] for name in Pairs.__slots__ if name not in left_out}
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


def stacked_or_none(columns: Sequence[NDArray[Any] | None], lengths: Sequence[int], filling: float = 1.0) -> Any:
    """The columns of all parts, concatenated, filled for a part without the column; None where no part has it."""
    if all(column is None for column in columns):
        return None
    filled = [np.full(n, filling) if column is None else column for column, n in zip(columns, lengths, strict=True)]
    return np.concatenate(filled)


def count_pairs(lists: Rankings, vocabulary: Vocabulary) -> int:
    """The largest number of pairs that the lists may give."""
    lengths, sizes = np.diff(lists.list_starts), np.diff(vocabulary.task_starts)[lists.list_task]
    return int((lengths * (lengths - 1) // 2).sum() + (lengths * sizes)[lists.unlisted_below].sum())


def check_pair_count(count: int, most: int = MOST_PAIRS) -> None:
    """Refuse more pairs than fit in memory, before they are made."""
    if count > most:
        raise JudgmentError(
            f"grades and rankings give {count:,} pairs, more than the {most:,} that fit in memory: use a method that "
            "takes grades or rankings as they are (gda or mean for grades; rrf, borda or plackett-luce for rankings)"
        )


def _kernel_lists(lists: Rankings, vocabulary: Vocabulary) -> list_pairs.Lists:
    starts, task = vocabulary.task_starts, lists.list_task
    return list_pairs.Lists(
        lists.list_starts,
        lists.entry,
        lists.position,
        lists.list_annotator,
        lists.unlisted_below,
        starts[task],
        starts[task + 1],
    )


def _pairs_of_lists(lists: Rankings, vocabulary: Vocabulary) -> tuple[Pairs, Pairs]:
    """The pairs within lists, and those of lists with the items they put below."""
    count = count_pairs(lists, vocabulary)
    check_pair_count(count)
    write_inner, write_outer = (
        for_work(each, STEPS * count) for each in (list_pairs.write_inner_pairs, list_pairs.write_outer_pairs)
    )
    rows, n, nothing = _kernel_lists(lists, vocabulary), vocabulary.n_entries, np.zeros(0, np.int32)
    rows = rows._replace(annotator=np.arange(len(lists.list_annotator), dtype=np.int32))  # the list of each pair first
    none, no_strength = np.zeros(0, np.int8), np.zeros(0)
    inner = write_inner(rows, nothing, nothing, nothing, none, no_strength)
    outer = write_outer(rows, n, nothing, nothing, nothing, none)
    within, below = _room(inner), _room(outer)
    strength = np.empty(inner)
    write_inner(rows, within.annotator, within.left, within.right, within.outcome, strength)
    write_outer(rows, n, below.annotator, below.left, below.right, below.outcome)
    return _of_lists(replace(within, strength=strength), lists), _of_lists(below, lists)


def _of_lists(pairs: Pairs, lists: Rankings) -> Pairs:
    """Pairs that have the number of their list in place of its annotator, with that annotator and the list's count."""
    weight = None if lists.list_count is None else lists.list_count[pairs.annotator].astype(np.float64)
    return replace(pairs, annotator=lists.list_annotator[pairs.annotator], weight=weight)


def _room(size: int) -> Pairs:
    """Room for so many pairs."""
    annotator, left, right = np.empty((3, size), np.int32)
    return Pairs(annotator, left, right, np.empty(size, np.int8))


def _repeats_pairs(lists: Rankings, vocabulary: Vocabulary) -> bool:
    """Whether annotators gave so many lists of a task that tables of its pairs are smaller than the lists' pairs."""
    _, first = np.unique(_sources(lists, len(vocabulary.tasks)), return_index=True)
    sizes = np.diff(vocabulary.task_starts)[lists.list_task[first]]
    return int((sizes**2).sum()) < count_pairs(lists, vocabulary)


def _sources(lists: Rankings, n_tasks: int) -> NDArray[np.int64]:
    """One number for the annotator and the task of each list."""
    return np.asarray(lists.list_annotator.astype(np.int64) * n_tasks + lists.list_task)


def _counted_pairs(lists: Rankings, vocabulary: Vocabulary, pooled: bool) -> Pairs:
    """How often each item of a task was preferred to each other one, and how often they were tied, by lists.

    By each annotator, or (`pooled`) by all.
    """
    rows, starts = _kernel_lists(lists, vocabulary), vocabulary.task_starts
    source = lists.list_task if pooled else _sources(lists, len(vocabulary.tasks))
    _, first, which = np.unique(source, return_index=True, return_inverse=True)
    by_source, first_list = grouped(which.astype(np.int32), len(first))
    sizes = np.diff(starts)[lists.list_task[first]]
    count = count_pairs(lists, vocabulary)
    check_pair_count(min(int((sizes * (sizes - 1) // 2).sum()), count))
    count_in_table = for_work(list_pairs.count_in_table, STEPS * count)
    parts: list[tuple[Codes, Codes, Codes, NDArray[np.int8], Floats]] = []
    for number, any_list in enumerate(first):
        task, size = lists.list_task[any_list], int(sizes[number])
        who = np.int32(0) if pooled else lists.list_annotator[any_list]
        check_pair_count(size * size, MOST_CELLS)
        wins, ties = np.zeros((2, size, size), np.int64)
        wanted = by_source[first_list[number] : first_list[number + 1]]
        count_in_table(rows, lists.counts, wanted, starts[task], wins, ties)
        for table, result in ((wins, LEFT), (ties, TIE)):
            one, other = np.nonzero(table)
            left, right = (each.astype(np.int32) + np.int32(starts[task]) for each in (one, other))
            outcome = np.full(len(one), result, np.int8)
            parts.append((np.full(len(one), who), left, right, outcome, table[one, other].astype(np.float64)))
    annotator, left, right, outcome, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Pairs(annotator, left, right, outcome, weight=weight)


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
    if weight is None or (weight == 1).all():
        keys.sort()
        return count_runs(keys)
    order = np.lexsort((weight, keys))  # by weight too: sums of floats depend on the order of their terms
    keys, weight = keys[order], weight[order]
    starts = np.flatnonzero(run_starts(keys))
    return keys[starts], np.add.reduceat(weight, starts) if len(starts) else np.zeros(0)
