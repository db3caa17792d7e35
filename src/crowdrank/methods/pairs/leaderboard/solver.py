"""The most likely parameters, how certain they are, and the spreads they were drawn with.

The information is an arrow: the blocks of categories and annotators are connected with the core, not with each other.
The core is solved after the blocks are eliminated.

Newton's method finds the parameters of votes that all count alike. Where annotators differ, the arrow leaves out what
connects them with categories, and is a Fisher information: Newton's steps would be halved again and again. There the
arrow is the preconditioner of quasi-Newton steps, which need gradients alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from crowdrank.consensus import Fit
from crowdrank.methods.pairs.leaderboard.block_matrices import (
    Matrix,
    along_diagonal,
    compact,
    dense,
    is_sparse,
    row_products,
)
from crowdrank.methods.pairs.leaderboard.effect_kernels import EffectValues, Information
from crowdrank.methods.pairs.leaderboard.model import (
    COEFFICIENT_SPREAD,
    START_SPREAD,
    TIES_SPREAD,
    USUAL_QUALITY,
    EffectModel,
)
from crowdrank.methods.pairs.votes.hyperparameters import SCORE_VARIANCE, InverseGamma
from crowdrank.numerics.quasi_newton import descend
from crowdrank.study import Floats

ROUNDS = 40
STABLE = 0.005  # relative: spreads that change less have been found
STABLE_BY_GRADIENTS = 0.02  # the same with quasi-Newton steps, which end a little beside the most likely parameters
LEAST_SPREAD, MOST_SPREAD = 0.005, 20.0
HALVINGS = 30
FINEST = 1e-3  # standard errors: shorter steps change nothing that matters
SHORTEST = 1e-5  # standard errors: of quasi-Newton steps, which do not converge as fast
STEPS_IN_ROUND = 5  # quasi-Newton ones, before new spreads
LEAST_LEFT = 0.05  # of the information about any direction of the core, when annotators are eliminated
NEAR = 0.1  # log-odds: the information hardly changes where parameters move less than this
QUALITY_VARIANCE = InverseGamma(2.0, 2.0)  # of its log-odds
EFFECT_VARIANCE = InverseGamma(1.0, 0.1)
BIAS_VARIANCE = InverseGamma(0.5, 0.2)  # of annotators: their votes say little about it, so that its prior matters
Parts = tuple[Floats, Floats, Floats]  # of the core, of the categories' deviations, of the annotators' parameters
FIXED = ("coefficient", "mean bias", "mean ties", "mean quality")  # parameters whose spread is not learned


@dataclass(frozen=True, slots=True)
class Spreads:
    """The standard deviations of the parameters' priors."""

    core: dict[str, float]
    own: dict[str, float]
    ties: float  # the prior mean of the readiness to tie

    def centre(self, name: str) -> float:
        """The prior mean of parameters of the core."""
        return {"mean ties": self.ties, "mean quality": USUAL_QUALITY[0]}.get(name, 0.0)

    def precision(self, model: EffectModel) -> tuple[Floats, Floats, Floats]:
        """Of the core's parameters, of the categories' deviations, and of the annotators' parameters."""
        core = np.empty(model.n_core)
        for name, where in model.slices.items():
            core[where] = self.core[name] ** -2
        block = np.full(model.n_blocks, 0.0 if model.blocked is None else self.core[model.blocked.name] ** -2)
        return core, block, np.array([self.own[name] ** -2 for name in model.own])


def start_spreads(model: EffectModel, ties: float) -> Spreads:
    """Where the search for the spreads starts."""
    fixed = dict(zip(FIXED, (COEFFICIENT_SPREAD, COEFFICIENT_SPREAD, TIES_SPREAD, USUAL_QUALITY[1]), strict=True))
    names = [*model.slices, *([] if model.blocked is None else [model.blocked.name])]
    core = {name: fixed.get(name, START_SPREAD.get(name, 0.3)) for name in names}
    return Spreads(core, {name: START_SPREAD.get(name, 0.3) for name in model.own}, ties)


