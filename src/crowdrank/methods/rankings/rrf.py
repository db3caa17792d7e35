"""Reciprocal rank fusion: an item gets 1 / (k + rank) from every list that has it, and nothing from the others.

The larger k, the smaller the advantage of the first places. Lists are rankings or TREC runs, or the grades an annotator
gave within a task. Ranks count as they were given: where a list has only some of the items of a longer one, as in
LETOR, the gaps remain. Equal scores of a run, and equal grades, share the middle of their places. `weights` gives
annotators a weight other than 1.

Cormack, Clarke, Büttcher: Reciprocal rank fusion outperforms Condorcet and individual rank learning methods, SIGIR
2009.

>>> import crowdrank as cr
>>> lists = {"annotator": ["bm25"] * 2 + ["dense"] * 2, "item": ["x", "y", "y", "z"], "rank": [1, 2, 1, 2]}
>>> cr.RRF().fit(cr.judgments(lists)).ranking["item"].to_list()
['y', 'x', 'z']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.convert import as_rankings, links, middle_places
from crowdrank.methods.protocols import Description
from crowdrank.methods.rankings.lists.annotator_weights import annotator_weights, check_weights
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check_positive
from crowdrank.study import Floats, Judgments

USUAL_K = 60.0


@dataclass(frozen=True, slots=True)
class RRF:
    """Settings of reciprocal rank fusion."""

    description: ClassVar[Description] = Description(
        name="rrf",
        family="rankings",
        summary="Reciprocal rank fusion: 1 / (60 + rank), summed over lists.",
        takes=("rankings", "grades"),
        other_names=("reciprocal-rank-fusion", "combsum", "combmnz"),
    )

    k: float = USUAL_K  # added to the rank: the larger, the smaller the advantage of the first places
    weights: tuple[tuple[str, float], ...] | None = None  # annotators whose weight is not 1, as in bm25:2,dense:0.5

    def __post_init__(self) -> None:
        check_positive("k", self.k)
        object.__setattr__(self, "weights", check_weights(self.weights))

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by the sum of their reciprocal ranks."""
        notes = check_kinds(self.description, judgments)
        weight = annotator_weights(self.weights, judgments.vocabulary)
        return make_consensus(
            self.description,
            judgments,
            reciprocal_ranks(judgments, weight, self.k),
            compared=links(judgments.only(*self.description.takes)),
            notes=notes,
        )


def reciprocal_ranks(judgments: Judgments, weight: Floats, k: float = USUAL_K) -> Floats:
    """Per entry, the sum of weight / (k + rank) over lists, by the weight of each annotator; NaN on no list."""
    lists, n = as_rankings(judgments, counted=True), judgments.vocabulary.n_entries
    # Rows of rankings come first, then rows made of grades, which have no ranks.
    ranked = len(judgments.rankings)
    rank = np.concatenate([lists.position[:ranked], middle_places(lists)[ranked:]])
    of_list = weight[lists.list_annotator] * lists.counts
    score = sum_by(lists.entry, of_list[lists.row_list] / (k + rank), n)
    return np.where(np.bincount(lists.entry, minlength=n) > 0, score, np.nan)
