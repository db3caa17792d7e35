"""Between which ranks an item lies, given its score and every score's standard error."""

from __future__ import annotations

import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

from crowdrank.study import Floats

Ranks = NDArray[np.int32]

# Gauss-Hermite nodes and weights for a standard normal variable.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
GRID = 128


def rank_interval(score: Floats, error: Floats, task_starts: NDArray[np.int64], level: float = 0.95) -> tuple[Ranks, Ranks]:
    """The lowest and highest rank each entry has with probability `level`, scores taken as independent normal variables.

    At any value of its own score, the number of entries above is a sum of independent chances; its mean and variance are tabulated
    over the range of the task's scores, so that the cost grows with the entries, not with their pairs.
    """
    low, high = np.ones(len(score), np.int32), np.ones(len(score), np.int32)
    _rank_intervals(score, np.maximum(error, 1e-9), task_starts, (1 - level) / 2, NODES, WEIGHTS, low, high)
    return low, high


@nb.njit(cache=True, nogil=True)
def _rank_intervals(score, error, starts, tail, nodes, weights, low, high):
    above, noise = np.empty(GRID), np.empty(GRID)
    mean, deviation = np.empty(len(nodes)), np.empty(len(nodes))
    for task in range(len(starts) - 1):
        start, end = starts[task], starts[task + 1]
        n = end - start
        if n < 2:
            continue
        first, last = np.inf, -np.inf
        for j in range(start, end):
            first = min(first, score[j] + nodes[0] * error[j])
            last = max(last, score[j] + nodes[-1] * error[j])
        step = (last - first) / (GRID - 1)
        for g in range(GRID):
            x = first + g * step
            above[g], noise[g] = 0.0, 0.0
            for j in range(start, end):
                chance = _normal((score[j] - x) / error[j])
                above[g] += chance
                noise[g] += chance * (1 - chance)
        for i in range(start, end):
            for q in range(len(nodes)):
                x = score[i] + nodes[q] * error[i]
                place = (x - first) / step
                cell = min(int(place), GRID - 2)
                part = place - cell
                own = _normal((score[i] - x) / error[i])  # an entry is not above itself
                mean[q] = 1 + (1 - part) * above[cell] + part * above[cell + 1] - own
                spread = (1 - part) * noise[cell] + part * noise[cell + 1] - own * (1 - own)
                deviation[q] = math.sqrt(max(spread, 1e-6))
            low[i] = _quantile(tail, n, mean, deviation, weights)
            high[i] = _quantile(1 - tail, n, mean, deviation, weights)


@nb.njit(cache=True, nogil=True)
def _quantile(share, n, mean, deviation, weights):
    """The lowest rank at or below which the mixture of rounded normal variables has this share."""
    below, at = 0, n
    while at - below > 1:
        middle = (below + at) // 2
        total = 0.0
        for q in range(len(mean)):
            total += weights[q] * _normal((middle + 0.5 - mean[q]) / deviation[q])
        if total >= share:
            at = middle
        else:
            below = middle
    return at


@nb.njit(cache=True, nogil=True, inline="always")
def _normal(u):
    return math.erfc(-u / math.sqrt(2.0)) / 2
