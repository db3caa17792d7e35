"""The judgments of each annotator on a task as ballots: by how much each item they judged beats each other one.

A ballot is a list (a ranking, or the grades an annotator gave within a task), or all pairs an annotator voted on in a
task. In each, the contest of two items has a *lead*: the probability that the first is above the second is ½ + lead.
Leads do not depend on the quality of the annotator, which is applied later. A contest that the annotator did not decide
has no lead.

The setting `contest` says how large the lead is. N is the number of contests an item wins in the ballot:

    judged    (N_s − N_t) / 2m, where m is the number of items judged together and N counts contests among them: of a
              list all its items, of pairs s, t and the items that met both
    task      (N_s − N_t) / 2n, where n is the number of items of the task
    hard      ½ for the winner
    literal   (N_s − N_t) / n − ½ for the winner: as eq. 6 of Niu et al. (2015) is printed, which reverses everything
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import TIED, as_rankings, votes
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.groups import run_starts
from crowdrank.study import Codes, Floats, Grades, Judgments, Rankings, Vocabulary

Reading = Literal["judged", "task", "hard", "literal"]


@dataclass(frozen=True, slots=True, eq=False)
class ListBallots:
    """Lists by level. A level is the items that share a place.

    Contests are not stored; their leads follow from the number of contests that each level wins.
    """

    annotator: Codes  # of each list
    task: Codes
    length: NDArray[np.int64]  # items of each list
    row_starts: NDArray[np.int64]  # rows of list `l` are `row_starts[l]:row_starts[l + 1]`, best first
    entry: Codes  # of each row
    row_list: Codes
    row_level: NDArray[np.int64]
    level_starts: NDArray[np.int64]  # levels of list `l` are `level_starts[l]:level_starts[l + 1]`
    won: NDArray[np.int64]  # contests won by each item of the level
    size: NDArray[np.int64]  # items of the level
    slope: Floats  # of each list: a lead is slope × (difference of contests won) …
    step: float  # … plus step for the winner, minus step for the loser


@dataclass(frozen=True, slots=True, eq=False)
class PairBallots:
    """Votes on pairs. A row is an entry in an annotator's ballot; its contests are stored."""

    annotator: Codes  # of each row
    entry: Codes
    starts: NDArray[np.int64]  # contests of row `r` are `starts[r]:starts[r + 1]`
    lead: Floats  # of each contest, for the row it belongs to
    winner: NDArray[np.int64]  # row of the winner of each decided contest; each contest once
    loser: NDArray[np.int64]


def list_ballots(judgments: Judgments, reading: Reading) -> ListBallots:
    """The ballots from the rankings and grades of a study."""
    vocabulary = judgments.vocabulary
    lists = _completed(as_rankings(replace(judgments, grades=_one_grade_each(judgments.grades))), vocabulary)
    row_starts = lists.list_starts
    length = np.diff(row_starts)
    first = run_starts(lists.row_list, lists.position)
    level_first = np.flatnonzero(first)
    level_end = np.r_[level_first[1:], len(lists)]
    level_list = lists.row_list[level_first]
    slope, step = _lead(reading, length, np.diff(vocabulary.task_starts)[lists.list_task])
    return ListBallots(
        annotator=lists.list_annotator,
        task=lists.list_task,
        length=length,
        row_starts=row_starts,
        entry=lists.entry,
        row_list=lists.row_list,
        row_level=np.cumsum(first) - 1,
        level_starts=np.searchsorted(level_list, np.arange(len(length) + 1)),
        won=row_starts[1:][level_list] - level_end,
        size=level_end - level_first,
        slope=slope,
        step=step,
    )


def _lead(reading: Reading, judged: NDArray[np.int64], in_task: NDArray[np.int64]) -> tuple[Floats, float]:
    """Slope and step of the leads, from the number of items judged together and the number in the task."""
    if reading == "hard":
        return np.zeros(len(judged)), 0.5
    if reading == "literal":
        return 1 / np.maximum(in_task, 1), -0.5
    return 0.5 / np.maximum(judged if reading == "judged" else in_task, 1), 0.0


def _one_grade_each(grades: Grades) -> Grades:
    """The mean of the grades where an annotator graded an item more than once."""
    keys = (grades.annotator.astype(np.int64) << 32) | grades.entry
    in_order = np.sort(keys)  # several times as fast as np.unique
    if not np.any(in_order[1:] == in_order[:-1]):
        return grades
    order = np.lexsort((grades.grade, keys))
    annotator, entry = grades.annotator[order], grades.entry[order]
    starts = np.flatnonzero(run_starts(keys[order]))
    mean = np.add.reduceat(grades.grade[order], starts) / np.diff(np.r_[starts, len(order)])
    return Grades(annotator[starts], entry[starts], mean)


