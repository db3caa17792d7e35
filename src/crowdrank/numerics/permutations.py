"""Distributions over the orders of a few items: what a measure is worth on average, and how that changes with the scores.

An order y of m items with scores s has the probability exp(Σ_i s[y(i)] / log(i + 1)) / Z: good orders have high scores at the top. Up
to six items all orders (720) are looked at, so that nothing is approximated.
"""

from __future__ import annotations

import math
from itertools import permutations

import numba as nb
import numpy as np

from crowdrank.study import Floats

MOST_ITEMS = 6
# The orders of 0, 1, …, MOST_ITEMS items below each other; those of m items are the rows FIRST[m] : FIRST[m + 1].
_ORDERS = [list(permutations(range(m))) for m in range(MOST_ITEMS + 1)]
ORDERS = np.array([[*order, *[0] * (MOST_ITEMS - m)] for m, orders in enumerate(_ORDERS) for order in orders], dtype=np.int8)
FIRST = np.cumsum([0, *(len(orders) for orders in _ORDERS)])
REACH = 1 / np.log(np.arange(MOST_ITEMS) + 2.0)  # how much each place counts in the energy

# How what stands in a list makes its worth.
SUM, CASCADE, PRECISION = 0, 1, 2


@nb.njit(cache=True, nogil=True)
def worth(how, gain, discount):
    """What a list is worth whose items, best first, have these gains.

    SUM: Σ gain × discount, as NDCG and precision. CASCADE: the gain is the chance to stop there, as ERR. PRECISION: the mean
    precision at the items of positive gain, as MAP.
    """
    total, left, found = 0.0, 1.0, 0
    for place in range(min(len(gain), len(discount))):
        if how == SUM:
            total += gain[place] * discount[place]
        elif how == CASCADE:
            total += left * gain[place] * discount[place]
            left *= 1.0 - gain[place]
        elif gain[place] > 0:
            found += 1
            total += found * discount[place]
    return total


@nb.njit(cache=True, nogil=True)
def expected_worth(score, gain, how, discount, orders, slope):
    """The mean worth over all orders of the items; `slope` gets its derivatives with respect to the scores."""
    m, n = len(score), len(orders)
    weight, listed = np.empty(n), np.empty(m)
    chance, joint = np.zeros(m), np.zeros(m)  # per item: mean of its place's 1 / log(i + 1), alone and times the worth
    highest = -np.inf
    for y in range(n):
        weight[y] = 0.0
        for place in range(m):
            weight[y] += score[orders[y, place]] * REACH[place]
        highest = max(highest, weight[y])
    total, mean = 0.0, 0.0
    for y in range(n):
        share = math.exp(weight[y] - highest)
        for place in range(m):
            listed[place] = gain[orders[y, place]]
        value = worth(how, listed, discount)
        total += share
        mean += share * value
        for place in range(m):
            part = share * REACH[place]
            chance[orders[y, place]] += part
            joint[orders[y, place]] += part * value
    mean /= total
    for item in range(m):
        slope[item] = (joint[item] - mean * chance[item]) / total
    return mean


@nb.njit(cache=True, nogil=True)
def expected_over_tasks(
    sample, size, cell_starts, cell_annotator, cell_value, weight, gain, best, how, discount, orders, first, change
):
    """The summed mean worth, as a share of the best, of samples of items, one per task; its derivatives are added to `change`.

    Row r of `sample` holds `size[r]` entries; `gain` is theirs, `best[r]` the worth of their best order. An entry's score is Σ value · weight over its cells; the
    last row of `weight` counts for every annotator, and is all that those without a row of their own (−1) have.
    """
    n_values, shared = cell_value.shape[1], len(weight) - 1
    score, slope = np.empty(sample.shape[1]), np.empty(sample.shape[1])
    total = 0.0
    for row in range(len(sample)):
        m = size[row]
        for at in range(m):
            score[at] = 0.0
            for cell in range(cell_starts[sample[row, at]], cell_starts[sample[row, at] + 1]):
                own = cell_annotator[cell]
                for v in range(n_values):
                    w = weight[shared, v] + (weight[own, v] if own >= 0 else 0.0)
                    score[at] += w * cell_value[cell, v]
        of_size = orders[first[m] : first[m + 1]]
        total += expected_worth(score[:m], gain[row, :m], how, discount, of_size, slope) / best[row]
        for at in range(m):
            for cell in range(cell_starts[sample[row, at]], cell_starts[sample[row, at] + 1]):
                own = cell_annotator[cell]
                for v in range(n_values):
                    part = slope[at] / best[row] * cell_value[cell, v]
                    change[shared, v] += part
                    if own >= 0:
                        change[own, v] += part
    return total


def discounts(places: int) -> Floats:
    """1 / log2(i + 1) for position i = 1, 2, …"""
    return 1 / np.log2(np.arange(places) + 2)


def reciprocals(places: int) -> Floats:
    """1 / i for position i = 1, 2, …"""
    return 1 / np.arange(1.0, places + 1)
