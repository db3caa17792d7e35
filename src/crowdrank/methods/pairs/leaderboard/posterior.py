"""What is known about scores, deviations, coefficients and annotators, with intervals: from curvature or from draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from crowdrank.methods.pairs.leaderboard.block_matrices import dense
from crowdrank.methods.pairs.leaderboard.effect_kernels import EffectValues
from crowdrank.methods.pairs.leaderboard.model import EffectModel
from crowdrank.methods.pairs.leaderboard.sampler import EffectDraws
from crowdrank.methods.pairs.leaderboard.solver import Solution
from crowdrank.methods.pairs.votes.posterior import (
    DIGITS,
    ScorePosterior,
    centred,
    ends_of,
    from_curvature,
    summarised,
    with_full_tails,
)
from crowdrank.numerics.laplace import Spread
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.study import Floats, Vocabulary


class Estimate(NamedTuple):
    """Values with the ends of their 95 % intervals."""

    low: Floats
    middle: Floats
    high: Floats


class EffectPosterior(Protocol):
    """The posterior of all parameters of a model."""

    @property
    def values(self) -> EffectValues:
        """The middle of the posterior."""
        ...

    def scores(self, unknown: Floats) -> ScorePosterior:
        """Overall scores, NaN where they are unknown."""
        ...

    def within(self, name: str, level: int) -> tuple[ScorePosterior, Estimate]:
        """Scores within a category, and how they deviate from the overall ones."""
        ...

    def shared(self, where: slice) -> Estimate:
        """Parameters of the core."""
        ...

    def of_annotators(self, at: int, shared: int) -> Estimate:
        """The sum of a parameter of each annotator and one of the core."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class FromCurvature:
    """Laplace's approximation around the most likely parameters."""

    model: EffectModel
    solution: Solution
    vocabulary: Vocabulary

    @property
    def values(self) -> EffectValues:
        return self.solution.values

    def scores(self, known: Floats) -> ScorePosterior:
        n = self.model.n_entries
        score = centred(self.values.core[:n], self.vocabulary.entry_task)
        return self._around(np.where(known, score, np.nan), self.solution.arrow.core_inverse[:n, :n])

    def _around(self, score: Floats, covariance: Floats) -> ScorePosterior:
        centred_one = centred_covariance(covariance, self.vocabulary)
        variance = np.maximum(np.diag(centred_one), 0.0)
        spread = Spread(variance, lambda one, other: centred_one[one, other])
        return from_curvature(score, spread, self.vocabulary)

    def within(self, name: str, level: int) -> tuple[ScorePosterior, Estimate]:
        deviation, own, both = self._moments(name, level)
        task, n = self.vocabulary.entry_task, self.model.n_entries
        score = centred(self.values.core[:n] + deviation, task)
        error = np.sqrt(np.maximum(np.diag(centred_covariance(own, self.vocabulary)), 0.0))
        return self._around(score, both), _normal(centred(deviation, task), error)

    def _moments(self, name: str, level: int) -> tuple[Floats, Floats, Floats]:
        """The deviations in a category, their covariance, and that of overall scores plus deviations."""
        n, arrow = self.model.n_entries, self.solution.arrow
        core = arrow.core_inverse
        if self.model.in_blocks(name):
            mapping = dense(arrow.block_map[level * n : (level + 1) * n])
            own = np.linalg.inv(arrow.information.block[level]) + mapping @ core @ mapping.T
            across = -core[:n] @ mapping.T
        else:
            where = self.model.level(name, level)
            own, across = core[where, where], core[:n, where]
        return self.model.deviations(self.values, name, level), own, core[:n, :n] + own + across + across.T

    def shared(self, where: slice) -> Estimate:
        return _normal(self.values.core[where], np.sqrt(np.diag(self.solution.arrow.core_inverse)[where]))

    def of_annotators(self, at: int, shared: int) -> Estimate:
        arrow, values = self.solution.arrow, self.values
        across = -(arrow.own_map @ arrow.core_inverse[:, shared]).reshape(values.own.shape)[:, at]
        variance = arrow.own_variance[:, at] + arrow.core_inverse[shared, shared] + 2 * across
        return _normal(values.own[:, at] + values.core[shared], np.sqrt(np.maximum(variance, 0.0)))


@dataclass(frozen=True, slots=True, eq=False)
class FromDraws:
    """Draws of all parameters."""

    model: EffectModel
    draws: EffectDraws
    vocabulary: Vocabulary

    @property
    def values(self) -> EffectValues:
        return self.draws.mean

    def scores(self, known: Floats) -> ScorePosterior:
        n = self.model.n_entries
        score, draws = (np.where(known, each[..., :n], np.nan) for each in (self.values.core, self.draws.core))
        return self._summary(score, draws)

    def _summary(self, score: Floats, draws: Floats) -> ScorePosterior:
        task = self.vocabulary.entry_task
        score = centred(score, task).round(DIGITS) + 0.0  # no minus zero
        return summarised(with_full_tails(centred(draws, task)), score, self.vocabulary)

    def within(self, name: str, level: int) -> tuple[ScorePosterior, Estimate]:
        n, task = self.model.n_entries, self.vocabulary.entry_task
        means = self.model.deviations(self.values, name, level)
        draws = self.model.deviations(self.draws, name, level)
        score = self._summary(self.values.core[:n] + means, self.draws.core[:, :n] + draws)
        return score, _around(centred(means, task), centred(draws, task))

    def shared(self, where: slice) -> Estimate:
        return _around(self.values.core[where], self.draws.core[:, where])

    def of_annotators(self, at: int, shared: int) -> Estimate:
        draws = self.draws.own[:, :, at] + self.draws.core[:, shared, None]
        ends = _by_quantiles if at == self.model.own.get("quality") else _around
        return ends(self.values.own[:, at] + self.values.core[shared], draws)


def _normal(middle: Floats, error: Floats) -> Estimate:
    return Estimate(middle - NORMAL_95_ROUNDED * error, middle, middle + NORMAL_95_ROUNDED * error)


def _around(middle: Floats, draws: Floats) -> Estimate:
    """Effects are nearly normal: two hundred draws tell their deviations, but their outermost ones are random."""
    estimate = _normal(middle, with_full_tails(draws).std(axis=0, ddof=1))
    return Estimate(*(part.round(DIGITS) for part in estimate))


def _by_quantiles(middle: Floats, draws: Floats) -> Estimate:
    """The log-odds of high qualities are far from normal."""
    low, high = ends_of(with_full_tails(draws))
    return Estimate(*(part.round(DIGITS) for part in (np.minimum(low, middle), middle, np.maximum(high, middle))))


def centred_covariance(covariance: Floats, vocabulary: Vocabulary) -> Floats:
    """That of scores relative to the mean of their task."""
    task = vocabulary.entry_task
    count = np.bincount(task, minlength=len(vocabulary.tasks))
    mean = (task[:, None] == task[None, :]) / count[task][:, None]
    left = covariance - mean @ covariance
    return np.asarray(left - left @ mean.T)
