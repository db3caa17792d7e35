"""The result of learning: a ranking function for items without judgments, and estimates about the annotators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit, frame_of
from crowdrank.formats.saved_json import saved_fit, saved_texts
from crowdrank.learning.features import Features
from crowdrank.learning.labels import TrainingData
from crowdrank.methods.protocols import Description
from crowdrank.study import Floats, Frame, ids


class Model(Protocol):
    """A function from features to scores."""

    def score(self, value: Floats) -> Floats:
        """A score for each row, higher is better."""

    def state(self) -> dict[str, Any]:
        """What to save: numbers and texts only."""

    @classmethod
    def restore(cls, state: Mapping[str, Any], n_features: int) -> Self:
        """The model of this `state`, over so many features."""


class Learner(Protocol):
    """A way to learn: a frozen dataclass of settings with a `learn`."""

    description: ClassVar[Description]
    model: ClassVar[type[Model]]  # what its rankers are made of

    def learn(self, features: Features, data: TrainingData) -> Ranker:
        """A ranker from the features of items and training data.

        Learners that estimate annotators take only judgments; the others also take the consensus of any method, or
        gold.
        """


@dataclass(frozen=True, eq=False)
class Ranker:
    """A trained ranking function."""

    method: Learner  # the settings it was trained with
    columns: tuple[str, ...]  # of the features, in the order that the model takes
    model: Model
    annotator_columns: Mapping[str, NDArray[Any]]  # as in a Consensus; empty without estimates
    fit: Fit
    notes: tuple[str, ...] = ()
    frame: Frame = "polars"

    @property
    def name(self) -> str:
        """The name of the learner."""
        return self.method.description.name

    @property
    def annotators(self) -> Any:
        """A data frame with the columns annotator, judgments, quality, verdict, and those that the method adds."""
        return frame_of(self.annotator_columns, self.frame).to_native()

    def rank(self, features: Features) -> Consensus:
        """Rank the items of each task; they need no judgments."""
        score = self.model.score(features.named(self.columns))
        notes = features.notes
        if not self.fit.converged:
            notes = (*notes, f"{self.name} had not converged after {self.fit.steps} steps: raise max_iter")
        return Consensus(features.vocabulary, self.name, score, {}, self.fit, notes=notes)

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
        """The ranker of this `state`."""
        names = saved_texts(list(state["annotators"]))
        crowd = {name: _column(state["annotators"][name]) for name in names}
        if len({len(values) for values in crowd.values()}) > 1:
            raise ValueError("the columns of the annotators have different lengths")
        columns = saved_texts(state["columns"])
        if len(set(columns)) < len(columns):
            raise ValueError("two features have the same name")
        settings = {
            name: tuple(value) if isinstance(value, list) else value for name, value in state["settings"].items()
        }
        model = method.model.restore(state["model"], len(columns))
        return cls(method(**settings), columns, model, crowd, saved_fit(state["fit"]), saved_texts(state["notes"]))

    def __repr__(self) -> str:
        end = "converged" if self.fit.converged else "NOT converged"
        lines = [f"Ranker by {self.name}: {len(self.columns):,} columns; {end} in {self.fit.steps} steps"]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _plain(values: NDArray[Any]) -> list[Any]:
    """Numbers as they are, NaN as None, everything else as text."""
    if values.dtype == object:
        return [str(value) for value in values]
    return [None if value != value else value for value in values.tolist()]


def _column(values: list[Any]) -> NDArray[Any]:
    """The inverse of `_plain`."""
    if any(isinstance(value, str) for value in values):
        return ids(saved_texts(values))
    if any(value is None or isinstance(value, float) for value in values):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return np.array(values, dtype=np.int64)
