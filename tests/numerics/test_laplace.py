import numpy as np
import pytest

from crowdrank.numerics.laplace import block_spread, dense_spread, probed_spread


def graph_hessian(rng, n, edges, extra=0):
    """Of votes between random items, a prior on each, and `extra` parameters tied weakly to some of the items."""
    hessian = np.diag(rng.uniform(0.3, 1.0, n + extra))
    for weight in rng.uniform(0.05, 0.25, edges):
        one, other = rng.choice(n, 2, replace=False)
        hessian[[one, other], [one, other]] += weight
        hessian[[one, other], [other, one]] -= weight
    for own in range(n, n + extra):
        hessian[own, own] += 5.0
        items = rng.choice(n, 10, replace=False)
        hessian[own, items] = hessian[items, own] = rng.normal(0, 0.1, 10)
    return hessian


def explicit(hessian, group):
    """The covariance of the scores less the mean of their group, weighted by the curvature."""
    centre, known = np.eye(len(hessian)), np.diag(hessian)[: len(group)]
    for i in range(len(group)):
        for j in range(len(group)):
            if group[i] == group[j]:
                centre[i, j] -= known[j] / known[group == group[i]].sum()
    return centre @ np.linalg.inv(hessian) @ centre.T


@pytest.mark.parametrize("group", [[0] * 12, [0] * 5 + [1] * 7, [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3], list(range(12))])
def test_dense_is_the_inverse_with_the_mean_taken_off(group):
    hessian = graph_hessian(np.random.default_rng(0), 12, 60, extra=3)
    group = np.array(group, dtype=np.int32)
    found, expected = dense_spread(hessian, group), explicit(hessian, group)
    assert found.variance == pytest.approx(np.diag(expected), rel=1e-7, abs=1e-8)
    one, other, inverse = np.array([0, 3, 12]), np.array([1, 11, 14]), np.linalg.inv(hessian)
    gaps = np.diag(inverse)[one] + np.diag(inverse)[other] - 2 * inverse[one, other]
    assert found.of_gaps(one, other) == pytest.approx(gaps, rel=1e-6, abs=1e-8)


def test_blocks_are_inverted_as_the_whole_is():
    rng = np.random.default_rng(4)
    starts = np.array([0, 3, 4, 9, 12])
    hessian, own = np.zeros((13, 13)), rng.uniform(0.3, 1.0, 13)
    one, other, curvature = [], [], rng.uniform(0.1, 1.0, 40)
    for weight in curvature:
        group = rng.choice([0, 2, 3])
        i, j = rng.choice(np.arange(starts[group], starts[group + 1]), 2, replace=False)
        hessian[[i, j], [i, j]] += weight
        hessian[[i, j], [j, i]] -= weight
        one.append(i)
        other.append(j)
    hessian += np.diag(own)
    group = np.repeat(np.arange(4), np.diff(starts)).astype(np.int32)
    dense = dense_spread(hessian, group)
    codes = np.array(one, dtype=np.int32), np.array(other, dtype=np.int32)
    blocks = block_spread(np.diag(hessian).copy(), *codes, curvature, starts)
    assert blocks.variance == pytest.approx(dense.variance, rel=1e-7, abs=1e-9)
    assert blocks.of_gaps(*codes) == pytest.approx(dense.of_gaps(*codes), rel=1e-7)


def test_an_item_alone_has_nothing_to_differ_from():
    spread = dense_spread(np.diag([2.0, 3.0]), np.array([0, 1], dtype=np.int32))
    assert spread.variance == pytest.approx([0, 0], abs=1e-12)


def test_a_common_shift_that_nothing_bends_is_no_uncertainty():
    hessian = np.array([[4.0, -4.0], [-4.0, 4.0]])  # one gap, seen with curvature 4, and no prior
    spread = dense_spread(hessian, np.zeros(2, dtype=np.int32))
    assert spread.of_gaps(np.array([0]), np.array([1])) == pytest.approx([1 / 4], rel=1e-4)
    assert spread.variance == pytest.approx([1 / 16, 1 / 16], rel=1e-4)


@pytest.mark.parametrize("groups", [1, 4])
def test_probing_comes_near_the_inverse(groups):
    hessian = graph_hessian(np.random.default_rng(1), 400, 8000, extra=40)
    group = np.repeat(np.arange(groups), 400 // groups).astype(np.int32)
    dense = dense_spread(hessian, group).variance
    probed = probed_spread(lambda v: hessian @ v, np.diag(hessian).copy(), group).variance
    error = probed / dense - 1
    assert np.abs(error).max() < 0.1
    assert np.sqrt((error**2).mean()) < 0.03
    assert abs(error.mean()) < 0.005


def test_probing_is_exact_where_parameters_do_not_touch():
    diagonal = np.random.default_rng(2).uniform(0.5, 3.0, 30)
    group = np.repeat([0, 1, 2], 5).astype(np.int32)
    found = probed_spread(lambda v: diagonal * v, diagonal, group).variance
    # Not to the last digit: the centred start is no eigenvector, and conjugate gradients stop at three digits.
    assert found == pytest.approx(np.diag(explicit(np.diag(diagonal), group)), rel=0.01)


def test_probing_is_the_same_twice():
    hessian, group = graph_hessian(np.random.default_rng(3), 50, 400), np.zeros(50, dtype=np.int32)
    one, two = (probed_spread(lambda v: hessian @ v, np.diag(hessian).copy(), group).variance for _ in range(2))
    assert one.tobytes() == two.tobytes()
