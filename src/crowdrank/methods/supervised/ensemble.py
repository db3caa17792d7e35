"""The sum of the conditional random field and boosted trees.

`crf` is a weighted sum that can be learned from few tasks; `boosted` finds what no weighted sum can express; their
errors differ. The scores of each are standardised within the task (minus the mean, divided by the standard deviation)
and added. The `annotators` have the columns of both.

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
from crowdrank.methods.supervised.boosted import Boosted, BoostedAggregator
from crowdrank.methods.supervised.cells.cells import standardised
from crowdrank.methods.supervised.cells.linear import LinearAggregator
from crowdrank.methods.supervised.cells.training_set import TrainedMethod
from crowdrank.methods.supervised.crf import CRF
from crowdrank.study import KINDS, Gold, Judgments


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Settings of the ensemble; they are those of crf and boosted."""

    description: ClassVar[Description] = Description(
        name="ensemble",
        family="supervised",
        summary="The sum of crf and boosted: better than both where a few dozen tasks or more have gold.",
        takes=KINDS,
    )

    measure: str = "ndcg"  # what the crf maximises: ndcg, ndcg@k, err, err@k, map or p@k
    max_iter: int = 120  # passes of the crf over the training tasks
    rounds: int = 150  # trees of each boosted model
    seed: int = 0

    def __post_init__(self) -> None:
        self.members()

    def members(self) -> tuple[CRF, Boosted]:
        """Crf and boosted with these settings."""
        crf = CRF(measure=self.measure, max_iter=self.max_iter, seed=self.seed)
        return crf, Boosted(rounds=self.rounds, seed=self.seed)

    def train(self, judgments: Judgments, gold: Gold, validation: Iterable[Any] | None = None) -> EnsembleAggregator:
        """Train both on the same tasks."""
        named = None if validation is None else list(validation)  # both must be able to read it
        crf, boosted = self.members()
        trees = boosted.train(judgments, gold, named)  # first: a missing LightGBM must show before the long work
        return EnsembleAggregator(self, crf.train(judgments, gold, named), trees)

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> EnsembleAggregator:
        """The trained aggregator from its saved state."""
        return EnsembleAggregator(
            cls(**state["settings"]), CRF.restore(state["crf"]), Boosted.restore(state["boosted"])
        )


@dataclass(frozen=True, slots=True, eq=False)
class EnsembleAggregator(TrainedMethod):
    """Both members, trained."""

    method: Ensemble
    crf: LinearAggregator
    boosted: BoostedAggregator

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by the sum of both scores, each standardised within the task."""
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
