"""Draws from the posterior of all parameters of votes with covariates, categories and biases.

The most likely scores of a crowd with unknown qualities lie too close together (decision 0016), so the posterior is
sampled. The variances of scores, deviations and annotators' parameters are integrated out, which is exact: they are
inverse gamma. What is left moves along Hamiltonian trajectories, in units of the information around a centre.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from crowdrank.methods.pairs.leaderboard.block_matrices import DiagonalBlocks
from crowdrank.methods.pairs.leaderboard.canonical import EffectOrder
from crowdrank.methods.pairs.leaderboard.effect_kernels import EffectValues
from crowdrank.methods.pairs.leaderboard.model import EffectModel
from crowdrank.methods.pairs.leaderboard.solver import (
    FIXED,
    Arrow,
    Solution,
    Spreads,
    arrow_of,
    posterior_at,
    variance_of,
)
from crowdrank.methods.pairs.votes.sampler import WANTED_TRADES, Trajectories, controlled_mean
from crowdrank.numerics.progress import report
from crowdrank.study import Floats

FEWEST_DRAWS, MOST_DRAWS = 100, 300
DRAWS_OF_ONE_VOTE = 20_000  # over the root of the number of votes: with more votes the posterior is closer to normal
MOST_WARM_UP = 60
RESCALED = 2  # groups in an iteration
START_WIDTH = 0.2  # of the logarithm of the factor by which a group is multiplied


class EffectEvaluation(NamedTuple):
    """Minus the log-posterior at a point."""

    value: float
    gradient: Floats


class EffectDraws(NamedTuple):
    """What was drawn after the warm-up, and the mean, which is less random than that of the draws."""

    core: Floats  # draw × parameter
    block: Floats  # draw × category × entry
    own: Floats  # draw × annotator × parameter
    mean: EffectValues


class EffectTarget:
    """Minus the log-posterior of all parameters, with the variances they were drawn with integrated out."""

    def __init__(self, model: EffectModel, solution: Solution) -> None:
        self.model, self.spreads, self.quality = model, solution.spreads, solution.values.quality
        self.shapes = [part.shape for part in solution.values[:3]]
        self.edges = np.cumsum([math.prod(shape) for shape in self.shapes])[:2]

    def parts(self, x: Floats) -> list[Floats]:
        """The core, the deviations and the annotators' parameters of a point, or of several."""
        found = np.split(x, self.edges, axis=-1)
        return [part.reshape(*x.shape[:-1], *shape) for part, shape in zip(found, self.shapes, strict=True)]

    def values(self, x: Floats) -> EffectValues:
        """The parameters of a point."""
        core, block, own = self.parts(x)
        return EffectValues(core, block, own, self.quality)

    def groups(self, values: EffectValues) -> dict[str, Floats]:
        """The parameters that share a variance which is learned."""
        model = self.model
        found = {name: values.core[where] for name, where in model.slices.items() if name not in FIXED}
        if model.blocked is not None:
            found[model.blocked.name] = values.block
        return {**found, **{name: values.own[:, at] for name, at in model.own.items()}}

    def evaluate(self, x: Floats) -> EffectEvaluation:
        """The value and its gradient."""
        values = self.values(x)
        value, slopes = self.model.gradient(values)
        into = self.groups(slopes)
        for name, group in self.groups(values).items():
            given = variance_of(name).given(group.ravel() ** 2)
            value += given.shape * math.log(given.scale)
            into[name] += given.shape / given.scale * group
        for name in FIXED:
            if name in self.model.slices:
                where, spread = self.model.slices[name], self.spreads.core[name]
                away = (values.core[where] - self.spreads.centre(name)) / spread
                value += float((away**2).sum()) / 2
                slopes.core[where] += away / spread
        return EffectEvaluation(value, _joined(slopes[:3]))

    def information(self, x: Floats, near: Floats) -> Arrow:
        """The information at a point, with the spreads that fit the parameters of another one."""
        return arrow_of(posterior_at(self.model, self.values(x), self.spreads_of(near))[1])

    def spreads_of(self, x: Floats) -> Spreads:
        """The spreads that fit the parameters of a point."""
        core, own = dict(self.spreads.core), dict(self.spreads.own)
        for name, group in self.groups(self.values(x)).items():
            (own if name in own else core)[name] = variance_of(name).given(group.ravel() ** 2).typical ** 0.5
        return Spreads(core, own, self.spreads.ties)


