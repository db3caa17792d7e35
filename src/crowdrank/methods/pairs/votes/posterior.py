"""What the posterior says: scores and ranks with intervals, chances of neighbours, annotators' quality.

From draws where the posterior was sampled, from its curvature at the mode elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import adjacent_entries, rank_within
from crowdrank.convert import Votes
from crowdrank.methods.intervals import score_intervals
from crowdrank.methods.pairs.votes.mode import Mode
from crowdrank.methods.pairs.votes.sampler import BATCHES, Draws
from crowdrank.methods.pairs.votes.undisputed import in_order_of_votes
from crowdrank.numerics.laplace import Spread
from crowdrank.numerics.newton import dot
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats, Vocabulary

LEVEL = 0.95
NORMAL_END = 1.959964  # of the interval of a normal distribution with this level, in standard deviations
MANY_DRAWS = 100  # show the shape of the posterior; of fewer only mean and variance are used
CERTAIN = 0.999  # a mirror image less probable than one in a thousand is left out
DIGITS = 9  # after the point: the last ones of draws depend on the number of threads that BLAS uses
SAME = 1e-6  # relative: entries whose mode and variance agree so closely are symmetric, or nobody could tell them apart


@dataclass(frozen=True, slots=True, eq=False)
class ScorePosterior:
    """Scores relative to the mean of their task, and the fields of a Consensus that say how certain they are."""

    score: Floats
    fields: dict[str, Any]


def from_draws(
    draws: Draws, mode: Mode, upright: float, table: Votes, vocabulary: Vocabulary, score: Floats | None = None
) -> ScorePosterior:
    """The posterior of scores from draws, around `score` where that is given.

    `upright` is the probability that not the mirror image is right.
    """
    n, task = vocabulary.n_entries, vocabulary.entry_task
    scores = with_full_tails(centred(draws.x[:, :n], task))
    # Symmetric entries have the same posterior, but not the same draws: what is random must not rank them.
    same = _symmetric(mode.x[:n], mode.variance[:n], task)
    if score is None:
        mean = _class_means(_less_random(draws, mode, task), same)
        score = centred(in_order_of_votes(mean, table), task).round(DIGITS) + 0.0  # no minus zero
    return summarised(scores, score, vocabulary, same=same, upright=upright)


def summarised(
    scores: Floats, score: Floats, vocabulary: Vocabulary, *, same: Codes | None = None, upright: float = 1.0
) -> ScorePosterior:
    """The posterior from draws of scores, around `score`; entries of one class of `same` share their interval."""
    n, task, drawn = vocabulary.n_entries, vocabulary.entry_task, len(scores)
    shift = score - centred(score, task)
    weights = np.full(len(scores), 1 / len(scores))
    if upright < CERTAIN:
        scores, weights = np.vstack((scores, -scores)), np.r_[weights * upright, weights * (1 - upright)]
    few = drawn < MANY_DRAWS
    ends = _normal_ends(scores, weights) if few else _quantiles(scores, weights)
    low, high = (ends if same is None else _class_means(ends, same)).round(DIGITS)
    ranks = _ranks(scores, task)
    rank = rank_within(score, task)
    rank_low, rank_high = _rank_quantiles(ranks, weights)
    above, below = adjacent_entries(rank, task)
    gap = scores[:, above] - scores[:, below]
    gap_error, gap_chance = np.full((2, n), np.nan)
    mean_gap = weights @ gap
    gap_error[above] = np.sqrt(weights @ (gap - mean_gap) ** 2).round(DIGITS)
    tied = rank[above] == rank[below]
    chance = (len(scores) * (weights @ (gap > 0)) + 0.5) / (len(scores) + 1)  # never exactly 0 or 1
    gap_chance[above] = np.where(tied, 0.5, chance)
    return ScorePosterior(
        score,
        {
            "low": np.minimum(low + shift, score),
            "high": np.maximum(high + shift, score),
            "rank_low": np.minimum(rank_low, rank).astype(np.int32),
            "rank_high": np.maximum(rank_high, rank).astype(np.int32),
            "gap_error": gap_error,
            "gap_chance": None if few else gap_chance,
            "draws": None if few else (scores[:drawn] + shift).astype(np.float32),
            "upright": upright if upright < CERTAIN else 1.0,
        },
    )


def _less_random(draws: Draws, mode: Mode, task: Codes) -> Floats:
    """The means of the scores, drawn towards the mode where their differences from it are as small as their errors.

    Means are nearly proportional to the mode. Few draws of a wide posterior would rank by what is random.
    """
    n = len(task)
    mean, base = centred(draws.mean[:n], task), centred(mode.x[:n], task)
    factor = dot(mean, base) / max(dot(base, base), 1e-300)
    rest = mean - factor * base
    noise = dot(draws.error[:n], draws.error[:n]) / max(dot(rest, rest), 1e-300)
    return np.asarray(factor * base + max(1 - noise, 0.0) * rest)


def from_curvature(score: Floats, spread: Spread, vocabulary: Vocabulary) -> ScorePosterior:
    """The posterior of scores by Laplace's approximation."""
    rank = rank_within(score, vocabulary.entry_task)
    return ScorePosterior(score, score_intervals(score, rank, vocabulary, spread)._asdict())


