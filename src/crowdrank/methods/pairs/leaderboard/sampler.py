"""Draws from the posterior of all parameters of votes with covariates, categories and biases.

The most likely scores of a crowd with unknown qualities lie too close together (decision 0016), so the posterior is
sampled. The variances of scores, deviations and annotators' parameters are integrated out, which is exact: they are
inverse gamma. What is left moves along Hamiltonian trajectories, in units of the information around a centre, which is
an arrow.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from crowdrank.methods.pairs.leaderboard.canonical import CanonicalOrder
from crowdrank.methods.pairs.leaderboard.effect_kernels import EffectValues
from crowdrank.methods.pairs.leaderboard.model import USUAL_QUALITY, EffectModel
from crowdrank.methods.pairs.leaderboard.solver import FIXED, Arrow, Solution, Spreads, arrow_of, posterior_at, variance_of
from crowdrank.methods.pairs.votes.sampler import WANTED_TRADES, Trajectories, controlled_mean
from crowdrank.numerics.progress import report
from crowdrank.numerics.task_blocks import inverse_of_triangle
from crowdrank.study import Floats


FEWEST_DRAWS, MOST_DRAWS = 100, 300
DRAWS_OF_ONE_VOTE = 20_000  # over the root of the number of votes
MOST_WARM_UP = 60
START_WIDTH = 0.2
RESCALED = 2  # groups in an iteration


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


class Chain:
    """A Markov chain whose states are draws from the posterior."""

    def __init__(self, target: Target, solution: Solution, seed: int) -> None:
        self.target, self.rng = target, np.random.default_rng(seed)
        self.x = target.point(solution.values)
        self.now = target.evaluate(self.x)
        self.width = {name: START_WIDTH for name in target.groups(solution.values)}
        self.focus(self.x, solution.arrow)

    def focus(self, centre: Floats, arrow: Arrow) -> None:
        """Measure positions from here."""
        self.trajectories = Trajectories(ArrowUnits(self.target, centre, arrow), self.rng)

    def move(self, rate: float = 0.0) -> None:
        """A trajectory, then some groups of parameters times a factor: their common scale changes slowly otherwise.

        The size of these changes is learned with this rate.
        """
        self.x, self.now = self.trajectories.move(self.x, self.now, self.target.evaluate)
        for name in self.rng.permutation(list(self.width))[:RESCALED]:
            step, x = self.width[name] * self.rng.normal(), self.x.copy()
            group = self.target.groups(self.target.values(x))[name]
            group *= math.exp(step)
            there = self.target.evaluate(x)
            accepted = math.exp(min(0.0, self.now.value - there.value + group.size * step))
            if self.rng.random() < accepted:
                self.x, self.now = x, there
            self.width[name] *= math.exp(2 * rate * (accepted - WANTED_TRADES))


class EffectDraws(NamedTuple):
    """What was drawn after the warm-up, and the mean, which is less random than that of the draws."""

    core: Floats  # draw × parameter
    block: Floats  # draw × category × entry
    own: Floats  # draw × annotator × parameter
    mean: EffectValues


def draws_of(model: EffectModel, solution: Solution) -> EffectDraws:
    """As many draws as the votes need."""
    draws = min(max(int(DRAWS_OF_ONE_VOTE / len(model.rows.left) ** 0.5), FEWEST_DRAWS), MOST_DRAWS)
    order = CanonicalOrder.of(model, solution.values)
    ordered = order.model(model)
    target = Target(ordered, solution.spreads, solution.values.quality)
    found, middle = sample(target, order.solution(ordered, solution), draws=draws, warm_up=min(draws, MOST_WARM_UP))
    places = target.point(order.values(model, target.values(np.arange(len(middle))))).astype(np.intp)
    xs, mean = np.empty_like(found), np.empty_like(middle)
    xs[:, places], mean[places] = found, middle
    core, block, own = np.split(xs, target.edges, axis=1)
    return EffectDraws(core, block.reshape(draws, *target.shapes[1]), own.reshape(draws, *target.own), target.values(mean))


def sample(target: Target, solution: Solution, *, draws: int, warm_up: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Draws of all parameters, and their mean."""
    chain = Chain(target, solution, seed)
    total = np.zeros(len(chain.x))
    for number in range(warm_up):
        report("posterior", number, warm_up + draws)
        chain.move(1 / math.sqrt(1 + number))
        total += chain.x * (warm_up // 4 <= number < warm_up // 2)
        if number + 1 == warm_up // 2:  # the mode is not the middle
            centre = total / (warm_up // 2 - warm_up // 4)
            spreads = target.usual_spreads(target.values(chain.x))
            chain.focus(centre, arrow_of(posterior_at(target.model, target.values(centre), spreads)[1]))
    xs, gradients = np.empty((2, draws, len(chain.x)))
    for number in range(draws):
        report("posterior", warm_up + number, warm_up + draws)
        chain.move()
        xs[number], gradients[number] = chain.x, chain.now.gradient
    return xs, controlled_mean(xs, gradients, chain.trajectories.units)[0]
