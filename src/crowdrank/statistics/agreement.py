"""How far annotators agree: Krippendorff's alpha, percent agreement, and each annotator against the others.

Krippendorff: Computing Krippendorff's alpha-reliability, 2011. Alpha is 1 for perfect agreement, 0 for what chance
would give, and below 0 for systematic disagreement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.sums import sum_by
from crowdrank.statistics.ratings import Metric, Ratings
from crowdrank.study import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """The agreement about the units that at least two annotators judged. NaN where there are none."""

    alpha: float
    percent: float  # how often two judgments of a unit by different annotators are equal
    by_chance: float  # how often they would be equal if annotators answered at random, as often as they do
    metric: Metric
    units: int  # judged by at least two annotators
    judgments: int  # of these units
    annotator_alpha: Floats  # per annotator: as alpha, of their judgments against those of the others
    annotator_percent: Floats
    annotator_error: Floats  # the standard error of `annotator_alpha`
    annotator_judgments: NDArray[np.int64]  # per annotator: judgments of units that others judged too


def agreement(ratings: Ratings, n_annotators: int) -> Agreement:
    """Krippendorff's alpha of ratings, and the part that each annotator has in it.

    Observed disagreement is the mean over all ratings of their mean distance to the other ratings of the unit. The mean
    of `annotator_alpha`, weighted by `annotator_judgments`, is alpha.
    """
    shared = ratings.per_unit[ratings.unit] > 1
    annotator, level = ratings.annotator[shared], ratings.level[shared]
    unit = np.unique(ratings.unit[shared], return_inverse=True)[1]
    count = np.bincount(level, minlength=ratings.n_levels).astype(np.float64)
    if ratings.symmetric:  # an item is as often the first as the second of its pair
        count = (count + count[::-1]) / 2
    equal = 1.0 - np.eye(ratings.n_levels)
    distance = equal if ratings.metric == "nominal" else _ordinal(count)
    differs, apart = _from_others(unit, level, equal), _from_others(unit, level, distance)
    expected = _expected(count, distance)
    judged = np.bincount(annotator, minlength=n_annotators)
    mean = _mean_by(annotator, apart, judged)
    spread = np.sqrt(np.maximum(_mean_by(annotator, apart**2, judged) - mean**2, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return Agreement(
            alpha=float(1 - np.divide(apart.mean() if len(apart) else np.nan, expected)),
            percent=float(1 - differs.mean()) if len(differs) else float("nan"),
            by_chance=1 - _expected(count, equal),
            metric=ratings.metric,
            units=int(unit.max(initial=-1)) + 1,
            judgments=len(unit),
            annotator_alpha=1 - mean / expected,
            annotator_percent=1 - _mean_by(annotator, differs, judged),
            annotator_error=spread / expected / np.sqrt(np.where(judged > 1, judged - 1, np.nan)),
            annotator_judgments=judged,
        )


def _ordinal(count: Floats) -> Floats:
    """The squared distance of two levels: how many ratings lie between them, half of those at the ends."""
    middle = np.cumsum(count) - count / 2
    return np.asarray(np.subtract.outer(middle, middle) ** 2)


def _from_others(unit: NDArray[np.int64], level: NDArray[np.int32], distance: Floats) -> Floats:
    """Per rating: its mean distance to the other ratings of the unit."""
    total = np.zeros(len(unit))
    for other in range(len(distance)):
        # The distance of a level to itself is 0: a rating need not be taken out of its own unit.
        given = np.bincount(unit[level == other], minlength=unit.max(initial=-1) + 1)
        total += given[unit] * distance[level, other]
    return np.asarray(total / np.maximum(np.bincount(unit)[unit] - 1, 1)) if len(unit) else total


def _expected(count: Floats, distance: Floats) -> float:
    """The mean distance of two ratings drawn without replacement; NaN where there are no two."""
    n = count.sum()
    return float(count @ distance @ count / (n * (n - 1))) if n > 1 else float("nan")


def _mean_by(codes: NDArray[np.int32], values: Floats, count: NDArray[np.int64]) -> Floats:
    mean = np.full(len(count), np.nan)
    np.divide(sum_by(codes, values, len(count)), count, out=mean, where=count > 0)
    return mean
