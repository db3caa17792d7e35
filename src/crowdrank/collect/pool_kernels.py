"""The kernels of the pool: bounds of the gain of questions, and their updates."""

from __future__ import annotations

import numpy as np

from crowdrank.collect.gain_kernels import CELLS, looked_up, rarity, row_gains, score_gain
from crowdrank.numerics.compiled import kernel


# Each kernel is compiled together with all that it calls: few kernels and few levels compile fastest.
@kernel
def scan_rows(whose, rows, highest_only, beliefs, limits, ends, who, tables, model, bounds):
    """Compute some bounds, each the best partner of an entry among the later ones of its task.

    With `highest_only`, only the highest of the bounds is exact.
    """
    bound, second, partner = bounds
    gain, lead = np.empty(len(beliefs[0])), np.empty(len(beliefs[0]))
    floor = -np.inf
    for number in range(len(rows)):
        k, i = whose[number], rows[number]
        fill_row(k, i, i + 1, ends[0][i], beliefs, limits, who, tables, model, gain, lead)
        cost = limits[1][who[k]]
        best, next_best, mate = floor * cost, floor * cost, -1
        for j in range(i + 1, ends[0][i]):
            if gain[j] + most_quality(tables[k], lead[j], model) > next_best:
                found = gain[j] + model[1] * looked_up(tables[k, 0], 2 * abs(lead[j]))
                if found > best:
                    best, next_best, mate = found, best, j
                elif found > next_best:
                    next_best = found
        bound[k, i], second[k, i], partner[k, i] = best / cost, next_best / cost, mate
        if highest_only:
            floor = max(floor, bound[k, i])


@kernel
def most_quality(table, lead, model):
    """An upper bound of the gain in quality, which is a convex function of 2 |C1 − ½|."""
    return model[1] * table[0, CELLS] * 2 * abs(lead)


@kernel
def fill_row(k, i, first, last, beliefs, limits, who, tables, model, gain, lead):
    """The gain in scores of entry i with each entry of a range, −∞ where it may not be asked; and C1 − ½."""
    odds, mean, variance, alpha, beta = beliefs
    allowed, _, asked = limits
    ties, gamma, simple = model
    a, b, n, person = alpha[who[k]], beta[who[k]], len(odds), who[k]
    if not allowed[person, i]:
        for j in range(first, last):
            gain[j] = -np.inf
        return
    if simple:
        row_gains(i, first, last, odds, variance, a, b, gain, lead)
    else:
        for j in range(first, last):
            gap = mean[i] - mean[j]
            gain[j], lead[j], tie = score_gain(gap, variance[i], variance[j], a, b, ties)
            if ties > 0 and gamma > 0:  # added here; a lead of 0 adds nothing later
                known = (1 - tie) * looked_up(tables[k, 0], 2 * abs(lead[j]))
                gain[j] += gamma * (known + tie * looked_up(tables[k, 1], rarity(gap, ties)))
                lead[j] = 0.0
    for j in range(first, last):
        if not allowed[person, j]:
            gain[j] = -np.inf
    for asked_one in (person, len(allowed)):
        leave_out((asked_one * n + i) * n, first, last, asked, gain)


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
def compare_before(i, beliefs, limits, ends, who, tables, model, bounds):
    """Update the bounds of the entries before i after a change of entry i."""
    bound, second, partner = bounds
    gain, lead = np.empty(len(beliefs[0])), np.empty(len(beliefs[0]))
    for k in range(len(who)):
        fill_row(k, i, ends[1][i], i, beliefs, limits, who, tables, model, gain, lead)
        cost = limits[1][who[k]]
        for j in range(ends[1][i], i):
            was_best = partner[k, j] == i
            if not was_best and (gain[j] + most_quality(tables[k], lead[j], model)) <= second[k, j] * cost:
                continue
            found = (gain[j] + model[1] * looked_up(tables[k, 0], 2 * abs(lead[j]))) / cost
            if was_best:
                bound[k, j] = max(found, second[k, j])
                partner[k, j] = i if found >= second[k, j] else -1
            elif found > bound[k, j]:
                bound[k, j], second[k, j], partner[k, j] = found, bound[k, j], i
            elif found > second[k, j]:
                second[k, j] = found