@dataclass(frozen=True, eq=False)
class Arrow:
    """The posterior information with the blocks eliminated."""

    information: Information  # with the priors
    core_inverse: Floats
    block_inverse: Floats
    own_inverse: Floats
    block_map: Matrix  # deviations of all categories × core: how their mode moves with the core
    own_map: Matrix  # parameters of all annotators × core

    def step(self) -> Parts:
        """The Newton step of the core, of the categories' deviations and of the annotators' parameters."""
        info = self.information
        core, block, own = self.times_inverse((info.core_gradient, info.block_gradient, info.own_gradient))
        return -core, -block, -own

    def times_inverse(self, parts: Parts) -> Parts:
        """The inverse of the information times a vector."""
        core, block, own = parts
        core = core - self.block_map.T @ block.ravel() - self.own_map.T @ own.ravel()
        core = self.core_inverse @ core
        block, own = _times(self.block_inverse, block), _times(self.own_inverse, own)
        block -= (self.block_map @ core).reshape(block.shape)
        own -= (self.own_map @ core).reshape(own.shape)
        return core, block, own

    @cached_property
    def block_variance(self) -> Floats:
        """Of the deviations in each category."""
        return _block_variance(self.block_inverse, self.block_map, self.core_inverse)

    @cached_property
    def own_variance(self) -> Floats:
        """Of the annotators' parameters."""
        return _block_variance(self.own_inverse, self.own_map, self.core_inverse)


def _times(blocks: Floats, right: Floats) -> Floats:
    return np.asarray((blocks @ right[..., None])[..., 0]) if blocks.size else np.zeros(right.shape)


def _block_variance(inverse: Floats, mapping: Matrix, core_inverse: Floats) -> Floats:
    if not inverse.size:
        return np.zeros(inverse.shape[:2])
    own = np.einsum("kii->ki", inverse)
    return np.asarray(own + row_products(mapping, mapping @ core_inverse).reshape(own.shape))


def arrow_of(information: Information) -> Arrow:
    """Eliminate the blocks."""
    core, m = information.core, len(information.core)
    parts: list[Floats] = []
    maps: list[Matrix] = []
    block, own = (_inverse(each) for each in (information.block, information.own))
    for inverse, across in ((block, information.block_core), (own, information.own_core)):
        rows = compact(across.reshape(-1, m))
        mapping = _mapping(inverse, across, rows)
        parts.append(_symmetric(dense(rows.T @ mapping)))
        maps.append(mapping)
    with_own = _symmetric(core - parts[0])
    left = _left(with_own, parts[1]) if block.size and own.size else with_own - parts[1]
    return Arrow(information, _inverse(left), block, own, maps[0], maps[1])


def _left(information: Floats, of_annotators: Floats) -> Floats:
    """What votes say about the core when annotators are eliminated after categories.

    What connects the two is left out, so that in a few directions, as the common scale of all scores, both may take
    away the same: there annotators take away a part.
    """
    found = information - of_annotators
    try:
        np.linalg.cholesky(found - LEAST_LEFT * information)
    except np.linalg.LinAlgError:
        triangle = np.linalg.cholesky(information)
        inverse = np.linalg.inv(triangle)
        share, direction = np.linalg.eigh(_symmetric(inverse @ of_annotators @ inverse.T))
        direction = triangle @ direction
        found = _symmetric((direction * np.maximum(1 - share, LEAST_LEFT)) @ direction.T)
    return found


def _symmetric(matrix: Floats) -> Floats:
    return np.asarray((matrix + matrix.T) / 2)


def _inverse(matrix: Floats) -> Floats:
    """Of a symmetric matrix, or of several."""
    if not matrix.size:
        return matrix
    found = np.linalg.inv(matrix)
    return np.asarray((found + found.swapaxes(-1, -2)) / 2)


def _mapping(inverse: Floats, across: Floats, rows: Matrix) -> Matrix:
    """The inverse of the blocks times what connects them with the core."""
    if is_sparse(rows):
        return along_diagonal(inverse) @ rows
    return np.asarray((inverse @ across if inverse.size else across).reshape(rows.shape))


@dataclass(frozen=True, eq=False)
class Solution:
    """The most likely parameters for some spreads."""

    values: EffectValues
    spreads: Spreads
    arrow: Arrow
    fit: Fit


