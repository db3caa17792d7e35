"""Greedy order: repeatedly place the item that is preferred most to those not placed yet.

The preference of i over j is the share of its wins less the share of its losses among the comparisons of the two, 0
where there are none (a tie is half a win for each side). The potential of an item is the sum of its preferences over
the items not placed yet; the item with the greatest potential is placed next. The order found agrees with at least half
of the preferences that the best order agrees with. Among items of equal potential, their preferences among themselves
decide, then their potential at the start; those that are still equal are tied. The score is the number of items placed
below. All annotators count the same; their quality is how often they agree with the ranking found.

Cohen, Schapire, Singer: Learning to order things, JAIR 1999 (Greedy-Order).

>>> import crowdrank as cr
>>> votes = {"left": ["a", "b", "c", "a"], "right": ["b", "c", "a", "b"], "winner": ["a", "b", "tie", "a"]}
>>> cr.GreedyOrder().fit(cr.judgments(votes)).ranking["item"].to_list()
['a', 'b', 'c']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.convert import links
from crowdrank.methods.pairs.votes.contest_blocks import contest_blocks
from crowdrank.methods.pairs.votes.contests import contests
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.numerics.compiled import kernel
from crowdrank.study import KINDS, Judgments

EQUAL = 1e-9  # smaller differences of potentials are rounding


@dataclass(frozen=True, slots=True)
class GreedyOrder:
    """The greedy order has no settings."""

    description: ClassVar[Description] = Description(
        name="greedy-order",
        family="pairs",
        summary="The item most preferred to the remaining ones goes next.",
        takes=KINDS,
    )

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task, one after the other."""
        check_kinds(self.description, judgments)
        score = np.zeros(judgments.vocabulary.n_entries)
        for block in contest_blocks(contests(judgments), judgments.vocabulary.task_starts, "placing items"):
            counted = block.contests
            score[block.entries] = _place_all(block.task_starts, counted.starts, counted.other, counted.preference)
        return make_consensus(self.description, judgments, score, compared=links(judgments))


@kernel
def _place_all(task_starts, starts, other, preference):
    n = len(starts) - 1
    score, potential, among = np.zeros(n), np.zeros(n), np.zeros(n)
    placed, marked = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    left, best = np.arange(n), np.arange(n)
    for e in range(n):
        for r in range(starts[e], starts[e + 1]):
            potential[e] += preference[r]
    overall = potential.copy()
    for task in range(len(task_starts) - 1):
        count = task_starts[task + 1] - task_starts[task]
        for at in range(count):
            left[at] = task_starts[task] + at
        while count:
            number, before = _greatest(left, count, potential, best), n + 1
            while (
                1 < number < before
            ):  # equal so far: compare them among themselves, then by the potential at the start
                before = number
                _among(starts, other, preference, best[:number], marked, among)
                number = _greatest(best, number, among, best)
                number = _greatest(best, number, overall, best)
            for e in best[:number]:
                placed[e] = True
                score[e] = count - number
                for r in range(starts[e], starts[e + 1]):
                    potential[other[r]] += preference[r]  # minus the preference of the other over `e`
            count = _keep(left, count, placed)
    return score


@kernel
def _greatest(entries, count, value, into):
    """Writes those of the first `count` entries that have the greatest value to `into`; returns their number."""
    most = -np.inf
    for at in range(count):
        most = max(most, value[entries[at]])
    number = 0
    for at in range(count):
        if value[entries[at]] >= most - EQUAL:
            into[number] = entries[at]
            number += 1
    return number


@kernel
def _among(starts, other, preference, entries, marked, total):
    """Per entry, the sum of its preferences over the other entries."""
    for e in entries:
        marked[e] = True
    for e in entries:
        total[e] = 0.0
        for r in range(starts[e], starts[e + 1]):
            if marked[other[r]]:
                total[e] += preference[r]
    for e in entries:
        marked[e] = False


@kernel
def _keep(entries, count, placed):
    """Moves the entries that are not placed yet to the front; returns their number."""
    kept = 0
    for at in range(count):
        if not placed[entries[at]]:
            entries[kept] = entries[at]
            kept += 1
    return kept
