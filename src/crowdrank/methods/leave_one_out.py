"""Whether annotators of grades and lists agree with the others: praise that has an error rate.

Scores of a method contain everybody's judgments. Where an item has three of them, somebody who judges at random agrees
with a score that is to a third their own. So praise asks the others alone: of those who judge at random, one in 44 gets
it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import middle_places
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats, Judgments

PRAISE = ("weak", "informative")
PRAISED = 2.0  # standard errors above chance
ROUNDING = 1e-12


def withdraw_praise(verdict: NDArray[np.object_], judgments: Judgments) -> None:
    """Make praise unclear that the others do not confirm; of annotators who gave grades and lists alone."""
    voted = np.bincount(judgments.pairs.annotator, minlength=len(verdict)) > 0
    verdict[np.isin(verdict, PRAISE) & ~voted & (agreement_with_others(judgments) < PRAISED)] = "unclear"


def agreement_with_others(judgments: Judgments) -> Floats:
    """Per annotator: how far their grades and places agree with the means of the others, in standard errors.

    It is the covariance with those means, summed over lists, divided by its standard deviation over all orders of the
    same places (a permutation test). All grades of an annotator are one list.
    """
    grades, lists = judgments.grades, judgments.rankings
    place = -middle_places(lists) / (np.diff(lists.list_starts)[lists.row_list] + 1.0)
    parts = (
        (grades.annotator, grades.annotator, grades.entry, grades.grade),
        (
            lists.row_list,
            lists.list_annotator[lists.row_list],
            lists.entry,
            place,
        ),
    )
    covariance, variance = np.zeros((2, len(judgments.vocabulary.annotators)))
    for group, annotator, entry, value in parts:
        if len(value):
            found = _covariance(group, annotator, entry, value - value.mean(), judgments.vocabulary.n_entries)
            covariance += sum_by(found[0], found[1], len(covariance))
            variance += sum_by(found[0], found[2], len(covariance))
    return np.divide(covariance, np.sqrt(variance), out=np.zeros(len(covariance)), where=variance > 0)


def _covariance(
    group: Codes, annotator: Codes, entry: Codes, value: Floats, n_entries: int
) -> tuple[Codes, Floats, Floats]:
    """Per group: its annotator, the covariance of its values with the means of the others, and its variance."""
    others, known = _mean_of_others(annotator, entry, value, n_entries)
    annotator, own, others = annotator[known], value[known], others[known]
    _, first, numbers = np.unique(group[known], return_index=True, return_inverse=True)
    row_group = numbers.astype(np.int32)
    count = np.bincount(row_group).astype(np.float64)
    size = len(count)

    def centred(values: Floats) -> Floats:
        return np.asarray(values - (sum_by(row_group, values, size) / count)[row_group])

    own, others = centred(own), centred(others)
    own_squared, others_squared = sum_by(row_group, own**2, size), sum_by(row_group, others**2, size)
    differ = (others_squared > ROUNDING * count * value.var()) & (count > 1)
    variance = np.where(differ, own_squared * others_squared / np.maximum(count - 1, 1.0), 0.0)
    return annotator[first], np.where(differ, sum_by(row_group, own * others, size), 0.0), variance


def _mean_of_others(annotator: Codes, entry: Codes, value: Floats, n_entries: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Per row: the mean value of its entry by other annotators, and whether there are any."""
    pair = np.unique((annotator.astype(np.int64) << 32) | entry, return_inverse=True)[1].astype(np.int32)
    count = np.bincount(entry, minlength=n_entries)[entry] - np.bincount(pair)[pair]
    total = sum_by(entry, value, n_entries)[entry] - sum_by(pair, value, int(pair.max()) + 1)[pair]
    return total / np.maximum(count, 1), count > 0