class ArrowUnits:
    """Parameters in units of the information around a centre, which is an arrow: blocks connected with a core."""

    def __init__(self, target: EffectTarget, centre: Floats, arrow: Arrow) -> None:
        self.target, self.centre = target, centre
        precision = np.linalg.inv(arrow.core_inverse)
        matrices = ((precision + precision.T) / 2)[None], arrow.information.block, arrow.information.own
        triangles = [np.asarray(np.linalg.cholesky(each)) if each.size else each for each in matrices]
        inverses = [np.asarray(np.linalg.inv(each)) if each.size else each for each in triangles]
        self.rises = [DiagonalBlocks(each.swapaxes(-1, -2)) for each in triangles]
        self.falls = [DiagonalBlocks(each) for each in inverses]
        self.spreads = [each.transposed for each in self.falls]
        self.maps = arrow.block_map, arrow.own_map

    def position(self, u: Floats) -> Floats:
        """Parameters from units."""
        core, *blocks = (each.times(part) for each, part in zip(self.spreads, self._parts(u), strict=True))
        moved = (part.ravel() - mapping @ core[0] for part, mapping in zip(blocks, self.maps, strict=True))
        return np.asarray(self.centre + _joined([core, *moved]))

    def slope(self, gradient: Floats) -> Floats:
        """The gradient by units."""
        core, *blocks = self._parts(gradient)
        for mapping, part in zip(self.maps, blocks, strict=True):
            core = core - mapping.T @ part.ravel()
        return _joined([each.times(part) for each, part in zip(self.falls, [core, *blocks], strict=True)])

    def of(self, x: Floats) -> Floats:
        """Units from parameters."""
        core, *blocks = self._parts(x - self.centre)
        moved = [
            part + (mapping @ core[0]).reshape(part.shape) for part, mapping in zip(blocks, self.maps, strict=True)
        ]
        return _joined([each.times(part) for each, part in zip(self.rises, [core, *moved], strict=True)])

    def _parts(self, x: Floats) -> list[Floats]:
        """The core as a block of its own, the deviations and the annotators' parameters."""
        core, *blocks = self.target.parts(x)
        return [core[None], *blocks]


def _joined(parts: tuple[Floats, ...] | list[Floats]) -> Floats:
    return np.concatenate([part.ravel() for part in parts])


class EffectChain:
    """A Markov chain whose states are draws from the posterior."""

    def __init__(self, target: EffectTarget, solution: Solution, seed: int) -> None:
        self.target, self.rng = target, np.random.default_rng(seed)
        self.x = _joined(solution.values[:3])
        self.now = target.evaluate(self.x)
        self.width = dict.fromkeys(target.groups(solution.values), START_WIDTH)
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
            group = self.target.groups(self.target.values(x))[name]  # a view
            group *= math.exp(step)
            there = self.target.evaluate(x)
            accepted = math.exp(min(0.0, self.now.value - there.value + group.size * step))
            if self.rng.random() < accepted:
                self.x, self.now = x, there
            self.width[name] *= math.exp(2 * rate * (accepted - WANTED_TRADES))


def draws_of(model: EffectModel, solution: Solution) -> EffectDraws:
    """As many draws as the votes need; what is drawn depends on the votes, not on names."""
    draws = min(max(int(DRAWS_OF_ONE_VOTE / len(model.rows.left) ** 0.5), FEWEST_DRAWS), MOST_DRAWS)
    order = EffectOrder.of(model, solution.values)
    ordered = order.model(model)
    start = order.solution(ordered, solution)
    target = EffectTarget(ordered, start)
    found, middle = sample(target, start, draws=draws, warm_up=min(draws, MOST_WARM_UP))
    places = _joined(order.values(model, target.values(np.arange(float(len(middle)))))[:3]).astype(np.intp)
    xs, mean = np.empty_like(found), np.empty_like(middle)
    xs[:, places], mean[places] = found, middle
    core, block, own = target.parts(xs)
    return EffectDraws(core, block, own, target.values(mean))


def sample(
    target: EffectTarget, solution: Solution, *, draws: int, warm_up: int, seed: int = 0
) -> tuple[Floats, Floats]:
    """Draws of all parameters, and their mean."""
    chain = EffectChain(target, solution, seed)
    total = np.zeros(len(chain.x))
    for number in range(warm_up):
        report("posterior", number, warm_up + draws)
        chain.move(1 / math.sqrt(1 + number))
        total += chain.x * (warm_up // 4 <= number < warm_up // 2)
        if number + 1 == warm_up // 2:  # the mode is not the middle
            centre = total / (warm_up // 2 - warm_up // 4)
            chain.focus(centre, target.information(centre, chain.x))
    xs, gradients = np.empty((2, draws, len(chain.x)))
    for number in range(draws):
        report("posterior", warm_up + number, warm_up + draws)
        chain.move()
        xs[number], gradients[number] = chain.x, chain.now.gradient
    return xs, controlled_mean(xs, gradients, chain.trajectories.units)[0]
