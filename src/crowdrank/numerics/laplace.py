"""How sure: variances from the curvature at the optimum (Laplace's approximation).

Scores of one task are only known relative to each other, so their variance is that of the distance from the mean of their group: what
all have in common says nothing about their order. Small models invert the Hessian; large ones estimate the diagonal of its inverse by
probing with random signs, each probe one solution by conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.newton import dot
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats

LARGEST_DENSE = 3000  # parameters
PROBES = 32


@dataclass(frozen=True, slots=True)
class Spread:
    """The uncertainty of parameters: the variance of each, and the covariance of all where the model is small."""

    variance: Floats
    covariance: Floats | None

    def of_gaps(self, one: NDArray[np.intp], other: NDArray[np.intp]) -> Floats:
        """The variance of the difference of two parameters; of large models, as if they were independent."""
        both = self.variance[one] + self.variance[other]
        return both if self.covariance is None else np.maximum(both - 2 * self.covariance[one, other], 0.0)


def dense_spread(hessian: Floats, group: Codes) -> Spread:
    """From the whole Hessian; the first parameters are scores in groups, the others stand for themselves."""
    size, n = len(hessian), len(group)
    centre = np.eye(size)
    count = np.bincount(group)
    centre[:n, :n] -= (group[:, None] == group[None, :]) / count[group]
    # A tiny ridge: a direction that nothing bends (no prior, no votes) must not stop the others.
    inverse = np.linalg.inv(hessian + 1e-10 * np.eye(size))
    covariance = centre @ inverse @ centre.T
    return Spread(np.maximum(np.diag(covariance), 0.0), covariance)


def probed_spread(curvature: Callable[[Floats], Floats], diagonal: Floats, group: Codes, seed: int = 0) -> Spread:
    """The same from products with the Hessian, for models too large to hold it."""
    rng = np.random.default_rng(seed)
    diagonal = np.maximum(diagonal, 1e-10)
    own, rest = 1 / diagonal, np.zeros(len(diagonal))
    for _ in range(PROBES):
        signs = rng.choice([-1.0, 1.0], len(diagonal))
        start = _centred(signs, group)
        solved = _centred(_solve(curvature, start, diagonal), group)
        # What the diagonal alone would give is known exactly; only the rest is estimated, so little noise is left.
        rest += signs * (solved - _centred(own * start, group))
    return Spread(np.maximum(_centred_diagonal(own, group) + rest / PROBES, 0.1 * own), None)


def _centred(vector: Floats, group: Codes) -> Floats:
    n, groups = len(group), int(group.max(initial=-1)) + 1
    centred = vector.copy()
    mean = sum_by(group, vector[:n], groups) / np.maximum(np.bincount(group, minlength=groups), 1)
    centred[:n] -= mean[group]
    return centred


def _centred_diagonal(own: Floats, group: Codes) -> Floats:
    """The diagonal of (I − J/m) D (I − J/m), J/m the mean over a group of m."""
    n, groups = len(group), int(group.max(initial=-1)) + 1
    m = np.maximum(np.bincount(group, minlength=groups), 1)[group]
    result = own.copy()
    result[:n] += sum_by(group, own[:n], groups)[group] / m**2 - 2 * own[:n] / m
    return result


def _solve(curvature: Callable[[Floats], Floats], right: Floats, diagonal: Floats, tol: float = 0.01) -> Floats:
    """H⁻¹ times a vector by preconditioned conjugate gradients."""
    x, residual = np.zeros_like(right), right.copy()
    scaled = residual / diagonal
    direction, rho = scaled.copy(), dot(residual, scaled)
    enough = tol**2 * rho
    for _ in range(1000):
        if rho <= enough:
            break
        product = curvature(direction)
        step = rho / dot(direction, product)
        x += step * direction
        residual -= step * product
        scaled = residual / diagonal
        rho, before = dot(residual, scaled), rho
        direction = scaled + rho / before * direction
    return x
