"""How far relevance found by one half of the annotators lies from that found by the other half.

The posterior takes every grade as independent evidence, and the curves as known. Where few entries have many grades,
what annotators have in common (opinions, the errors of the curves) is larger than what the posterior is unsure of. Two
halves of the annotators show it: the squared distances of their relevances, divided by what their posteriors expect, is
a factor of the variance (a quasi-likelihood's dispersion, with annotators as the units).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.grades.curves.content import content_keys
from crowdrank.methods.grades.curves.curves import CurveFit, GradesByProfile, sort_grades
from crowdrank.methods.grades.curves.scales import Scales
from crowdrank.study import Codes, Floats

LEAST_ANNOTATORS = 8
LEAST_GRADES = 8.0  # per entry, on average; with fewer, most of the variance is the prior's
DISTANCES = 36  # how many there should be; studies of few entries are divided several times
MOST_SPLITS = 3
STEPS, TOL = 40, 0.01  # the distances of two halves are far larger


def variance_factor(full: CurveFit, scales: Scales, shrinkage: float, annotator: Codes) -> float:
    """The factor of the posterior variances that halves of the annotators show; at least 1.

    `annotator` is that of each profile of the fit.
    """
    rows = full.rows
    entries, annotators = np.unique(rows.entry), np.unique(annotator[rows.profile])
    if len(annotators) < LEAST_ANNOTATORS or len(rows.entry) < LEAST_GRADES * len(entries):
        return 1.0
    distance, expected = 0.0, 0.0
    for split in range(int(np.clip(np.ceil(DISTANCES / len(entries)), 1, MOST_SPLITS))):
        first = _first_half(rows, annotator, split)[rows.profile]
        (one, one_error), (other, other_error) = (
            _relevance(full, _part(rows, half), scales, shrinkage) for half in (first, ~first)
        )
        both = ~np.isnan(one + other)
        distance += float(((one - other)[both] ** 2).sum())
        expected += float(_expected_squares(one_error, other_error)[both].sum())
    return max(distance / expected, 1.0) if expected > 0 else 1.0


def _expected_squares(one_error: Floats, other_error: Floats) -> Floats:
    """The expected squared distance of two posterior means of one relevance, N(0, 1), by independent grades.

    A mean has the variance 1 − error², and two of them the covariance (1 − error²) (1 − other error²): both are drawn
    to the mean of the prior, so they lie nearer to each other than their errors alone would say.
    """
    one, other = 1 - one_error**2, 1 - other_error**2
    return np.asarray(one + other - 2 * one * other)


def _first_half(rows: GradesByProfile, annotator: Codes, split: int) -> NDArray[np.bool_]:
    """Whether each profile is in the first half: as good as random, but it follows from the grades, not from names."""
    n = int(annotator.max(initial=-1)) + 1
    key = np.zeros(n, np.uint64)
    np.add.at(key, annotator[rows.profile], content_keys(rows, split)[1])
    used = np.bincount(annotator[rows.profile], minlength=n) > 0
    order = np.lexsort((key, ~used))
    first = np.zeros(n, bool)
    first[order[: int(used.sum()) // 2]] = True
    return first[annotator]


def _part(rows: GradesByProfile, kept: NDArray[np.bool_]) -> GradesByProfile:
    return sort_grades(rows.entry[kept], rows.profile[kept], rows.level[kept], rows.scale, rows.n_entries)


def _relevance(full: CurveFit, rows: GradesByProfile, scales: Scales, shrinkage: float) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each entry's posterior by these rows alone; NaN without rows.

    The fit does not start from the curves of the whole study: where grades have nothing in common, both halves would
    keep the order that those found by chance.
    """
    fit = CurveFit(rows, scales, shrinkage, ordered=full.ordered, difficulty=full.difficulty)
    found = fit.run(STEPS, TOL)
    mean = found.posterior @ found.nodes.x
    error = np.sqrt(np.maximum(found.posterior @ found.nodes.x**2 - mean**2, 0.0))
    mean[np.diff(rows.entry_starts) == 0] = np.nan
    return mean, error