def centred(score: Floats, task: Codes) -> Floats:
    """Scores relative to the mean of their task; NaN stays; one row per draw if there are several."""
    known = ~np.isnan(score if score.ndim == 1 else score[0])
    size = int(task.max(initial=-1)) + 1
    count = np.maximum(sum_by(task, known.astype(float), size), 1.0)
    if size == 1:
        return np.asarray(score - np.nansum(score, axis=-1, keepdims=True) / count)
    totals = np.apply_along_axis(lambda row: sum_by(task, np.nan_to_num(row), size), -1, score)
    return np.asarray(score - (totals / count)[..., task])


def _symmetric(x: Floats, variance: Floats, task: Codes) -> Codes:
    """The class of each entry: entries of a task with the same mode and variance are in one class."""
    order = np.lexsort((variance, x, task))
    scale = SAME * max(float(np.abs(x).max(initial=0.0)), 1e-6)
    new = np.ones(len(x), bool)
    new[1:] = np.diff(x[order]) > scale
    new[1:] |= np.abs(np.diff(variance[order])) > SAME * variance[order][1:]
    new[1:] |= np.diff(task[order]) != 0
    classes = np.empty(len(x), np.int32)
    classes[order] = np.cumsum(new) - 1
    return classes


def _class_means(values: Floats, classes: Codes) -> Floats:
    """The mean over each entry's class."""
    size = int(classes.max(initial=-1)) + 1
    count = np.bincount(classes, minlength=size)
    if values.ndim == 1:
        return np.asarray((sum_by(classes, values, size) / count)[classes])
    return np.array([_class_means(row, classes) for row in values])


def with_full_tails(scores: Floats) -> Floats:
    """The draws, a little further from their mean: as far as the next draw would be expected to lie.

    Few draws show the variance of a posterior only roughly, so that its tails are wider than theirs: those of Student's
    distribution instead of a normal one. Successive draws are alike, and count as fewer.
    """
    n = effective_number(scores)
    student = NORMAL_END + (NORMAL_END**3 + NORMAL_END) / (4 * n)  # its quantile, by the first terms of its expansion
    student += (5 * NORMAL_END**5 + 16 * NORMAL_END**3 + 3 * NORMAL_END) / (96 * n**2)
    mean = scores.mean(axis=0)
    return np.asarray(mean + student / NORMAL_END * (1 + 1 / n) ** 0.5 * (scores - mean))


def effective_number(scores: Floats) -> float:
    """How many independent draws would give means as precise as these, by the means of successive draws."""
    batches = np.array([part.mean(axis=0) for part in np.array_split(scores, BATCHES)])
    between = np.nansum(batches.var(axis=0, ddof=1)) / BATCHES
    within = np.nansum(scores.var(axis=0, ddof=1))
    return float(np.clip(within / max(between, 1e-300), BATCHES / 2, len(scores)))


def ends_of(draws: Floats) -> Floats:
    """The two ends of the interval of every column of draws that are equally probable."""
    weights = np.full(len(draws), 1 / len(draws))
    return _normal_ends(draws, weights) if len(draws) < MANY_DRAWS else _quantiles(draws, weights)


def _normal_ends(scores: Floats, weights: Floats) -> Floats:
    """The two ends of the interval of every entry, as if its posterior were normal."""
    mean = weights @ scores
    half = NORMAL_END * np.sqrt(weights @ (scores - mean) ** 2)
    return np.stack((mean - half, mean + half))


def _quantiles(scores: Floats, weights: Floats) -> Floats:
    """The two ends of the interval of every entry."""
    tail = (1 - LEVEL) / 2
    if np.ptp(weights) == 0:
        return np.asarray(np.quantile(scores, (tail, 1 - tail), axis=0))
    return np.asarray(np.quantile(scores, (tail, 1 - tail), axis=0, weights=weights, method="inverted_cdf"))


def _rank_quantiles(ranks: NDArray[np.int32], weights: Floats) -> Floats:
    tail = (1 - LEVEL) / 2
    return np.asarray(np.quantile(ranks, (tail, 1 - tail), axis=0, weights=weights, method="inverted_cdf"))


def _ranks(scores: Floats, task: Codes) -> NDArray[np.int32]:
    """The rank of every entry within its task, in every draw."""
    starts = np.searchsorted(task, np.arange(int(task.max(initial=-1)) + 2))
    first = starts[task]
    places = np.arange(len(task))
    ranks = np.empty(scores.shape, np.int32)
    for row, out in zip(scores, ranks, strict=True):
        order = np.argsort(-row) if len(starts) == 2 else np.lexsort((-row, task))
        out[order] = places - first + 1
    return ranks


def quality_interval(quality: Floats, step: Floats, posterior: Floats) -> tuple[Floats, Floats]:
    """The shortest interval of every profile's quality that contains it with probability LEVEL.

    Each possible quality stands for the qualities around it. A quality at the end of the scale may be 0 or 1 itself.
    """
    edges = np.concatenate((quality - step[:, None] / 4, quality[:, -1:] + step[:, None] / 4), axis=1)
    edges = np.where(edges < 0.02, 0.0, np.where(edges > 0.98, 1.0, edges))
    below = np.concatenate((np.zeros((len(quality), 1)), posterior.cumsum(axis=1)), axis=1)
    below /= below[:, -1:]
    tails = np.linspace(0.0, 1 - LEVEL, 21)
    lows, highs = (
        np.array([np.interp(tails + level, row, edge) for row, edge in zip(below, edges, strict=True)])
        for level in (0.0, LEVEL)
    )
    best = np.argmin(highs - lows, axis=1)
    every = np.arange(len(quality))
    return lows.reshape(len(quality), -1)[every, best], highs.reshape(len(quality), -1)[every, best]
