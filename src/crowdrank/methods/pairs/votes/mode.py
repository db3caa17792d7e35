"""The most likely scores with quality integrated out, and the distributions of scores and quality that fit the votes.

Scores and distributions depend on each other, so they are found in rounds: a few quasi-Newton steps, then the
distributions that fit (empirical Bayes).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.pairs.votes.crowd import Crowd
from crowdrank.methods.pairs.votes.hyperparameters import Hyperparameters
from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.numerics.quasi_newton import descend
from crowdrank.numerics.task_blocks import TaskBlocks, graph_blocks, inverse
from crowdrank.study import Floats

MAX_ROUNDS = 15
STEPS_PER_ROUND = 8
LARGEST_BLOCK = 250  # entries of a task whose curvature is inverted; of a larger one, its diagonal
ROUGH = 0.02  # standard errors
SETTLED = 0.01  # change of the logarithm of the spread, and of the shares of qualities, in a round


@dataclass(frozen=True, slots=True, eq=False)
class Mode:
    """The mode, the distributions that fit it, and the curvature there."""

    x: Floats
    crowd: Crowd
    hyper: Hyperparameters
    value: float
    posterior: Floats  # of the quality of each profile
    precision: TaskBlocks | None  # of the scores given the qualities; None if a task is too large
    covariance: TaskBlocks | None  # its inverse
    variance: Floats  # of every parameter
    steps: int
    converged: bool


def find_mode(model: MarginalModel, task_starts: NDArray[np.int64], start: Mode, *, max_iter: int, tol: float) -> Mode:
    """The mode from a start; distributions that are not given are learned."""
    mode = start
    for _ in range(MAX_ROUNDS):
        before = mode
        mode = with_learned(model, follow(model, task_starts, mode, max_iter=STEPS_PER_ROUND, tol=ROUGH))
        if _change(before, mode) < SETTLED:
            break
    return follow(model, task_starts, mode, max_iter=max_iter, tol=tol)


def mode_at(
    model: MarginalModel, task_starts: NDArray[np.int64], x: Floats, crowd: Crowd, hyper: Hyperparameters
) -> Mode:
    """The curvature at a point."""
    value, _, posterior = model.evaluate(x, crowd.qualities, hyper, curved=True)
    value += hyper.penalty(model.n_entries) + crowd.penalty
    variance = 1 / model.diagonal()
    precision = covariance = None
    if np.diff(task_starts).max(initial=0) <= LARGEST_BLOCK:
        n, sides = model.n_entries, (model.rows.winner, model.rows.loser)
        precision = graph_blocks(task_starts, *sides, model.gap_precision, model.prior_curvature[:n])
        covariance = precision.map(inverse)
        variance[:n] = covariance.diagonal(n)
    return Mode(x, crowd, hyper, value, posterior, precision, covariance, variance, 0, True)


def follow(model: MarginalModel, task_starts: NDArray[np.int64], mode: Mode, *, max_iter: int, tol: float) -> Mode:
    """Quasi-Newton steps with the distributions as they are."""
    n = model.n_entries

    def precondition(vector: Floats) -> Floats:
        result = vector * mode.variance
        if mode.covariance is not None:
            result[:n] = mode.covariance.times(vector[:n])
        return result

    qualities = mode.crowd.qualities
    found = descend(
        lambda x: model.evaluate(x, qualities, mode.hyper), mode.x, precondition, max_iter=max_iter, tol=tol
    )
    new = mode_at(model, task_starts, found.point.x, mode.crowd, mode.hyper)
    return replace(new, steps=found.steps, converged=found.converged)


def with_learned(model: MarginalModel, mode: Mode) -> Mode:
    """The distributions that fit the mode."""
    crowd, profiles = mode.crowd, model.profiles(mode.x)
    if crowd.counts is not None:
        cells = crowd.counts + crowd.cells(mode.posterior)
        crowd = replace(crowd, share=cells / cells.sum())
    return replace(mode, crowd=crowd, hyper=mode.hyper.learned(mode.x[: model.n_entries], profiles, mode.variance))


def _change(before: Mode, after: Mode) -> float:
    """How far the distributions moved."""
    return max(
        abs(float(np.log(after.hyper.spread / before.hyper.spread))),
        float(np.abs(after.crowd.share - before.crowd.share).sum()),
        *(abs(new - old) for new, old in zip(after.hyper.ties, before.hyper.ties, strict=True)),
    )
