"""Variances from the curvature at the optimum (Laplace's approximation).

Scores of one task are only known relative to each other, so their variance is that of the distance from the mean of
their group: a shift of all scores does not change their order. The mean is weighted by the curvature of each score, so
that one item that nobody compared does not increase the variance of all others. Small models invert the Hessian; those
of many small tasks, the block of each task; other large ones estimate the diagonal of its inverse by probing with
random signs, each probe one solution by conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics import task_blocks
from crowdrank.numerics.newton import dot
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats

LARGEST_DENSE = 3000  # parameters
LARGEST_BLOCK = 200  # entries of a group
MOST_STEPS = 100  # of conjugate gradients in a probe
SMALLEST = 1e-10  # curvature
PROBES = 32


Entries = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True)
class Spread:
    """The uncertainty of parameters: the variance of each and, if available, cells of the inverse of the Hessian."""

    variance: Floats
    inverse: Callable[[Entries, Entries], Floats] | None = None

    def of_gaps(self, one: Entries, other: Entries) -> Floats:
        """The variance of the difference of two scores of a task; without the inverse, as if they were independent."""
        if self.inverse is None:
            return self.variance[one] + self.variance[other]
        gap = self.inverse(one, one) + self.inverse(other, other) - 2 * self.inverse(one, other)
        return _leading_digits(np.maximum(gap, 0.0))

    def widened(self, common: Floats, diagonal: Floats, group: Codes) -> Spread:
        """The same with an error that all parameters have in common: `common` times a standard normal variable."""
        n, weight = len(group), np.maximum(diagonal[: len(group)], SMALLEST)
        off, inverse = common.copy(), self.inverse
        off[:n] -= _total(weight * common[:n], group) / _total(weight, group)
        return Spread(
            self.variance + off**2,
            None if inverse is None else lambda one, other: inverse(one, other) + off[one] * off[other],
        )


def dense_spread(hessian: Floats, group: Codes, *, plain_mean: bool = False) -> Spread:
    """From the whole Hessian; the first parameters are scores in groups, the others have no group.

    `plain_mean`: relative to the plain mean of the group, where a prior keeps the variance of every score finite.
    """
    size, n = len(hessian), len(group)
    weight = np.ones(n) if plain_mean else np.maximum(np.diag(hessian)[:n], SMALLEST)
    # A tiny ridge: the Hessian must have an inverse even if a direction has no curvature (no prior, no votes).
    inverse = _inverse(hessian + SMALLEST * np.eye(size))
    of_group = np.zeros((int(group.max(initial=-1)) + 1, size))
    of_group[group, np.arange(n)] = weight / _total(weight, group)
    with_mean = inverse @ of_group.T
    variance, of_mean = np.diag(inverse).copy(), np.einsum("gi,ig->g", of_group, with_mean)
    variance[:n] += of_mean[group] - 2 * with_mean[np.arange(n), group]
    variance = np.maximum(variance, 0.0)
    return Spread(
        _leading_digits(variance.astype(np.float64)), lambda one, other: inverse[one, other].astype(np.float64)
    )


def _inverse(matrix: Floats) -> Floats:
    if not len(matrix):
        return matrix
    try:
        return np.asarray(task_blocks.inverse(matrix[None])[0])
    except np.linalg.LinAlgError:  # not positive definite
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def block_spread(diagonal: Floats, one: Codes, other: Codes, curvature: Floats, starts: NDArray[np.int64]) -> Spread:
    """The same for many small groups, each inverted by itself; what they share through annotators is not used.

    `curvature` are the second derivatives by the gaps between entries `one` and `other`; group g is the entries from
    `starts[g]`.
    """
    n, sizes = int(starts[-1]), np.diff(starts)
    group = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(n) - starts[group]
    first_cell = np.cumsum(sizes**2) - sizes**2

    def cell(row: Entries, column: Entries) -> Entries:
        return np.asarray(first_cell[group[row]] + place[row] * sizes[group[row]] + place[column])

    everyone = np.arange(n)
    cells = sum_by(np.r_[cell(one, other), cell(other, one)], np.r_[-curvature, -curvature], int((sizes**2).sum()))
    cells[cell(everyone, everyone)] = np.maximum(diagonal[:n], SMALLEST)
    inverse, variance = np.empty_like(cells), 1 / np.maximum(diagonal, SMALLEST)
    for m in np.unique(sizes[sizes > 0]):
        at = first_cell[sizes == m][:, None] + np.arange(m * m)
        blocks = cells[at].reshape(-1, m, m)
        weight = np.diagonal(blocks, axis1=1, axis2=2)
        centre = np.eye(m) - (weight / weight.sum(axis=1, keepdims=True))[:, None, :]
        inverted = np.linalg.inv(blocks + SMALLEST * np.eye(m))
        inverse[at] = inverted.reshape(-1, m * m)
        entries = starts[:-1][sizes == m][:, None] + np.arange(m)
        variance[entries] = np.maximum(np.einsum("gij,gjk,gik->gi", centre, inverted, centre), 0.0)
    return Spread(variance, lambda row, column: inverse[cell(row, column)])


def probed_spread(hessian_product: Callable[[Floats], Floats], diagonal: Floats, group: Codes, seed: int = 0) -> Spread:
    """The same from products with the Hessian, for models too large to hold it."""
    rng = np.random.default_rng(seed)
    n, diagonal = len(group), np.maximum(diagonal, SMALLEST)
    weight = diagonal[:n]
    total = _total(weight, group)
    rest = np.zeros(len(diagonal))
    for _ in range(PROBES):
        signs = rng.choice([-1.0, 1.0], len(diagonal))
        right, alone = signs.copy(), signs / diagonal
        right[:n] -= weight * _total(signs[:n], group) / total
        alone[:n] -= _total(signs[:n], group) / total
        solved = _solve(hessian_product, right, diagonal)
        solved[:n] -= _total(weight * solved[:n], group) / total
        # The variance from the diagonal alone is exact; only the rest is estimated, so there is little noise.
        rest += signs * (solved - alone)
    variance = 1 / diagonal + rest / PROBES
    variance[:n] -= 1 / total
    return Spread(np.maximum(variance, 0.1 / diagonal))


def _leading_digits(x: Floats) -> Floats:
    """The first ten digits: the last ones of an inverse depend on the number of threads that BLAS uses."""
    mantissa, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, 33)), exponent - 33))


def _total(values: Floats, group: Codes) -> Floats:
    """The sum over its group, for each entry."""
    return sum_by(group, values, int(group.max(initial=-1)) + 1)[group]


def _solve(hessian_product: Callable[[Floats], Floats], right: Floats, diagonal: Floats, tol: float = 0.01) -> Floats:
    """H⁻¹ times a vector by preconditioned conjugate gradients."""
    x, residual = np.zeros_like(right), right.copy()
    scaled = residual / diagonal
    direction, rho = scaled.copy(), dot(residual, scaled)
    enough = tol**2 * rho
    for _ in range(MOST_STEPS):
        if rho <= enough:
            break
        product = hessian_product(direction)
        curvature = dot(direction, product)
        if curvature <= 0.0:  # not at a minimum after all
            break
        step = rho / curvature
        x += step * direction
        residual -= step * product
        scaled = residual / diagonal
        rho, before = dot(residual, scaled), rho
        direction = scaled + rho / before * direction
    return x
