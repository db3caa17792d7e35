"""The same model with entries, levels and annotators in an order that follows from the votes alone, not from names.

Draws are random numbers for the parameters in turn, so other names would change them. The order is that of the most
likely parameters.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.pairs.leaderboard.effect_kernels import EffectValues
from crowdrank.methods.pairs.leaderboard.model import EffectModel, in_order
from crowdrank.methods.pairs.leaderboard.solver import FIXED, Solution, arrow_of, posterior_at

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class EffectOrder:
    """The codes of entries, annotators and each factor's levels in their order."""

    entry: Places
    annotator: Places
    levels: dict[str, Places]

    @staticmethod
    def of(model: EffectModel, values: EffectValues) -> EffectOrder:
        size = {name: (where.stop - where.start) // model.n_entries for name, where in _core_factors(model).items()}
        if model.blocked is not None:
            size[model.blocked.name] = model.n_blocks
        levels = {name: _by_squares(model, values, name, count) for name, count in size.items()}
        by_quality = values.own[:, ::-1].T  # the last parameter decides first, if there is any
        annotator = np.lexsort(by_quality[::-1]) if len(by_quality) else np.arange(model.n_annotators)
        return EffectOrder(np.argsort(values.core[: model.n_entries], kind="stable"), annotator, levels)

    def values(self, model: EffectModel, values: EffectValues) -> EffectValues:
        """Parameters in this order; `values` may be anything with a cell for each."""
        core, n = values.core.copy(), model.n_entries
        core[:n] = core[:n][self.entry]
        for name, where in _core_factors(model).items():
            core[where] = core[where].reshape(-1, n)[self.levels[name]][:, self.entry].ravel()
        block = values.block
        if model.blocked is not None:
            block = block[self.levels[model.blocked.name]][:, self.entry]
        return values._replace(core=core, block=block, own=values.own[self.annotator])

    def model(self, model: EffectModel) -> EffectModel:
        """The same votes in this order."""
        rows, n, result = model.rows, model.n_entries, copy(model)
        entry, annotator = _inverse(self.entry), _inverse(self.annotator)
        place, block = rows.place.copy(), rows.block
        for f, (name, where) in enumerate(_core_factors(model).items()):
            level = np.maximum(place[:, f] - where.start, 0) // n
            place[:, f] = np.where(place[:, f] >= 0, where.start + _inverse(self.levels[name])[level] * n, -1)
        if model.blocked is not None:
            block = np.where(block >= 0, _inverse(self.levels[model.blocked.name])[block], -1)
        renamed = rows._replace(
            annotator=annotator[rows.annotator].astype(np.int32),
            left=entry[rows.left].astype(np.int32),
            right=entry[rows.right].astype(np.int32),
            place=place,
            block=block.astype(np.int32),
        )
        result.rows, result._last = in_order(renamed, has_own=bool(model.own)), None
        return result

    def solution(self, model: EffectModel, solution: Solution) -> Solution:
        """The same solution; `model` is in this order."""
        values = self.values(model, solution.values)
        return replace(solution, values=values, arrow=arrow_of(posterior_at(model, values, solution.spreads)[1]))


def _core_factors(model: EffectModel) -> dict[str, slice]:
    """The deviations that stand in the core."""
    return {name: where for name, where in model.slices.items() if name not in (*FIXED, "score")}


def _by_squares(model: EffectModel, values: EffectValues, name: str, count: int) -> Places:
    squares = [float((model.deviations(values, name, level) ** 2).sum()) for level in range(count)]
    return np.argsort(squares, kind="stable")


def _inverse(order: Places) -> Places:
    inverse = np.empty(len(order), np.intp)
    inverse[order] = np.arange(len(order))
    return inverse
