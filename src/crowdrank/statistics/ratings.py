"""Judgments as ratings of units, for statistics of agreement: an entry is graded, or a pair of entries is compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import as_pairs, count_pairs
from crowdrank.methods.grades.levels import grade_levels
from crowdrank.numerics.groups import run_starts
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Grades, Judgments, Kind, Pairs, Rankings

Metric = Literal["ordinal", "nominal"]
MOST_PAIRS = 2_000_000  # pairs of lists; above this, a sample of the entries is used


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Annotator `annotator[r]` gave unit `unit[r]` the level `level[r]`, once."""

    annotator: Codes
    unit: NDArray[np.int64]
    level: Codes
    n_levels: int
    metric: Metric  # how far apart two levels are: by their order, or equal or not
    symmetric: bool  # pairs: which of the two items is named first means nothing
    repeated: NDArray[np.int64]  # per annotator: judgments of a unit that they had judged before
    contradicted: NDArray[np.int64]  # per annotator: units that they judged in different ways

    @property
    def per_unit(self) -> NDArray[np.int64]:
        """How many annotators judged each unit."""
        return np.bincount(self.unit)


def ratings_of(judgments: Judgments, kind: Kind) -> Ratings:
    """The judgments of one kind as ratings; lists as the pairs of their entries."""
    n = len(judgments.vocabulary.annotators)
    if kind == "grades":
        return _of_grades(judgments.grades, n)
    return _of_pairs(judgments.pairs if kind == "pairs" else pairs_in_lists(judgments)[0], n)


def pairs_in_lists(judgments: Judgments, most: int = MOST_PAIRS) -> tuple[Pairs, NDArray[np.int64]]:
    """The pairs of entries that stand in the same list, and the list of each; of a sample of the entries where these
    are too many.
    """
    lists = replace(judgments.rankings, unlisted_below=np.zeros(len(judgments.rankings.list_annotator), bool))
    count = count_pairs(lists, judgments.vocabulary)
    if count > most:
        share = np.sqrt(most / count)
        lists = _with_entries(lists, np.random.default_rng(0).random(judgments.vocabulary.n_entries) < share)
    length = np.diff(lists.list_starts)
    pairs = as_pairs(replace(judgments.only("rankings"), rankings=lists))
    return pairs, np.repeat(np.arange(len(length)), length * (length - 1) // 2)


def _with_entries(lists: Rankings, kept: NDArray[np.bool_]) -> Rankings:
    rows = kept[lists.entry]
    return replace(lists, row_list=lists.row_list[rows], entry=lists.entry[rows], position=lists.position[rows])


def _of_grades(grades: Grades, n_annotators: int) -> Ratings:
    levels = grade_levels(grades)
    order = np.lexsort((levels.code, grades.annotator, grades.entry))
    unit, annotator, code = grades.entry[order], grades.annotator[order], levels.code[order]
    starts = np.flatnonzero(run_starts(unit, annotator))
    ends = np.r_[starts[1:], len(unit)]
    # Of several grades by one annotator the middle one counts: it does not depend on the order of the rows.
    middle = code[(starts + ends - 1) // 2] if len(starts) else code
    differ = code[starts] != code[ends - 1]
    repeated, contradicted = _repeats(annotator[starts], ends - starts, differ, n_annotators)
    return Ratings(
        annotator[starts], _numbered(unit[starts]), middle, len(levels), "ordinal", False, repeated, contradicted
    )


def _of_pairs(pairs: Pairs, n_annotators: int) -> Ratings:
    """Levels are 0 (the item of the lower code lost), 1 (tie), 2 (it won)."""
    swap = pairs.left > pairs.right
    low, high = np.where(swap, pairs.right, pairs.left), np.where(swap, pairs.left, pairs.right)
    outcome = np.where(swap, -pairs.outcome, pairs.outcome)
    unit = (low.astype(np.int64) << 32) | high
    order = np.lexsort((outcome, pairs.annotator, unit))
    unit, annotator, outcome = unit[order], pairs.annotator[order], outcome[order]
    starts = np.flatnonzero(run_starts(unit, annotator))
    ends = np.r_[starts[1:], len(unit)]
    total = np.add.reduceat(outcome.astype(np.int64), starts) if len(starts) else np.zeros(0, np.int64)
    differ = outcome[starts] != outcome[ends - 1]
    level = (np.sign(total) + 1).astype(np.int32)
    repeated, contradicted = _repeats(annotator[starts], ends - starts, differ, n_annotators)
    return Ratings(annotator[starts], _numbered(unit[starts]), level, 3, "nominal", True, repeated, contradicted)


def _repeats(
    annotator: Codes, times: NDArray[np.int64], differ: NDArray[np.bool_], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    repeated = sum_by(annotator, times - 1, n).astype(np.int64)
    return repeated, np.bincount(annotator[differ], minlength=n)


def _numbered(unit: NDArray[np.int64] | Codes) -> NDArray[np.int64]:
    """Sorted units as 0, 1, 2, …"""
    return np.cumsum(run_starts(unit)) - 1
