"""The grades of a study for methods that learn how each annotator uses each grade."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdrank.methods.grades.levels import Levels, grade_levels
from crowdrank.numerics.groups import Places, grouped, run_starts
from crowdrank.study import Codes, Judgments


@dataclass(frozen=True, slots=True, eq=False)
class GradeTable:
    """Who gave which entry which level of the scale. A repeated grade of the same entry by an annotator counts once.

    Sorted by entry, annotator and level, so that results do not depend on the order of the judgments.
    """

    levels: Levels
    entry: Codes
    annotator: Codes
    level: Codes
    entry_starts: Places  # rows of entry e are entry_starts[e]:entry_starts[e + 1]
    n_annotators: int

    def __len__(self) -> int:
        return len(self.entry)

    @property
    def n_entries(self) -> int:
        return len(self.entry_starts) - 1


def grade_table(judgments: Judgments) -> GradeTable:
    """The grades of a study, sorted; more than 32 different grades are merged into 32 levels."""
    grades, vocabulary, levels = judgments.grades, judgments.vocabulary, grade_levels(judgments.grades)
    order = grouped(levels.code, len(levels))[0]
    for codes, size in ((grades.annotator, len(vocabulary.annotators)), (grades.entry, vocabulary.n_entries)):
        order = order[grouped(codes[order], size)[0]]
    columns = grades.entry[order], grades.annotator[order], levels.code[order]
    first = run_starts(*columns)
    if not first.all():
        columns = columns[0][first], columns[1][first], columns[2][first]
    starts = np.searchsorted(columns[0], np.arange(vocabulary.n_entries + 1))
    return GradeTable(levels, *columns, starts, len(vocabulary.annotators))
