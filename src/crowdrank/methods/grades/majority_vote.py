"""Majority vote: an item's score is the grade it was given most often.

Where several grades were given equally often, their mean counts. Few grades leave many items with the same winning
grade, so items of the same winning grade are ordered by their mean grade: their scores differ from the grade by less
than a thousandth of the step to the next one. With `by_mean=False` they share their rank. More than 32 different grades
are first merged into 32 levels.

All annotators count the same. Quality is how often an annotator orders two items as the result does.

>>> import crowdrank as cr
>>> grades = {"annotator": [*"abc"] * 2, "item": [*"xxxyyy"], "grade": [2, 2, 0, 0, 3, 3]}
>>> cr.MajorityVote().fit(cr.judgments(grades)).ranking["score"].round(1).to_list()
[3.0, 2.0]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.methods.grades.levels import Levels, grade_levels
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check_flag
from crowdrank.study import Codes, Floats, Judgments

TIE_BREAK = 1e-3  # how far the mean grade may move a score, as a share of the smallest step between winning grades


@dataclass(frozen=True, slots=True)
class MajorityVote:
    """Settings of the majority vote."""

    description: ClassVar[Description] = Description(
        name="majority-vote",
        family="grades",
        summary="The most frequent grade; items with the same one are ordered by their mean.",
        takes=("grades",),
        other_names=("mv", "plurality"),
    )

    by_mean: bool = True  # order items of the same winning grade by their mean grade

    def __post_init__(self) -> None:
        check_flag("by_mean", self.by_mean)

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their most frequent grade."""
        notes = check_kinds(self.description, judgments)
        levels, n = grade_levels(judgments.grades), judgments.vocabulary.n_entries
        score = _most_frequent(levels, judgments.grades.entry, n)
        if self.by_mean:
            score = _break_ties(score, _mean(judgments.grades.entry, levels.value[levels.code], n))
        return make_consensus(
            self.description,
            judgments,
            score,
            extra_fields={
                "estimate_labels": None if levels.notes else partial(_shares, levels, judgments.grades.entry, n)
            },
            notes=(*notes, *levels.notes),
        )


def _shares(levels: Levels, entry: Codes, n_entries: int) -> Floats:
    """The shares of each entry's grades; one virtual grade, as the study's are on average, leaves none impossible."""
    count = np.bincount(entry.astype(np.int64) * len(levels) + levels.code, minlength=n_entries * len(levels))
    count = count.reshape(n_entries, len(levels))
    total = count.sum(axis=1, keepdims=True)
    share = (count + np.bincount(levels.code, minlength=len(levels)) / max(len(entry), 1)) / (total + 1)
    return np.where(total > 0, share, np.nan)


def _most_frequent(levels: Levels, entry: Codes, n_entries: int) -> Floats:
    """The grade that each entry got most often; the mean of several such grades."""
    keys, count = np.unique(entry.astype(np.int64) * len(levels) + levels.code, return_counts=True)
    of, value = keys // len(levels), levels.value[keys % len(levels)]
    most = np.zeros(n_entries, dtype=np.int64)
    np.maximum.at(most, of, count)
    winning = count == most[of]
    return _mean(of[winning], value[winning], n_entries)


def _mean(codes: Codes, values: Floats, size: int) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(sum_by(codes, values, size) / np.bincount(codes, minlength=size))


def _break_ties(winner: Floats, mean: Floats) -> Floats:
    """The winning grades moved towards the means, by too little to change their order."""
    distinct = np.unique(winner[~np.isnan(winner)])
    if len(distinct) < 2:
        return winner if not len(distinct) else np.asarray(winner + TIE_BREAK * (mean - winner))
    furthest = np.nanmax(np.abs(mean - winner)) or 1.0
    return np.asarray(winner + TIE_BREAK * np.diff(distinct).min() * (mean - winner) / furthest)