def posterior_at(model: EffectModel, values: EffectValues, spreads: Spreads) -> tuple[float, Information]:
    """Minus the log-posterior, with its gradient and information."""
    value, info = model.information(values)
    core, block, own = spreads.precision(model)
    value += _add_prior(model, values, spreads, (info.core_gradient, info.block_gradient, info.own_gradient))
    np.einsum("ii->i", info.core)[...] += core
    if info.block.size:
        np.einsum("kii->ki", info.block)[...] += block[:, None]
    if info.own.size:
        np.einsum("kii->ki", info.own)[...] += own
    return value, info


def _add_prior(model: EffectModel, values: EffectValues, spreads: Spreads, gradients: Parts) -> float:
    """Minus the log-prior; its gradient is added."""
    core, block, own = spreads.precision(model)
    centre = np.zeros(model.n_core)
    for name, where in model.slices.items():
        centre[where] = spreads.centre(name)
    away = values.core - centre
    by_core, by_block, by_own = gradients
    by_core += core * away
    by_block += block[:, None] * values.block
    by_own += own * values.own[: len(by_own)]
    return float(core @ away**2 + block @ (values.block**2).sum(axis=1) + (own * values.own**2).sum()) / 2


def find_mode(
    model: EffectModel,
    values: EffectValues,
    spreads: Spreads,
    max_iter: int,
    tol: float,
    centre: EffectValues | None = None,
    shortest: float = SHORTEST,
) -> Solution:
    """The most likely parameters for these spreads; `centre` is near `values`, and its information is known."""
    if model.own:
        return _by_gradients(model, values, spreads, max_iter, values if centre is None else centre, shortest)
    return _by_newton(model, values, spreads, max_iter, tol)


def _by_gradients(
    model: EffectModel,
    values: EffectValues,
    spreads: Spreads,
    max_iter: int,
    centre: EffectValues,
    shortest: float,
) -> Solution:
    """Quasi-Newton steps; the information is computed at their end once more."""
    arrow = arrow_of(posterior_at(model, centre, spreads)[1])
    values, steps, converged = _descended(model, values, spreads, arrow, max_iter, shortest)
    value, info = posterior_at(model, values, spreads)
    return Solution(values, spreads, arrow_of(info), Fit(steps, converged, -value))


def _descended(
    model: EffectModel,
    values: EffectValues,
    spreads: Spreads,
    arrow: Arrow,
    max_iter: int,
    shortest: float = SHORTEST,
) -> tuple[EffectValues, int, bool]:
    """Where quasi-Newton steps lead, their number, and whether no step of any length is left."""

    def evaluate(x: Floats) -> tuple[float, Floats]:
        at = values.with_numbers(x)
        value, slopes = model.gradient(at)
        return value + _add_prior(model, at, spreads, (slopes.core, slopes.block, slopes.own)), slopes.numbers

    def precondition(gradient: Floats) -> Floats:
        core, block, own, quality = values.with_numbers(gradient)
        return EffectValues(*arrow.times_inverse((core, block, own)), quality).numbers

    found = descend(evaluate, values.numbers, precondition, max_iter=max_iter, tol=shortest)
    return values.with_numbers(found.point.x), found.steps, found.converged


def _by_newton(model: EffectModel, values: EffectValues, spreads: Spreads, max_iter: int, tol: float) -> Solution:
    """Newton's method; a step that does not lead down is halved."""
    value, info = posterior_at(model, values, spreads)
    steps, converged = 0, False
    arrow = arrow_of(info)
    while steps < max_iter:
        direction, steps = arrow.step(), steps + 1
        largest = max(float(np.abs(part).max(initial=0.0)) for part in direction)
        decrement = _decrement(arrow, direction)
        if largest <= tol or decrement < FINEST:  # so short a step leads down, and does not change the curvature
            values, value, converged = _moved(values, direction, 1.0), value - decrement**2 / 2, True
            break
        lower = _lower(model, values, spreads, direction, value)
        if lower is None:
            converged = True  # rounding is all that is left
            break
        values, value, info = lower
        arrow = arrow_of(info)
    return Solution(values, spreads, arrow, Fit(steps, converged, -value))


def _lower(
    model: EffectModel, values: EffectValues, spreads: Spreads, direction: Parts, value: float
) -> tuple[EffectValues, float, Information] | None:
    """The first point of a direction where minus the log-posterior is not higher, with what it is there."""
    length = 1.0
    for _ in range(HALVINGS):
        trial = _moved(values, direction, length)
        trial_value, info = posterior_at(model, trial, spreads)
        if trial_value <= value + 1e-12 * abs(value):
            return trial, trial_value, info
        length /= 2
    return None


