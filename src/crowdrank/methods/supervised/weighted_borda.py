"""Borda count with a weight for every annotator, learned from gold: a simple baseline.

An item's score is the sum over lists of the share of the list that it beats (half of itself and of tied items), times
the weight of the annotator who made the list. The weights are learned as in `crf`, and may be negative.

>>> import crowdrank as cr
>>> who, items = ["ann", "ann", "bob", "bob"] * 2, list("xyyxuvvu")
>>> lists = {"task": ["q1"] * 4 + ["q2"] * 4, "annotator": who, "item": items, "rank": [1, 2] * 4}
>>> gold = cr.gold({"task": ["q1", "q1"], "item": ["x", "y"], "grade": [1, 0]})  # ann is right about q1
>>> trained = cr.WeightedBorda().train(cr.judgments(lists), gold)
>>> trained.fit(cr.judgments(lists)).ranking["item"].to_list()
['x', 'y', 'u', 'v']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdrank.convert import as_rankings, middle_places
from crowdrank.methods.protocols import Description
from crowdrank.methods.supervised.cells.cells import Cells, summed
from crowdrank.methods.supervised.cells.linear import LinearMethod
from crowdrank.study import Judgments


@dataclass(frozen=True, slots=True)
class WeightedBorda(LinearMethod):
    """Settings of the weighted Borda count."""

    description: ClassVar[Description] = Description(
        name="weighted-borda",
        family="supervised",
        summary="Borda count with a weight for every annotator, learned from gold.",
        takes=("rankings", "grades"),
    )
    columns: ClassVar[tuple[str, ...]] = ("weight",)

    weights: str = "mixed"  # own, shared, or mixed: shared ones plus own ones of annotators in enough tasks
    measure: str = "ndcg"  # what to maximise: ndcg, ndcg@k, err, err@k, map or p@k
    max_iter: int = 120  # passes over the training tasks
    seed: int = 0

    def cells(self, judgments: Judgments) -> Cells:
        """The share of its list that an entry beats; tied entries share the middle of their places."""
        lists = as_rankings(judgments)
        length = np.diff(lists.list_starts)[lists.row_list]
        share = 1 - (middle_places(lists) - 0.5) / length
        return summed(lists.entry, lists.list_annotator[lists.row_list], share[:, None], judgments.vocabulary)
