"""Mallows: lists are distributed around one true order; every pair in the opposite order makes a list less likely.

    P(list | order) ∝ φ^(number of pairs in the opposite order)

The order of maximum likelihood is the Kemeny order, which has the least total distance to the lists. It is exact where
no more than `exact` items form one cycle of contradictory majorities; larger groups are ordered by local search, and
the result is never further away than the Borda order or any of the lists. Each annotator's dispersion φ follows from
the distance of their lists to the order: 0 for a list that equals it, 1 for random lists, more than 1 for reversed
lists. With `extended`, annotators are weighted by −log φ (so reversed annotators count in reverse), and order and
dispersions are estimated in turn until neither changes.

Pairs that a list ties, or does not have, cost nothing; items that a top-k list leaves out are below all items it has.
Lists are rankings, or the grades an annotator gave within a task. Of orders at the same distance, the one closest to
the Borda scores is taken; items that are equal in both are tied. The score is the number of items placed below.

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

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit
from crowdrank.convert import as_lists, links
from crowdrank.methods.protocols import Description
from crowdrank.methods.rankings.lists.annotator_weights import annotator_weights, check_weights
from crowdrank.methods.rankings.lists.kemeny import by_task, kemeny, left_out, refuse_large_tasks
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.groups import run_starts
from crowdrank.numerics.mallows import CLEAREST, one_more
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check_flag, check_not_negative, check_whole_number
from crowdrank.study import Codes, Floats, Judgments, Rankings, Vocabulary

LARGEST_EXACT = 20  # items whose subsets fit in memory
MOST_ROUNDS = 50  # of estimating order and dispersions in turn


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

    extended: bool = False  # weight annotators by their dispersion
    weights: tuple[tuple[str, float], ...] | None = None  # annotators whose weight is not 1, as in bm25:2,dense:0.5
    prior: float = 1.0  # virtual pairs in the right order for every annotator, and as many in the wrong one
    exact: int = 14  # the largest group of contradictory majorities ordered exactly; one more item doubles the time
    seed: int = 0

    def __post_init__(self) -> None:
        check_not_negative("prior", self.prior)
        check_flag("extended", self.extended)
        check_whole_number("exact", self.exact, 2, LARGEST_EXACT)
        check_whole_number("seed", self.seed, least=0)
        object.__setattr__(self, "weights", check_weights(self.weights))

    @one_blas_thread
    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task in the Kemeny order of its lists."""
        notes = check_kinds(self.description, judgments)
        vocabulary, lists = judgments.vocabulary, by_task(as_lists(judgments, counted=True))
        refuse_large_tasks(self.description.name, vocabulary)
        weight = annotator_weights(self.weights, vocabulary)
        score, searched = kemeny(lists, vocabulary, weight, self.exact, self.seed)
        concentration = concentrations(lists, vocabulary, score, self.prior)
        steps, converged = 0, True
        if self.extended:
            converged = False
            while not converged and steps < MOST_ROUNDS:
                before = score
                score, searched = kemeny(lists, vocabulary, weight * concentration, self.exact, self.seed)
                concentration, steps = concentrations(lists, vocabulary, score, self.prior), steps + 1
                converged = np.array_equal(score, before, equal_nan=True)
        if searched:
            groups = f"{searched:,} groups of more than {self.exact} items with contradictory majorities"
            notes = (*notes, f"{groups}: ordered by local search, not exactly; a larger `exact` takes longer")
        away = distances(lists, vocabulary, score) * lists.counts
        distance = sum_by(lists.list_annotator, away, len(vocabulary.annotators))
        total = float((distance * (weight * concentration if self.extended else weight)).sum())
        columns = {"dispersion": _dispersion(lists, vocabulary, concentration)}
        fit, compared = Fit(steps, converged, -total), links(judgments.only(*self.description.takes))
        return make_consensus(
            self.description, judgments, score, fit=fit, extra_columns=columns, compared=compared, notes=notes
        )


def distances(lists: Rankings, vocabulary: Vocabulary, score: Floats) -> Floats:
    """How many pairs each list has in the opposite order of the scores; a pair of equal scores counts half."""
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
    """How many entries of its task have a higher score; equal scores count half."""
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


@kernel
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


def concentrations(lists: Rankings, vocabulary: Vocabulary, score: Floats, prior: float) -> Floats:
    """−log φ of each annotator: the value at which the expected distance equals that of their lists."""
    n = len(vocabulary.annotators)
    away = np.nan_to_num(distances(lists, vocabulary, score)) * lists.counts
    distance = sum_by(lists.list_annotator, away, n)
    annotator, size, count = _shapes(lists, vocabulary)
    starts = np.searchsorted(annotator, np.arange(n + 1))
    return np.asarray(_solve(starts, size, count, distance, prior))


def _shapes(lists: Rankings, vocabulary: Vocabulary) -> tuple[Codes, NDArray[np.int64], Floats]:
    """How many lists of each length each annotator gave; groups of ties and of unlisted items are subtracted."""
    first = run_starts(lists.row_list, lists.position)
    group_list, group_size = lists.row_list[first], np.diff(np.r_[np.flatnonzero(first), len(lists)])
    out = left_out(lists, vocabulary)
    who = lists.list_annotator
    annotator = np.concatenate([who, who[group_list], who])
    size = np.concatenate([np.diff(lists.list_starts) + out, group_size, out])
    times = lists.counts.astype(np.float64)
    sign = np.concatenate([times, -times[group_list], -times])
    longest = int(size.max(initial=0)) + 1
    keys, cell = np.unique(annotator.astype(np.int64) * longest + size, return_inverse=True)
    return (keys // longest).astype(np.int32), keys % longest, sum_by(cell.astype(np.int32), sign, len(keys))


@kernel
def _solve(starts, size, count, distance, prior):
    """−log φ by bisection: the expected distance decreases as −log φ grows."""
    result = np.zeros(len(distance))
    for k in range(len(distance)):
        low, high = -CLEAREST, CLEAREST
        for _ in range(60):
            middle = (low + high) / 2
            virtual = 2 * prior * one_more(np.int64(2), middle)
            expected = _expected(starts[k], starts[k + 1], size, count, middle) + virtual
            if expected > distance[k] + prior:
                low = middle
            else:
                high = middle
        result[k] = (low + high) / 2
    return result


@kernel
def _expected(start, end, size, count, concentration):
    """The expected distance of lists of these sizes, ascending; `concentration` is −log φ."""
    total, one, upto = 0.0, 0.0, 0
    for row in range(start, end):
        while upto < size[row]:
            upto += 1
            one += one_more(upto, concentration)
        total += count[row] * one
    return total


def _dispersion(lists: Rankings, vocabulary: Vocabulary, concentration: Floats) -> Floats:
    """φ of each annotator, NaN for those without lists."""
    known = np.bincount(lists.list_annotator, minlength=len(vocabulary.annotators)) > 0
    return np.where(known, np.exp(-concentration), np.nan)
