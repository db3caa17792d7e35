"""Draws from the posterior of scores, tie thresholds, biases, and the distributions they come from.

Where votes are few the posterior is neither normal nor close to its mode, so it is sampled. One iteration moves scores,
tie thresholds and biases along a Hamiltonian trajectory, with quality integrated out. Then it draws the distributions:
the shares of qualities in the crowd (Dirichlet, given qualities drawn for the annotators), the spreads (inverse gamma),
and a factor for all scores and their spread, which would change slowly otherwise.

Positions are measured from a centre, in units of the curvature there. In these units the posterior is close to a
standard normal distribution, whose trajectories are circles: they are followed exactly, and only the difference to it
needs small steps (Shahbaba, Lan, Johnson, Neal: Split Hamiltonian Monte Carlo, Statistics and Computing 2014).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.pairs.votes.crowd import Crowd
from crowdrank.methods.pairs.votes.hyperparameters import SCORE_VARIANCE
from crowdrank.methods.pairs.votes.marginal import MarginalEvaluation, MarginalModel
from crowdrank.methods.pairs.votes.mode import Mode, mode_at
from crowdrank.methods.verdicts import LEAST_SHARE
from crowdrank.numerics.newton import dot
from crowdrank.numerics.progress import report
from crowdrank.numerics.task_blocks import cholesky, inverse_of_triangle
from crowdrank.study import Floats

LEAPS = 4
LONGEST_ANGLE = math.pi / 8  # of one leap
WANTED_ACCEPTANCE = 0.85
SWEEPS = 3  # draws of qualities and their shares in an iteration
SCALE_STEP = 0.15


class Draws(NamedTuple):
    """What was drawn, after the warm-up."""

    x: Floats  # draw × parameter
    mean: Floats  # of every parameter: less random than the mean of the draws
    posterior: Floats  # of the quality of each profile, averaged over the draws
    spread: Floats  # draw: of the scores


class Units:
    """Parameters in units of the curvature around a centre: x = centre + factor × u."""

    def __init__(self, at: Mode, n_entries: int) -> None:
        self.n, self.centre, self.error = n_entries, at.x, np.sqrt(at.variance)
        self.factor = self.transposed = self.inverse = None
        if at.precision is not None:
            self.inverse = at.precision.map(cholesky)
            self.transposed = self.inverse.map(inverse_of_triangle)
            self.factor = self.transposed.map(_transposed)
            self.inverse = self.inverse.map(_transposed)

    def position(self, u: Floats) -> Floats:
        """Parameters from units."""
        x = self.error * u
        if self.factor is not None:
            x[: self.n] = self.factor.times(u[: self.n])
        return self.centre + x

    def slope(self, gradient: Floats) -> Floats:
        """The gradient by units."""
        slope = self.error * gradient
        if self.transposed is not None:
            slope[: self.n] = self.transposed.times(gradient[: self.n])
        return slope

    def of(self, x: Floats) -> Floats:
        """Units from parameters."""
        u = (x - self.centre) / self.error
        if self.inverse is not None:
            u[: self.n] = self.inverse.times((x - self.centre)[: self.n])
        return u


def _transposed(stack: Floats) -> Floats:
    return np.ascontiguousarray(stack.swapaxes(1, 2))


class Chain:
    """A Markov chain whose states are draws from the posterior."""

    def __init__(self, model: MarginalModel, mode: Mode, seed: int) -> None:
        self.model, self.rng = model, np.random.default_rng(seed)
        self.crowd, self.hyper, self.qualities = mode.crowd, mode.hyper, mode.crowd.qualities
        self.x = mode.x
        self.now = self._evaluation(mode.x)
        self.focus(mode)

    def _evaluation(self, x: Floats) -> MarginalEvaluation:
        return self.model.evaluate(x, self.qualities, self.hyper)

    def focus(self, at: Mode) -> None:
        """Measure positions from here."""
        self.units, self.angle = Units(at, self.model.n_entries), LONGEST_ANGLE

    def move(self) -> float:
        """A trajectory, accepted or not; the probability of acceptance."""
        position, slope, there = self.units.of(self.x), self.units.slope(self.now.gradient), self.now
        momentum = self.rng.normal(size=len(position))
        before = there.value + dot(momentum, momentum) / 2
        angle = self.angle * self.rng.uniform(0.8, 1.2)
        cos, sin = math.cos(angle), math.sin(angle)
        for _ in range(LEAPS):
            momentum = momentum - angle / 2 * (slope - position)
            position, momentum = cos * position + sin * momentum, cos * momentum - sin * position
            there = self._evaluation(self.units.position(position))
            slope = self.units.slope(there.gradient)
            momentum = momentum - angle / 2 * (slope - position)
        change = before - there.value - dot(momentum, momentum) / 2
        accepted = math.exp(min(0.0, change)) if math.isfinite(change) else 0.0
        if self.rng.random() < accepted:
            self.x, self.now = self.units.position(position), there
        return accepted

    def draw_distributions(self) -> None:
        """New shares of qualities, spreads and scale, given the parameters and the posterior of quality."""
        virtual, posterior = self.crowd.counts, self.now.posterior
        for _ in range(SWEEPS):
            if virtual is None:
                break
            share = _drawn_shares(virtual + _drawn_cells(self.crowd, posterior, self.rng), self.rng)
            posterior = posterior * (share / self.crowd.share)[self.crowd.cell]
            posterior /= posterior.sum(axis=1, keepdims=True)
            self.crowd = replace(self.crowd, share=share)
        self.qualities = self.crowd.qualities
        self.hyper = self.hyper.drawn(self.x[: self.model.n_entries], self.model.profiles(self.x), self.rng)
        self.now = self._evaluation(self.x)
        if self.hyper.virtual is None:
            self._scale()

    def _scale(self) -> None:
        """Multiply all scores and their spread by one factor, or not."""
        factor = math.exp(SCALE_STEP * self.rng.normal())
        x, hyper = self.x.copy(), replace(self.hyper, spread=factor * self.hyper.spread)
        x[: self.model.n_entries] *= factor
        scaled = self.model.evaluate(x, self.qualities, hyper)
        # The density of scores given their spread decreases as the volume grows: the prior of the spread remains.
        shape, scale = SCORE_VARIANCE
        prior = -2 * shape * math.log(factor) - scale / self.hyper.spread**2 * (factor**-2 - 1)
        allowed = hyper.spread >= hyper.least_spread
        if math.log(self.rng.random()) < self.now.value - scaled.value + prior and allowed:
            self.x, self.hyper, self.now = x, hyper, scaled


def sample(
    model: MarginalModel, mode: Mode, task_starts: NDArray[np.int64], *, draws: int, warm_up: int, seed: int = 0
) -> Draws:
    """Draws from the posterior; distributions that are given stay as they are."""
    chain, total = Chain(model, mode, seed), np.zeros(len(mode.x))
    for number in range(warm_up):
        report("posterior", number, warm_up + draws)
        accepted = chain.move()
        chain.angle *= math.exp((accepted - WANTED_ACCEPTANCE) / math.sqrt(1 + number % (warm_up // 2) / 4))
        chain.angle = min(chain.angle, LONGEST_ANGLE)
        chain.draw_distributions()
        total += chain.x * (warm_up // 4 <= number < warm_up // 2)
        if number + 1 == warm_up // 2:  # the mode is not the middle
            centre = total / (warm_up // 2 - warm_up // 4)
            chain.focus(mode_at(model, task_starts, centre, chain.crowd, chain.hyper))
    xs, gradients = np.empty((2, draws, len(mode.x)))
    posterior, spread = np.zeros_like(mode.posterior), np.empty(draws)
    for number in range(draws):
        report("posterior", warm_up + number, warm_up + draws)
        spread[number] = chain.hyper.spread
        chain.move()
        xs[number], gradients[number] = chain.x, chain.now.gradient
        posterior += chain.now.posterior / draws
        chain.draw_distributions()
    return Draws(xs, _controlled_mean(xs, gradients, chain.units), posterior, spread)


def _controlled_mean(xs: Floats, gradients: Floats, units: Units) -> Floats:
    """The mean of the draws, less what the gradients, whose true mean is 0, show to be random.

    Mira, Solgi, Imparato: Zero variance Markov chain Monte Carlo for Bayesian estimators, Statistics and Computing
    2013.
    """
    u, slope = np.array([units.of(x) for x in xs]), np.array([units.slope(each) for each in gradients])
    centred = u - u.mean(axis=0)
    share = (centred * slope).sum(axis=0) / np.maximum((slope**2).sum(axis=0), 1e-300)
    return units.position(u.mean(axis=0) - share * slope.mean(axis=0))


def _drawn_cells(crowd: Crowd, posterior: Floats, rng: np.random.Generator) -> Floats:
    """How many profiles are in each cell of quality, if their qualities are drawn from the posterior."""
    below = posterior.cumsum(axis=1) < rng.random((len(posterior), 1))
    chosen = crowd.cell[np.arange(len(posterior)), np.minimum(below.sum(axis=1), posterior.shape[1] - 1)]
    return np.bincount(chosen, minlength=len(crowd.share)).astype(np.float64)


def _drawn_shares(counts: Floats, rng: np.random.Generator) -> Floats:
    """Random shares, given the number of profiles in each cell, with the virtual ones."""
    share = rng.gamma(counts)
    share = np.maximum(share / share.sum(), LEAST_SHARE)
    return np.asarray(share / share.sum())
