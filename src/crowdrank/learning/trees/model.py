"""Rankers of boosted regression trees: how they are trained, for any objective, and how they are saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.supervised.cells.target_measure import target
from crowdrank.methods.supervised.cells.tree_text import booster, lightgbm_module
from crowdrank.numerics.groups import run_starts
from crowdrank.numerics.threads import n_threads
from crowdrank.settings import check, check_whole_number, is_number
from crowdrank.study import Floats

# The same for all rankers, so that they differ only in training data and objective.
TREES = {
    "lambda_l2": 1.0, "feature_fraction": 0.5, "bagging_fraction": 0.8, "bagging_freq": 1,
    "deterministic": True, "force_row_wise": True, "verbose": -1,
}  # fmt: skip
LEAST_IN_LEAF = 50  # items; fewer in studies of less than twenty times as many
WORTH_THREADS = 1 << 22  # numbers: with fewer, LightGBM's threads wait longer than they save
SMALLEST_CURVATURE = 1e-9  # LightGBM divides by sums of curvatures

Objective = Callable[[Floats], tuple[Floats, Floats]]  # from scores to slope and curvature of what is maximised


class TreeSettings(Protocol):
    """The settings of trees."""

    @property
    def rounds(self) -> int: ...
    @property
    def rate(self) -> float: ...
    @property
    def leaves(self) -> int: ...
    @property
    def seed(self) -> int: ...


def check_trees(settings: TreeSettings) -> None:
    """Refuse settings that trees cannot have."""
    check_whole_number("rounds", settings.rounds)
    check_whole_number("leaves", settings.leaves, least=2)
    check_whole_number("seed", settings.seed, least=0)
    check(is_number(settings.rate) and 0 < settings.rate <= 1, "rate", settings.rate, "a number above 0, up to 1")


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """A sum of regression trees."""

    booster: Any  # LightGBM's

    def score(self, value: Floats) -> Floats:
        """The sum for each row."""
        if not len(value):
            return np.zeros(0)
        return np.asarray(self.booster.predict(value, num_threads=_threads(value)), dtype=np.float64)

    def state(self) -> dict[str, Any]:
        """What to save: LightGBM's text of the trees."""
        return {"trees": self.booster.model_to_string()}

    @classmethod
    def restore(cls, state: Mapping[str, Any], n_features: int) -> Self:
        """The model of this `state`."""
        return cls(booster(state["trees"], n_features))


def grow_for_grades(value: Floats, grade: Floats, task: NDArray[Any], settings: TreeSettings) -> Trees:
    """Trees by LightGBM's lambdarank, for NDCG with the gain 2^grade − 1; the rows of a task are contiguous."""
    lightgbm = lightgbm_module()
    level, label = np.unique(grade, return_inverse=True)
    gain = target("ndcg").gain(level, float(level[-1]))
    sizes = np.diff(np.append(np.flatnonzero(run_starts(task)), len(task)))
    data = lightgbm.Dataset(value, label, group=sizes)
    chosen = {**_parameters(value, settings), "objective": "lambdarank", "label_gain": gain.tolist()}
    return Trees(lightgbm.train(chosen, data, settings.rounds))


def grow(value: Floats, objective: Objective, settings: TreeSettings) -> Trees:
    """Trees that maximise an objective."""
    lightgbm = lightgbm_module()

    def minimised(score: Floats, _: Any) -> tuple[Floats, Floats]:
        slope, curvature = objective(score)
        return -slope, curvature + SMALLEST_CURVATURE

    data = lightgbm.Dataset(value, np.zeros(len(value)))
    return Trees(lightgbm.train({**_parameters(value, settings), "objective": minimised}, data, settings.rounds))


def _parameters(value: Floats, settings: TreeSettings) -> dict[str, Any]:
    """LightGBM's parameters."""
    return {
        **TREES,
        "learning_rate": settings.rate,
        "num_leaves": settings.leaves,
        "min_data_in_leaf": max(min(LEAST_IN_LEAF, len(value) // 20), 1),
        "seed": settings.seed,
        "num_threads": _threads(value),
    }


def _threads(value: Floats) -> int:
    """How many threads LightGBM uses."""
    return n_threads() if value.size >= WORTH_THREADS else 1
