"""Borda count: an item's score in a list is the share of the list's other items that it beats, averaged over lists.

Lists are rankings, or the grades an annotator gave within a task. Tied items share the average of their places. In a
list that puts unlisted items below its own (a top-k list), all of the task's items take part and the unlisted ones
share the last places. Dividing by the length of the list makes long and short lists count the same. A list of one item
does not count. `weights` gives annotators a weight other than 1.

de Borda: Mémoire sur les élections au scrutin, 1781.

>>> import crowdrank as cr
>>> lists = {"annotator": ["ann"] * 3 + ["bob"] * 3, "item": list("xyzyxz"), "rank": [1, 2, 3] * 2}
>>> cr.Borda().fit(cr.judgments(lists)).ranking["score"].to_list()
[0.75, 0.75, 0.0]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.convert import as_rankings, links, middle_places
from crowdrank.methods.protocols import Description
from crowdrank.methods.rankings.lists.annotator_weights import annotator_weights, check_weights
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats, Judgments, Rankings, Vocabulary

SMALLEST_COUNT = 1e-9  # of weights: what remains where weights cancel is a rounding error


@dataclass(frozen=True, slots=True)
class Borda:
    """Settings of the Borda count."""

    description: ClassVar[Description] = Description(
        name="borda",
        family="rankings",
        summary="The share of the other items that an item beats, averaged over lists.",
        takes=("rankings", "grades"),
    )

    weights: tuple[tuple[str, float], ...] | None = None  # annotators whose weight is not 1, as in bm25:2,dense:0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", check_weights(self.weights))

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their mean share of beaten items."""
        notes = check_kinds(self.description, judgments)
        score = _mean_share(
            as_rankings(judgments, counted=True),
            judgments.vocabulary,
            annotator_weights(self.weights, judgments.vocabulary),
        )
        return make_consensus(
            self.description, judgments, score, compared=links(judgments.only(*self.description.takes)), notes=notes
        )


def _mean_share(lists: Rankings, vocabulary: Vocabulary, weight: Floats) -> Floats:
    """Per entry, the share of other items beaten, averaged over the lists that rank it."""
    n, rows = vocabulary.n_entries, lists.row_list
    share, unlisted_share, counted = shares(lists, vocabulary)
    counts = np.where(counted, weight[lists.list_annotator] * lists.counts, 0.0)
    total = sum_by(lists.entry, share * counts[rows], n)
    count = sum_by(lists.entry, counts[rows], n)
    if lists.unlisted_below.any():
        counts_below = np.where(lists.unlisted_below, counts, 0.0)
        total += _sum_over_unlisted(lists, vocabulary, unlisted_share * counts_below)
        count += _sum_over_unlisted(lists, vocabulary, counts_below)
    with np.errstate(invalid="ignore", divide="ignore"):
        return total / np.where(count > SMALLEST_COUNT, count, 0.0)


def shares(lists: Rankings, vocabulary: Vocabulary) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Shares of other items beaten.

    Per row its share; per list the share of each item that it leaves out but ranks below its own, and whether the list
    counts (it has more than one item).
    """
    lengths = np.diff(lists.list_starts)
    unlisted = np.where(lists.unlisted_below, np.diff(vocabulary.task_starts)[lists.list_task] - lengths, 0)
    others = np.maximum(lengths + unlisted - 1, 1)
    share = (lengths[lists.row_list] - middle_places(lists) + unlisted[lists.row_list]) / others[lists.row_list]
    return share, np.maximum(unlisted - 1, 0) / 2 / others, lengths + unlisted > 1


def _sum_over_unlisted(lists: Rankings, vocabulary: Vocabulary, value: Floats) -> Floats:
    """Per entry, the sum of a value of each list over the lists of its task that leave it out."""
    task = vocabulary.entry_task
    total = sum_by(lists.list_task, value, len(vocabulary.tasks))[task]
    return total - sum_by(lists.entry, value[lists.row_list], len(task))
