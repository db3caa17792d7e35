"""Grades as the methods take them that learn something about each annotator's use of each grade."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdrank.convert import Levels, grade_levels
from crowdrank.numerics.groups import Places, grouped
from crowdrank.study import Codes, Judgments


@dataclass(frozen=True, slots=True, eq=False)
class GradeTable:
    """Who gave which entry which step of the scale, once each: who gives an entry the same grade again says nothing
    new.

    Sorted by entry, annotator and step, so that what is computed from the rows does not depend on the order of the
    judgments.
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
    """The grades of a study, sorted; more than 32 different ones are taken together into 32 steps."""
    grades, vocabulary, levels = judgments.grades, judgments.vocabulary, grade_levels(judgments.grades)
    order = grouped(levels.code, len(levels))[0]
    for codes, size in ((grades.annotator, len(vocabulary.annotators)), (grades.entry, vocabulary.n_entries)):
        order = order[grouped(codes[order], size)[0]]
    columns = grades.entry[order], grades.annotator[order], levels.code[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    if not first.all():
        columns = columns[0][first], columns[1][first], columns[2][first]
    starts = np.searchsorted(columns[0], np.arange(vocabulary.n_entries + 1))
    return GradeTable(levels, *columns, starts, len(vocabulary.annotators))
