"""The linear ranker: the weighted sum of the features, each in units of its own spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from crowdrank.study import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """score = Σ weight × (feature − mean) / spread."""

    weight: Floats
    mean: Floats
    spread: Floats  # 1 for constant columns, whose weight is 0

    def score(self, value: Floats) -> Floats:
        """The weighted sum of each row."""
        return np.asarray(((value - self.mean) / self.spread) @ self.weight)

    def state(self) -> dict[str, Any]:
        """What to save: numbers only."""
        return {name: getattr(self, name).tolist() for name in self.__slots__}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """From what was saved."""
        return cls(*(np.array(state[name], dtype=np.float64) for name in cls.__slots__))
