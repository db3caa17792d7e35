"""Draws from the posterior of scores, tie thresholds, biases, and the distributions they come from.

Where votes are few the posterior is neither normal nor close to its mode, so it is sampled. One iteration moves scores,
tie thresholds and biases along a Hamiltonian trajectory, with quality and the spread of the scores integrated out. Then
it draws the distributions: the shares of qualities in the crowd and the spreads (inverse gamma). At last it trades the
scale of the scores for the quality of the crowd: a vote between close items depends on their product alone, so that
both would change slowly by themselves.

Positions are measured from a centre, in units of the curvature there. In these units the posterior is close to a
standard normal distribution, whose trajectories are circles: they are followed exactly, and only the difference to it
needs small steps (Shahbaba, Lan, Johnson, Neal: Split Hamiltonian Monte Carlo, Statistics and Computing 2014).

The posterior has a mirror image, in which all scores and qualities are reversed, and which of the two is right was
decided before. Where votes are few the chain can reach the other one, and would seldom come back: states are rejected
whose scores point away from those of the start, while most of the crowd is reversed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.pairs.votes.crowd import Crowd
from crowdrank.methods.pairs.votes.hyperparameters import PROFILE_VARIANCE
from crowdrank.methods.pairs.votes.marginal import MarginalEvaluation, MarginalModel
from crowdrank.methods.pairs.votes.mode import Mode, mode_at
from crowdrank.methods.pairs.votes.share_moves import RATE, ShareMoves, log_prior_ratio, tilt, times
from crowdrank.numerics.newton import dot
from crowdrank.numerics.progress import report
from crowdrank.numerics.task_blocks import cholesky, inverse_of_triangle
from crowdrank.study import Floats

TRAJECTORY = math.pi / 2  # on a circle, that far away is independent of the start
LONGEST_ANGLE = TRAJECTORY / 2  # of one leap
LONGEST = 2.0  # times TRAJECTORY, at most, where the posterior is wider than its units
UNITS_SEEN = 20.0  # moves that the units count as, before it is known how wide the posterior is
MOST_LEAPS = 8
WANTED_ACCEPTANCE = 0.85
REACH = 2.0  # standard errors given the qualities: how far from the centre the curvature along a direction is measured
CURVATURES = 1 / 16, 4.0  # bounds of what is believed, relative to the curvature given the qualities
BATCHES = 10  # of draws, whose means show how random the mean of all is
START_TRADE = 0.1  # change of the logarithm of the scale, or of the spread of thresholds
# Of scale for quality in an iteration: what few votes tell least about, and what intervals are widest by.
TRADES, TRADES_OF_FEW, FEW_VOTES = 1, 4, 5_000
WANTED_TRADES = 0.35
DIGITS = 8  # after the point: trajectories would multiply what the order of names and rows changes in the last digits
LIKELY = 0.05  # probability of a quality at an end of those possible


class EvaluatedPoint(Protocol):
    """Minus the log-posterior at a point, and its gradient."""

    @property
    def value(self) -> float: ...

    @property
    def gradient(self) -> Floats: ...


Evaluated = TypeVar("Evaluated", bound=EvaluatedPoint)


class Draws(NamedTuple):
    """What was drawn, after the warm-up."""

    x: Floats  # draw × parameter
    mean: Floats  # of every parameter: less random than the mean of the draws
    error: Floats  # the standard error of that mean
    posterior: Floats  # of the quality of each profile, averaged over the draws
    spread: Floats  # draw: of the scores
    weight: Floats  # of each shape of quality in the crowd, averaged over the draws
    crowd: Crowd  # that of the mode, with the qualities that were possible in the draws


class Units:
    """Parameters in units of the curvature around a centre: x = centre + factor × (u + stretch of u)."""

    def __init__(self, at: Mode, n_entries: int) -> None:
        self.n, self.centre, self.error = n_entries, at.x, np.sqrt(at.variance)
        self.factor = self.transposed = self.inverse = None
        if at.precision is not None:
            self.inverse = at.precision.map(cholesky)
            self.transposed = self.inverse.map(inverse_of_triangle)
            self.factor = self.transposed.map(_transposed)
            self.inverse = self.inverse.map(_transposed)
        self.basis = np.zeros((0, len(at.x)))  # directions × parameters
        self.stretch = self.shrink = np.zeros((len(at.x), 0))  # by what is added along each of them

    def stretch_along(self, directions: Floats, gradient_at: Callable[[Floats], Floats]) -> None:
        """Take the units along a few directions of the parameters from the gradients there.

        The curvature is that given the qualities. Along some directions qualities and parameters change together, and
        the posterior is several times as wide.
        """
        along = np.array([self.of(self.centre + each) for each in directions if np.any(each)])
        if not len(along):
            return
        basis = np.linalg.qr(along.T)[0]
        slopes = [[self.slope(gradient_at(self.position(end * each))) for end in (REACH, -REACH)] for each in basis.T]
        curvature = np.array([(up - down) @ basis / (2 * REACH) for up, down in slopes])
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
        width = 1 / np.sqrt(np.clip(values, *CURVATURES))
        self.basis = np.ascontiguousarray(basis.T)
        self.stretch, self.shrink = (basis @ (vectors * (factor - 1) @ vectors.T) for factor in (width, 1 / width))

    def _stretched(self, u: Floats, by: Floats) -> Floats:
        return np.asarray(u + times(by, times(self.basis, u))) if len(self.basis) else u

    def position(self, u: Floats) -> Floats:
        """Parameters from units."""
        u = self._stretched(u, self.stretch)
        x = self.error * u
        if self.factor is not None:
            x[: self.n] = self.factor.times(u[: self.n])
        x += self.centre
        return x

    def slope(self, gradient: Floats) -> Floats:
        """The gradient by units."""
        slope = self.error * gradient
        if self.transposed is not None:
            slope[: self.n] = self.transposed.times(gradient[: self.n])
        return self._stretched(slope, self.stretch)

    def of(self, x: Floats) -> Floats:
        """Units from parameters."""
        u = (x - self.centre) / self.error
        if self.inverse is not None:
            u[: self.n] = self.inverse.times((x - self.centre)[: self.n])
        return self._stretched(u, self.shrink)


def _transposed(stack: Floats) -> Floats:
    return np.ascontiguousarray(stack.swapaxes(1, 2))


class UnitSystem(Protocol):
    """Parameters measured so that their posterior is close to a standard normal distribution."""

    def position(self, u: Floats) -> Floats: ...

    def slope(self, gradient: Floats) -> Floats: ...

    def of(self, x: Floats) -> Floats: ...


class Trajectories:
    """Hamiltonian trajectories. Their length and that of their leaps are learned, by less and less."""

    def __init__(self, units: UnitSystem, rng: np.random.Generator) -> None:
        self.units, self.rng, self.angle, self.moves = units, rng, LONGEST_ANGLE, 0
        self.width = 1.0  # of the posterior, in units: where it is wider, a circle takes longer

    @property
    def length(self) -> float:
        """A quarter of a circle."""
        return TRAJECTORY * min(max(self.width, 1.0), LONGEST)

    def move(self, x: Floats, now: Evaluated, evaluate: Callable[[Floats], Evaluated]) -> tuple[Floats, Evaluated]:
        """The end of a trajectory from here, or where it began, if it is not accepted."""
        units, there = self.units, now
        position, slope = units.of(x), units.slope(now.gradient)
        self._learn_width(position**2)
        momentum = self.rng.normal(size=len(position))
        before = there.value + dot(momentum, momentum) / 2
        angle = self.angle * self.rng.uniform(0.8, 1.2)
        cos, sin = math.cos(angle), math.sin(angle)
        for _ in range(min(round(self.length / self.angle), MOST_LEAPS)):
            momentum = momentum - angle / 2 * (slope - position)
            position, momentum = cos * position + sin * momentum, cos * momentum - sin * position
            there = evaluate(units.position(position))
            slope = units.slope(there.gradient)
            momentum = momentum - angle / 2 * (slope - position)
        change = before - there.value - dot(momentum, momentum) / 2
        accepted = _acceptance(change)
        self.angle *= math.exp((accepted - WANTED_ACCEPTANCE) / math.sqrt(1 + self.moves / 4))
        self.angle, self.moves = min(self.angle, LONGEST_ANGLE), self.moves + 1
        return (units.position(position), there) if self.rng.random() < accepted else (x, now)

    def _learn_width(self, squares: Floats) -> None:
        """Take a position into account, most of all the directions in which the posterior is widest."""
        width = math.sqrt(dot(squares, squares) / (3 * max(float(squares.sum()), 1e-300)))
        self.width += (width - self.width) / (UNITS_SEEN + self.moves)


class Chain:
    """A Markov chain whose states are draws from the posterior."""

    def __init__(self, model: MarginalModel, mode: Mode, seed: int) -> None:
        self.model, self.rng = model, np.random.default_rng(seed)
        self.crowd, self.qualities = mode.crowd, mode.crowd.qualities
        self.hyper = replace(mode.hyper, integrated=True)
        self.shares = ShareMoves(few=model.few is not None)
        self.trade = self.sharpening = START_TRADE
        self.exchange = _exchange(mode.crowd)
        self.rescaling = dict.fromkeys(model.free, START_TRADE)
        self.trades = TRADES_OF_FEW if len(model.rows.winner) <= FEW_VOTES else TRADES
        self.x = self.start = mode.x
        self.now = self._evaluation(mode.x)
        self.focus(mode)

    def _evaluation(self, x: Floats) -> MarginalEvaluation:
        return self.model.evaluate(x, self.qualities, self.hyper)

    def focus(self, at: Mode) -> None:
        """Measure positions from here."""
        self.units = Units(at, self.model.n_entries)
        self.trajectories = Trajectories(self.units, self.rng)
        blocks = np.zeros((1 + len(self.model.free), len(at.x)))
        blocks[0, : self.model.n_entries] = at.x[: self.model.n_entries]  # the scale of all scores
        for name, block in zip(self.model.free, blocks[1:], strict=True):
            block[self.model.layout.slices[name]] = 1.0  # the mean of all thresholds or biases
        self.units.stretch_along(blocks, lambda x: self._evaluation(x).gradient)

    def move(self) -> None:
        """A trajectory, accepted or not."""
        end, there = self.trajectories.move(self.x, self.now, self._evaluation)
        if self._is_upright(end, self.crowd):
            self.x, self.now = end.round(DIGITS), there

    def _is_upright(self, x: Floats, crowd: Crowd) -> bool:
        """Whether these scores and qualities are not those of the mirror image."""
        if crowd.counts is None or crowd.weight @ RATE >= 0:
            return True
        n = self.model.n_entries
        return dot(x[:n], self.start[:n]) >= 0

    def draw_distributions(self, rate: float = 0.0) -> None:
        """New shares of qualities and spreads, given the parameters and the posterior of quality.

        The sizes of changes are learned with this rate.
        """
        if self.crowd.counts is not None:
            drawn = self.shares.drawn(self.crowd, self.now.posterior, self.rng, rate)
            self.crowd = drawn if self._is_upright(self.x, drawn) else self.crowd
            self.qualities = self.crowd.qualities
        self.hyper = self.hyper.drawn(self.model.squares(self.x, self.hyper), self.model.profiles(self.x), self.rng)
        counts = self.crowd.counts
        if counts is not None or self.model.free:
            likelihood = self.model.likelihood_value(self.x, self.qualities)
            if counts is not None and self.model.has_tie_sharpness:
                accepted, likelihood = self._sharpen_ties(likelihood)
                self.sharpening *= math.exp(2 * rate * (accepted - WANTED_TRADES))
            for name in self.model.free:
                accepted, likelihood = self._rescale_deviations(name, likelihood)
                self.rescaling[name] *= math.exp(2 * rate * (accepted - WANTED_TRADES))
        if counts is not None:
            value = likelihood + self.model.prior_value(self.x, self.hyper)
            for _ in range(self.trades):
                accepted, value = self._trade_scale_for_quality(counts, value)
                self.trade *= math.exp(2 * rate * (accepted - WANTED_TRADES) / self.trades)
        self.now = self._evaluation(self.x)

    def widen_qualities(self) -> None:
        """Let a profile have any quality if that of a draw is at an end of those that were possible.

        They were chosen by the most likely scores, which fit the votes of some annotators by chance.
        """
        if self.crowd.counts is None or self.crowd.in_cells:
            return
        ends = self.crowd.at_an_end(self.now.posterior, LIKELY)
        if ends.any():
            self.crowd = self.crowd.with_all_cells(ends)
            self.qualities = self.crowd.qualities
            self.now = self._evaluation(self.x)

    def _sharpen_ties(self, likelihood: float) -> tuple[float, float]:
        """Change how fast ties become rare with the gap, or not; the probability and the likelihood as below."""
        crowd = self.crowd.sharper(self.sharpening * self.rng.normal())
        there = self.model.likelihood_value(self.x, crowd.qualities)
        accepted = _acceptance(likelihood - there + self.crowd.tie_penalty - crowd.tie_penalty)
        if self.rng.random() < accepted:
            self.crowd, self.qualities, likelihood = crowd, crowd.qualities, there
        return accepted, likelihood

    def _rescale_deviations(self, name: str, likelihood: float) -> tuple[float, float]:
        """Multiply all deviations of thresholds or biases from their mean, and their spread, by a factor, or not.

        The probability of the former, and minus the log-likelihood afterwards; it is `likelihood` before. Few votes
        say little about an annotator's own threshold, so that the spread, drawn given all thresholds, changes slowly.
        """
        step, block = self.rescaling[name] * self.rng.normal(), self.model.layout.slices[name]
        mean, spread = getattr(self.hyper, name)
        x = self.x.copy()
        x[block] = mean + math.exp(step) * (x[block] - mean)
        there = self.model.likelihood_value(x, self.qualities)
        before, after = (PROFILE_VARIANCE.log_density(2 * log) for log in (math.log(spread), math.log(spread) + step))
        accepted = _acceptance(likelihood - there + after - before)
        if self.rng.random() < accepted:
            self.hyper = self.hyper.with_profiles(name, mean, spread * math.exp(step))
            self.x, likelihood = x, there
        return accepted, likelihood

    def _trade_scale_for_quality(self, counts: Floats, value: float) -> tuple[float, float]:
        """Multiply all scores by a factor and tilt the shares the other way, or not.

        The probability of the former, and minus the log-posterior afterwards; it is `value` before.
        """
        step, n = self.trade * self.rng.normal(), self.model.n_entries
        tilted = tilt(self.crowd.weight, -step * self.rng.random() * self.exchange * RATE)
        crowd, x = replace(self.crowd, weight=tilted), self.x.copy()
        x[:n] *= math.exp(step)
        if "ties" in self.model.free:  # or scores further apart would mean fewer ties
            x[self.model.layout.slices["ties"]] += step * self.rng.random()
        if self.model.has_tie_sharpness:
            crowd = crowd.sharper(-step * self.rng.random())
        there = self.model.value(x, crowd.qualities, self.hyper)
        volume = n * step + log_prior_ratio(counts, tilted, self.crowd.weight)
        volume += self.crowd.tie_penalty - crowd.tie_penalty
        accepted = _acceptance(value - there + volume)
        if self.rng.random() < accepted and self._is_upright(x, crowd):
            self.x, self.crowd, self.qualities, value = x, crowd, crowd.qualities, there
        return accepted, value


def _acceptance(change: float) -> float:
    return math.exp(min(0.0, change)) if math.isfinite(change) else 0.0


def _exchange(crowd: Crowd) -> float:
    """How far a tilt by r = 2η − 1 must go for the mean of r to change by itself."""
    if crowd.counts is None:
        return 0.0
    mean = float(crowd.weight @ RATE)
    return mean / float(crowd.weight @ (RATE - mean) ** 2)


def sample(
    model: MarginalModel, mode: Mode, task_starts: NDArray[np.int64], *, draws: int, warm_up: int, seed: int = 0
) -> Draws:
    """Draws from the posterior; distributions that are given stay as they are."""
    chain, total = Chain(model, mode, seed), np.zeros(len(mode.x))
    for number in range(warm_up):
        report("posterior", number, warm_up + draws)
        chain.move()
        chain.draw_distributions(1 / math.sqrt(1 + number))
        chain.widen_qualities()
        total += chain.x * (warm_up // 4 <= number < warm_up // 2)
        if number + 1 == warm_up // 2:  # the mode is not the middle
            centre = total / (warm_up // 2 - warm_up // 4)
            chain.focus(mode_at(model, task_starts, centre, chain.crowd, chain.hyper))
    xs, gradients = np.empty((2, draws, len(mode.x)))
    posterior, spread, weight = np.zeros_like(mode.posterior), np.empty(draws), np.zeros_like(mode.crowd.weight)
    sharpness = 0.0
    for number in range(draws):
        report("posterior", warm_up + number, warm_up + draws)
        spread[number] = chain.hyper.spread
        chain.move()
        xs[number], gradients[number] = chain.x, chain.now.gradient
        posterior += chain.now.posterior / draws
        weight += chain.crowd.weight / draws
        sharpness += chain.crowd.tie_sharpness / draws
        chain.draw_distributions()
    crowd = replace(chain.crowd, weight=mode.crowd.weight, tie_sharpness=sharpness)
    return Draws(xs, *controlled_mean(xs, gradients, chain.units), posterior, spread, weight, crowd)


def controlled_mean(xs: Floats, gradients: Floats, units: UnitSystem) -> tuple[Floats, Floats]:
    """The mean of the draws, less what the gradients, whose true mean is 0, show to be random; its standard error.

    Mira, Solgi, Imparato: Zero variance Markov chain Monte Carlo for Bayesian estimators, Statistics and Computing
    2013. The error is from means of successive draws.
    """
    u, slope = np.array([units.of(x) for x in xs]), np.array([units.slope(each) for each in gradients])
    centred = u - u.mean(axis=0)
    share = (centred * slope).sum(axis=0) / np.maximum((slope**2).sum(axis=0), 1e-300)
    controlled = u - share * slope
    means = np.array([units.position(part.mean(axis=0)) for part in np.array_split(controlled, BATCHES)])
    return units.position(controlled.mean(axis=0)), means.std(axis=0, ddof=1) / math.sqrt(BATCHES)
