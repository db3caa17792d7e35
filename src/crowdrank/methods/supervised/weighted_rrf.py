"""Reciprocal rank fusion with a weight for every annotator, learned from gold: a plain baseline.

An item's score is the sum over lists of 1 / (k + its rank), times the weight of whoever made the list. The weights are
learned as `crf` learns its own, and may be negative.

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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from crowdrank.convert import as_rankings
from crowdrank.methods.protocols import Description
from crowdrank.methods.supervised.cells.cells import Cells, ranks_of, summed
from crowdrank.methods.supervised.cells.linear import LinearAggregator, check_linear, train_linear
from crowdrank.settings import check
from crowdrank.study import Gold, Judgments


@dataclass(frozen=True, slots=True)
class WeightedRRF:
    """Settings of the weighted reciprocal rank fusion."""

    description: ClassVar[Description] = Description(
        name="weighted-rrf",
        family="supervised",
        summary="Reciprocal rank fusion with a weight for every annotator, learned from gold.",
        takes=("rankings", "grades"),
    )
    columns: ClassVar[tuple[str, ...]] = ("weight",)

    k: float = 60.0  # the larger, the less the very first ranks stand out
    weights: str = "mixed"  # own, shared, or mixed: shared by all, with own ones on top for annotators met often enough
    measure: str = "ndcg"  # what to learn for: ndcg, ndcg@k, err, err@k, map or p@k
    max_iter: int = 120  # passes over the training tasks
    seed: int = 0

    def __post_init__(self) -> None:
        check(isinstance(self.k, int | float) and 0 <= self.k < float("inf"), "k", self.k, "a number of at least 0")
        check_linear(self)

    def train(self, judgments: Judgments, gold: Gold, validation: Iterable[Any] | None = None) -> LinearAggregator:
        """Learn from the tasks with gold; when to stop is chosen on the validation tasks, or on some held back."""
        return train_linear(self, judgments, gold, validation)

    def variants(self) -> Sequence[WeightedRRF]:
        """Nothing is left open."""
        return [self]

    def cells(self, judgments: Judgments) -> Cells:
        """1 / (k + rank), as a multiple of what the first rank gets."""
        lists = as_rankings(judgments)
        value = (self.k + 1) / (self.k + ranks_of(lists))
        return summed(lists.entry, lists.list_annotator[lists.row_list], value[:, None], judgments.vocabulary)

    @staticmethod
    def restore(state: Mapping[str, Any]) -> LinearAggregator:
        """A trained aggregator from what was saved."""
        return LinearAggregator.restore(WeightedRRF, state)
