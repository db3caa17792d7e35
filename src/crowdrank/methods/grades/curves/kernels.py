"""Kernels of the graded models: curves of the annotators at nodes of relevance, posteriors of entries, steps of the
annotators.

A node is a relevance, with a difficulty where that is modelled. At node q, annotator a gives level g with a chance
proportional to exp(b_g + s_g x_q / ε_q + w (s_g + k)² / 2 · (1 − 1 / ε_q)): at ε = 1 a softmax with intercepts b and
slopes s.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np


@nb.njit(cache=True, nogil=True)
def log_curves(first, last, slope, intercept, n_levels, curvature, shift, x, sharp, table):
    """The logarithm of every level's chance at every node, for annotators `first` to `last`."""
    for a in range(first, last):
        for q in range(len(x)):
            top = -np.inf
            for g in range(n_levels[a]):
                leaning = slope[a, g] + shift[a]
                value = (
                    intercept[a, g] + slope[a, g] * x[q] * sharp[q] + curvature[a] * leaning * leaning * (1 - sharp[q])
                )
                table[a, g, q] = value
                top = max(top, value)
            total = 0.0
            for g in range(n_levels[a]):
                total += math.exp(table[a, g, q] - top)
            total = top + math.log(total)
            for g in range(n_levels[a]):
                table[a, g, q] -= total


@nb.njit(cache=True, nogil=True)
def posteriors(first, last, starts, profile, level, table, log_prior, posterior):
    """The posterior of each entry over the nodes; returns the logarithm of the evidence."""
    evidence = 0.0
    n = len(log_prior)
    for entry in range(first, last):
        own = posterior[entry]
        for q in range(n):
            own[q] = log_prior[q]
        for row in range(starts[entry], starts[entry + 1]):
            curve = table[profile[row], level[row]]
            for q in range(n):
                own[q] += curve[q]
        top = own[0]
        for q in range(n):
            top = max(top, own[q])
        total = 0.0
        for q in range(n):
            own[q] = math.exp(own[q] - top)
            total += own[q]
        for q in range(n):
            own[q] /= total
        evidence += top + math.log(total)
    return evidence


