"""The conditional random field and boosted trees together: each measures the items of a task in its own way, and the
two are added.

`crf` is a weighted sum that few tasks suffice to learn, `boosted` finds what no sum can say; they err in different
places. The scores of each are standardised within the task (less their mean, over their deviation). The `annotators`
have the columns of both.

>>> import crowdrank as cr
>>> cr.Ensemble().measure
'ndcg'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import agreement, annotator_columns, make_consensus
from crowdrank.methods.supervised.boosted import Boosted, BoostedAggregator, standardised
from crowdrank.methods.supervised.cells.linear import LinearAggregator
from crowdrank.methods.supervised.cells.training_set import TrainedMethod
from crowdrank.methods.supervised.crf import CRF
from crowdrank.study import KINDS, Gold, Judgments


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Settings of the two together; they are those of crf and boosted."""

    description: ClassVar[Description] = Description(
        name="ensemble",
        family="supervised",
        summary="The sum of crf and boosted: better than both where a few dozen tasks or more have gold.",
        takes=KINDS,
    )

    measure: str = "ndcg"  # what the crf learns for: ndcg, ndcg@k, err, err@k, map or p@k
    max_iter: int = 120  # passes of the crf over the training tasks
    rounds: int = 150  # trees of each boosted model
    seed: int = 0

    def __post_init__(self) -> None:
        self.members()

    def members(self) -> tuple[CRF, Boosted]:
        """The two with these settings."""
        return CRF(measure=self.measure, max_iter=self.max_iter, seed=self.seed), Boosted(
            rounds=self.rounds, seed=self.seed
        )

    def train(self, judgments: Judgments, gold: Gold, validation: Iterable[Any] | None = None) -> EnsembleAggregator:
        """Train both on the same tasks."""
        apart = None if validation is None else list(validation)
        crf, boosted = self.members()
        trees = boosted.train(judgments, gold, apart)  # first: where LightGBM is missing this ends before the long work
        return EnsembleAggregator(self, crf.train(judgments, gold, apart), trees)

    @staticmethod
    def restore(state: Mapping[str, Any]) -> EnsembleAggregator:
        """A trained aggregator from what was saved."""
        return EnsembleAggregator(
            Ensemble(**state["settings"]), CRF.restore(state["crf"]), Boosted.restore(state["boosted"])
        )


@dataclass(frozen=True, slots=True, eq=False)
class EnsembleAggregator(TrainedMethod):
    """Both, trained."""

    method: Ensemble
    crf: LinearAggregator
    boosted: BoostedAggregator

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by the sum of both, each standardised within the task."""
        found = [member.fit(judgments) for member in (self.crf, self.boosted)]
        score = standardised(np.stack([each.score for each in found], axis=1), judgments.vocabulary).sum(axis=1)
        columns = annotator_columns(judgments, *agreement(judgments, score))
        for each in found:
            columns |= {name: values for name, values in each.annotator_columns.items() if name not in columns}
        notes = [note for each in found for note in each.notes if note not in judgments.notes]
        return make_consensus(self.description, judgments, score, annotators=columns, notes=list(dict.fromkeys(notes)))

    def state(self) -> dict[str, Any]:
        """What to save: numbers and texts only."""
        return {"settings": asdict(self.method), "crf": self.crf.state(), "boosted": self.boosted.state()}
