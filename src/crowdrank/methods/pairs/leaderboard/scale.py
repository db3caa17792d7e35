"""The common scale of scores, deviations and coefficients, by its evidence.

Votes say little about this scale where qualities are unknown: scores further apart and annotators who err more give
nearly the same answers. The most likely parameters lie too close together (decision 0016): there is more room further
out. So parameters are multiplied by the factor with the highest evidence, which is Laplace's: the density at the most
likely qualities and biases, times the room around.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from crowdrank.methods.pairs.leaderboard.effect_kernels import EffectValues
from crowdrank.methods.pairs.leaderboard.model import EffectModel
from crowdrank.methods.pairs.leaderboard.sampler import EffectTarget
from crowdrank.methods.pairs.leaderboard.solver import FIXED, Arrow, Solution, Spreads, find_mode, learn
from crowdrank.numerics.quasi_newton import descend
from crowdrank.study import Floats

FIRST, NEXT = 0.15, 0.3  # steps, in the logarithm of the factor
MOST_TRIALS = 8
CLOSE = 0.02
STEPS = 6  # of the search for qualities and biases
SMALL = 1.0  # standard errors of all parameters together: what is left does not change the scale
MANY_VOTES = 200_000  # of more, spreads are learned from a sample of this size
MEANS = "mean bias", "mean ties", "mean quality"  # of annotators
Trial = tuple[float, EffectValues, Arrow]  # minus the logarithm of the evidence, and the parameters


def learn_crowd(model: EffectModel, values: EffectValues, spreads: Spreads, *, max_iter: int, tol: float) -> Solution:
    """The most likely parameters at the most probable scale, with spreads that fit the votes."""
    if len(model.rows.left) <= MANY_VOTES:
        return rescaled(model, learn(model, values, spreads, max_iter=max_iter, tol=tol))
    sample = model.sample(MANY_VOTES)
    first = learn(sample, values, spreads, max_iter=max_iter, tol=tol, shortest=SMALL)
    found = rescaled(model, find_mode(model, first.values, first.spreads, max_iter, tol, shortest=SMALL))
    return replace(found, fit=replace(found.fit, steps=first.fit.steps + found.fit.steps))


def rescaled(model: EffectModel, solution: Solution) -> Solution:
    """The solution at the scale with the highest evidence."""
    target = EffectTarget(model, solution)

    def tried_at(log_factor: float, near: float) -> Trial:
        _, values, arrow = tried[near]
        found = _with_annotators(target, _times(model, values, math.exp(log_factor - near)), arrow)
        there = target.information(found.numbers, found.numbers)
        return target.evaluate(found.numbers).value + _log_room(there), found, there

    tried: dict[float, Trial] = {0.0: (math.inf, solution.values, solution.arrow)}
    tried[0.0] = tried_at(0.0, 0.0)
    while len(tried) < MOST_TRIALS and (new := _next(tried)) is not None:
        tried[new] = tried_at(new, min(tried, key=lambda each: abs(each - new)))
    best = _best(tried)
    core = {n: each if n in FIXED else each * math.exp(best) for n, each in solution.spreads.core.items()}
    _, values, arrow = tried[best]
    return replace(solution, values=values, arrow=arrow, spreads=replace(solution.spreads, core=core))


def _best(tried: dict[float, Trial]) -> float:
    return min(tried, key=lambda each: tried[each][0])


def _next(tried: dict[float, Trial]) -> float | None:
    """Where to try next: further on, or at the lowest point of a parabola; None if that is known closely."""
    points, best = sorted(tried), _best(tried)
    if best == points[-1]:
        return best + (FIRST if len(points) == 1 else NEXT)
    if best == points[0]:
        return best - NEXT
    i = points.index(best)
    (a, b, c), (at_a, at_b, at_c) = points[i - 1 : i + 2], (tried[each][0] for each in points[i - 1 : i + 2])
    one, other = (b - a) * (at_b - at_c), (b - c) * (at_b - at_a)
    lowest = b - ((b - a) * one - (b - c) * other) / (2 * (one - other))
    return None if min(abs(lowest - each) for each in points) < CLOSE else lowest


def _times(model: EffectModel, values: EffectValues, factor: float) -> EffectValues:
    """Scores, deviations and coefficients times a factor."""
    core = values.core * factor
    for where in (model.slices[name] for name in MEANS if name in model.slices):
        core[where] = values.core[where]
    return values._replace(core=core, block=values.block * factor)


def _with_annotators(target: EffectTarget, values: EffectValues, arrow: Arrow) -> EffectValues:
    """The most likely qualities and biases for these scores."""
    model = target.model
    free = np.array([model.slices[name].start for name in MEANS if name in model.slices], np.intp)
    across = arrow.information.own_core[:, :, free]
    own_map = arrow.own_inverse @ across
    means = np.linalg.inv(arrow.information.core[np.ix_(free, free)] - np.einsum("kqf,kqg->fg", across, own_map))

    def whole(x: Floats) -> EffectValues:
        core = values.core.copy()
        core[free] = x[: len(free)]
        return values._replace(core=core, own=x[len(free) :].reshape(values.own.shape))

    def part(of: EffectValues) -> Floats:
        return np.concatenate((of.core[free], of.own.ravel()))

    def evaluate(x: Floats) -> tuple[float, Floats]:
        found = target.evaluate(whole(x).numbers)
        return found.value, part(values.with_numbers(found.gradient))

    def precondition(gradient: Floats) -> Floats:
        of_means, own = gradient[: len(free)], gradient[len(free) :].reshape(values.own.shape)
        step = means @ (of_means - np.einsum("kqf,kq->f", own_map, own))
        return np.concatenate((step, ((arrow.own_inverse @ own[..., None])[..., 0] - own_map @ step).ravel()))

    return whole(descend(evaluate, part(values), precondition, max_iter=STEPS, tol=SMALL).point.x)


def _log_room(arrow: Arrow) -> float:
    """Half the logarithm of the determinant of the information: minus the logarithm of the room, but for a constant."""
    info = arrow.information
    blocks = (float(np.linalg.slogdet(each)[1].sum()) for each in (info.block, info.own) if each.size)
    return (sum(blocks) - float(np.linalg.slogdet(arrow.core_inverse)[1])) / 2
