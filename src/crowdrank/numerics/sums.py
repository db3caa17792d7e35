"""Sums of values that share a code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.study import Floats

ROWS = 1 << 22  # at a time: `bincount` makes copies of 64 bits


def sum_by(codes: NDArray[np.integer[Any]], values: NDArray[Any], size: int) -> Floats:
    """The sum of the values of each code below `size`, as floats even where there is nothing to sum.

    >>> sum_by(np.array([1, 1], dtype=np.int32), np.array([2.0, 3.0]), 3)
    array([0., 5., 0.])
    """
    if len(codes) <= ROWS:
        return np.bincount(codes, values, size).astype(np.float64, copy=False)
    total = np.zeros(size)
    for start in range(0, len(codes), ROWS):
        rows = slice(start, start + ROWS)
        total += np.bincount(codes[rows], values[rows], size)
    return total