def _completed(lists: Rankings, vocabulary: Vocabulary) -> Rankings:
    """The lists; unlisted items that a list puts below its own are added as its last level."""
    if not lists.unlisted_below.any():
        return lists
    open_lists = np.flatnonzero(lists.unlisted_below)
    starts, sizes = (
        vocabulary.task_starts[lists.list_task[open_lists]],
        np.diff(vocabulary.task_starts)[lists.list_task[open_lists]],
    )
    number = np.repeat(open_lists, sizes)
    entry = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes - starts, sizes)
    listed = lists.row_list.astype(np.int64) * vocabulary.n_entries + lists.entry
    left_out = ~np.isin(number * vocabulary.n_entries + entry, listed)
    row_list = np.r_[lists.row_list, number[left_out].astype(np.int32)]
    row_entry = np.r_[lists.entry, entry[left_out].astype(np.int32)]
    position = np.r_[lists.position, np.full(left_out.sum(), np.inf)]
    order = np.lexsort((row_entry, position, row_list))
    return replace(lists, row_list=row_list[order], entry=row_entry[order], position=position[order])


def pair_ballots(judgments: Judgments, reading: Reading) -> PairBallots:
    """The ballots from the pairs of a study; several votes of an annotator on the same pair count by majority."""
    vocabulary = judgments.vocabulary
    annotator, low, high, outcome = _contests(judgments)
    rows, row = np.unique(np.r_[annotator, annotator] * vocabulary.n_entries + np.r_[low, high], return_inverse=True)
    opponent, won = np.r_[row[len(low) :], row[: len(low)]], np.r_[outcome, -outcome]
    order = np.lexsort((opponent, row))
    row, opponent, won = row[order], opponent[order], won[order]
    starts = np.searchsorted(row, np.arange(len(rows) + 1))
    entry = (rows % max(vocabulary.n_entries, 1)).astype(np.int32)
    in_task = np.diff(vocabulary.task_starts)[vocabulary.entry_task[entry[row]]]
    difference, together = _differences(reading, starts, row, opponent, won)
    slope, step = _lead(reading, together, in_task)
    return PairBallots(
        annotator=(rows // max(vocabulary.n_entries, 1)).astype(np.int32),
        entry=entry,
        starts=starts,
        lead=np.where(won != 0, slope * difference + step * np.sign(difference), 0.0),
        winner=row[won > 0],
        loser=opponent[won > 0],
    )


def _differences(
    reading: Reading,
    starts: NDArray[np.int64],
    row: NDArray[np.int64],
    opponent: NDArray[np.int64],
    won: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per contest: how many more contests its row won than its opponent, and (`judged`) among how many items."""
    if reading == "judged":
        difference, together = won.copy(), np.full(len(row), 2)
        _add_common_opponents(starts, row, opponent, won, difference, together)
        return difference, together
    total = np.diff(np.r_[0, np.cumsum(won > 0)][starts])
    return won if reading == "hard" else total[row] - total[opponent], np.ones(len(row), dtype=np.int64)


def _contests(judgments: Judgments) -> tuple[NDArray[np.int64], Codes, Codes, NDArray[np.int64]]:
    """Annotator, entries (the lower code first) and outcome (1 if the first won) of every contest with votes."""
    table = votes(judgments.pairs, judgments.vocabulary)
    low, high = np.minimum(table.winner, table.loser), np.maximum(table.winner, table.loser)
    toward = np.where(table.kind == TIED, 0, np.where(table.winner < table.loser, 1, -1)) * table.weight
    order = np.lexsort((toward, high, low, table.annotator))
    annotator, low, high = table.annotator[order].astype(np.int64), low[order], high[order]
    starts = np.flatnonzero(run_starts(annotator, low, high))
    net = np.add.reduceat(toward[order], starts) if len(starts) else np.zeros(0)
    return annotator[starts], low[starts], high[starts], np.sign(net).astype(np.int64)


@kernel
def _add_common_opponents(starts, row, opponent, won, difference, together):
    """Add, per contest, how many more common opponents its row beat than its opponent did, and their number."""
    for c in range(len(row)):
        a, b = starts[row[c]], starts[opponent[c]]
        while a < starts[row[c] + 1] and b < starts[opponent[c] + 1]:
            if opponent[a] == opponent[b]:
                difference[c] += (won[a] > 0) - (won[b] > 0)
                together[c] += 1
                a += 1
                b += 1
            elif opponent[a] < opponent[b]:
                a += 1
            else:
                b += 1
