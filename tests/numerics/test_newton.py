import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der, rosen_hess
from scipy.special import expit

from crowdrank.numerics.newton import minimise
from crowdrank.numerics.progress import listening


class Smooth:
    """An objective from a value, a gradient and a full Hessian."""

    def __init__(self, value, gradient, hessian):
        self.functions = value, gradient, hessian

    def evaluate(self, x):
        self.hessian = self.functions[2](x)
        return float(self.functions[0](x)), self.functions[1](x)

    def hessian_product(self, v):
        return self.hessian @ v

    def diagonal(self):
        return np.diag(self.hessian).copy()


def logistic_regression(seed):
    rng = np.random.default_rng(seed)
    features, answers = rng.normal(size=(60, 8)), rng.random(60) < 0.5

    def curvature(x):
        p = expit(features @ x)
        return features.T * (p * (1 - p)) @ features + 0.1 * np.eye(8)

    return Smooth(
        lambda x: (np.logaddexp(0, features @ x) - answers * (features @ x)).sum() + 0.05 * x @ x,
        lambda x: features.T @ (expit(features @ x) - answers) + 0.1 * x,
        curvature,
    )


ROSENBROCK = Smooth(rosen, rosen_der, rosen_hess)


@pytest.mark.parametrize("seed", range(5))
def test_logistic_regression_agrees_with_scipy(seed):
    objective = logistic_regression(seed)
    expected = minimize(
        objective.functions[0], np.zeros(8), jac=objective.functions[1], method="BFGS", options={"gtol": 1e-8}
    )
    found = minimise(objective, np.zeros(8), max_iter=50, tol=1e-8)
    assert found.converged
    assert found.steps < 15
    assert found.x == pytest.approx(expected.x, abs=1e-6)
    assert found.value == pytest.approx(expected.fun, abs=1e-9)
    assert found.fit.objective == -found.value


@pytest.mark.parametrize("start", [[-1.2, 1.0], [0.0, 2.0, -1.0, 3.0], [2.0] * 6])
def test_the_banana_valley_is_walked_to_its_end(start):
    found = minimise(ROSENBROCK, np.array(start), max_iter=200, tol=1e-8)
    assert found.converged
    expected = minimize(rosen, start, jac=rosen_der, hess=rosen_hess, method="trust-exact", options={"gtol": 1e-10})
    assert found.x == pytest.approx(expected.x, abs=1e-6)


@pytest.mark.parametrize("start", [0.01, 0.1, 0.5, -0.3, 30.0])
def test_negative_curvature_at_the_start_is_walked_away_from(start):
    two_wells = Smooth(lambda x: (x**4 / 4 - x**2 / 2).sum(), lambda x: x**3 - x, lambda x: np.diag(3 * x**2 - 1))
    found = minimise(two_wells, np.array([start, 1.5]), max_iter=100, tol=1e-10)
    assert found.converged
    assert found.x == pytest.approx([np.sign(start), 1.0], abs=1e-8)


def test_a_minimum_at_the_start_takes_no_step():
    found = minimise(ROSENBROCK, np.ones(3), max_iter=10, tol=1e-8)
    assert (found.steps, found.converged) == (0, True)


def test_too_few_steps_are_reported():
    found = minimise(ROSENBROCK, np.array([-1.2, 1.0]), max_iter=1, tol=1e-8)
    assert (found.steps, found.converged) == (1, False)
    assert not found.fit.converged
    assert found.value < rosen([-1.2, 1.0])


def test_the_start_is_left_alone():
    start = np.array([-1.2, 1.0])
    minimise(ROSENBROCK, start, max_iter=5, tol=1e-8)
    assert start.tolist() == [-1.2, 1.0]


def test_held_parameters_stay_and_the_others_find_their_minimum():
    objective = logistic_regression(0)
    start = np.linspace(-1, 1, 8)
    found = minimise(objective, start, max_iter=50, tol=1e-9, fixed=slice(5, 8))
    expected = minimize(lambda free: objective.functions[0](np.r_[free, start[5:]]), start[:5], method="BFGS")
    assert found.converged
    assert np.array_equal(found.x[5:], start[5:])
    assert found.x[:5] == pytest.approx(expected.x, abs=1e-4)  # SciPy's own finite differences
    assert objective.functions[1](found.x)[:5] == pytest.approx(np.zeros(5), abs=1e-6)


def test_a_listener_hears_every_step():
    heard = []
    with listening(lambda *step: heard.append(step)):
        found = minimise(ROSENBROCK, np.array([-1.2, 1.0]), max_iter=100, tol=1e-8, what="valley")
    assert heard[: found.steps] == [("valley", step, 100) for step in range(found.steps)]
    minimise(ROSENBROCK, np.array([-1.2, 1.0]), max_iter=100, tol=1e-8)
    assert len(heard) <= found.steps + 1
