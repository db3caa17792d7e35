"""Blocks of tasks beside one dense matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdrank.numerics.task_blocks import cholesky, graph_blocks, inverse, inverse_of_triangle


def study(seed):
    """Tasks of 1 to 5 entries, comparisons within them, and the dense Hessian."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 6)
    starts = np.r_[0, np.cumsum(sizes)]
    n = int(starts[-1])
    task = np.repeat(np.arange(len(sizes)), sizes)
    one, other = rng.integers(0, n, (2, 200))
    within = (task[one] == task[other]) & (one != other)
    one, other = one[within], other[within]
    weight, extra = rng.random(len(one)), 0.1 + rng.random(n)
    dense = np.diag(extra)
    for i, j, w in zip(one, other, weight, strict=True):
        dense[[i, j], [i, j]] += w
        dense[[i, j], [j, i]] -= w
    return starts, one, other, weight, extra, dense


@given(st.integers(0, 10_000))
def test_blocks_are_the_dense_matrix(seed):
    *parts, dense = study(seed)
    blocks = graph_blocks(*parts)
    vector = np.random.default_rng(seed).normal(size=len(dense))
    assert blocks.times(vector) == pytest.approx(dense @ vector)
    assert blocks.diagonal(len(dense)) == pytest.approx(np.diag(dense))
    inverted = blocks.map(inverse)
    assert inverted.times(vector) == pytest.approx(np.linalg.solve(dense, vector))
    assert inverted.diagonal(len(dense)) == pytest.approx(np.diag(np.linalg.inv(dense)))


@pytest.mark.parametrize("size", [1, 7, 65, 131, 256, 300])  # above 64 in halves, above 256 by LAPACK
def test_triangles(size):
    factor = np.random.default_rng(size).normal(size=(2, size, size))
    stack = factor @ factor.swapaxes(1, 2) + size * np.eye(size)
    lower = cholesky(stack)
    near = {"rtol": 1e-6, "atol": 1e-12}  # `pytest.approx` would take ten seconds for so many numbers
    np.testing.assert_allclose(lower, np.linalg.cholesky(stack), **near)
    np.testing.assert_allclose(inverse(stack), np.linalg.inv(stack), **near)
    np.testing.assert_allclose(
        inverse_of_triangle(lower) @ lower, np.broadcast_to(np.eye(size), stack.shape), atol=1e-9
    )
