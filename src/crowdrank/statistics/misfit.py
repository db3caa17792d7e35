"""Infit and outfit of annotators and entries: how far their judgments are from what the scores predict.

The rating scale model (Andrich 1978) of the judgments, given the scores: a judgment of value v at location x has a
chance proportional to exp(slope · v · x + base of v). For grades, x is the entry's score and v the grade's number; for
pairs, x is the gap between the scores and v is ½, 0 or −½ (left, tie, right), which is Bradley and Terry's model with
Davidson's ties. Slope and bases are fitted, so that it works with the scores of every method.

Outfit is the mean squared standardised residual, infit the same weighted by the variance: Wright, Masters: Rating scale
analysis, 1982. Both are 1 where judgments vary as much as the model says, above 1 where they surprise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.methods.grades.levels import grade_levels
from crowdrank.numerics.sums import sum_by
from crowdrank.statistics.ratings import pairs_in_lists
from crowdrank.study import Codes, Floats, Judgments, Kind, Pairs

STEPS = 100
PENALTY = 1e-3  # keeps the slope finite where the scores explain every judgment


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """What the model says about each judgment. Grades have one entry, pairs two (`other` is −1 for grades)."""

    kind: Kind
    judgment: NDArray[np.int64]  # its row in the grades or pairs, or the number of its list
    annotator: Codes
    entry: Codes
    other: Codes
    value: Floats
    expected: Floats
    variance: Floats
    chance: Floats  # of what the annotator said
    slope: float

    @property
    def squared(self) -> Floats:
        """Squared standardised residuals."""
        return np.asarray((self.value - self.expected) ** 2 / np.maximum(self.variance, 1e-12))

    def __len__(self) -> int:
        return len(self.annotator)


@dataclass(frozen=True, slots=True, eq=False)
class Misfit:
    """Infit and outfit of every annotator and entry; NaN where there are no judgments."""

    annotator_infit: Floats
    annotator_outfit: Floats
    entry_infit: Floats
    entry_outfit: Floats
    residuals: tuple[Residuals, ...]  # of each kind of judgment

    def strangest(self, annotator: int, most: int = 3) -> list[tuple[Residuals, int]]:
        """The least likely judgments of an annotator: the residuals of their kind, and the row in them."""
        found: list[tuple[float, Residuals, int]] = []
        for part in self.residuals:
            rows = np.flatnonzero(part.annotator == annotator)
            best = rows[np.argsort(part.chance[rows], kind="stable")[:most]]
            found += [(float(part.chance[row]), part, int(row)) for row in best]
        return [(part, row) for _, part, row in sorted(found, key=lambda each: each[0])[:most]]


def misfit(consensus: Consensus, judgments: Judgments) -> Misfit:
    """Infit and outfit of annotators and entries by the scores of a consensus.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=10, annotators=5, votes=500, seed=0)
    >>> found = misfit(cr.fit("bradley-terry", study.judgments), study.judgments)
    >>> bool(0.5 < found.annotator_infit.mean() < 1.5)
    True
    """
    parts = residuals(consensus, judgments)
    n, n_entries = len(judgments.vocabulary.annotators), judgments.vocabulary.n_entries
    annotator = [(part.annotator, part) for part in parts]
    entry = [(part.entry, part) for part in parts]
    entry += [(part.other, part) for part in parts if part.kind != "grades"]
    return Misfit(*_fit_of(annotator, n), *_fit_of(entry, n_entries), parts)


def residuals(consensus: Consensus, judgments: Judgments) -> tuple[Residuals, ...]:
    """What the scores say about the judgments of each kind."""
    parts = [_residuals(consensus, judgments, kind) for kind in judgments.kinds]
    return tuple(part for part in parts if len(part))


def _fit_of(groups: list[tuple[Codes, Residuals]], size: int) -> tuple[Floats, Floats]:
    """Infit and outfit by group, over all kinds of judgment."""
    misfit, variance, squared, count = np.zeros((4, size))
    for codes, part in groups:
        # Residuals of grades and pairs are on different scales: information is weighed within its kind.
        scale = 1 / max(float(part.variance.mean()), 1e-12)
        misfit += sum_by(codes, (part.value - part.expected) ** 2 * scale, size)
        variance += sum_by(codes, part.variance * scale, size)
        squared += sum_by(codes, part.squared, size)
        count += np.bincount(codes, minlength=size)
    nothing = np.full(size, np.nan)
    infit = np.divide(misfit, variance, out=nothing.copy(), where=variance > 0)
    return infit, np.divide(squared, count, out=nothing, where=count > 0)


def _residuals(consensus: Consensus, judgments: Judgments, kind: Kind) -> Residuals:
    if kind == "grades":
        return _of_grades(consensus, judgments)
    if kind == "pairs":
        return _of_pairs(consensus, judgments.pairs, np.arange(len(judgments.pairs)), kind)
    return _of_pairs(consensus, *pairs_in_lists(judgments), kind)


def _of_grades(consensus: Consensus, judgments: Judgments) -> Residuals:
    grades, levels = judgments.grades, grade_levels(judgments.grades)
    used = ~np.isnan(consensus.score[grades.entry])
    entry, code = grades.entry[used], levels.code[used]
    value = np.arange(len(levels), dtype=np.float64)
    free = np.eye(len(levels))[:, 1:]  # the base of the lowest grade is 0
    model = _fitted(consensus.score[entry], code, value, free)
    rows = np.flatnonzero(used)
    return _made("grades", rows, grades.annotator[used], entry, np.full(len(entry), -1, np.int32), value, code, model)


def _of_pairs(consensus: Consensus, pairs: Pairs, judgment: NDArray[np.int64], kind: Kind) -> Residuals:
    gap = consensus.score[pairs.left] - consensus.score[pairs.right]
    used = ~np.isnan(gap)
    value = np.array([-0.5, 0.0, 0.5])
    code = (pairs.outcome[used] + 1).astype(np.int32)
    if (code == 1).any():
        model = _fitted(gap[used], code, value, np.array([[0.0], [1.0], [0.0]]))
    else:
        value, code = value[[0, 2]], code // 2
        model = _fitted(gap[used], code, value, np.zeros((2, 0)))
    whose = judgment[used], pairs.annotator[used]
    return _made(kind, *whose, pairs.left[used], pairs.right[used], value, code, model)


def _made(
    kind: Kind,
    judgment: NDArray[np.int64],
    annotator: Codes,
    entry: Codes,
    other: Codes,
    value: Floats,
    code: Codes,
    model: tuple[float, Floats],
) -> Residuals:
    slope, chance = model
    expected = chance @ value
    variance = chance @ value**2 - expected**2
    said = chance[np.arange(len(code)), code]
    return Residuals(kind, judgment, annotator, entry, other, value[code], expected, variance, said, slope)


def _fitted(location: Floats, code: Codes, value: Floats, free: Floats) -> tuple[float, Floats]:
    """The slope, and the chance of each value at each location, by maximum likelihood.

    `free` has a column for each free base: the values that it raises.
    """
    if not len(code):
        return 1.0, np.zeros((0, len(value)))
    scale = float(np.std(location)) or 1.0
    location = (location - (0.0 if free.shape[1] <= 1 else location.mean())) / scale
    parameters = np.zeros(1 + free.shape[1])
    penalty = np.full(len(parameters), PENALTY)
    count = np.bincount(code, minlength=len(value)) @ free
    for _ in range(STEPS):
        chance = _chances(location, parameters, value, free)
        expected = chance @ value
        gradient = np.r_[location @ (value[code] - expected), count - chance.sum(axis=0) @ free] - penalty * parameters
        step = np.linalg.solve(_information(location, chance, value, free) + np.diag(penalty), gradient)
        parameters += np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-9:
            break
    return float(parameters[0] / scale), _chances(location, parameters, value, free)


def _chances(location: Floats, parameters: Floats, value: Floats, free: Floats) -> Floats:
    log = parameters[0] * np.outer(location, value) + free @ parameters[1:]
    chance = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def _information(location: Floats, chance: Floats, value: Floats, free: Floats) -> NDArray[Any]:
    """The Fisher information of slope and bases."""
    expected, raised = chance @ value, chance @ free
    with_value = (chance * value) @ free - expected[:, None] * raised
    slope = np.r_[location**2 @ (chance @ value**2 - expected**2), location @ with_value]
    bases = free.T @ (chance.sum(axis=0)[:, None] * free) - raised.T @ raised
    return np.vstack([slope, np.column_stack([slope[1:], bases])])
