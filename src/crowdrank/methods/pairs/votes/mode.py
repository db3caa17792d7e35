"""The most likely scores with quality integrated out, and the distributions of scores and quality that fit the votes.

Scores and distributions depend on each other, so they are found in rounds: a few quasi-Newton steps, then the
distributions that fit (empirical Bayes).

Where votes are many, most of the time goes into passes over them. A pass also gives every profile's likelihood of each
quality, and the shares of qualities are learned from these until they settle, without further passes. So the
distributions move further in a round, and are learned after fewer steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.pairs.votes.crowd import SHARPNESS_SPREAD, Crowd
from crowdrank.methods.pairs.votes.hyperparameters import Hyperparameters
from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.numerics.quasi_newton import Point, Search, descend
from crowdrank.numerics.task_blocks import TaskBlocks, graph_blocks, inverse
from crowdrank.study import Floats

MAX_ROUNDS = 15
STEPS_PER_ROUND = 8
LARGEST_BLOCK = 250  # entries of a task whose curvature is inverted; of a larger one, its diagonal
LARGEST_CHAIN = 1000  # the same where items are compared with similar ones: there the diagonal says little
ROUGH = 0.02  # standard errors
SETTLED = 0.01  # change of the logarithm of the spread, and of the shares of qualities, in a round
MANY_VOTES = 50_000
FEW_STEPS = 2  # of a round, where votes are many
SHARE_ROUNDS = 30
SHARPER, MUCH_SHARPER = 0.1, 0.5  # changes of the logarithm of the sharpness of ties
LONGER = 1.5  # spread and scores follow each other: where votes are many, the spread goes so much further


@dataclass(frozen=True, slots=True, eq=False)
class Mode:
    """The mode, the distributions that fit it, and the curvature there."""

    x: Floats
    crowd: Crowd
    hyper: Hyperparameters
    value: float
    gradient: Floats
    posterior: Floats  # of the quality of each profile
    precision: TaskBlocks | None  # of the scores given the qualities; None if a task is too large
    covariance: TaskBlocks | None  # its inverse
    variance: Floats  # of every parameter
    steps: int
    converged: bool


def find_mode(model: MarginalModel, task_starts: NDArray[np.int64], start: Mode, *, max_iter: int, tol: float) -> Mode:
    """The mode from a start; distributions that are not given are learned."""
    mode = in_rounds(model, task_starts, start, SETTLED)
    return follow(model, task_starts, mode, max_iter=max_iter, tol=tol)


def in_rounds(model: MarginalModel, task_starts: NDArray[np.int64], mode: Mode, settled: float) -> Mode:
    """Steps and distributions in turns, until these change by less than `settled`."""
    for _ in range(MAX_ROUNDS):
        before = mode
        if has_many_votes(model):
            mode = _quick_round(model, task_starts, mode)
        else:
            mode = with_learned(model, follow(model, task_starts, mode, max_iter=STEPS_PER_ROUND, tol=ROUGH))
        if _change(before, mode) < settled:
            break
    return mode


def has_many_votes(model: MarginalModel) -> bool:
    """Whether passes over the votes must be few."""
    return len(model.rows.winner) >= MANY_VOTES


def _quick_round(model: MarginalModel, task_starts: NDArray[np.int64], mode: Mode) -> Mode:
    """Few steps, from a point that was evaluated together with its curvature, then the distributions."""
    at = mode_at(model, task_starts, mode.x, mode.crowd, mode.hyper)
    start = Point(at.x, at.value - at.hyper.penalty(model.n_entries) - at.crowd.penalty, at.gradient, [at.posterior])
    point = _descended(model, at, start, max_iter=FEW_STEPS, tol=ROUGH).point
    learned = with_learned(model, replace(at, x=point.x, posterior=point.extra[0]))
    further = (learned.hyper.spread / mode.hyper.spread) ** (LONGER - 1)
    return replace(learned, hyper=replace(learned.hyper, spread=further * learned.hyper.spread))


def mode_at(
    model: MarginalModel, task_starts: NDArray[np.int64], x: Floats, crowd: Crowd, hyper: Hyperparameters
) -> Mode:
    """The curvature at a point."""
    value, gradient, posterior = model.evaluate(x, crowd.qualities, hyper, curved=True)
    value += hyper.penalty(model.n_entries) + crowd.penalty
    variance = 1 / model.diagonal()
    precision = covariance = None
    if np.diff(task_starts).max(initial=0) <= (LARGEST_CHAIN if hyper.of_gaps else LARGEST_BLOCK):
        n, sides = model.n_entries, (model.rows.winner, model.rows.loser)
        precision = graph_blocks(task_starts, *sides, model.gap_precision, model.prior_curvature[:n])
        covariance = precision.map(inverse)
        variance[:n] = covariance.diagonal(n)
    return Mode(x, crowd, hyper, value, gradient, posterior, precision, covariance, variance, 0, True)


def follow(model: MarginalModel, task_starts: NDArray[np.int64], mode: Mode, *, max_iter: int, tol: float) -> Mode:
    """Quasi-Newton steps with the distributions as they are."""
    found = _descended(model, mode, mode.x, max_iter=max_iter, tol=tol)
    new = mode_at(model, task_starts, found.point.x, mode.crowd, mode.hyper)
    return replace(new, steps=found.steps, converged=found.converged)


def _descended(model: MarginalModel, mode: Mode, start: Floats | Point, *, max_iter: int, tol: float) -> Search:
    """The same without the curvature where they end."""
    qualities, precondition = mode.crowd.qualities, preconditioner(mode, model.n_entries)
    return descend(lambda x: model.evaluate(x, qualities, mode.hyper), start, precondition, max_iter=max_iter, tol=tol)


def preconditioner(mode: Mode, n_entries: int, variance: Floats | None = None) -> Callable[[Floats], Floats]:
    """Multiplies by the covariance of the parameters given the qualities, scaled to the given variances."""
    scale = 1.0 if variance is None else np.sqrt(variance / mode.variance)

    def precondition(vector: Floats) -> Floats:
        scaled = vector * scale
        result = scaled * mode.variance
        if mode.covariance is not None:
            result[:n_entries] = mode.covariance.times(scaled[:n_entries])
        return np.asarray(result * scale)

    return precondition


def with_learned(model: MarginalModel, mode: Mode) -> Mode:
    """The distributions that fit the mode."""
    crowd, profiles = mode.crowd, model.profiles(mode.x)
    if crowd.counts is not None:
        rounds = SHARE_ROUNDS if has_many_votes(model) else 1
        crowd = with_fitting_ties(model, [mode.x], crowd.learned(crowd.likelihood(mode.posterior), rounds))
    return replace(mode, crowd=crowd, hyper=mode.hyper.learned(mode.x[: model.n_entries], profiles, mode.variance))


def with_fitting_ties(model: MarginalModel, points: Sequence[Floats], crowd: Crowd) -> Crowd:
    """The crowd with the sharpness of ties that fits, on average over points: a step of Newton's method.

    The derivatives are differences.
    """
    if not model.has_tie_sharpness:
        return crowd
    low, here, high = (
        tried.tie_penalty + sum(model.likelihood_value(x, tried.qualities) for x in points) / len(points)
        for tried in (crowd.sharper(step) for step in (-SHARPER, 0.0, SHARPER))
    )
    slope, curvature = (high - low) / (2 * SHARPER), (low + high - 2 * here) / SHARPER**2
    step = -slope / max(curvature, SHARPNESS_SPREAD**-2)
    return crowd.sharper(min(max(step, -MUCH_SHARPER), MUCH_SHARPER))


def _change(before: Mode, after: Mode) -> float:
    """How far the distributions moved."""
    return max(
        abs(float(np.log(after.hyper.spread / before.hyper.spread))),
        float(np.abs(after.crowd.share - before.crowd.share).sum()),
        abs(math.log(after.crowd.tie_sharpness / before.crowd.tie_sharpness)),
        *(abs(new - old) for new, old in zip(after.hyper.ties, before.hyper.ties, strict=True)),
    )
