"""The linear ranker, and its fit to lists: the likelihood of the Plackett-Luce model, maximised by Newton's method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crowdrank.formats.saved_json import saved_numbers
from crowdrank.learning.features import Features
from crowdrank.methods.rankings.plackett_luce import ListModel
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.numerics.newton import Minimum, dot, minimise
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats, Rankings, Vocabulary

CONSTANT = 1e-12  # a column whose spread is at most this share of its largest number counts as constant
SMALLEST = 1e-9  # curvature in a direction without information


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """score = Σ weight × (feature − mean) / spread."""

    weight: Floats
    mean: Floats
    spread: Floats  # 1 for constant columns, which carry no information

    def score(self, value: Floats) -> Floats:
        """The weighted sum of each row."""
        return times((value - self.mean) / self.spread, self.weight)

    def state(self) -> dict[str, Any]:
        """What to save: numbers only."""
        return {"weight": self.weight.tolist(), "mean": self.mean.tolist(), "spread": self.spread.tolist()}

    @classmethod
    def restore(cls, state: Mapping[str, Any], n_features: int) -> Self:
        """The model of this `state`."""
        weight, mean = (saved_numbers(state[name], n_features) for name in ("weight", "mean"))
        return cls(weight, mean, saved_numbers(state["spread"], n_features, least=np.finfo(float).tiny))


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """Features standardised over the entries trained on: less their mean, divided by their spread; constant ones 0."""

    value: Floats
    mean: Floats
    spread: Floats
    constant: tuple[str, ...]

    def model(self, weight: Floats) -> Linear:
        """The linear ranker of these weights, for features that are not scaled."""
        return Linear(weight, self.mean, self.spread)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note about columns that cannot be learned from."""
        if not self.constant:
            return ()
        named = ", ".join(self.constant[:5]) + (" and others" if len(self.constant) > 5 else "")
        return (f"{len(self.constant):,} columns not used, because all items have the same value there: {named}",)


def scaled(features: Features, entries: NDArray[np.integer]) -> Scaled:
    """The features of these entries, standardised."""
    used = features.value[entries]
    mean, spread = used.mean(axis=0), used.std(axis=0)
    flat = spread <= CONSTANT * np.abs(used).max(axis=0, initial=0.0)
    spread[flat] = 1.0
    value = np.where(flat, 0.0, (used - mean) / spread)
    return Scaled(value, mean, spread, tuple(np.array(features.columns, dtype=object)[flat]))


def times(matrix: Floats, weight: Floats) -> Floats:
    """A matrix times a vector, without BLAS: its threads compete with the kernels', and their number changes digits."""
    return np.asarray(np.einsum("ij,j->i", matrix, weight))


class LinearLists:
    """Minus the log-likelihood of lists whose scores are linear in features, plus ½ `penalty` Σ weight².

    It is a function of *whitened* weights x: `weight = basis · x`. Features are correlated; the directions x are not,
    as measured at equal scores, and have about the same curvature. So conjugate gradients need a tenth of the passes
    over the lists.
    """

    def __init__(
        self, features: Floats, lists: Rankings, weight: Floats, vocabulary: Vocabulary, penalty: float
    ) -> None:
        self.features, self.penalty = _centred(features, vocabulary), penalty
        self.lists = ListModel(lists, weight, vocabulary, 0.0)
        self.lists.evaluate(np.zeros(len(features)))
        curvature = self.lists.diagonal()
        self.amount = float(curvature.sum()) or 1.0
        covariance = np.einsum("ij,ik,i->jk", self.features, self.features, curvature)
        covariance += (penalty + SMALLEST) * np.eye(features.shape[1])
        self.basis = np.linalg.inv(np.linalg.cholesky(covariance / self.amount)).T

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient at these whitened weights."""
        weight = times(self.basis, x)
        value, slope = self.lists.evaluate(times(self.features, weight))
        slope = np.einsum("ij,i->j", self.features, slope) + self.penalty * weight
        return value + self.penalty * dot(weight, weight) / 2, np.einsum("ij,i->j", self.basis, slope)

    def hessian_product(self, v: Floats) -> Floats:
        """The Hessian at the last evaluated point times v."""
        weight = times(self.basis, v)
        by_score = self.lists.hessian_product(times(self.features, weight))
        by_weight = np.einsum("ij,i->j", self.features, by_score) + self.penalty * weight
        return np.asarray(np.einsum("ij,i->j", self.basis, by_weight))

    def diagonal(self) -> Floats:
        """The approximate diagonal of the Hessian: the same for all whitened weights."""
        return np.full(len(self.basis), self.amount)

    @one_blas_thread
    def fit(self, start: Floats, max_iter: int, tol: float, *, rough: bool = False) -> Minimum:
        """The weights of the highest penalised likelihood."""
        whitened = np.asarray(np.linalg.solve(self.basis, start), dtype=np.float64)
        found = minimise(self, whitened, max_iter=max_iter, tol=tol, rough=rough, what="weights")
        return replace(found, x=times(self.basis, found.x))


def _centred(features: Floats, vocabulary: Vocabulary) -> Floats:
    """Features less their mean over each task: what all items of a task share has no effect on their order."""
    size = np.maximum(np.diff(vocabulary.task_starts), 1)[:, None]
    mean = np.stack([sum_by(vocabulary.entry_task, column, len(size)) for column in features.T], axis=1) / size
    return np.asarray(features - mean[vocabulary.entry_task])
