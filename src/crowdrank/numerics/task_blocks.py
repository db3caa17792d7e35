"""Symmetric matrices that join only entries of the same task: one dense block for each task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats

TINY, SMALL = 64, 256  # in between, our own loops: LAPACK's threads would compete with others for the cores

Entries = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class TaskBlocks:
    """The blocks of tasks, those of equal size together: entries (tasks × m) and matrices (tasks × m × m)."""

    entries: tuple[Entries, ...]
    matrices: tuple[Floats, ...]

    def map(self, function: Any) -> TaskBlocks:
        """The same with a function of each stack of matrices, such as np.linalg.inv."""
        return TaskBlocks(self.entries, tuple(function(stack) for stack in self.matrices))

    def times(self, vector: Floats) -> Floats:
        """The product with a vector of all entries; a vector per row if there are several."""
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
    sizes = np.diff(starts)
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
    return TaskBlocks(tuple(entries), tuple(matrices))


def cholesky(stack: Floats) -> Floats:
    """The lower triangle L of each matrix of a stack, L Lᵀ = M."""
    if not TINY < stack.shape[1] <= SMALL:
        return np.asarray(np.linalg.cholesky(stack))
    lower = np.zeros_like(stack)
    _cholesky(stack, lower)
    return lower


def inverse_of_triangle(stack: Floats) -> Floats:
    """The inverse of each lower triangle of a stack."""
    if stack.shape[1] > SMALL:
        from scipy.linalg.lapack import dtrtri  # not at the top: small studies do not need SciPy

        return np.stack([np.ascontiguousarray(dtrtri(each, lower=1)[0]) for each in stack])
    if stack.shape[1] <= TINY:
        return np.asarray(np.linalg.inv(stack))
    inverse = np.zeros_like(stack)
    _inverse_of_triangle(stack, inverse)
    return inverse


def inverse(stack: Floats) -> Floats:
    """The inverse of each symmetric, positive definite matrix of a stack."""
    if stack.shape[1] > SMALL:
        from scipy.linalg.lapack import dpotri  # needs a quarter of the work of a general inverse

        lower = (np.tril(dpotri(triangle, lower=1)[0]) for triangle in cholesky(stack))
        return np.stack([each + np.tril(each, -1).T for each in lower])
    triangle = inverse_of_triangle(cholesky(stack))
    return np.asarray(np.matmul(triangle.swapaxes(1, 2), triangle))


@kernel(error_model="numpy")
def _cholesky(stack, lower):
    for t in range(stack.shape[0]):
        for i in range(stack.shape[1]):
            for j in range(i + 1):
                total = stack[t, i, j]
                for k in range(j):
                    total -= lower[t, i, k] * lower[t, j, k]
                lower[t, i, j] = np.sqrt(total) if i == j else total / lower[t, j, j]


@kernel(error_model="numpy")
def _inverse_of_triangle(stack, inverse):
    n = stack.shape[1]
    for t in range(stack.shape[0]):
        for i in range(n):
            # Row i of the inverse: −(row i of the triangle times the rows above), divided by its last element.
            for k in range(i):
                for j in range(k + 1):
                    inverse[t, i, j] -= stack[t, i, k] * inverse[t, k, j]
            for j in range(i):
                inverse[t, i, j] /= stack[t, i, i]
            inverse[t, i, i] = 1 / stack[t, i, i]
