"""The distinct grades of a study, as levels of one scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdrank.study import Codes, Floats, Grades

MOST_LEVELS = 32  # methods with parameters for each grade merge more grades into so many levels


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The grades of a study as levels of one scale: row r has level `code[r]`, whose grade is `value[code[r]]`."""

    value: Floats  # ascending
    code: Codes
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.value)


def grade_levels(grades: Grades) -> Levels:
    """The distinct grades as levels.

    More than MOST_LEVELS grades are merged into so many about equally frequent levels; the value of such a level is the
    mean of its grades. Without grades, the scale has one level.
    """
    if not len(grades):
        return Levels(np.zeros(1), np.zeros(0, np.int32))
    value, code = _distinct(grades.grade)
    if len(value) <= MOST_LEVELS:
        return Levels(value, code)
    count = np.bincount(code)
    middle = np.cumsum(count) - count / 2
    _, level = np.unique((middle * MOST_LEVELS / len(code)).astype(np.int64), return_inverse=True)
    mean = np.bincount(level, value * count) / np.bincount(level, count)
    note = f"{len(value):,} different grades are merged into {len(mean)} levels (mean uses them as they are)"
    return Levels(mean, level.astype(np.int32)[code], (note,))


def _distinct(grade: Floats) -> tuple[Floats, Codes]:
    """The distinct values, ascending, and the number of each row's value."""
    least = grade.min()
    if grade.max() - least < 1000:
        whole = (grade - least).astype(np.int64)
        if bool(np.all(whole + least == grade)):  # whole numbers need no sorting
            present = np.flatnonzero(np.bincount(whole))
            return present + least, np.searchsorted(present, np.arange(whole.max() + 1)).astype(np.int32)[whole]
    value, code = np.unique(grade, return_inverse=True)
    return value, code.astype(np.int32)
