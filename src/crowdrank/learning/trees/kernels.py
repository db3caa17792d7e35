"""The kernels of the objectives of trees: weights of pairs by a measure, and sums over pairs."""

from __future__ import annotations

import math

import numpy as np

from crowdrank.methods.grades.curves.pair_likelihood import chances, moments
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.permutations import PRECISION, SUM

LEAST = 1e-300
DEPTH = 30  # first places: `preferences` uses pairs of which one item is among them


@kernel
def fill_lists(how, order, starts, gain, discount, above, below):
    """Fill the terms `above` and `below` of each entry; `order` has the entries by task, best first."""
    found, precision, left, seen = 0.0, 0.0, 1.0, 0.0
    for row in range(len(order)):
        at, entry = row - starts[row], order[row]
        if at == 0:
            found, precision, left, seen = 0.0, 0.0, 1.0, 0.0
        own, count = gain[entry], discount[at]
        if how == SUM:
            above[entry] = count
            below[entry] = count
        elif how == PRECISION:
            precision += own * count
            above[entry] = (1.0 + found) * count - precision
            below[entry] = above[entry]
            found += own
        else:
            below[entry] = seen + left * count
            seen += left * own * count
            above[entry] = left * count + seen / max(1.0 - own, LEAST)
            left *= 1.0 - own


@kernel
def change(lists, i, j):
    """The expected change of the measure if entries i and j are swapped, before division by the ideal order's."""
    if lists.place[i] > lists.place[j]:
        i, j = j, i
    apart = lists.gain[j] - lists.gain[i]
    if lists.how == SUM:
        by_place = lists.above[i] - lists.below[j]
    elif lists.how == PRECISION:
        by_place = lists.above[i] - lists.below[j] - apart / lists.place[j]
    else:
        by_place = lists.above[i] - lists.below[j] / max(1.0 - lists.gain[i], LEAST)
    return np.sqrt(apart * apart + lists.variance[i] + lists.variance[j]) * abs(by_place)


@kernel
def weighted_pairs(begin, end, judgments, curves, scores, lists, turn, rest, total):
    """The weighted log-likelihood of the pairs of judgments `begin` to `end`.

    Adds to `total` slopes, curvatures and weights by entry.
    """
    slope, curvature, weight = total[0], total[1], total[2]
    entry, spread = judgments.entry, judgments.spread
    value = 0.0
    log_ratio, chance = np.empty(curves.mean.shape[1]), np.empty(curves.mean.shape[1])
    for i in range(begin, end):
        d, g, own = entry[i], judgments.level[i], judgments.profile[i]
        mean, log_weight, n = curves.mean[own], curves.log_weight[own], curves.n_levels[own]
        size, n_partners = judgments.task_size[i], judgments.n_partners[i]
        shift = int(turn * (size - 1))
        for partner in range(n_partners):
            j = i + 1 + (partner * (size - 1) // n_partners + shift) % (size - 1)
            if j >= judgments.task_start[i] + size:
                j -= size
            other = entry[j]
            if other == d:
                continue
            worth = change(lists, d, other)
            precision = 1 / (spread[i] * spread[j] + rest)
            gap = scores.score[i] - scores.residual[j]
            log_total = chances(gap, precision, mean, log_weight, n, log_ratio, chance)
            expected, squares = moments(mean, chance, n)
            value += worth * (log_weight[g] + log_ratio[g] - log_total)
            gradient = worth * (mean[g] - expected) * precision
            information = worth * (squares - expected * expected) * precision * precision
            slope[d] += gradient
            slope[other] -= gradient
            curvature[d] += information
            curvature[other] += information
            weight[d] += worth
    return value


@kernel
def preferences(begin, end, order, ends, chance, beaten, score, lists, total):
    """Minus the weighted cross entropy of the pairs whose upper entry is at `begin` to `end` of the order.

    Adds to `total` slopes, curvatures and weights by entry.
    """
    slope, curvature, weight = total[0], total[1], total[2]
    value = 0.0
    for row in range(begin, end):
        d = order[row]
        if lists.place[d] > DEPTH:
            continue
        for later in range(row + 1, ends[row]):
            other = order[later]
            wanted = 0.0
            for grade in range(chance.shape[1]):
                wanted += chance[d, grade] * beaten[other, grade]
            worth = change(lists, d, other)
            gap = score[d] - score[other]
            small = math.exp(-abs(gap))
            higher = 1 / (1 + small)  # the probability of the order of the scores
            found = higher if gap >= 0 else 1 - higher
            value += worth * (wanted * gap - max(gap, 0.0) - math.log1p(small))
            gradient = worth * (wanted - found)
            information = worth * higher * (1 - higher)
            slope[d] += gradient
            slope[other] -= gradient
            curvature[d] += information
            curvature[other] += information
            weight[d] += worth
    return value