@nb.njit(cache=True, nogil=True)
def profile_steps(
    first, last, starts, entry, level, scale, n_levels, posterior, table, x, sharp, slope, curvature, shift, deviation, precision,
    step, variance, pull, total,
):  # fmt: skip
    """One Newton step for each annotator, the crowd held where it is, and what it takes to move the crowd along.

    The step solves (F + P) step = gradient, F the Fisher information of the judgments, P the prior's precision.
    `variance` is the diagonal of (F + P)⁻¹, `pull` (F + P)⁻¹ P: how annotators follow the crowd. `total` sums, per
    scale, P − P (F + P)⁻¹ P and the crowd's gradient.
    """
    most, n = slope.shape[1], len(x)
    count, lever = np.empty((most, n)), np.empty((most, n))
    matrix, gradient = np.empty((2 * most, 2 * most)), np.empty(2 * most)
    for a in range(first, last):
        size = n_levels[a]
        _count(starts[a], starts[a + 1], entry, level, posterior, count)
        for g in range(size):
            for q in range(n):
                lever[g, q] = x[q] * sharp[q] + 2 * curvature[a] * (slope[a, g] + shift[a]) * (1 - sharp[q])
        _slopes_and_curvatures(size, count, table[a], lever, gradient, matrix)
        for i in range(2 * size):
            strength, at = precision[i // size], i + (most - size) * (i // size)
            gradient[i] -= strength * deviation[a, at]
            matrix[i, i] += strength
        invert(matrix, 2 * size)
        _follow(a, size, matrix, gradient, deviation, precision, scale[a], step, variance, pull, total)


@nb.njit(cache=True, nogil=True)
def _count(first, last, entry, level, posterior, count):
    """How often each level was given at each node, as far as the posteriors of the entries tell."""
    for g in range(count.shape[0]):
        for q in range(count.shape[1]):
            count[g, q] = 0.0
    for row in range(first, last):
        own, seen = posterior[entry[row]], count[level[row]]
        for q in range(len(own)):
            seen[q] += own[q]


@nb.njit(cache=True, nogil=True)
def _slopes_and_curvatures(size, count, log_chance, lever, gradient, matrix):
    """The gradient of the expected log-likelihood by slopes and intercepts, and (lower half) its Fisher information."""
    for i in range(2 * size):
        gradient[i] = 0.0
        for j in range(2 * size):
            matrix[i, j] = 0.0
    chance = np.empty(size)
    for q in range(count.shape[1]):
        weight = 0.0
        for g in range(size):
            weight += count[g, q]
        for g in range(size):
            chance[g] = math.exp(log_chance[g, q])
            rest = count[g, q] - weight * chance[g]
            gradient[g] += rest * lever[g, q]
            gradient[size + g] += rest
        for g in range(size):
            for h in range(size):
                share = -weight * chance[g] * chance[h]
                if g == h:
                    share += weight * chance[g]
                matrix[g, h] += share * lever[g, q] * lever[h, q]
                matrix[size + g, h] += share * lever[h, q]
                matrix[size + g, size + h] += share


@nb.njit(cache=True, nogil=True)
def _follow(a, size, inverse, gradient, deviation, precision, scale, step, variance, pull, total):
    """Write down an annotator's step and variance, and add to the crowd's equations; slopes and intercepts go to their columns."""
    wide = step.shape[1]
    base = scale * wide * (wide + 1)
    for i in range(2 * size):
        own, at = precision[i // size], i + (wide // 2 - size) * (i // size)
        move = 0.0
        for j in range(2 * size):
            other, to = precision[j // size], j + (wide // 2 - size) * (j // size)
            move += inverse[i, j] * gradient[j]
            pull[a, at, to] = inverse[i, j] * other
            total[base + at * wide + to] -= own * inverse[i, j] * other
        step[a, at] = move
        variance[a, at] = inverse[i, i]
        total[base + at * wide + at] += own
        total[base + wide * wide + at] += own * (deviation[a, at] + move)


@nb.njit(cache=True, nogil=True)
def invert(matrix, n):
    """The inverse of a symmetric positive matrix of which the lower half is given, in place, by Cholesky."""
    for j in range(n):
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k]
        matrix[j, j] = math.sqrt(max(matrix[j, j], 1e-12))
        for i in range(j + 1, n):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= matrix[j, j]
    _invert_triangle(matrix, n)
    for i in range(n):  # the transpose of the triangle times itself: row i is not needed further down
        for j in range(i + 1):
            value = 0.0
            for k in range(i, n):
                value += matrix[k, i] * matrix[k, j]
            matrix[i, j] = value
            matrix[j, i] = value


@nb.njit(cache=True, nogil=True)
def _invert_triangle(matrix, n):
    for j in range(n):
        matrix[j, j] = 1 / matrix[j, j]
        for i in range(j + 1, n):
            value = 0.0
            for k in range(j, i):
                value -= matrix[i, k] * matrix[k, j]
            matrix[i, j] = value / matrix[i, i]


@nb.njit(cache=True, nogil=True)
def ascending(rows, weight, n_levels):
    """Replace the first numbers of each row by the nearest that do not fall: the largest of the smallest means around each."""
    for a in range(len(rows)):
        size = n_levels[a]
        found = np.empty(size)
        for g in range(size):
            found[g] = -np.inf
            for i in range(g + 1):
                total, mass, least = 0.0, 0.0, np.inf
                for j in range(i, size):
                    total += weight[a, j] * rows[a, j]
                    mass += weight[a, j]
                    if j >= g:
                        least = min(least, total / mass)
                found[g] = max(found[g], least)
        for g in range(size):
            rows[a, g] = found[g]
