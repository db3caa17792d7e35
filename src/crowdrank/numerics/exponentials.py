"""Discounts as sums of powers: D(r) = Σ_q w_q z_q^r for r = 0 … n − 1, exact to rounding.

The expectation of such a sum needs no distribution of r, only its generating function G(z) = E[z^r] at the nodes z_q. A
discount that decreases like 1/log2(2 + r) (all its differences alternate in sign) has positive weights on a few nodes
between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from crowdrank.study import Floats

PER_FACTOR_E = 4
LARGEST_ERROR = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class PowerSum:
    """Nodes and weights."""

    node: Floats
    weight: Floats

    def __call__(self, rank: NDArray[np.int64]) -> Floats:
        """The discount at these ranks, 0 for the top."""
        return np.asarray(self.node ** rank[:, None] @ self.weight)

    def log_undecided(self, others: Floats) -> Floats:
        """The log generating function at each node, if the rank is the number of heads in so many coin tosses."""
        return np.asarray(others[:, None] * np.log((1 + self.node) / 2))


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
    return _logarithmic(max(16, 1 << (max(n, 1) - 1).bit_length()))  # only powers of two are computed, and cached


@cache
def _logarithmic(n: int) -> PowerSum:
    found, rank = _fitted(n, lambda rank: 1 / np.log2(2 + rank)), _sampled(n, 3)
    error = float(np.abs(found(rank) - 1 / np.log2(2 + rank)).max())
    if error > LARGEST_ERROR:
        raise ArithmeticError(f"the discount of {n} ranks is off by {error:.1e}")
    return found


def falling(values: Floats) -> PowerSum | None:
    """A discount given by its values; None if it is not a sum of a few powers.

    >>> found = falling(1 / np.arange(1.0, 101.0))
    >>> found(np.array([0, 1, 99])).round(12).tolist()
    [1.0, 0.5, 0.01]
    >>> falling(np.array([1.0, 1.0, 1.0, 0.5, 0.5])) is None
    True
    """
    if (values <= 0).any() or (np.diff(values) > 0).any():
        return None
    found = _fitted(len(values), lambda rank: values[rank])
    return found if np.allclose(found(np.arange(len(values))), values, rtol=LARGEST_ERROR, atol=0) else None


def _fitted(n: int, discount: Callable[[NDArray[np.int64]], Floats]) -> PowerSum:
    """By non-negative least squares over log-spaced candidates; the error is relative."""
    from scipy.optimize import nnls  # not at the top: it takes longer to import than most fits

    rank = _sampled(n)
    slowest, fastest = -np.log(n) - 5, np.log(40.0)
    candidates = np.exp(-np.r_[0.0, np.exp(np.linspace(slowest, fastest, int(PER_FACTOR_E * (fastest - slowest))))])
    weight, _ = nnls(
        candidates ** rank[:, None] / discount(rank)[:, None], np.ones(len(rank)), maxiter=100 * len(candidates)
    )
    return PowerSum(candidates[weight > 0], weight[weight > 0])


def _sampled(n: int, denser: int = 1) -> NDArray[np.int64]:
    """All ranks of the top, then fewer and fewer: the discount changes little there."""
    dense = 256 * denser
    if n <= dense:
        return np.arange(n)
    return np.unique(np.r_[np.arange(dense), np.geomspace(dense, n - 1, dense).astype(np.int64)])
