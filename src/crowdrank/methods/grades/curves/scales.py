"""The scales that annotators grade on: which grades are one level, and which annotators share a scale.

Grades have the same meaning only among annotators who use the same scale. Files do not say which scale that is, but the
grades do: annotators whose largest grade is at most 10 are taken to share one scale, those with grades up to 100
another, up to 1,000 a third, and so on; but grades up to 10 and up to 11 are one scale: the largest grade of a scale is
at least `FAR` times that of the next smaller one. Fractions between 0 and 1 (probabilities) are a scale of their own. A
scale with more than MOST_LEVELS different grades is divided into LEVELS levels with about as many judgments each.
Levels ascend with the grades.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crowdrank.study import Codes, Floats, Grades

MOST_LEVELS = 20
LEVELS = 20
FAR = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """Judgment r gives level `level[r]` of the scale `of_annotator[annotator[r]]`."""

    level: Codes
    of_annotator: Codes
    grade: tuple[Floats, ...]  # per scale: the mean grade of each level, ascending
    notes: tuple[str, ...] = ()

    @property
    def n_levels(self) -> NDArray[np.int64]:
        """How many levels each scale has."""
        return np.array([len(grades) for grades in self.grade], dtype=np.int64)


def scales_of(grades: Grades, n_annotators: int) -> Scales:
    """The scales of a study.

    >>> from crowdrank.study import Grades
    >>> who, what = np.array([0, 0, 1, 1], dtype=np.int32), np.array([0.0, 3.0, 20.0, 90.0])
    >>> found = scales_of(Grades(who, who, what), 2)
    >>> found.of_annotator.tolist(), found.level.tolist()
    ([0, 1], [0, 1, 0, 1])
    """
    kind = _kind_of_scale(grades, n_annotators)
    kinds, of_annotator = np.unique(kind, return_inverse=True)
    level, means, notes = np.zeros(len(grades), np.int32), [], []
    for scale in range(len(kinds)):
        rows = np.flatnonzero(of_annotator[grades.annotator] == scale)
        level[rows], mean = _levels(grades.grade[rows])
        means.append(mean)
        different = len(np.unique(grades.grade[rows]))
        if different > len(mean):
            notes.append(
                f"{different:,} different grades are merged into {len(mean)} levels (mean uses them as they are)"
            )
    if len(kinds) > 1 and len(grades):
        notes.append(_several_scales(grades, of_annotator))
    return Scales(level, of_annotator.astype(np.int32), tuple(means), tuple(notes))


def _several_scales(grades: Grades, of_annotator: NDArray[np.int64]) -> str:
    """The note about annotators on scales of their own."""
    parts = []
    for scale in range(int(of_annotator.max()) + 1):
        own = grades.grade[of_annotator[grades.annotator] == scale]
        if len(own):
            parts.append(f"{np.count_nonzero(of_annotator == scale):,} with grades up to {own.max():g}")
    return f"annotators seem to use different scales: {', '.join(parts)}; if they share one, use mean or rasch"


def _kind_of_scale(grades: Grades, n_annotators: int) -> NDArray[np.int64]:
    """Per annotator: 0 for fractions of one, else log10 of the largest grade, rounded up, and at least 1.

    Annotators without grades have 1, the most usual scale.
    """
    largest = np.zeros(n_annotators)
    np.maximum.at(largest, grades.annotator, np.abs(grades.grade))
    fraction = np.zeros(n_annotators, bool)
    fraction[grades.annotator[grades.grade != np.rint(grades.grade)]] = True
    with np.errstate(divide="ignore"):
        digits = np.maximum(np.ceil(np.log10(largest)), 1)
    kind = np.where(fraction & (largest <= 1), 0, digits).astype(np.int64)
    for smaller, larger in pairwise(np.unique(kind[kind > 0]).tolist()):
        if largest[kind == larger].max() < FAR * largest[kind == smaller].max():
            kind[kind == smaller] = larger
    return kind


def _levels(grade: Floats) -> tuple[Codes, Floats]:
    """The level of each grade, and the mean grade of each level."""
    values, level = np.unique(grade, return_inverse=True)
    if len(values) > MOST_LEVELS:
        edges = np.unique(np.quantile(grade, np.arange(1, LEVELS) / LEVELS))
        level = np.unique(np.searchsorted(edges, grade, side="right"), return_inverse=True)[1]
        values = np.bincount(level, grade) / np.bincount(level)
    return level.astype(np.int32), values.astype(np.float64)
