"""Reciprocal rank fusion with a weight for every annotator, learned from gold: a simple baseline.

An item's score is the sum over lists of 1 / (k + its rank), times the weight of the annotator who made the list. The
weights are learned as in `crf`, and may be negative.

Cormack, Clarke, Büttcher: Reciprocal rank fusion outperforms Condorcet and individual rank learning methods, SIGIR
2009.

>>> import crowdrank as cr
>>> who, items = ["ann", "ann", "bob", "bob"] * 2, list("xyyxuvvu")
>>> lists = {"task": ["q1"] * 4 + ["q2"] * 4, "annotator": who, "item": items, "rank": [1, 2] * 4}
>>> gold = cr.gold({"task": ["q1", "q1"], "item": ["x", "y"], "grade": [1, 0]})  # ann is right about q1
>>> trained = cr.WeightedRRF().train(cr.judgments(lists), gold)
>>> trained.fit(cr.judgments(lists)).ranking["item"].to_list()
['x', 'y', 'u', 'v']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crowdrank.convert import as_rankings
from crowdrank.methods.protocols import Description
from crowdrank.methods.supervised.cells.cells import Cells, ranks_of, summed
from crowdrank.methods.supervised.cells.linear import LinearMethod
from crowdrank.settings import check_not_negative
from crowdrank.study import Judgments


@dataclass(frozen=True, slots=True)
class WeightedRRF(LinearMethod):
    """Settings of the weighted reciprocal rank fusion."""

    description: ClassVar[Description] = Description(
        name="weighted-rrf",
        family="supervised",
        summary="Reciprocal rank fusion with a weight for every annotator, learned from gold.",
        takes=("rankings", "grades"),
    )
    columns: ClassVar[tuple[str, ...]] = ("weight",)

    k: float = 60.0  # added to the rank: the larger, the smaller the advantage of the first ranks
    weights: str = "mixed"  # own, shared, or mixed: shared ones plus own ones of annotators in enough tasks
    measure: str = "ndcg"  # what to maximise: ndcg, ndcg@k, err, err@k, map or p@k
    max_iter: int = 120  # passes over the training tasks
    seed: int = 0

    def __post_init__(self) -> None:
        check_not_negative("k", self.k)
        LinearMethod.__post_init__(self)

    def cells(self, judgments: Judgments) -> Cells:
        """1 / (k + rank), as a multiple of the value of the first rank."""
        lists = as_rankings(judgments)
        value = (self.k + 1) / (self.k + ranks_of(lists))
        return summed(lists.entry, lists.list_annotator[lists.row_list], value[:, None], judgments.vocabulary)
