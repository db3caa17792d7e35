"""The linear ranker, and how it is fitted to lists: by the likelihood of the Plackett-Luce model, with Newton's method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crowdrank.learning.features import Features
from crowdrank.methods.rankings.plackett_luce import ListModel
from crowdrank.numerics.newton import Minimum, dot, minimise
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats, Rankings, Vocabulary

CONSTANT = 1e-12  # a spread, beside the size of the numbers, that is none
SMALLEST = 1e-9  # curvature in a direction in which nothing is known


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
    """Minus the log-likelihood of lists whose scores are linear in features, plus ½ `prior` Σ weight², by *whitened*
    weights.

    Features go with each other; the directions x of `weight = basis · x` do not, as far as is seen at equal scores, and
    have about the same curvature. Conjugate gradients need a tenth of the passes over the lists for that.
    """

    def __init__(self, features: Floats, lists: Rankings, weight: Floats, vocabulary: Vocabulary, prior: float) -> None:
        self.features, self.prior = _centred(features, vocabulary), prior
        self.lists = ListModel(lists, weight, vocabulary, 0.0)
        self.lists.evaluate(np.zeros(len(features)))
        curvature = self.lists.diagonal()
        self.amount = float(curvature.sum()) or 1.0
        covariance = np.einsum("ij,ik,i->jk", self.features, self.features, curvature) + (prior + SMALLEST) * np.eye(
            features.shape[1]
        )
        self.basis = np.linalg.inv(np.linalg.cholesky(covariance / self.amount)).T

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient at these whitened weights."""
        weight = times(self.basis, x)
        value, slope = self.lists.evaluate(times(self.features, weight))
        slope = np.einsum("ij,i->j", self.features, slope) + self.prior * weight
        return value + self.prior * dot(weight, weight) / 2, np.einsum("ij,i->j", self.basis, slope)

    def hessian_product(self, v: Floats) -> Floats:
        """The Hessian at the last evaluated point times v."""
        weight = times(self.basis, v)
        bent = (
            np.einsum("ij,i->j", self.features, self.lists.hessian_product(times(self.features, weight)))
            + self.prior * weight
        )
        return np.asarray(np.einsum("ij,i->j", self.basis, bent))

    def diagonal(self) -> Floats:
        """What the Hessian's diagonal would be if scores were independent of each other."""
        return np.full(len(self.basis), self.amount)

    def fit(self, start: Floats, max_iter: int, tol: float, *, rough: bool = False) -> Minimum:
        """The weights of the greatest likelihood."""
        whitened = np.asarray(np.linalg.solve(self.basis, start), dtype=np.float64)
        found = minimise(self, whitened, max_iter=max_iter, tol=tol, rough=rough, what="weights")
        return replace(found, x=times(self.basis, found.x))


def _centred(features: Floats, vocabulary: Vocabulary) -> Floats:
    """Less their mean over each task: what all items of a task have in common says nothing about their order."""
    size = np.maximum(np.diff(vocabulary.task_starts), 1)[:, None]
    mean = np.stack([sum_by(vocabulary.entry_task, column, len(size)) for column in features.T], axis=1) / size
    return np.asarray(features - mean[vocabulary.entry_task])
