"""What learning gives: a ranking function for items never judged, and what was found out about the annotators on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit, frame_of
from crowdrank.learning.features import Features
from crowdrank.learning.labels import TrainingData
from crowdrank.methods.protocols import Description
from crowdrank.study import Floats, Frame, ids


class Model(Protocol):
    """A function from features to scores, in numbers and texts alone."""

    def score(self, value: Floats) -> Floats:
        """A score for each row, higher is better."""

    def state(self) -> dict[str, Any]:
        """What to save: numbers and texts only."""

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """The model again, from its `state`."""


class Learner(Protocol):
    """A way to learn: a frozen dataclass of settings with a `learn`."""

    description: ClassVar[Description]
    model: ClassVar[type[Model]]  # what its rankers are made of

    def learn(self, features: Features, data: TrainingData) -> Ranker:
        """A ranker from the features of items and what is said of them.

        Learners that know how to weigh annotators take judgments alone; the others take the consensus of any method, or
        gold, too.
        """


@dataclass(frozen=True, eq=False)
class Ranker:
    """A ranking function that was learned."""

    method: Learner  # the settings it was learned with
    columns: tuple[str, ...]  # of the features, in the order the model takes them
    model: Model
    annotator_columns: Mapping[str, NDArray[Any]]  # as in a Consensus; empty where nothing was learned about annotators
    fit: Fit
    notes: tuple[str, ...] = ()
    frame: Frame = "polars"

    @property
    def name(self) -> str:
        """The method's."""
        return self.method.description.name

    @cached_property
    def annotators(self) -> Any:
        """A data frame with the columns annotator, judgments, quality, verdict, then what the method adds."""
        return frame_of(self.annotator_columns, self.frame).to_native()

    def rank(self, features: Features) -> Consensus:
        """Rank the items of each task; they need not have been judged by anybody."""
        score = self.model.score(features.named(self.columns))
        late = (
            ()
            if self.fit.converged
            else (f"{self.name} had not converged after {self.fit.steps} steps: raise max_iter",)
        )
        return Consensus(features.vocabulary, self.name, score, {}, self.fit, notes=(*features.notes, *late))

    def state(self) -> dict[str, Any]:
        """What to save: numbers and texts only."""
        return {
            "settings": asdict(self.method),  # type: ignore[call-overload]
            "columns": list(self.columns),
            "model": self.model.state(),
            "annotators": {name: _plain(values) for name, values in self.annotator_columns.items()},
            "fit": asdict(self.fit),
            "notes": list(self.notes),
        }

    @classmethod
    def restore(cls, method: type[Learner], state: Mapping[str, Any]) -> Self:
        """The ranker again, from its `state`."""
        columns = {name: _column(values) for name, values in state["annotators"].items()}
        settings = {
            name: tuple(value) if isinstance(value, list) else value for name, value in state["settings"].items()
        }
        model = method.model.restore(state["model"])
        return cls(
            method(**settings), tuple(state["columns"]), model, columns, Fit(**state["fit"]), tuple(state["notes"])
        )

    def __repr__(self) -> str:
        end = "converged" if self.fit.converged else "NOT converged"
        lines = [f"Ranker by {self.name}: {len(self.columns):,} columns; {end} in {self.fit.steps} steps"]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _plain(values: NDArray[Any]) -> list[Any]:
    """Numbers as they are, NaN as none, everything else as text."""
    if values.dtype == object:
        return [str(value) for value in values]
    return [None if value != value else value for value in values.tolist()]


def _column(values: list[Any]) -> NDArray[Any]:
    if any(isinstance(value, str) for value in values):
        return ids(values)
    if any(value is None or isinstance(value, float) for value in values):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return np.array(values, dtype=np.int64)
