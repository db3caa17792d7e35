"""Matrices that are mostly 0 where items are judged in many tasks, or annotators judge few items: kept as what is not.

The same products serve both kinds. Sparse ones cost as much as their cells that are not 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from crowdrank.study import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Matrix: TypeAlias = "Floats | csr_array[Any]"

FEWEST_CELLS = 20_000  # a dense product is faster below
MOST_FILLED = 0.1


def compact(matrix: Floats) -> Matrix:
    """The same matrix, sparse if most of its many cells are 0."""
    if matrix.size < FEWEST_CELLS or np.count_nonzero(matrix) > MOST_FILLED * matrix.size:
        return matrix
    from scipy.sparse import csr_array

    return csr_array(matrix)


def along_diagonal(stack: Floats) -> Matrix:
    """Square matrices along the diagonal of a sparse one."""
    from scipy.sparse import bsr_array

    count, size, _ = stack.shape
    places = np.arange(count + 1)
    whole = bsr_array((stack, places[:-1], places), shape=(count * size, count * size)).tocsr()
    whole.eliminate_zeros()
    return whole


def is_sparse(matrix: Matrix) -> bool:
    """Whether only the cells that are not 0 are kept."""
    return not isinstance(matrix, np.ndarray)


def dense(matrix: Matrix) -> Floats:
    """All cells."""
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def row_products(one: Matrix, other: Floats) -> Floats:
    """The inner product of each row with the same row of another matrix."""
    if isinstance(one, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", one, other))
    return np.asarray(one.multiply(other).sum(axis=1)).ravel()


class DiagonalBlocks:
    """Square matrices along a diagonal, to be multiplied with vectors."""

    def __init__(self, stack: Floats) -> None:
        self.stack = stack
        filled = np.count_nonzero(stack) if stack.size >= FEWEST_CELLS else stack.size
        self.sparse = along_diagonal(stack) if filled < MOST_FILLED * stack.size else None

    @property
    def transposed(self) -> DiagonalBlocks:
        return DiagonalBlocks(np.ascontiguousarray(self.stack.swapaxes(-1, -2)))

    def times(self, part: Floats) -> Floats:
        """The product with a vector for each matrix."""
        if not part.size:
            return part
        if self.sparse is not None:
            return np.asarray(self.sparse @ part.ravel()).reshape(part.shape)
        return np.asarray((self.stack @ part[..., None])[..., 0])
