"""What logistic votes of annotators who are alike say about scores, coefficients and the readiness to tie; in Numba.

With u the gap between the left and the right item and τ the readiness to tie, answers have the chances

    left, tie, right = e^(u/2), τ, e^(−u/2), divided by their sum

which is `effect_kernels` with quality 1 and no bias, in a tenth of the time. Votes are computed in blocks that stay in
the processor's cache; exponentials of a block are computed four at a time. The Hessian does not depend on the answers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.vector_exp import exp
from crowdrank.study import Floats

BLOCK = 512  # votes
FACTORS = 8  # one logarithm of a product of so many sums is faster than one for each
WIDEST = 600.0  # gap
MOST_TIES = 80.0  # log τ: a product of FACTORS of these does not overflow


class SharedSums(NamedTuple):
    """What votes are added to. The parameters that all pairs share are coefficients, then the readiness to tie.

    Cells of two items are added once, at the left and the right one.
    """

    item_gradient: Floats
    shared_gradient: Floats
    diagonal: Floats  # of the information about items
    items: Floats  # item × item
    item_shared: Floats
    shared: Floats  # shared × shared


@kernel(error_model="numpy")
def _find_gaps(left, right, x, start, end, score, coefficient, gap):
    for v in range(start, end):
        u = score[left[v]] - score[right[v]]
        for c in range(x.shape[1]):
            u += coefficient[c] * x[v, c]
        gap[v - start] = min(max(u, -WIDEST), WIDEST)


@kernel(error_model="numpy")
def _find_terms(outcome, weight, start, end, gap, tau, terms, sums):
    """Of each vote the slope and the curvature by the gap, those by log τ, and the information about both."""
    for v in range(start, end):
        b = v - start
        half = exp(-abs(gap[b]) / 2)
        sums[b] = 1 + tau * half + half * half
        strong = 1 / sums[b]
        weak, tied = half * half * strong, tau * half * strong
        lead = strong - weak if gap[b] > 0 else weak - strong
        terms[0, b] = weight[v] * (lead - outcome[v]) / 2
        terms[1, b] = weight[v] * (strong * weak + tied * (strong + weak) / 4)
        terms[2, b] = weight[v] * (tied - 1 + outcome[v] * outcome[v])
        terms[3, b] = weight[v] * tied * (strong + weak)
        terms[4, b] = -weight[v] * tied * lead / 2


@kernel(error_model="numpy")
def _value_of(outcome, weight, start, end, gap, sums, log_tau):
    """Minus the log-likelihood."""
    value, product, factors = 0.0, 1.0, 0
    for v in range(start, end):
        strength = (abs(gap[v - start]) - outcome[v] * gap[v - start]) / 2
        value += weight[v] * (strength - (log_tau if outcome[v] == 0 else 0.0))
        if weight[v] == 1.0:
            product *= sums[v - start]
            factors += 1
            if factors == FACTORS:
                value += math.log(product)
                product, factors = 1.0, 0
        else:
            value += weight[v] * math.log(sums[v - start])
    return value + math.log(product)


@kernel(error_model="numpy")
def _add_items(left, right, x, start, end, terms, gradient, diagonal, items, item_shared):
    ties = x.shape[1]
    for v in range(start, end):
        i, j, slope, curvature = left[v], right[v], terms[0, v - start], terms[1, v - start]
        gradient[i] += slope
        gradient[j] -= slope
        diagonal[i] += curvature
        diagonal[j] += curvature
        items[i, j] -= curvature
        for c in range(x.shape[1]):
            amount = curvature * x[v, c]
            item_shared[i, c] += amount
            item_shared[j, c] -= amount
        if item_shared.shape[1] > ties:
            item_shared[i, ties] += terms[4, v - start]
            item_shared[j, ties] -= terms[4, v - start]


@kernel(error_model="numpy")
def _add_covariates(x, start, end, terms, gradient, shared):
    """Four votes at a time, so that cells are read and written once for four."""
    v = start
    while v + 4 <= end:
        b = v - start
        for c in range(x.shape[1]):
            x0, x1, x2, x3 = x[v, c], x[v + 1, c], x[v + 2, c], x[v + 3, c]
            gradient[c] += terms[0, b] * x0 + terms[0, b + 1] * x1 + terms[0, b + 2] * x2 + terms[0, b + 3] * x3
            a0, a1, a2, a3 = terms[1, b] * x0, terms[1, b + 1] * x1, terms[1, b + 2] * x2, terms[1, b + 3] * x3
            for d in range(x.shape[1]):
                shared[c, d] += a0 * x[v, d] + a1 * x[v + 1, d] + a2 * x[v + 2, d] + a3 * x[v + 3, d]
        v += 4
    while v < end:
        for c in range(x.shape[1]):
            gradient[c] += terms[0, v - start] * x[v, c]
            amount = terms[1, v - start] * x[v, c]
            for d in range(x.shape[1]):
                shared[c, d] += amount * x[v, d]
        v += 1


@kernel(error_model="numpy")
def _add_ties(x, start, end, terms, gradient, shared):
    ties = x.shape[1]
    for v in range(start, end):
        gradient[ties] += terms[2, v - start]
        shared[ties, ties] += terms[3, v - start]
        for c in range(x.shape[1]):
            amount = terms[4, v - start] * x[v, c]
            shared[ties, c] += amount
            shared[c, ties] += amount


@kernel(error_model="numpy")
def add_shared_information(rows, score, coefficient, tau, log_tau, total):
    """Adds what the votes say; returns minus the log-likelihood. τ is 0 where nobody ties."""
    left, right, outcome, weight, x = rows.left, rows.right, rows.outcome, rows.weight, rows.x
    item_gradient, shared_gradient, diagonal, items, item_shared, shared = total
    gap, sums, terms, value = np.empty(BLOCK), np.empty(BLOCK), np.empty((5, BLOCK)), 0.0
    for start in range(0, len(left), BLOCK):
        end = min(start + BLOCK, len(left))
        _find_gaps(left, right, x, start, end, score, coefficient, gap)
        _find_terms(outcome, weight, start, end, gap, tau, terms, sums)
        value += _value_of(outcome, weight, start, end, gap, sums, log_tau)
        _add_items(left, right, x, start, end, terms, item_gradient, diagonal, items, item_shared)
        _add_covariates(x, start, end, terms, shared_gradient, shared)
        if tau > 0:
            _add_ties(x, start, end, terms, shared_gradient, shared)
    return value
