"""Infit and outfit of annotators and entries: how far their judgments are from what the scores predict.

The rating scale model (Andrich 1978) of the judgments, given the scores: a judgment of value v at location x has a
chance proportional to exp(slope · v · x + base of v). For grades, x is the entry's score and v the grade's number; for
pairs, x is the gap between the scores and v is ½, 0 or −½ (left, tie, right), which is Bradley and Terry's model with
Davidson's ties. Slope and bases are fitted, so that it works with the scores of every method. For pairs
and lists every task has a slope of its own, which is the common one unless its judgments say otherwise: points and sums
over lists (borda, rrf) have other units in each task.

Outfit is the mean squared standardised residual, infit the same weighted by the variance: Wright, Masters: Rating scale
analysis, 1982. Both are 1 where judgments vary as much as the model says, above 1 where they surprise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.methods.grades.levels import grade_levels
from crowdrank.numerics.sums import sum_by
from crowdrank.statistics.rating_scale import Counts, one_slope, slope_per_task
from crowdrank.statistics.ratings import pairs_in_lists
from crowdrank.study import Codes, Floats, Judgments, Kind, Pairs


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
    slope: Floats  # of each task
    scale: Floats  # the grade of each level; for pairs, the values themselves

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
        """The judgments of an annotator with the largest standardised residuals: the part of `residuals`, and the row.

        Not those with the lowest chance: where ties are rare, every tie would come before votes for the worse item.
        """
        found: list[tuple[float, Residuals, int]] = []
        for part in self.residuals:
            rows = np.flatnonzero(part.annotator == annotator)
            size = part.squared[rows]
            worst = np.argsort(-size, kind="stable")[:most]
            found += [(float(size[at]), part, int(rows[at])) for at in worst]
        return [(part, row) for _, part, row in sorted(found, key=lambda each: -each[0])[:most]]


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
    graded, row = np.unique(entry, return_inverse=True)
    slope, _, chance = one_slope(_counts(consensus.score[graded], row, code, value, free))
    slopes = np.full(len(judgments.vocabulary.tasks), slope)
    nothing = np.full(len(entry), -1, np.int32)
    whose = np.flatnonzero(used), grades.annotator[used]
    return _made("grades", *whose, entry, nothing, value, code, slopes, chance[row], levels.value)


def _of_pairs(consensus: Consensus, pairs: Pairs, judgment: NDArray[np.int64], kind: Kind) -> Residuals:
    used = ~np.isnan(consensus.score[pairs.left] - consensus.score[pairs.right])
    left, right = pairs.left[used], pairs.right[used]
    value, free = np.array([-0.5, 0.0, 0.5]), np.array([[0.0], [1.0], [0.0]])
    code = (pairs.outcome[used] + 1).astype(np.int32)
    if not (code == 1).any():
        value, code, free = value[[0, 2]], code // 2, np.zeros((2, 0))
    swapped = left > right  # votes in either order are counted together
    key = (np.minimum(left, right).astype(np.int64) << 32) | np.maximum(left, right)
    met, row = np.unique(key, return_inverse=True)
    first, second = met >> 32, met & 0xFFFFFFFF
    gap, upward = consensus.score[first] - consensus.score[second], np.where(swapped, len(value) - 1 - code, code)
    counts = _counts(gap, row, upward, value, free)
    slope, bases, chance = one_slope(counts)
    words = consensus.vocabulary
    slopes = np.full(len(words.tasks), slope)
    if len(slopes) > 1 and slope > 0:
        size = np.bincount(words.entry_task[~np.isnan(consensus.score)], minlength=len(slopes))
        slopes, chance = slope_per_task(slope, bases, counts, words.entry_task[first], size)
    chance = np.where(swapped[:, None], chance[row, ::-1], chance[row])
    return _made(kind, judgment[used], pairs.annotator[used], left, right, value, code, slopes, chance, value)


def _counts(location: Floats, row: NDArray[np.intp], code: Codes, value: Floats, free: Floats) -> Counts:
    """`row` is the location of each judgment."""
    size = len(location), len(value)
    count = np.bincount(row * size[1] + code, minlength=size[0] * size[1]).reshape(size)
    return Counts(location, count.astype(np.float64), value, free)


def _made(
    kind: Kind,
    judgment: NDArray[np.int64],
    annotator: Codes,
    entry: Codes,
    other: Codes,
    value: Floats,
    code: Codes,
    slope: Floats,
    chance: Floats,
    scale: Floats,
) -> Residuals:
    expected = chance @ value
    variance = chance @ value**2 - expected**2
    said = chance[np.arange(len(code)), code]
    return Residuals(kind, judgment, annotator, entry, other, value[code], expected, variance, said, slope, scale)
