"""Quasi-Newton steps: known minima, a bound on the work."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdrank.numerics.progress import TimeLimitError, limited
from crowdrank.numerics.quasi_newton import descend


def rosenbrock(x):
    value = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    slope = -400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0])
    return value, np.array([slope, 200 * (x[1] - x[0] ** 2)])


def test_a_curved_valley():
    found = descend(rosenbrock, np.array([-1.2, 1.0]), lambda vector: vector / 100, max_iter=500, tol=1e-9)
    assert found.converged
    assert found.point.x == pytest.approx([1.0, 1.0], abs=1e-6)


@given(st.integers(0, 10_000))
def test_a_quadratic_with_its_own_inverse_takes_one_step(seed):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(5, 5))
    matrix, target = factor @ factor.T + np.eye(5), 0.3 * rng.normal(size=5)
    inverse = np.linalg.inv(matrix)
    found = descend(
        lambda x: ((x - target) @ matrix @ (x - target) / 2, matrix @ (x - target)),
        np.zeros(5),
        lambda vector: inverse @ vector,
        max_iter=20,
        tol=1e-9,
    )
    assert found.converged
    assert found.steps <= 2
    assert found.point.x == pytest.approx(target, abs=1e-8)


def test_the_work_is_bounded():
    found = descend(rosenbrock, np.array([-1.2, 1.0]), lambda vector: vector / 1e6, max_iter=3, tol=1e-12)
    assert not found.converged
    assert found.steps == 3


def test_a_time_limit_ends_it():
    with limited(-1.0), pytest.raises(TimeLimitError):
        descend(rosenbrock, np.array([-1.2, 1.0]), lambda vector: vector / 100, max_iter=500, tol=1e-9)