def _decrement(arrow: Arrow, direction: Parts) -> float:
    """The length of a step in standard errors, of all parameters together."""
    info = arrow.information
    gradients = info.core_gradient, info.block_gradient, info.own_gradient
    return float(np.sqrt(max(-sum((g * step).sum() for g, step in zip(gradients, direction, strict=True)), 0.0)))


def _moved(values: EffectValues, direction: Parts, length: float) -> EffectValues:
    core, block, own = direction
    new_own = values.own + length * own if own.size else values.own
    return EffectValues(values.core + length * core, values.block + length * block, new_own, values.quality)


def learn(
    model: EffectModel, values: EffectValues, spreads: Spreads, *, max_iter: int, tol: float, shortest: float = SHORTEST
) -> Solution:
    """The most likely parameters, with spreads that fit the votes: steps, then new spreads, in turns."""
    values, spreads, steps, centre = _in_rounds(model, values, spreads)
    found = find_mode(model, values, spreads, max_iter, tol, centre, shortest)
    return replace(found, fit=replace(found.fit, steps=steps + found.fit.steps))


def _in_rounds(
    model: EffectModel, values: EffectValues, spreads: Spreads
) -> tuple[EffectValues, Spreads, int, EffectValues]:
    """Parameters near the most likely ones, spreads that fit them, the number of steps, and where information is known.

    Quasi-Newton steps keep the information while the parameters stay near: to compute it takes as long as many of them.
    """
    steps, centre, stable = 0, values, STABLE_BY_GRADIENTS if model.own else STABLE
    for _ in range(ROUNDS):
        value, info = posterior_at(model, centre, spreads)
        arrow = arrow_of(info)
        if model.own:
            values, taken, _ = _descended(model, values, spreads, arrow, STEPS_IN_ROUND)
            centre = centre if _are_near(values, centre) else values
        else:
            lower, taken = _lower(model, values, spreads, arrow.step(), value), 1
            values = centre = values if lower is None else lower[0]
        steps += taken
        old, spreads = spreads, _updated(model, values, spreads, arrow)
        if max(_change(old.core, spreads.core), _change(old.own, spreads.own)) < stable:
            break
    return values, spreads, steps, centre


def _are_near(one: EffectValues, other: EffectValues) -> bool:
    return float(((one.numbers - other.numbers) ** 2).mean()) < NEAR**2


def _change(old: Mapping[str, float], new: Mapping[str, float]) -> float:
    """The largest relative change."""
    return max((abs(float(np.log(new[name] / before))) for name, before in old.items()), default=0.0)


def _updated(model: EffectModel, values: EffectValues, old: Spreads, arrow: Arrow) -> Spreads:
    """Spreads that fit the parameters and their variances."""
    core, own, variance = dict(old.core), dict(old.own), np.diag(arrow.core_inverse)
    for name, where in model.slices.items():
        if name not in FIXED:
            core[name] = _fitting(old.core[name], name, values.core[where], variance[where])
    if model.blocked is not None:
        name = model.blocked.name
        core[name] = _fitting(old.core[name], name, values.block, arrow.block_variance)
    for name, at in model.own.items():
        own[name] = _fitting(old.own[name], name, values.own[:, at], arrow.own_variance[:, at])
    return Spreads(core, own, old.ties)


def _fitting(old: float, name: str, values: Floats, variance: Floats) -> float:
    """The spread by MacKay's rule: what votes say nothing about does not count as a parameter.

    It ends where EM steps end, in a third of their number.
    """
    prior = variance_of(name)
    count = prior.shape + (values.size - min(float(variance.sum()) / old**2, values.size)) / 2
    fitting = (prior.scale + float((values**2).sum()) / 2) / count
    return float(np.clip(np.sqrt(fitting), LEAST_SPREAD, MOST_SPREAD))


def variance_of(name: str) -> InverseGamma:
    """The prior of the variance of parameters; the median of that of deviations is .38²."""
    if name in ("bias", "ties") or name.startswith("slope "):
        return BIAS_VARIANCE
    return {"score": SCORE_VARIANCE, "quality": QUALITY_VARIANCE}.get(name, EFFECT_VARIANCE)
