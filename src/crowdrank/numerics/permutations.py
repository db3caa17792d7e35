"""Distributions over the orders of a few items: the expected value of a measure, and its derivatives by the scores.

An order y of m items with scores s has the probability exp(Σ_i s[y(i)] / log(i + 1)) / Z: good orders have high scores
at the top. The results are exact without enumerating all orders: which item comes next, and its gain, depend on the set
of items placed before, not on their order, so that sums over the 64 subsets of six items replace sums over their 720
orders.
"""

from __future__ import annotations

import math

import numpy as np

from crowdrank.numerics.compiled import kernel
from crowdrank.study import Floats

MOST_ITEMS = 6
REACH = 1 / np.log(np.arange(MOST_ITEMS) + 2.0)  # the weight of each place in the energy

# How the gains of a list make its worth.
SUM, CASCADE, PRECISION = 0, 1, 2


@kernel
def worth(how, gain, discount):
    """What a list is worth whose items, best first, have these gains.

    SUM: Σ gain × discount, as NDCG and precision. CASCADE: the gain is the chance to stop there, as ERR. PRECISION: the
    mean precision at the items of positive gain, as MAP.
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


@kernel
def expected_worth(score, gain, how, discount, slope):
    """The mean worth over all orders of the items; `slope` gets its derivatives with respect to the scores."""
    m, n_sets = len(score), 1 << len(score)
    size, chance, gain_next, rest = _next_items(score, gain, how, discount)
    reached, so_far = np.zeros(n_sets), np.zeros(n_sets)  # the chance that a set comes first; and times its worth
    reached[0] = 1.0
    mean, joint = np.zeros(m), np.zeros(m)  # per item: the mean of its 1 / log(i + 1), alone and times the worth
    for placed in range(n_sets - 1):
        reach = REACH[size[placed]]
        for item in range(m):
            if not (placed >> item) & 1:
                after = placed | (1 << item)
                share = reached[placed] * chance[placed, item]
                worth_here = so_far[placed] * chance[placed, item] + share * gain_next[placed, item]
                reached[after] += share
                so_far[after] += worth_here
                mean[item] += reach * share
                joint[item] += reach * (worth_here + share * rest[after])
    for item in range(m):
        slope[item] = joint[item] - rest[0] * mean[item]
    return rest[0]


@kernel
def _next_items(score, gain, how, discount):
    """For every set of items placed first: its size, chance and gain of each next item, and mean gain of the rest."""
    m, n_sets = len(score), 1 << len(score)
    size, state = _sets(how, gain)
    chance, gain_next = np.zeros((n_sets, m)), np.empty((n_sets, m))
    log_total, rest = np.zeros(n_sets), np.zeros(n_sets)  # log_total: of exp(…) over the orders of all other items
    for placed in range(n_sets - 2, -1, -1):
        place, highest, total = size[placed], -np.inf, 0.0
        for item in range(m):
            if not (placed >> item) & 1:
                highest = max(highest, score[item] * REACH[place] + log_total[placed | (1 << item)])
        for item in range(m):
            if not (placed >> item) & 1:
                chance[placed, item] = math.exp(score[item] * REACH[place] + log_total[placed | (1 << item)] - highest)
                total += chance[placed, item]
        log_total[placed] = highest + math.log(total)
        for item in range(m):
            chance[placed, item] /= total
            gain_next[placed, item] = _gain_at(how, gain[item], state[placed], place, discount)
            rest[placed] += chance[placed, item] * (gain_next[placed, item] + rest[placed | (1 << item)])
    return size, chance, gain_next, rest


@kernel
def _sets(how, gain):
    """For every set of items: its size, and the state it leaves for the next item (see `_gain_at`)."""
    n_sets = 1 << len(gain)
    size, state = np.zeros(n_sets, np.int64), np.zeros(n_sets)
    state[0] = 1.0 if how == CASCADE else 0.0
    for item in range(len(gain)):
        for others in range(1 << item):
            with_it = others | (1 << item)
            size[with_it] = size[others] + 1
            if how == CASCADE:
                state[with_it] = state[others] * (1.0 - gain[item])
            elif gain[item] > 0:
                state[with_it] = state[others] + 1.0
            else:
                state[with_it] = state[others]
    return size, state


@kernel
def _gain_at(how, gain, state, place, discount):
    """The gain of an item at its place.

    `state` is the chance that the user did not stop before (CASCADE), or the number of relevant items before
    (PRECISION).
    """
    if place >= len(discount):
        return 0.0
    if how == SUM:
        return gain * discount[place]
    if how == CASCADE:
        return state * gain * discount[place]
    return (state + 1.0) * discount[place] if gain > 0 else 0.0


@kernel
def expected_over_tasks(
    sample, size, cell_starts, cell_annotator, cell_value, weight, gain, best, how, discount, change
):
    """The summed mean worth, as a share of the best, of one sample of items per task; adds derivatives to `change`.

    Row r of `sample` holds `size[r]` entries; `gain` is theirs, `best[r]` the worth of their best order. An entry's
    score is Σ value · weight over its cells; the last row of `weight` counts for every annotator, and is all that those
    without a row of their own (−1) have.
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
        total += expected_worth(score[:m], gain[row, :m], how, discount, slope) / best[row]
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
