"""Kernels of the models of grades: curves of the annotators, posteriors of entries, Newton steps of the curves.

A node is a value of relevance, with a value of difficulty ε where difficulty is modelled. At node q, a profile gives
level g with a probability proportional to

    exp(b_g + s_g x_q / ε_q + w (s_g + k)² / 2 · (1 − 1 / ε_q))

At ε = 1 this is a softmax with intercepts b and slopes s.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.compiled import kernel
from crowdrank.study import Codes, Floats


class Nodes(NamedTuple):
    """The grid over relevance and difficulty."""

    x: Floats  # relevance
    inverse_difficulty: Floats  # 1 / ε
    log_prior: Floats


class CurveParameters(NamedTuple):
    """Slopes s, intercepts b, w / 2 and k of the curves, one row per profile."""

    slope: Floats
    intercept: Floats
    half_variance: Floats
    shift: Floats
    n_levels: NDArray[np.int64]  # of the profile's scale; columns beyond are empty


class ProfileJudgments(NamedTuple):
    """The judgments by profile: rows of profile p are `starts[p]:starts[p + 1]`."""

    starts: NDArray[np.int64]
    entry: Codes
    level: Codes
    scale: Codes  # of each profile


class CurvePrior(NamedTuple):
    """A normal distribution of the profiles' parameters around the crowd's."""

    deviation: Floats  # of each profile's parameters from the crowd's
    precision: Floats  # a matrix for each scale


class NewtonSteps(NamedTuple):
    """What `newton_steps` finds for each profile."""

    step: Floats
    variance: Floats  # the diagonal of (F + P)⁻¹
    response: Floats  # (F + P)⁻¹ P: how the profile follows a step of the crowd


@kernel
def log_curves(first, last, curves, nodes, table):
    """Write the logarithm of every level's probability at every node to `table`, for profiles `first` to `last`."""
    x, sharpness = nodes.x, nodes.inverse_difficulty
    slope, intercept, n_levels = curves.slope, curves.intercept, curves.n_levels
    for p in range(first, last):
        for q in range(len(x)):
            top = -np.inf
            for g in range(n_levels[p]):
                shifted = slope[p, g] + curves.shift[p]
                value = (
                    intercept[p, g]
                    + slope[p, g] * x[q] * sharpness[q]
                    + curves.half_variance[p] * shifted * shifted * (1 - sharpness[q])
                )
                table[p, g, q] = value
                top = max(top, value)
            total = 0.0
            for g in range(n_levels[p]):
                total += math.exp(table[p, g, q] - top)
            total = top + math.log(total)
            for g in range(n_levels[p]):
                table[p, g, q] -= total


@kernel
def posteriors(first, last, starts, profile, level, table, log_prior, posterior):
    """Write the posterior of each entry over the nodes; return the logarithm of the evidence."""
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


@kernel
def newton_steps(first, last, judgments, posterior, curves, nodes, table, prior, found, total):
    """One Newton step for each profile while the crowd's curve is fixed, and the equations for a step of the crowd.

    The step solves (F + P) step = gradient, with the Fisher information F of the judgments and the precision P of the
    prior. Writes to `found` (NewtonSteps). `total` sums, per scale, P − P (F + P)⁻¹ P and the crowd's gradient.
    """
    x, sharpness, slope = nodes.x, nodes.inverse_difficulty, curves.slope
    most, n = slope.shape[1], len(x)
    count, by_slope = np.empty((most, n)), np.empty((most, n))  # `by_slope`: derivative of the exponent by the slope
    matrix, gradient = np.empty((2 * most, 2 * most)), np.empty(2 * most)
    for p in range(first, last):
        size = curves.n_levels[p]
        _expected_counts(judgments.starts[p], judgments.starts[p + 1], judgments, posterior, count)
        for g in range(size):
            for q in range(n):
                shifted = slope[p, g] + curves.shift[p]
                by_slope[g, q] = x[q] * sharpness[q] + 2 * curves.half_variance[p] * shifted * (1 - sharpness[q])
        _gradient_and_information(size, count, table[p], by_slope, gradient, matrix)
        _add_prior(p, size, prior.precision[judgments.scale[p]], prior.deviation, gradient, matrix)
        invert(matrix, 2 * size)
        _record_step(p, size, matrix, gradient, prior, judgments.scale[p], found, total)


