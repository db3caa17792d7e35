"""The model of votes with covariates, categories and biases: its parameters, their priors, and what votes say on them.

    g = s_left − s_right + (deviations of both in the vote's category) + Σ_j x_j β_j
    b = b̄ + b_k + Σ_j x_j u_kj        t = t̄ + t_k        q = q̄ + q_k

All parameters are normal. The spreads of scores, deviations and annotators' parameters are learned; coefficients of
covariates have the spread 1, in log-odds for each standard deviation of the covariate.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.pairs.leaderboard import effect_kernels as kernels
from crowdrank.methods.pairs.leaderboard.effect_kernels import EffectPlaces, EffectRows, EffectValues, Information
from crowdrank.methods.pairs.leaderboard.information_kernels import EffectSums, add_information
from crowdrank.methods.pairs.leaderboard.shared_information import shared_information
from crowdrank.numerics.compiled import for_work
from crowdrank.numerics.groups import stable_order
from crowdrank.numerics.threads import chunks, in_parts
from crowdrank.study import Codes, Floats, Pairs

COEFFICIENT_SPREAD = 1.0
TIES_SPREAD = 10.0  # of the mean readiness to tie: nearly flat
USUAL_QUALITY = 1.4, 1.0  # log-odds: the prior of the mean quality; .8, and hardly below ½
START_SPREAD = {"score": 1.0, "ties": 0.5, "quality": 1.0}
MOST_CORE = 1500  # parameters; the deviations of more have blocks of their own
MOST_BUFFER = 40_000_000  # numbers, of all threads together
MOST_OWN = 60_000_000  # numbers that connect annotators with the core


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """What items deviate by: the level of each vote, -1 where its items do not deviate."""

    name: str
    level: Codes
    n_levels: int


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """Which parameters a model has beside the scores of entries."""

    x: Floats  # votes × covariates, standardised
    factors: tuple[Factor, ...] = ()
    bias: bool = False  # of annotators
    slopes: bool = False  # of annotators, one for each covariate
    own_ties: bool = False  # of annotators
    quality: bool = False  # of annotators


class EffectModel:
    """Votes and the places of the parameters that they depend on."""

    def __init__(self, pairs: Pairs, effects: Effects, n_entries: int, n_annotators: int, *, normal: bool) -> None:
        self.normal, self.n_entries, self.effects = normal, n_entries, effects
        self._last: tuple[EffectValues, float, Information] | None = None
        ties = bool((pairs.outcome == 0).any())
        n_x = effects.x.shape[1]
        self.slices: dict[str, slice] = {"score": slice(0, n_entries)}
        size = n_entries
        size = self._add("coefficient", size, n_x)
        size = self._add("mean bias", size, int(effects.bias))
        size = self._add("mean ties", size, int(ties))
        size = self._add("mean quality", size, int(effects.quality))
        in_core, self.blocked = self._split(effects.factors, size, n_entries)
        starts = {}
        for factor in in_core:
            starts[factor.name] = size
            size = self._add(factor.name, size, factor.n_levels * n_entries)
        self.n_core = size
        self.own: dict[str, int] = {}
        for name, wanted in self._own_names(effects, ties):
            if wanted:
                self.own[name] = len(self.own)
        self.n_annotators = n_annotators if self.own else max(n_annotators, 1)
        self.at = EffectPlaces(
            self._start("coefficient"),
            self._start("mean bias"),
            self._start("mean ties"),
            self._start("mean quality"),
            self.own.get("bias", -1),
            self.own.get("slope 0", -1),
            self.own.get("ties", -1),
            self.own.get("quality", -1),
        )
        self.rows = self._rows(pairs, starts, in_core)

    def _add(self, name: str, start: int, length: int) -> int:
        if length:
            self.slices[name] = slice(start, start + length)
        return start + length

    def _start(self, name: str) -> int:
        return self.slices[name].start if name in self.slices else -1

    @staticmethod
    def _split(factors: tuple[Factor, ...], size: int, n: int) -> tuple[list[Factor], Factor | None]:
        """The factors whose deviations stand in the core, and the one whose deviations have blocks, if any."""
        largest = max(factors, key=lambda factor: factor.n_levels, default=None)
        total = size + sum(factor.n_levels for factor in factors) * n
        if largest is None or largest.n_levels < 2 or total <= MOST_CORE:
            return list(factors), None
        return [factor for factor in factors if factor is not largest], largest

    @staticmethod
    def _own_names(effects: Effects, ties: bool) -> list[tuple[str, bool]]:
        slopes = [(f"slope {j}", effects.slopes) for j in range(effects.x.shape[1])]
        return [("bias", effects.bias), *slopes, ("ties", effects.own_ties and ties), ("quality", effects.quality)]

    def _rows(self, pairs: Pairs, starts: Mapping[str, int], in_core: list[Factor]) -> EffectRows:
        n, size = self.n_entries, len(pairs)
        place = np.full((size, len(in_core)), -1, np.int64)
        for f, factor in enumerate(in_core):
            level = factor.level.astype(np.int64)
            place[:, f] = np.where(level >= 0, starts[factor.name] + level * n, -1)
        block = np.full(size, -1, np.int32) if self.blocked is None else self.blocked.level.astype(np.int32)
        weight = np.ones(size) if pairs.weight is None else pairs.weight
        x = self.effects.x
        return in_order(
            EffectRows(pairs.annotator, pairs.left, pairs.right, pairs.outcome, weight, x, place, block),
            has_own=bool(self.own),
        )

    def sample(self, size: int) -> EffectModel:
        """The same model of about so many votes, the same share of each annotator's."""
        result = copy(self)
        result.rows, result._last = self.rows.taken(slice(None, None, -(-len(self.rows.left) // size))), None
        return result

    @property
    def n_blocks(self) -> int:
        return 0 if self.blocked is None else self.blocked.n_levels

    def in_blocks(self, name: str) -> bool:
        """Whether the deviations by this factor have blocks of their own."""
        return self.blocked is not None and self.blocked.name == name

    def level(self, name: str, level: int) -> slice:
        """Where the deviations of a level stand in the core."""
        start = self.slices[name].start + level * self.n_entries
        return slice(start, start + self.n_entries)

    def deviations(self, values: Any, name: str, level: int) -> Floats:
        """The deviations of a level, from values or draws."""
        found = values.block[..., level, :] if self.in_blocks(name) else values.core[..., self.level(name, level)]
        return np.asarray(found)

    def start(self, score: Floats, quality: Floats, ties: float = 0.0) -> EffectValues:
        """All other parameters at 0; a quality that is a parameter is above 0 and below 1."""
        core = np.zeros(self.n_core)
        core[: self.n_entries] = score
        if "mean ties" in self.slices:
            core[self.slices["mean ties"]] = ties
        block = np.zeros((self.n_blocks, self.n_entries if self.n_blocks else 0))
        own = np.zeros((self.n_annotators, len(self.own)))
        if "quality" in self.own:
            odds = np.log(quality / (1 - quality))
            core[self.slices["mean quality"]] = odds.mean()
            own[:, self.own["quality"]] = odds - odds.mean()
        return EffectValues(core, block, own, quality)

    @property
    def parts(self) -> list[slice]:
        """Chunks of the votes for the information."""
        n_blocks, n = self.n_blocks, self.n_entries
        return self._parts(self.n_core**2 + n_blocks * n * (n + self.n_core))

    @property
    def gradient_parts(self) -> list[slice]:
        """Chunks of the votes for the gradient, which needs less memory."""
        return self._parts(self.n_core + self.n_blocks * self.n_entries)

    def _parts(self, buffer: int) -> list[slice]:
        """Chunks of the votes; an annotator's votes are in one, so that threads do not share annotators."""
        most = max(MOST_BUFFER // max(buffer, 1), 1)
        wanted = chunks(len(self.rows.left), 8)[: None if most >= 8 else 1]
        if len(wanted) == 1:
            return [slice(0, len(self.rows.left))]
        edges = [part.start for part in wanted] + [len(self.rows.left)]
        if self.own:
            edges = np.searchsorted(self.rows.annotator, self.rows.annotator[np.array(edges[1:-1])]).tolist()
            edges = [0, *edges, len(self.rows.left)]
        edges = sorted(set(edges))
        return [slice(one, other) for one, other in pairwise(edges)]

    def information(self, values: EffectValues) -> tuple[float, Information]:
        """Minus the log-likelihood, its gradient and the Fisher information; the last ones are remembered."""
        if self._last is None or self._last[0] is not values:
            self._last = values, *self._computed(values)
        _, value, information = self._last
        return value, Information(*(array.copy() for array in information))

    @property
    def is_shared(self) -> bool:
        """Whether votes depend on scores, coefficients and the readiness to tie only."""
        same = (self.at.bias, self.at.quality) == (-1, -1)
        return same and not self.own and not self.normal

    def _computed(self, values: EffectValues) -> tuple[float, Information]:
        if self.is_shared and (values.quality == 1).all():
            return shared_information(self.rows, self.at, values, self.n_entries, self.parts)
        n, m, q = self.n_entries if self.n_blocks else 0, self.n_core, len(self.own)
        k = self.n_annotators if q else 0
        own_gradient, own, core_own = np.zeros((k, q)), np.zeros((k, q, q)), np.zeros((k, m, q))
        shapes = (m,), (self.n_blocks, n), (m, m), (self.n_blocks, n, n), (self.n_blocks, n, m - self.n_entries)

        def run(part: slice) -> tuple[float, list[Floats]]:
            g, bg, core, block, rest = arrays = [np.zeros(shape) for shape in shapes]
            run_kernel = for_work(add_information, (part.stop - part.start) * (m if m < 20 else 20) * 5)
            total = EffectSums(g, bg, own_gradient, core, block, rest, own, core_own)
            value = run_kernel(self.rows.taken(part), self.at, values, self.normal, self.n_entries, total)
            return float(value), arrays

        results = in_parts(run, self.parts)
        # In the order of the parts: sums of floats depend on the order of their terms.
        g, bg, core, block, rest = (
            sum(each[1:], each[0]) for each in zip(*(found for _, found in results), strict=True)
        )
        if self.n_blocks:  # what votes of a category say about scores is what they say about deviations
            g[:n] += bg.sum(axis=0)
            core[:n, :n] += block.sum(axis=0)
            core[:n, n:] += rest.sum(axis=0)
        block = _both(block)
        block_core = np.concatenate((block, rest), axis=2) if self.n_blocks else np.zeros((0, 0, m))
        own_core = np.ascontiguousarray(core_own.swapaxes(1, 2))
        whole = Information(g, bg, own_gradient, _both(core), block, block_core, own, own_core)
        return sum(value for value, _ in results), whole

    def gradient(self, values: EffectValues) -> tuple[float, EffectValues]:
        """Minus the log-likelihood, and its derivatives by all parameters."""
        own = np.zeros(values.own.shape)

        def run(part: slice) -> tuple[float, Floats, Floats]:
            core, block = np.zeros(self.n_core), np.zeros(values.block.shape)
            run_kernel = for_work(kernels.add_gradient, (part.stop - part.start) * 40)
            return run_kernel(self.rows.taken(part), self.at, values, self.normal, core, block, own), core, block

        found = in_parts(run, self.gradient_parts)
        _, core, block = zip(*found, strict=True)
        whole = sum(core[1:], core[0]), sum(block[1:], block[0])
        return float(sum(value for value, _, _ in found)), EffectValues(*whole, own, values.quality)

    def per_annotator(self, name: str, values: EffectValues, *arguments: Any, width: tuple[int, ...] = ()) -> Floats:
        """Sums over each annotator's votes by the kernel of that name."""
        total = np.zeros((max(self.n_annotators, len(values.quality)), *width))
        run = for_work(getattr(kernels, name), len(self.rows.left) * 30 * max(width, default=1))
        run(self.rows, self.at, values, self.normal, *arguments, total)
        return total


def _both(triangle: Floats) -> Floats:
    """A symmetric matrix, or several, of which the cells off the diagonal were added once."""
    other = np.swapaxes(triangle, -1, -2)
    diagonal = np.einsum("...ii->...i", triangle).copy()
    whole = triangle + other
    np.einsum("...ii->...i", whole)[...] = diagonal
    return whole


def in_order(rows: EffectRows, *, has_own: bool) -> EffectRows:
    """By annotator, deviations, items, answers and covariates: draws depend on every digit, but not on the rows' order.

    Without parameters of annotators nothing is drawn: rows whose items deviate alike come together, and that is all.
    """
    deviations: list[NDArray[Any]] = [rows.block + 1, *(rows.place.T + 1)]
    if has_own:
        keys = [rows.annotator, *deviations, rows.left, rows.right, rows.outcome + 1, *rows.x.T[:2]]
        return rows.taken(stable_order(keys))
    return rows if all((key == key[:1]).all() for key in deviations) else rows.taken(stable_order(deviations))


def fits(model: EffectModel) -> bool:
    """Whether the parameters of annotators can be held in memory."""
    return model.n_annotators * len(model.own) * model.n_core <= MOST_OWN
