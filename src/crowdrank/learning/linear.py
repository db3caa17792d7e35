"""The linear ranker, and how it is fitted to lists: by the likelihood of the Plackett-Luce model, with Newton's method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crowdrank.learning.features import Features
from crowdrank.methods.plackett_luce import ListModel
from crowdrank.numerics.newton import Minimum, dot, minimise
from crowdrank.study import Floats, Rankings, Vocabulary

CONSTANT = 1e-12  # a spread, beside the size of the numbers, that is none


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """score = Σ weight × (feature − mean) / spread."""

    weight: Floats
    mean: Floats
    spread: Floats  # 1 for constant columns, which say nothing

    def score(self, value: Floats) -> Floats:
        """The weighted sum of each row."""
        return times((value - self.mean) / self.spread, self.weight)

    def state(self) -> dict[str, Any]:
        """What to save: numbers only."""
        return {name: getattr(self, name).tolist() for name in self.__slots__}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """From what was saved."""
        return cls(*(np.array(state[name], dtype=np.float64) for name in cls.__slots__))


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """Features less their mean, in units of their spread over the entries learned from; constant columns are 0."""

    value: Floats
    mean: Floats
    spread: Floats
    constant: tuple[str, ...]

    def model(self, weight: Floats) -> Linear:
        """The ranker of these weights, for features as they come."""
        return Linear(weight, self.mean, self.spread)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say about columns that cannot be learned from."""
        if not self.constant:
            return ()
        named = ", ".join(self.constant[:5]) + (" and others" if len(self.constant) > 5 else "")
        return (f"{len(self.constant):,} columns are the same for all items learned from, and say nothing: {named}",)


def scaled(features: Features, entries: NDArray[np.integer]) -> Scaled:
    """The features of these entries as the fit needs them."""
    used = features.value[entries]
    mean, spread = used.mean(axis=0), used.std(axis=0)
    flat = spread <= CONSTANT * np.abs(used).max(axis=0, initial=0.0)
    spread[flat] = 1.0
    value = np.where(flat, 0.0, (used - mean) / spread)
    return Scaled(value, mean, spread, tuple(np.array(features.columns, dtype=object)[flat]))


def times(matrix: Floats, weight: Floats) -> Floats:
    """A matrix times a vector, without BLAS: its threads would fight with the kernels', and their number change the last digits."""
    return np.asarray(np.einsum("ij,j->i", matrix, weight))


class LinearLists:
    """Minus the log-likelihood of lists whose scores are linear in features, plus ½ `prior` Σ weight²."""

    def __init__(self, features: Floats, lists: Rankings, weight: Floats, words: Vocabulary, prior: float) -> None:
        self.features, self.prior = features, prior
        self.lists = ListModel(lists, weight, words, 0.0)

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient at these weights."""
        value, slope = self.lists.evaluate(times(self.features, x))
        return value + self.prior * dot(x, x) / 2, np.einsum("ij,i->j", self.features, slope) + self.prior * x

    def curvature(self, v: Floats) -> Floats:
        """The Hessian at the last evaluated point times v."""
        bent = self.lists.curvature(times(self.features, v))
        return np.asarray(np.einsum("ij,i->j", self.features, bent) + self.prior * v)

    def diagonal(self) -> Floats:
        """An upper bound of the Hessian's diagonal: as if the scores were independent of each other."""
        return np.asarray(np.einsum("ij,ij,i->j", self.features, self.features, self.lists.diagonal()) + self.prior)

    def fit(self, start: Floats, max_iter: int, tol: float) -> Minimum:
        """The weights of the greatest likelihood."""
        return minimise(self, start, max_iter=max_iter, tol=tol, what="weights")
