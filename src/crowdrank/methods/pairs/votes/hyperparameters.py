"""The distributions that scores and annotators' parameters come from, and how they follow from the parameters.

The variance of scores, of log tie thresholds and of biases has an inverse gamma prior; the mean of the latter two is
normal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from crowdrank.study import Floats


class InverseGamma(NamedTuple):
    """A distribution of variances."""

    shape: float
    scale: float

    def given(self, squares: Floats) -> InverseGamma:
        """The distribution after values with these squared distances from their mean were seen."""
        return InverseGamma(self.shape + len(squares) / 2, self.scale + float(squares.sum()) / 2)

    @property
    def typical(self) -> float:
        """Between the mode and the mean."""
        return self.scale / self.shape

    def log_density(self, log_variance: float) -> float:
        """Of the logarithm of a variance, but for a constant."""
        return -self.shape * log_variance - self.scale * math.exp(-log_variance)

    def draw(self, rng: np.random.Generator) -> float:
        """A random variance."""
        return self.scale / float(rng.gamma(self.shape))


SCORE_VARIANCE = InverseGamma(2.0, 3.0)
PROFILE_VARIANCE = InverseGamma(2.0, 0.5)
# Where items are only compared with their neighbours, a small spread makes all scores nearly equal, and stays small.
START_SPREAD = 10.0
MEAN_SPREAD = 1.0  # standard deviation of the mean of tie thresholds and biases around what is usual


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """The distributions of all parameters but quality."""

    spread: float = START_SPREAD  # standard deviation of the scores
    of_gaps: bool = False  # instead, of the gaps between compared items
    integrated: bool = False  # this spread, and the means of the two below, are integrated out
    virtual: float | None = None  # instead: virtual wins and losses of every item
    ties: tuple[float, float] = (0.0, 1.0)  # mean and standard deviation of the log tie thresholds
    bias: tuple[float, float] = (0.0, 1.0)  # the same of the biases towards the left item
    usual_ties: float = 0.0  # where the mean of the log tie thresholds is expected

    def score_terms(self, squares: float, n_entries: int) -> tuple[float, float]:
        """Minus the log-density of scores with this sum of squares, and their precision.

        The precision times the scores is the gradient.
        """
        if not self.integrated:
            return squares / (2 * self.spread**2), 1 / self.spread**2
        shape, scale = SCORE_VARIANCE.shape + n_entries / 2, SCORE_VARIANCE.scale + squares / 2
        return shape * math.log(scale), shape / scale

    def centre(self, name: str) -> float:
        """Where the thresholds or biases are expected."""
        return self._usual(name) if self.integrated else float(getattr(self, name)[0])

    def profile_terms(self, name: str, values: Floats) -> tuple[Floats, float]:
        """The gradient of minus the log-density of tie thresholds or biases, and the precision of each by itself.

        The gradient times the distance from the centre is twice minus the log-density.
        """
        distance, variance = values - self.centre(name), getattr(self, name)[1] ** 2
        if self.integrated:
            distance = distance - distance.sum() / (len(values) + variance / MEAN_SPREAD**2)
        return distance / variance, 1 / variance

    def penalty(self, n_entries: int) -> float:
        """Minus the log-density of the spread of so many scores, but for a constant."""
        if self.virtual is not None:
            return 0.0
        shape, scale = SCORE_VARIANCE
        return (n_entries + 2 * shape) * float(np.log(self.spread)) + scale / self.spread**2

    def learned(self, score: Floats, profiles: dict[str, Floats], variance: Floats) -> Hyperparameters:
        """Those that fit these parameters, known with this variance."""
        n, changes = len(score), {}
        if self.virtual is None and not self.of_gaps:
            changes["spread"] = SCORE_VARIANCE.given(score**2 + variance[:n]).typical ** 0.5
        for name, values in profiles.items():
            _, spread = getattr(self, name)
            mean, _ = self._mean(name, values, spread)
            squares = (values - mean) ** 2 + variance[n : n + len(values)]
            changes[name] = mean, PROFILE_VARIANCE.given(squares).typical ** 0.5
            variance = variance[len(values) :]
        return replace(self, **changes)

    def drawn(self, squares: Floats, profiles: dict[str, Floats], rng: np.random.Generator) -> Hyperparameters:
        """A random choice among those that fit these parameters; `squares` are those of the scores or gaps."""
        changes = {}
        if self.virtual is None:
            changes["spread"] = SCORE_VARIANCE.given(squares).draw(rng) ** 0.5
        for name, values in profiles.items():
            _, spread = getattr(self, name)
            mean, error = self._mean(name, values, spread)
            mean += error * rng.normal()
            changes[name] = mean, PROFILE_VARIANCE.given((values - mean) ** 2).draw(rng) ** 0.5
        return replace(self, **changes)

    def with_profiles(self, name: str, mean: float, spread: float) -> Hyperparameters:
        """The same with other tie thresholds or biases."""
        changes: dict[str, Any] = {name: (mean, spread)}
        return replace(self, **changes)

    def _mean(self, name: str, values: Floats, spread: float) -> tuple[float, float]:
        """The posterior mean of the values' mean, and its standard error."""
        precision = len(values) / spread**2 + 1 / MEAN_SPREAD**2
        return float((values.sum() / spread**2 + self._usual(name) / MEAN_SPREAD**2) / precision), precision**-0.5

    def _usual(self, name: str) -> float:
        return self.usual_ties if name == "ties" else 0.0
