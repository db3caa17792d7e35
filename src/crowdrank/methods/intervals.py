"""Intervals of scores and ranks from the uncertainty of the scores; shared by the families."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import adjacent_entries
from crowdrank.numerics.laplace import Spread
from crowdrank.numerics.ranks import rank_interval
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats, Vocabulary


class ScoreIntervals(NamedTuple):
    """The 95 % intervals of scores and ranks, in the order of the entries; the fields of a `Consensus` of that name."""

    low: Floats
    high: Floats
    rank_low: NDArray[np.int32]
    rank_high: NDArray[np.int32]
    gap_error: Floats


def score_intervals(
    score: Floats, rank: NDArray[np.int32], vocabulary: Vocabulary, spread: Spread, mean: Floats | None = None
) -> ScoreIntervals:
    """Intervals around the scores, or around the posterior `mean` where it differs; they contain the score."""
    error = np.sqrt(spread.variance[: len(score)])
    centre = score if mean is None else _shifted_to(score, mean, error, vocabulary)
    scored = ~np.isnan(score)
    starts = np.searchsorted(vocabulary.entry_task[scored], np.arange(len(vocabulary.tasks) + 1))
    rank_low, rank_high = np.zeros((2, len(score)), dtype=np.int32)
    rank_low[scored], rank_high[scored] = rank_interval(centre[scored], error[scored], starts)
    above, below = adjacent_entries(rank, vocabulary.entry_task)
    gap_error = np.full(len(error), np.nan)
    gap_error[above] = np.sqrt(spread.of_gaps(above, below))
    return ScoreIntervals(
        low=np.minimum(centre - NORMAL_95_ROUNDED * error, score),
        high=np.maximum(centre + NORMAL_95_ROUNDED * error, score),
        rank_low=np.minimum(rank_low, rank),
        rank_high=np.maximum(rank_high, rank),
        gap_error=gap_error,
    )


def independent_gap_error(error: Floats, rank: NDArray[np.int32], vocabulary: Vocabulary) -> Floats:
    """The standard error of the gap to the next entry of the ranking, where the errors of scores are independent."""
    above, below = adjacent_entries(rank, vocabulary.entry_task)
    gap_error = np.full(len(error), np.nan)
    gap_error[above] = np.hypot(error[above], error[below])
    return gap_error


def _shifted_to(score: Floats, mean: Floats, error: Floats, vocabulary: Vocabulary) -> Floats:
    """The posterior means, shifted in each task to where its scores are: only differences within a task matter."""
    precision = np.where(np.isnan(score), 0.0, 1 / np.maximum(error, 1e-9) ** 2)
    shift = sum_by(vocabulary.entry_task, precision * (np.nan_to_num(score) - mean), len(vocabulary.tasks))
    total = sum_by(vocabulary.entry_task, precision, len(vocabulary.tasks))
    return np.asarray(mean + (shift / np.maximum(total, 1e-300))[vocabulary.entry_task])
