"""Intervals of ranks from scores and their standard errors."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.compiled import for_work, kernel
from crowdrank.study import Floats

Ranks = NDArray[np.int32]

# The distribution of an entry's own score is represented by the middles of so many equally likely parts.
N_NODES = 31
NODES = np.array([NormalDist().inv_cdf((i + 0.5) / N_NODES) for i in range(N_NODES)])
GRID = 1024
GRID_NODES = NODES[::3]  # those of every entry, from which the points of the grid are taken
PER_ENTRY = len(GRID_NODES)


def rank_interval(
    score: Floats, error: Floats, task_starts: NDArray[np.int64], level: float = 0.95
) -> tuple[Ranks, Ranks]:
    """The interval that contains the rank of each entry with probability `level`, if scores are independent and normal.

    Ranks are whole numbers: the less likely of the two at the ends is removed as long as the others are likely enough.

    Given an entry's own score, the number of entries above it is a sum of independent events; its mean and variance are
    tabulated over the range of the task's scores, so that the cost grows with the entries, not with their pairs.
    """
    low, high = np.ones((2, len(score)), np.int64)
    error = np.maximum(error, 1e-9)
    points = (score[:, None] + GRID_NODES * error[:, None]).ravel()
    task = np.repeat(np.arange(len(task_starts) - 1), np.diff(task_starts) * PER_ENTRY)
    points = points[np.lexsort((points, task))]
    # Every entry is compared at each point of the grid.
    work = 10 * int((np.diff(task_starts) ** 2).sum())
    for_work(_rank_intervals, work)(score, error, points, task_starts, (1 - level) / 2, NODES, low, high)
    return low.astype(np.int32), high.astype(np.int32)


@kernel
def _rank_intervals(score, error, points, starts, tail, nodes, low, high):
    mean, deviation = np.empty(len(nodes)), np.empty(len(nodes))
    for task in range(len(starts) - 1):
        start, end = starts[task], starts[task + 1]
        n = end - start
        if n < 2:
            continue
        # The grid is dense where the scores are: one far away, or a very uncertain one, must not make it coarse.
        first, last = start * PER_ENTRY, end * PER_ENTRY - 1
        size = min(GRID, last - first + 1)
        grid, above, noise = np.empty(size), np.zeros(size), np.zeros(size)
        for g in range(size):
            grid[g] = points[first + g * (last - first) // (size - 1)]
            for j in range(start, end):
                chance = _normal((score[j] - grid[g]) / error[j])
                above[g] += chance
                noise[g] += chance * (1 - chance)
        for i in range(start, end):
            for q in range(len(nodes)):
                x = score[i] + nodes[q] * error[i]
                cell = _cell(grid, x)
                width = grid[cell + 1] - grid[cell]
                part = (x - grid[cell]) / width if width > 0 else 0.0
                own = _normal((score[i] - x) / error[i])  # an entry is not above itself
                mean[q] = 1 + (1 - part) * above[cell] + part * above[cell + 1] - own
                spread = (1 - part) * noise[cell] + part * noise[cell + 1] - own * (1 - own)
                deviation[q] = math.sqrt(max(spread, 1e-6))
            low[i] = _quantile(tail, n, mean, deviation)
            high[i] = _quantile(1 - tail, n, mean, deviation)
            spare = _until(high[i], mean, deviation) - _until(low[i] - 1, mean, deviation) - (1 - 2 * tail)
            while low[i] < high[i]:
                first = _until(low[i], mean, deviation) - _until(low[i] - 1, mean, deviation)
                last = _until(high[i], mean, deviation) - _until(high[i] - 1, mean, deviation)
                spare -= min(first, last)
                if spare < 0:
                    break
                if first < last:
                    low[i] += 1
                else:
                    high[i] -= 1


@kernel
def _cell(grid, x):
    """The cell of an ascending grid that contains x, by bisection: np.searchsorted takes a second to compile."""
    low, high = 0, len(grid) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if grid[middle] < x:
            low = middle
        else:
            high = middle
    return low


@kernel
def _quantile(share, n, mean, deviation):
    """The lowest rank at or below which the mixture of rounded normal variables has this share."""
    below, at = 0, n
    while at - below > 1:
        middle = (below + at) // 2
        if _until(middle, mean, deviation) >= share:
            at = middle
        else:
            below = middle
    return at


@kernel
def _until(rank, mean, deviation):
    """The share of a mixture of rounded normal variables at or below a rank."""
    total = 0.0
    for q in range(len(mean)):
        total += _normal((rank + 0.5 - mean[q]) / deviation[q])
    return total / len(mean)


@kernel
def _normal(u):
    return math.erfc(-u / math.sqrt(2.0)) / 2


@kernel
def normal_below(u):
    """The share of a standard normal distribution below each of some numbers."""
    share = np.empty(len(u))
    for i in range(len(u)):
        share[i] = _normal(u[i])
    return share
