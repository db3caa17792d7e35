"""What a policy is, and what it may use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.belief import Draws
from crowdrank.collect.state import State
from crowdrank.study import Codes, Floats

Asks = Literal["pairs", "grades", "rankings"]


def _nothing() -> Codes:
    return np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What a policy may use."""

    state: State
    compared: NDArray[np.int64]  # how many judgments each entry has, those outstanding included
    spent: float = 0.0  # share of the budget
    draws: Draws | None = None  # of the scores, as the answers that are outstanding are expected to leave them
    left: Codes = field(default_factory=_nothing)  # the pairs answered so far, in their order
    right: Codes = field(default_factory=_nothing)
    outcome: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))

    @property
    def expected_draws(self) -> Draws:
        """The draws of the scores."""
        return self.state.draws if self.draws is None else self.draws


class Policy(Protocol):
    """A frozen dataclass of settings with a `worth` of questions."""

    name: ClassVar[str]
    asks: ClassVar[Asks]
    local: ClassVar[bool]  # a judgment changes only the worth of questions with one of its entries or its annotator

    @property
    def epsilon(self) -> float:
        """Share of the questions that are drawn at random instead."""

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:
        """The worth of asking these annotators about these pairs."""
