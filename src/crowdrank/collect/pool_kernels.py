"""The kernels of the pool: bounds of the gain of questions, and their updates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.gain_kernels import CELLS, looked_up, rarity, row_gains, score_gain
from crowdrank.numerics.compiled import kernel
from crowdrank.study import Floats


class PoolData(NamedTuple):
    """What the gain of a question depends on: beliefs, what may be asked, and settings."""

    odds: Floats  # by entry: e^mean
    mean: Floats
    variance: Floats
    alpha: Floats  # by annotator
    beta: Floats
    allowed: NDArray[np.bool_]  # by annotator and entry
    cost: Floats  # by annotator
    asked: NDArray[np.int64]  # keys of the questions that may not be asked again, ascending
    task_start: NDArray[Any]  # by entry: where the entries of its task begin
    task_end: NDArray[Any]
    who: NDArray[Any]  # the annotators of the pool; `tables` and all bounds are by their number here
    tables: Floats
    ties: float
    gamma: float
    simple: bool  # without ties, and all variances small: the fast formula holds


class Bounds(NamedTuple):
    """By annotator of the pool and entry: the two highest gains per cost, and the entry that attains the highest."""

    bound: Floats
    second: Floats
    partner: NDArray[np.int32]


# Each kernel is compiled together with all that it calls: few kernels and few levels compile fastest.
@kernel
def scan_rows(whose, rows, highest_only, pool, bounds):
    """Compute some bounds, each the best partner of an entry among the later ones of its task.

    With `highest_only`, only the highest of the bounds is exact.
    """
    bound, second, partner = bounds
    gain, lead = np.empty(len(pool.odds)), np.empty(len(pool.odds))
    floor = -np.inf
    for number in range(len(rows)):
        k, i = whose[number], rows[number]
        fill_row(k, i, i + 1, pool.task_end[i], pool, gain, lead)
        cost, table = pool.cost[pool.who[k]], pool.tables[k]
        best, next_best, mate = floor * cost, floor * cost, -1
        for j in range(i + 1, pool.task_end[i]):
            if gain[j] + most_quality(table, lead[j], pool.gamma) > next_best:
                found = gain[j] + pool.gamma * looked_up(table[0], 2 * abs(lead[j]))
                if found > best:
                    best, next_best, mate = found, best, j
                elif found > next_best:
                    next_best = found
        bound[k, i], second[k, i], partner[k, i] = best / cost, next_best / cost, mate
        if highest_only:
            floor = max(floor, bound[k, i])


@kernel
def most_quality(table, lead, gamma):
    """An upper bound of the gain in quality, which is a convex function of 2 |C1 − ½|."""
    return gamma * table[0, CELLS] * 2 * abs(lead)


@kernel
def fill_row(k, i, first, last, pool, gain, lead):
    """The gain in scores of entry i with each entry of a range, −∞ where it may not be asked; and C1 − ½."""
    mean, variance, ties, gamma = pool.mean, pool.variance, pool.ties, pool.gamma
    person, n = pool.who[k], len(mean)
    a, b, allowed = pool.alpha[person], pool.beta[person], pool.allowed[person]
    if not allowed[i]:
        for j in range(first, last):
            gain[j], lead[j] = -np.inf, 0.0
        return
    if pool.simple:
        row_gains(i, first, last, pool.odds, variance, a, b, gain, lead)
    else:
        for j in range(first, last):
            gap = mean[i] - mean[j]
            gain[j], lead[j], tie = score_gain(gap, variance[i], variance[j], a, b, ties)
            if ties > 0 and gamma > 0:  # added here; a lead of 0 adds nothing later
                known = (1 - tie) * looked_up(pool.tables[k, 0], 2 * abs(lead[j]))
                gain[j] += gamma * (known + tie * looked_up(pool.tables[k, 1], rarity(gap, ties)))
                lead[j] = 0.0
    for j in range(first, last):
        if not allowed[j]:
            gain[j] = -np.inf
    for asked_one in (person, len(pool.allowed)):
        leave_out((asked_one * n + i) * n, first, last, pool.asked, gain)


@kernel
def leave_out(row, first, last, asked, gain):
    """Set −∞ for the pairs of a row that are among those asked; keys ascend, and begin at `row`."""
    low, high = 0, len(asked)
    while low < high:
        middle = (low + high) // 2
        if asked[middle] < row + first:
            low = middle + 1
        else:
            high = middle
    while low < len(asked) and asked[low] < row + last:
        gain[asked[low] - row] = -np.inf
        low += 1


@kernel
def compare_before(i, pool, bounds):
    """Update the bounds of the entries before i after a change of entry i."""
    bound, second, partner = bounds
    gain, lead = np.empty(len(pool.odds)), np.empty(len(pool.odds))
    for k in range(len(pool.who)):
        fill_row(k, i, pool.task_start[i], i, pool, gain, lead)
        cost, table = pool.cost[pool.who[k]], pool.tables[k]
        for j in range(pool.task_start[i], i):
            was_best = partner[k, j] == i
            if not was_best and (gain[j] + most_quality(table, lead[j], pool.gamma)) <= second[k, j] * cost:
                continue
            found = (gain[j] + pool.gamma * looked_up(table[0], 2 * abs(lead[j]))) / cost
            if was_best:
                bound[k, j] = max(found, second[k, j])
                partner[k, j] = i if found >= second[k, j] else -1
            elif found > bound[k, j]:
                bound[k, j], second[k, j], partner[k, j] = found, bound[k, j], i
            elif found > second[k, j]:
                second[k, j] = found
