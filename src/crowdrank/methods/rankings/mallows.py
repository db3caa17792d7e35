"""Mallows: lists scatter around one true order, each less likely by the factor φ for every pair it puts the other way
around.

    P(list | order) ∝ φ^(number of pairs put the other way around)

The true order of the greatest likelihood is the Kemeny order, which has the least total distance to the lists (exact
where no more than `exact` items are entangled in contradictory majorities, by local search beyond; never further away
than the Borda order or any of the lists). Each annotator's dispersion φ follows from how far their lists are from it: 0
for one who repeats the order, 1 for one who guesses, more for one who turns it around. With `extended`, annotators
count by their dispersion (−log φ; those who turn the order around are turned around), and order and dispersions are
found in turn until neither changes.

Pairs that a list ties, or does not have, cost nothing; what a top-k list leaves out stands below all it has. Lists are
rankings, or the grades an annotator gave within a task. Equally near orders are told apart by Borda's votes; items that
neither tells apart are tied. The score is the number of items placed below.

Mallows: Non-null ranking models, 1957. Kemeny: Mathematics without numbers, 1959. Ali and Meilă: Experiments with
Kemeny ranking: what works when?, Mathematical Social Sciences 2012.

>>> import crowdrank as cr
>>> lists = {"annotator": ["ann"] * 3 + ["bob"] * 3 + ["cy"] * 3, "item": list("xyzyxzxzy"), "rank": [1, 2, 3] * 3}
>>> cr.Mallows().fit(cr.judgments(lists)).ranking["item"].to_list()
['x', 'y', 'z']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numba as nb
import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit
from crowdrank.convert import as_lists, links
from crowdrank.methods.protocols import Description
from crowdrank.methods.rankings.lists.annotator_weights import annotator_weights, check_weights
from crowdrank.methods.rankings.lists.kemeny import by_task, kemeny, left_out, refuse_large_tasks
from crowdrank.methods.result import agreement, annotator_columns, check_kinds, make_consensus
from crowdrank.numerics.groups import run_starts
from crowdrank.numerics.mallows import CLEAREST, one_more
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check, check_whole_number, is_number
from crowdrank.study import Codes, Floats, Judgments, Rankings, Vocabulary

LARGEST_SUBSETS = 20  # items whose subsets fit in memory
MOST_ROUNDS = 50  # of order and dispersions in turn


@dataclass(frozen=True, slots=True)
class Mallows:
    """Settings of the Mallows model."""

    description: ClassVar[Description] = Description(
        name="mallows",
        family="rankings",
        summary="The Kemeny order, nearest to all lists, and a dispersion for every annotator.",
        takes=("rankings", "grades"),
        other_names=("kemeny", "kemeny-young"),
    )

    extended: bool = False  # count annotators by their dispersion
    weights: tuple[tuple[str, float], ...] | None = (
        None  # of annotators that count other than 1, as in bm25:2,dense:0.5
    )
    prior: float = 1.0  # virtual pairs that every annotator puts right, and as many wrong: keeps dispersions off 0
    exact: int = 14  # the most entangled items that are ordered exactly; twice the time for one more
    seed: int = 0

    def __post_init__(self) -> None:
        check(is_number(self.prior) and 0 <= self.prior < float("inf"), "prior", self.prior, "a number of at least 0")
        whole = isinstance(self.exact, int) and 2 <= self.exact <= LARGEST_SUBSETS
        check(whole, "exact", self.exact, f"a whole number from 2 to {LARGEST_SUBSETS}")
        check_whole_number("seed", self.seed, least=0)
        object.__setattr__(self, "weights", check_weights(self.weights))

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task in the Kemeny order of its lists."""
        notes = check_kinds(self.description, judgments)
        vocabulary, lists = judgments.vocabulary, by_task(as_lists(judgments))
        refuse_large_tasks(self.description.name, vocabulary)
        weight = annotator_weights(self.weights, vocabulary)
        score, searched = kemeny(lists, vocabulary, weight, self.exact, self.seed)
        clear = dispersions(lists, vocabulary, score, self.prior)
        steps, converged = 0, True
        if self.extended:
            converged = False
            while not converged and steps < MOST_ROUNDS:
                before, (score, searched) = score, kemeny(lists, vocabulary, weight * clear, self.exact, self.seed)
                clear, steps = dispersions(lists, vocabulary, score, self.prior), steps + 1
                converged = np.array_equal(score, before, equal_nan=True)
        if searched:
            notes = (
                *notes,
                f"{searched:,} groups of more than {self.exact} entangled items: ordered by local search, not exactly",
            )
        far = sum_by(lists.list_annotator, distances(lists, vocabulary, score), len(vocabulary.annotators))
        total = (
            float((far * (weight * clear if self.extended else weight)).sum()) if len(vocabulary.annotators) else 0.0
        )
        columns = annotator_columns(judgments, *agreement(judgments, score)) | {
            "dispersion": _dispersion(lists, vocabulary, clear)
        }
        fit, compared = Fit(steps, converged, -total), links(judgments.only(*self.description.takes))
        return make_consensus(
            self.description, judgments, score, fit=fit, annotators=columns, compared=compared, notes=notes
        )


