"""Symmetric matrices that join only entries of the same task: one dense block for each task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats

TINY, SMALL = 64, 256  # in between, halves of halves: threads of LAPACK and BLAS would compete with others

Entries = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class TaskBlocks:
    """The blocks of tasks, those of equal size together: entries (tasks × m) and matrices (tasks × m × m)."""

    entries: tuple[Entries, ...]
    matrices: tuple[Floats, ...]
    in_order: bool = False  # all tasks have the same size, and their entries follow each other

    def map(self, function: Any) -> TaskBlocks:
        """The same with a function of each stack of matrices, such as np.linalg.inv."""
        return TaskBlocks(self.entries, tuple(function(stack) for stack in self.matrices), self.in_order)

    def times(self, vector: Floats) -> Floats:
        """The product with a vector of all entries; a vector per row if there are several."""
        if self.in_order:
            (stack,) = self.matrices
            columns = vector.reshape(*vector.shape[:-1], len(stack), -1, 1)
            return np.asarray(np.matmul(stack, columns).reshape(vector.shape))
        result = np.zeros_like(vector)
        for entries, stack in zip(self.entries, self.matrices, strict=True):
            result[..., entries] = np.matmul(stack, vector[..., entries, None])[..., 0]
        return result

    def diagonal(self, n_entries: int) -> Floats:
        """The diagonal of every block."""
        diagonal = np.zeros(n_entries)
        for entries, stack in zip(self.entries, self.matrices, strict=True):
            diagonal[entries] = np.diagonal(stack, axis1=1, axis2=2)
        return diagonal


def graph_blocks(
    starts: NDArray[np.int64], one: Codes, other: Codes, weight: Floats, extra: Floats, order: Entries | None = None
) -> TaskBlocks:
    """The Hessian of Σ weight (x_one − x_other)² / 2 + Σ extra x² / 2; task g has the entries from starts[g].

    `order` are the entries of all tasks, task by task, in the order in which they stand in their blocks.
    """
    sizes, in_order = np.diff(starts), order is None
    order = np.arange(int(starts[-1])) if order is None else order
    group, place = np.repeat(np.arange(len(sizes)), sizes), np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - starts[group]
    first_cell = np.cumsum(sizes**2) - sizes**2

    def cell(row: Entries, column: Entries) -> Entries:
        return np.asarray(first_cell[group[row]] + place[row] * sizes[group[row]] + place[column])

    everyone, total = np.arange(len(order)), int((sizes**2).sum())
    cells = sum_by(cell(one, other), -weight, total)
    cells += sum_by(cell(other, one), -weight, total)
    degree = sum_by(one, weight, len(order)) + sum_by(other, weight, len(order))
    cells[cell(everyone, everyone)] = degree + extra
    entries, matrices = [], []
    for m in np.unique(sizes[sizes > 0]):
        entries.append(order[starts[:-1][sizes == m][:, None] + np.arange(m)])
        matrices.append(cells[first_cell[sizes == m][:, None] + np.arange(m * m)].reshape(-1, m, m))
    return TaskBlocks(tuple(entries), tuple(matrices), in_order and len(entries) == 1 and bool(sizes.all()))


def cholesky(stack: Floats) -> Floats:
    """The lower triangle L of each matrix of a stack, L Lᵀ = M."""
    size = stack.shape[1]
    if not TINY < size <= SMALL:
        return np.asarray(np.linalg.cholesky(stack))
    half = size // 2
    first = cholesky(stack[:, :half, :half])
    below = _product(stack[:, half:, :half], inverse_of_triangle(first).swapaxes(1, 2))
    rest = stack[:, half:, half:] - _product(below, below.swapaxes(1, 2))
    return _triangle(first, below, cholesky(rest))


def inverse_of_triangle(stack: Floats) -> Floats:
    """The inverse of each lower triangle of a stack."""
    size = stack.shape[1]
    if size > SMALL:
        from scipy.linalg.lapack import dtrtri  # not at the top: small studies do not need SciPy

        return np.stack([np.ascontiguousarray(dtrtri(each, lower=1)[0]) for each in stack])
    if size <= TINY:
        return np.tril(np.linalg.inv(stack))
    half = size // 2
    first, last = inverse_of_triangle(stack[:, :half, :half]), inverse_of_triangle(stack[:, half:, half:])
    return _triangle(first, -_product(_product(last, stack[:, half:, :half]), first), last)


def _product(one: Floats, other: Floats) -> Floats:
    """The product of each two matrices, in pieces for which BLAS starts no threads."""
    rows = max(1, TINY**3 // other[0].size)
    pieces = [np.matmul(one[:, first : first + rows], other) for first in range(0, one.shape[1], rows)]
    return np.concatenate(pieces, axis=1)


def _triangle(first: Floats, below: Floats, last: Floats) -> Floats:
    """Lower triangles from their parts."""
    above = np.zeros((len(first), first.shape[1], last.shape[1]))
    return np.block([[first, above], [below, last]])


def inverse(stack: Floats) -> Floats:
    """The inverse of each symmetric, positive definite matrix of a stack."""
    if stack.shape[1] > SMALL:
        from scipy.linalg.lapack import dpotri  # needs a quarter of the work of a general inverse

        lower = (np.tril(dpotri(triangle, lower=1)[0]) for triangle in cholesky(stack))
        return np.stack([each + np.tril(each, -1).T for each in lower])
    triangle = inverse_of_triangle(cholesky(stack))
    return _product(triangle.swapaxes(1, 2), triangle)