@kernel(inline="always")
def _column(i, size, wide):
    """Where parameter i of a profile stands in tables with columns for the longest scale: slopes, then intercepts."""
    return i if i < size else i - size + wide // 2


@kernel
def _add_prior(p, size, precision, deviation, gradient, matrix):
    """Subtract the slope of the prior's penalty from the gradient; add its precision to the information."""
    wide = precision.shape[0]
    for i in range(2 * size):
        row = _column(i, size, wide)
        for j in range(2 * size):
            column = _column(j, size, wide)
            gradient[i] -= precision[row, column] * deviation[p, column]
            matrix[i, j] += precision[row, column]


@kernel
def _expected_counts(first, last, judgments, posterior, count):
    """How often each level was given at each node, expected under the posteriors of the entries."""
    for g in range(count.shape[0]):
        for q in range(count.shape[1]):
            count[g, q] = 0.0
    for row in range(first, last):
        own, of_level = posterior[judgments.entry[row]], count[judgments.level[row]]
        for q in range(len(own)):
            of_level[q] += own[q]


@kernel
def _gradient_and_information(size, count, log_chance, by_slope, gradient, matrix):
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
            residual = count[g, q] - weight * chance[g]
            gradient[g] += residual * by_slope[g, q]
            gradient[size + g] += residual
        for g in range(size):
            for h in range(size):
                share = -weight * chance[g] * chance[h]
                if g == h:
                    share += weight * chance[g]
                matrix[g, h] += share * by_slope[g, q] * by_slope[h, q]
                matrix[size + g, h] += share * by_slope[h, q]
                matrix[size + g, size + h] += share


@kernel
def _record_step(p, size, inverse, gradient, prior, scale, found, total):
    """Write a profile's step, variance and response, and add to the equations of the crowd.

    The matrix of a profile has `size` slopes and `size` intercepts; the tables have columns for the longest scale.
    """
    wide, precision = found.step.shape[1], prior.precision[scale]
    base = scale * wide * (wide + 1)
    for i in range(2 * size):
        row = _column(i, size, wide)
        found.step[p, row] = 0.0
        for j in range(2 * size):
            column, response = _column(j, size, wide), 0.0
            for k in range(2 * size):
                response += inverse[i, k] * precision[_column(k, size, wide), column]
            found.step[p, row] += inverse[i, j] * gradient[j]
            found.response[p, row, column] = response
        found.variance[p, row] = inverse[i, i]
    for i in range(2 * size):
        row = _column(i, size, wide)
        for j in range(2 * size):
            column = _column(j, size, wide)
            value = precision[row, column]
            for k in range(2 * size):
                at = _column(k, size, wide)
                value -= precision[row, at] * found.response[p, at, column]
            total[base + row * wide + column] += value
            total[base + wide * wide + row] += precision[row, column] * (
                prior.deviation[p, column] + found.step[p, column]
            )


@kernel
def invert(matrix, n):
    """Invert a symmetric positive definite matrix in place by Cholesky's method; only its lower half is read."""
    for j in range(n):
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k]
        matrix[j, j] = math.sqrt(max(matrix[j, j], 1e-12))
        for i in range(j + 1, n):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= matrix[j, j]
    _invert_triangle(matrix, n)
    for i in range(n):  # the transpose of the triangle times the triangle; later rows do not need row i
        for j in range(i + 1):
            value = 0.0
            for k in range(i, n):
                value += matrix[k, i] * matrix[k, j]
            matrix[i, j] = value
            matrix[j, i] = value


@kernel
def _invert_triangle(matrix, n):
    for j in range(n):
        matrix[j, j] = 1 / matrix[j, j]
        for i in range(j + 1, n):
            value = 0.0
            for k in range(j, i):
                value -= matrix[i, k] * matrix[k, j]
            matrix[i, j] = value / matrix[i, i]


@kernel
def make_ascending(rows, weight, n_levels):
    """Isotonic regression, in place: the nearest values to the first `n_levels` of each row that do not decrease.

    By the max-min formula: each value is the maximum, over where a block starts, of the minimum of the block means.
    """
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