def distances(lists: Rankings, vocabulary: Vocabulary, score: Floats) -> Floats:
    """How many pairs each list puts the other way around than the scores; where these are equal, half a pair."""
    return np.asarray(
        _distances(
            lists.list_starts,
            lists.entry,
            lists.position,
            left_out(lists, vocabulary),
            _above(score, vocabulary),
            score,
        )
    )


def _above(score: Floats, vocabulary: Vocabulary) -> Floats:
    """How many entries of its task stand above each; those at the same height count half."""
    scored = np.flatnonzero(~np.isnan(score))
    task = vocabulary.entry_task[scored]
    order = np.lexsort((-score[scored], task))
    same = run_starts(task[order], score[scored][order])
    group = np.cumsum(same) - 1
    starts = np.r_[np.flatnonzero(same), len(order)]
    middle = (starts[group] + starts[group + 1] - 1) / 2
    above = np.zeros(len(score))
    above[scored[order]] = middle - np.searchsorted(task, np.arange(len(vocabulary.tasks)))[task[order]]
    return above


@nb.njit(cache=True, nogil=True)
def _distances(starts, entry, position, unlisted, above, score):
    distance = np.zeros(len(starts) - 1)
    for number in range(len(starts) - 1):
        for a in range(starts[number], starts[number + 1]):
            listed_above = 0.0
            for b in range(starts[number], starts[number + 1]):
                gap = score[entry[b]] - score[entry[a]]
                if a != b and gap >= 0:
                    higher = 1.0 if gap > 0 else 0.5
                    listed_above += higher
                    if position[a] < position[b]:
                        distance[number] += higher
            if unlisted[number] > 0:
                distance[number] += above[entry[a]] - listed_above
    return distance


def dispersions(lists: Rankings, vocabulary: Vocabulary, score: Floats, prior: float) -> Floats:
    """−log φ of each annotator: where the distance of their lists is what the model expects."""
    n = len(vocabulary.annotators)
    far = sum_by(lists.list_annotator, np.nan_to_num(distances(lists, vocabulary, score)), n)
    annotator, size, count = _shapes(lists, vocabulary)
    starts = np.searchsorted(annotator, np.arange(n + 1))
    return np.asarray(_solve(starts, size, count, far, prior))


def _shapes(lists: Rankings, vocabulary: Vocabulary) -> tuple[Codes, NDArray[np.int64], Floats]:
    """The lengths of each annotator's lists, counted; groups of ties, and of what a list leaves out, are counted down."""
    first = run_starts(lists.row_list, lists.position)
    group_list, group_size = lists.row_list[first], np.diff(np.r_[np.flatnonzero(first), len(lists)])
    out = left_out(lists, vocabulary)
    who = lists.list_annotator
    annotator = np.concatenate([who, who[group_list], who])
    size = np.concatenate([np.diff(lists.list_starts) + out, group_size, out])
    sign = np.repeat([1.0, -1.0, -1.0], [len(who), len(group_list), len(who)])
    longest = int(size.max(initial=0)) + 1
    keys, cell = np.unique(annotator.astype(np.int64) * longest + size, return_inverse=True)
    return (keys // longest).astype(np.int32), keys % longest, sum_by(cell.astype(np.int32), sign, len(keys))


@nb.njit(cache=True, nogil=True)
def _solve(starts, size, count, far, prior):
    """By bisection: the expected distance falls as lists keep closer to the order."""
    result = np.zeros(len(far))
    for k in range(len(far)):
        low, high = -CLEAREST, CLEAREST
        for _ in range(60):
            middle = (low + high) / 2
            wanted = _expected(starts[k], starts[k + 1], size, count, middle) + 2 * prior * one_more(
                np.int64(2), middle
            )
            if wanted > far[k] + prior:
                low = middle
            else:
                high = middle
        result[k] = (low + high) / 2
    return result


@nb.njit(cache=True, nogil=True)
def _expected(start, end, size, count, clear):
    """The distance expected of lists of these sizes, ascending."""
    total, one, upto = 0.0, 0.0, 0
    for row in range(start, end):
        while upto < size[row]:
            upto += 1
            one += one_more(upto, clear)
        total += count[row] * one
    return total


def _dispersion(lists: Rankings, vocabulary: Vocabulary, clear: Floats) -> Floats:
    """φ of each annotator, NaN for those without lists."""
    known = np.bincount(lists.list_annotator, minlength=len(vocabulary.annotators)) > 0
    return np.where(known, np.exp(-clear), np.nan)
