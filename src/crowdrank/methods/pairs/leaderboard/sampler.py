"""Draws from the posterior of all parameters of votes with covariates, categories and biases.

The most likely scores of a crowd with unknown qualities lie too close together (decision 0016), so the posterior is
sampled. The variances of scores, deviations and annotators' parameters are integrated out, which is exact: they are
inverse gamma. What is left moves along Hamiltonian trajectories, in units of the information around a centre, which is
an arrow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdrank.methods.pairs.leaderboard.effect_kernels import EffectValues
from crowdrank.methods.pairs.leaderboard.model import USUAL_QUALITY, EffectModel
from crowdrank.methods.pairs.leaderboard.solver import FIXED, Arrow, Solution, Spreads, arrow_of, posterior_at, variance_of
from crowdrank.methods.pairs.votes.sampler import Trajectories
from crowdrank.numerics.progress import report
from crowdrank.numerics.task_blocks import inverse_of_triangle
from crowdrank.study import Floats


class Evaluation(NamedTuple):
    """Minus the log-posterior at a point."""

    value: float
    gradient: Floats


class Target:
    """Minus the log-posterior of all parameters, with the variances they were drawn with integrated out."""

    def __init__(self, model: EffectModel, spreads: Spreads, quality: Floats) -> None:
        self.model, self.spreads, self.quality = model, spreads, quality
        self.shapes = (model.n_core,), (model.n_blocks, model.n_entries if model.n_blocks else 0)
        self.edges = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        self.own = (model.n_annotators, len(model.own))

    def values(self, x: Floats) -> EffectValues:
        """The parameters of a point."""
        core, block, own = np.split(x, self.edges)
        return EffectValues(core, block.reshape(self.shapes[1]), own.reshape(self.own), self.quality)

    def point(self, values: EffectValues) -> Floats:
        """All parameters in one vector."""
        return np.concatenate((values.core, values.block.ravel(), values.own.ravel()))

    def groups(self, values: EffectValues) -> dict[str, Floats]:
        """The parameters that share a variance which is learned."""
        model = self.model
        found = {name: values.core[where] for name, where in model.slices.items() if name not in FIXED}
        if model.blocked is not None:
            found[model.blocked.name] = values.block
        return {**found, **{name: values.own[:, at] for name, at in model.own.items()}}

    def evaluate(self, x: Floats) -> Evaluation:
        """The value and its gradient."""
        values = self.values(x)
        value, parts = self.model.gradient(values)
        slopes = EffectValues(*parts, self.quality)
        into = self.groups(slopes)
        for name, group in self.groups(values).items():
            given = variance_of(name).given(group.ravel() ** 2)
            value += given.shape * np.log(given.scale)
            into[name] += given.shape / given.scale * group
        for name in FIXED:
            if name in self.model.slices:
                where = self.model.slices[name]
                away = (values.core[where] - self.spreads.centre(name)) / self.spreads.core[name]
                value += float(away @ away) / 2
                slopes.core[where] += away / self.spreads.core[name]
        return Evaluation(float(value), self.point(slopes))

    def usual_spreads(self, values: EffectValues) -> Spreads:
        """The spreads that fit these parameters."""
        core, own = dict(self.spreads.core), dict(self.spreads.own)
        for name, group in self.groups(values).items():
            (own if name in own else core)[name] = variance_of(name).given(group.ravel() ** 2).typical ** 0.5
        return Spreads(core, own, self.spreads.ties)


class ArrowUnits:
    """Parameters in units of the information around a centre."""

    def __init__(self, target: Target, centre: Floats, arrow: Arrow) -> None:
        self.target, self.centre, self.arrow = target, centre, arrow
        inverse = np.linalg.inv(arrow.core_inverse)
        self.triangles = [_triangle(each) for each in ((inverse + inverse.T) / 2, *_blocks(arrow))]
        self.inverses = [np.linalg.inv(each) if each.size else each for each in self.triangles]
        self.maps = arrow.block_map, arrow.own_map

    def position(self, u: Floats) -> Floats:
        """Parameters from units."""
        core, *rest = self._parts(u)
        core = self.inverses[0].T @ core
        moved = [_times(i.swapaxes(-1, -2), part) - _mapped(m, core) for i, part, m in zip(self.inverses[1:], rest, self.maps, strict=True)]
        return self.centre + _joined(core, *moved)

    def slope(self, gradient: Floats) -> Floats:
        """The gradient by units."""
        core, *rest = self._parts(gradient)
        for mapping, part in zip(self.maps, rest, strict=True):
            if part.size:
                core = core - mapping.reshape(-1, len(core)).T @ part.ravel()
        return _joined(self.inverses[0] @ core, *(_times(i, part) for i, part in zip(self.inverses[1:], rest, strict=True)))

    def of(self, x: Floats) -> Floats:
        """Units from parameters."""
        core, *rest = self._parts(x - self.centre)
        units = [_times(t.swapaxes(-1, -2), part + _mapped(m, core)) for t, part, m in zip(self.triangles[1:], rest, self.maps, strict=True)]
        return _joined(self.triangles[0].T @ core, *units)

    def _parts(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        values = self.target.values(x)
        return values.core, values.block, values.own


def _blocks(arrow):
    return arrow.information.block, arrow.information.own


def _triangle(matrix: Floats) -> Floats:
    return np.linalg.cholesky(matrix) if matrix.size else matrix


def _mapped(mapping: Floats, core: Floats) -> Floats:
    return (mapping.reshape(-1, len(core)) @ core).reshape(mapping.shape[:2])


def _times(stack: Floats, part: Floats) -> Floats:
    return (stack @ part[..., None])[..., 0] if part.size else part


def _joined(*parts: Floats) -> Floats:
    return np.concatenate([part.ravel() for part in parts])


def sample(model: EffectModel, solution: Solution, *, draws: int, warm_up: int, seed: int = 0) -> tuple[Floats, Target]:
    """Draws of all parameters."""
    target, rng = Target(model, solution.spreads, solution.values.quality), np.random.default_rng(seed)
    x = target.point(solution.values)
    now, total = target.evaluate(x), np.zeros(len(x))
    chain = Trajectories(ArrowUnits(target, x, solution.arrow), rng)
    for number in range(warm_up):
        report("posterior", number, warm_up + draws)
        x, now = chain.move(x, now, target.evaluate)
        total += x * (warm_up // 4 <= number < warm_up // 2)
        if number + 1 == warm_up // 2:
            centre = total / (warm_up // 2 - warm_up // 4)
            values = target.values(centre)
            arrow = arrow_of(posterior_at(model, values, target.usual_spreads(target.values(x)))[1])
            chain = Trajectories(ArrowUnits(target, centre, arrow), rng)
    xs = np.empty((draws, len(x)))
    for number in range(draws):
        report("posterior", warm_up + number, warm_up + draws)
        x, now = chain.move(x, now, target.evaluate)
        xs[number] = x
    return xs, target
