"""Condorcet fusion: one item goes before another if most annotators prefer it.

Every two items that were compared have a contest, won by the one with more wins (a tie is half a win for each side; as
many wins on both sides, or no comparison, is no majority). The items are sorted by their contests, so that no item is
directly behind one that it beats: a Hamiltonian path of the Condorcet graph. If the contests agree on an order, that is
the order; in any case, a set of items that beats all others comes first.

Quicksort, as in the paper, finds one of many such paths at random. Here the items are first sorted by contests won less
contests lost (Copeland), equal ones by their contests among themselves, then by their votes. Then each moves up past
those it beats (insertion sort, from the best to the worst). Items that are still equal are tied. The order of the
judgments and the names do not matter. The score is the number of items placed below. All annotators count the same;
their quality is how often they agree with the ranking found.

Montague and Aslam: Condorcet fusion for improved retrieval, CIKM 2002.

>>> import crowdrank as cr
>>> lists = {"annotator": ["ann"] * 3 + ["bob"] * 3 + ["cy"] * 3, "item": list("xyzyxzzxy"), "rank": [1, 2, 3] * 3}
>>> cr.Condorcet().fit(cr.judgments(lists)).ranking["item"].to_list()
['x', 'y', 'z']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.convert import links
from crowdrank.methods.pairs.votes.contests import Contests, contests
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.numerics.compiled import kernel
from crowdrank.study import KINDS, Codes, Judgments


@dataclass(frozen=True, slots=True)
class Condorcet:
    """Condorcet fusion has no settings."""

    description: ClassVar[Description] = Description(
        name="condorcet",
        family="pairs",
        summary="Items sorted by majority contests: the one that most annotators prefer goes first.",
        takes=KINDS,
        other_names=("copeland", "schulze", "ranked-pairs"),
    )

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their contests."""
        check_kinds(self.description, judgments)
        counted = contests(judgments)
        majority = counted.majority
        score = _insert(
            counted.starts, counted.other, majority, *_initial_order(counted, majority, judgments.vocabulary.entry_task)
        )
        return make_consensus(self.description, judgments, score, compared=links(judgments))


def _initial_order(
    counted: Contests, majority: NDArray[np.int8], task: Codes
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Groups of entries that are equal so far, task by task, the best first.

    Members of group g are `members[begin[g] : begin[g + 1]]`; groups of task t are
    `first_group[t] : first_group[t + 1]`.
    """
    group = _split_by_contests(counted, majority, task.astype(np.int64))
    # Votes come last: they split groups that contests leave equal, and then contests may split the parts again.
    group = _split(group, _totals(counted.starts, counted.other, counted.won - counted.lost, group, False))
    group = _split_by_contests(counted, majority, group)
    begin = np.searchsorted(np.sort(group), np.arange(group.max(initial=-1) + 2))
    members = np.argsort(group, kind="stable")
    first_group = np.flatnonzero(np.r_[True, np.diff(task[members[begin[:-1]]]) > 0, True][: len(begin)])
    return members, begin, first_group


def _split_by_contests(counted: Contests, majority: NDArray[np.int8], group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Split each group by the contests among its entries, until no group is split."""
    count = -1
    while count < (count := int(group.max(initial=0))):
        group = _split(group, _totals(counted.starts, counted.other, majority, group, True))
    return group


def _split(group: NDArray[np.int64], key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Split groups by a key, the higher first; returns the new number of each entry's group."""
    order = np.lexsort((-key, group))
    group, key = group[order], key[order]
    number = np.empty_like(group)
    number[order] = np.cumsum(np.r_[False, (group[1:] != group[:-1]) | (key[1:] != key[:-1])][: len(order)])
    return number


@kernel
def _totals(starts, other, value, group, within):
    """Per entry: the sum of the values of its contests, or of those within its group."""
    total = np.zeros(len(group), dtype=np.int64)
    for e in range(len(group)):
        for r in range(starts[e], starts[e + 1]):
            if not within or group[other[r]] == group[e]:
                total[e] += value[r]
    return total


@kernel
def _insert(starts, other, majority, members, begin, first_group):
    """Each group moves up past those it beats; returns the number of entries below each entry."""
    score = np.zeros(len(members))
    group = np.zeros(len(members), dtype=np.int64)
    for g in range(len(begin) - 1):
        for m in range(begin[g], begin[g + 1]):
            group[members[m]] = g
    line = np.zeros(len(begin), dtype=np.int64)
    # Contests won less lost by the group that is inserted, against each other group.
    against = np.zeros(len(begin), dtype=np.int64)
    for task in range(len(first_group) - 1):
        first, end = first_group[task], first_group[task + 1]
        for g in range(first, end):
            _add(starts, other, majority, members[begin[g] : begin[g + 1]], group, np.int64(1), against)
            at = g
            while at > first and against[line[at - 1]] > 0:
                line[at] = line[at - 1]
                at -= 1
            line[at] = g
            _add(starts, other, majority, members[begin[g] : begin[g + 1]], group, np.int64(-1), against)
        below = begin[end] - begin[first]
        for g in line[first:end]:
            below -= begin[g + 1] - begin[g]
            for m in range(begin[g], begin[g + 1]):
                score[members[m]] = below
    return score


@kernel
def _add(starts, other, majority, entries, group, sign, against):
    """Adds the contests of these entries against each group, or subtracts them."""
    for e in entries:
        for r in range(starts[e], starts[e + 1]):
            against[group[other[r]]] += sign * majority[r]
