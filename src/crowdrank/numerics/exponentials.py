"""Discounts as sums of powers: D(r) = Σ_q w_q z_q^r for r = 0 … n − 1, exact to rounding.

The expectation of such a sum needs no distribution of r, only its generating function G(z) = E[z^r] at the nodes z_q. A discount
that falls the way 1/log2(2 + r) does (all its differences alternate in sign) has positive weights on real nodes between 0 and 1, few of
them; any other has complex ones on the unit circle, as many as half its values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from crowdrank.study import Floats

PER_FACTOR_E = 4
LARGEST_ERROR = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class PowerSum:
    """Nodes and weights; D(r) is the real part of their sum."""

    node: NDArray[np.float64] | NDArray[np.complex128]
    weight: NDArray[np.float64] | NDArray[np.complex128]

    def __call__(self, rank: NDArray[np.int64]) -> Floats:
        """The discount at these ranks, 0 for the top."""
        return np.asarray((self.node ** rank[:, None] @ self.weight).real, dtype=np.float64)


def geometric(persistence: float) -> PowerSum:
    """D(r) = persistence^r.

    >>> geometric(0.5)(np.arange(3)).tolist()
    [1.0, 0.5, 0.25]
    """
    return PowerSum(np.array([persistence]), np.ones(1))


def logarithmic(n: int) -> PowerSum:
    """D(r) = 1/log2(2 + r) at least up to n − 1.

    >>> logarithmic(10)(np.array([0, 2, 6])).round(12).tolist()
    [1.0, 0.5, 0.333333333333]
    """
    return _logarithmic(max(16, 1 << (max(n, 1) - 1).bit_length()))  # a few sizes serve all: nobody waits for each n anew


@cache
def _logarithmic(n: int) -> PowerSum:
    """By non-negative least squares over log-spaced candidates; the error is relative, and checked."""
    from scipy.optimize import nnls  # here, not above: it takes longer to import than most fits

    rank = _sampled(n)
    wanted = 1 / np.log2(2 + rank)
    slowest, fastest = -np.log(n) - 5, np.log(40.0)
    candidates = np.exp(-np.r_[0.0, np.exp(np.linspace(slowest, fastest, int(PER_FACTOR_E * (fastest - slowest))))])
    weight, _ = nnls(candidates ** rank[:, None] / wanted[:, None], np.ones(len(rank)), maxiter=100 * len(candidates))
    found = PowerSum(candidates[weight > 0], weight[weight > 0])
    error = float(np.abs(found(_sampled(n, 3)) - 1 / np.log2(2 + _sampled(n, 3))).max())
    if error > LARGEST_ERROR:
        raise ArithmeticError(f"the discount of {n} ranks is off by {error:.1e}")
    return found


def _sampled(n: int, denser: int = 1) -> NDArray[np.int64]:
    """All ranks of the top, then ever fewer: the discount changes by little there."""
    dense = 256 * denser
    if n <= dense:
        return np.arange(n)
    return np.unique(np.r_[np.arange(dense), np.geomspace(dense, n - 1, dense).astype(np.int64)])


def periodic(values: Floats) -> PowerSum:
    """Any discount, given by its values, on the roots of unity; an odd number of them, so that −1 is not among them.

    >>> periodic(np.array([1.0, 2.0, 3.0]))(np.arange(3)).round(12).tolist()
    [1.0, 2.0, 3.0]
    """
    size = len(values) | 1
    weight = np.fft.rfft(np.r_[values, np.zeros(size - len(values))]) / size
    weight[1:] *= 2  # stands for its conjugate too
    return PowerSum(np.exp(2j * np.pi * np.arange(len(weight)) / size), weight)
