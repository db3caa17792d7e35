"""What a method is: settings with a `fit`, and a description of itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from crowdrank.consensus import Consensus
from crowdrank.study import Gold, Judgments, Kind, PairColumn

Family = Literal["grades", "pairs", "rankings", "supervised", "linear", "trees", "ltrma"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Everything that is known about a method before it runs. Tables, docs, help and messages are made from it."""

    name: str
    family: Family  # the package it stands in
    summary: str  # one sentence
    takes: tuple[Kind, ...]  # the kinds of judgment it uses
    other_names: tuple[str, ...] = ()  # names that it, or a method close to it, has elsewhere
    pair_columns: tuple[PairColumn, ...] = ()  # which optional columns of pairs it uses
    expands_to_pairs: bool = False  # writes out each annotator's pairs of a list, and of their grades in a task
    depends_on_order: bool = False  # takes the votes one after the other
    starts_from_gold: bool = False  # its `fit` takes gold
    gives_intervals: bool = False  # without a bootstrap
    ranks_by_draws: bool = False  # with intervals, scores are means of draws; without, the most likely ones
    takes_side_information: bool = False  # its `learn` takes what is known about annotators


class Method(Protocol):
    """What every method looks like: a frozen dataclass of settings with a `fit`."""

    description: ClassVar[Description]

    def fit(self, judgments: Judgments) -> Consensus:
        """The consensus behind the judgments."""


class GoldMethod(Method, Protocol):
    """A method whose description says `starts_from_gold`."""

    def fit(self, judgments: Judgments, gold: Gold | None = None) -> Consensus:
        """The consensus behind the judgments, starting from what gold says about the annotators."""


class Trained(Protocol):
    """What a supervised method returns: it ranks as any method does, and can be saved."""

    @property
    def description(self) -> Description:
        """That of the method it was trained by."""

    @property
    def name(self) -> str:
        """That of the method."""

    @property
    def method(self) -> Any:
        """The settings it was trained with."""

    def fit(self, judgments: Judgments) -> Consensus:
        """The consensus behind the judgments."""

    def state(self) -> dict[str, Any]:
        """What to save: numbers and texts only."""


class Supervised(Protocol):
    """A method that must learn from gold first: a frozen dataclass of settings with a `train`."""

    description: ClassVar[Description]

    def train(self, judgments: Judgments, gold: Gold, validation: Iterable[Any] | None = None) -> Trained:
        """Learn from the tasks with gold; `validation` names tasks to choose settings on."""

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Trained:
        """What was trained before, from its `state`."""
