"""A conditional random field over rankings that learns from gold whom to trust, whom to ignore and whom to reverse.

An order y of a task's M items has the probability exp(−E(y)) / Z with the energy

    E(y) = − Σ_i 1 / log(i + 1) Σ_k [ α_k · (k misses y(i)) + β⁺_k Σ_j φ_k(y(i), j) / M − β⁻_k Σ_j φ_k(j, y(i)) / M ],

where φ_k(i, j) is the strength of annotator k's preference of i to j: 1 (`binary`), the difference of their ranks
divided by the largest (`difference`), or the same with logarithms (`log`). The best order is a sort. The weights
maximise the expected measure over all orders of six sampled items a task, every grade among them. Weights are each
annotator's own (`own`), common to all (`shared`, which also serves annotators not seen in training), or the sum of both
(`mixed`, the default), with own ones for annotators in enough training tasks.

`annotators` then has the columns `use` (used, ignored or inverted), `influence` (the standard deviation of what they
add to the scores within a task) and the weights: `missing` is α, negative if being listed raises the score of an item;
`preferred` and `beaten` are β⁺ and β⁻.

Volkovs, Zemel: CRF framework for supervised preference aggregation, CIKM 2013. The paper divides α by M² too; undivided
does better.

>>> import crowdrank as cr
>>> who, items = ["ann", "ann", "bob", "bob"] * 2, list("xyyxuvvu")
>>> lists = {"task": ["q1"] * 4 + ["q2"] * 4, "annotator": who, "item": items, "rank": [1, 2] * 4}
>>> gold = cr.gold({"task": ["q1", "q1"], "item": ["x", "y"], "grade": [1, 0]})  # ann is right about q1
>>> trained = cr.CRF().train(cr.judgments(lists), gold)
>>> trained.fit(cr.judgments(lists)).ranking["item"].to_list()
['x', 'y', 'u', 'v']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from crowdrank.methods.protocols import Description
from crowdrank.methods.supervised.cells.cells import POTENTIALS, Cells, cells_of
from crowdrank.methods.supervised.cells.linear import LinearMethod
from crowdrank.settings import check_choice
from crowdrank.study import KINDS, Judgments


@dataclass(frozen=True, slots=True)
class CRF(LinearMethod):
    """Settings of the conditional random field."""

    description: ClassVar[Description] = Description(
        name="crf",
        family="supervised",
        summary="Learns from gold how much to trust each annotator, or to reverse them; ranks by a weighted sum.",
        takes=KINDS,
    )
    columns: ClassVar[tuple[str, ...]] = ("missing", "preferred", "beaten")

    potential: str | None = None  # log, difference or binary; none: the best on validation tasks
    weights: str = "mixed"  # own, shared, or mixed: shared ones plus own ones of annotators in enough tasks
    measure: str = "ndcg"  # what to maximise: ndcg, ndcg@k, err, err@k, map or p@k
    max_iter: int = 120  # passes over the training tasks
    seed: int = 0

    def __post_init__(self) -> None:
        LinearMethod.__post_init__(self)
        if self.potential is not None:
            check_choice("potential", self.potential, POTENTIALS)

    def variants(self) -> Sequence[Self]:
        """Every potential, unless one is set."""
        return (
            [self] if self.potential is not None else [replace(self, potential=potential) for potential in POTENTIALS]
        )

    def cells(self, judgments: Judgments) -> Cells:
        """Whether an entry is missed, and the sums of the potentials."""
        return cells_of(judgments, self.potential or POTENTIALS[0])
