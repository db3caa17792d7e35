"""Groups of rows: sorted by a code, or runs of equal values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.compiled import for_work, kernel
from crowdrank.study import Codes

Places = NDArray[np.int64]

STEPS = 4  # of the kernel for one row


def grouped(codes: Codes, size: int) -> tuple[Places, Places]:
    """The rows sorted by their code (stable), and where each code below `size` starts and the last one ends.

    >>> order, starts = grouped(np.array([2, 0, 2, 1], dtype=np.int32), 4)
    >>> order.tolist(), starts.tolist()
    ([1, 3, 0, 2], [0, 1, 2, 4, 4])
    """
    starts = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=size), out=starts[1:])
    order = np.empty(len(codes), dtype=np.int64)
    for_work(_place, STEPS * len(codes))(codes, starts[:-1].copy(), order)
    return order, starts


def run_starts(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each row starts a run of rows that are equal in all columns.

    >>> run_starts(np.array([1, 1, 1, 2]), np.array([5, 5, 6, 6])).tolist()
    [True, False, True, True]
    """
    starts = np.zeros(len(columns[0]), dtype=np.bool_)
    starts[:1] = True
    for column in columns:
        starts[1:] |= column[1:] != column[:-1]
    return starts


def ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> Places:
    """The whole numbers of several ranges, one range after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(lengths.sum()) + np.repeat(starts - before, lengths), dtype=np.int64)


@kernel
def _place(codes, following, order):
    for row in range(len(codes)):
        order[following[codes[row]]] = row
        following[codes[row]] += 1
