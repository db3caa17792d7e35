"""Mean grade: each item's score is the average of the grades it was given.

The simplest consensus of grades, and the baseline to beat. It does not correct for annotators who grade high, low or at
random. Quality is how often an annotator orders two items as the means do.

>>> import crowdrank as cr
>>> grades = {"annotator": ["ann", "bob", "ann"], "item": ["x", "x", "y"], "grade": [2, 1, 3]}
>>> cr.Mean().fit(cr.judgments(grades)).ranking["score"].to_list()
[3.0, 1.5]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Judgments


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean grade has no settings."""

    description: ClassVar[Description] = Description(
        name="mean",
        family="grades",
        summary="The average grade.",
        takes=("grades",),
        other_names=("average", "mos"),
    )

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their mean grade."""
        notes = check_kinds(self.description, judgments)
        grades, n = judgments.grades, judgments.vocabulary.n_entries
        count = np.bincount(grades.entry, minlength=n)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = sum_by(grades.entry, grades.grade, n) / count
        return make_consensus(self.description, judgments, mean, notes=notes)
