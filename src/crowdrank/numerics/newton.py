"""The one optimisation loop: Newton's method with conjugate gradients, a line search, and one stopping rule.

Second derivatives enter as products with a vector, so the cost of a step is a few passes over the rows. Scores joined
by long chains of comparisons, for which first-order methods are slow, are found in a few steps. SciPy's Newton methods
accept no preconditioner and cannot keep the curvature of a point between products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from crowdrank.consensus import Fit
from crowdrank.numerics.progress import report
from crowdrank.study import Floats

LONGEST_STEP = 2.0  # of any parameter: on a logistic scale this is far, and quadratic models are wrong beyond it
SUFFICIENT = 1e-4  # share of the predicted decrease that a step must reach
SMALLEST_CURVATURE = 1e-12
SHORT = 2000  # numbers for which BLAS starts no threads


class Objective(Protocol):
    """A smooth function to minimise. `evaluate` remembers the curvature at the point of its last call."""

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient at x."""

    def hessian_product(self, v: Floats) -> Floats:
        """The Hessian at the last evaluated point times v."""

    def diagonal(self) -> Floats:
        """The diagonal of the Hessian at the last evaluated point."""


@dataclass(frozen=True, slots=True)
class Minimum:
    """Where the loop ended."""

    x: Floats
    value: float
    steps: int
    converged: bool

    @property
    def fit(self) -> Fit:
        """The same for a Consensus, which reports a value that is maximised."""
        return Fit(self.steps, self.converged, -self.value)


def minimise(
    objective: Objective,
    start: Floats,
    *,
    max_iter: int,
    tol: float,
    fixed: slice = slice(0),
    rough: bool = False,
    what: str = "scores",
) -> Minimum:
    """Minimise until a Newton step would change no parameter by more than `tol`; those in `fixed` do not change.

    `rough` steps are inexact by a tenth, also close to the minimum: for objectives that change from call to call. The
    step of a parameter with a curvature below one counts times its curvature: a quality that goes to 1, without end on
    the logit scale, does not keep the loop going.
    """

    def product(v: Floats) -> Floats:
        result = objective.hessian_product(v)
        result[fixed] = 0.0
        return result

    x = start.copy()
    value, gradient = objective.evaluate(x)
    for step in range(max_iter):
        report(what, step, max_iter)
        gradient[fixed] = 0.0
        if not gradient.any():
            return Minimum(x, value, step, True)
        diagonal = np.maximum(np.abs(objective.diagonal()), SMALLEST_CURVATURE)
        direction = _newton_direction(product, gradient, diagonal, rough=rough)
        if np.max(np.abs(direction) * np.minimum(diagonal, 1.0)) <= tol:
            # The step is too short to change the value visibly; it is taken without another evaluation.
            return Minimum(x + _shortened(direction, gradient), value, step + 1, True)
        length, x, value, gradient = _line_search(objective, x, _shortened(direction, gradient), value, gradient)
        if length == 0.0:  # only rounding is left: the gradient is as small as it can be measured
            return Minimum(x, value, step + 1, False)
    return Minimum(x, value, max_iter, False)


def dot(a: Floats, b: Floats) -> float:
    """The inner product; of long vectors without BLAS, whose threads would compete with those of the kernels."""
    return float(a @ b) if len(a) <= SHORT else float(np.einsum("i,i->", a, b))


def _newton_direction(
    hessian_product: Callable[[Floats], Floats], gradient: Floats, diagonal: Floats, *, rough: bool
) -> Floats:
    """Approximately -H⁻¹g by conjugate gradients, the closer the smaller the gradient; stops at negative curvature."""
    x = np.zeros_like(gradient)
    residual = -gradient
    scaled = residual / diagonal
    direction = scaled.copy()
    rho = start = dot(residual, scaled)
    # Squared, preconditioned residual: a tenth at first, smaller close to the minimum (superlinear convergence).
    enough = start * (0.01 if rough else min(0.01, np.sqrt(start) * 1e-2))
    for _ in range(10 * len(gradient) + 50):
        product = hessian_product(direction)
        curvature = dot(direction, product)
        if not curvature > 0.0:  # negative, or not a number
            return scaled if not x.any() else x
        step = rho / curvature
        x += step * direction
        residual -= step * product
        scaled = residual / diagonal
        rho_next = dot(residual, scaled)
        if not rho_next > enough:
            break
        direction *= rho_next / rho
        direction += scaled
        rho = rho_next
    return x


def _shortened(direction: Floats, gradient: Floats) -> Floats:
    """The step with each parameter clipped to LONGEST_STEP by itself, so that one does not shorten all others."""
    clipped = np.clip(direction, -LONGEST_STEP, LONGEST_STEP)
    if dot(gradient, clipped) < 0:
        return clipped
    return np.asarray(direction * min(1.0, LONGEST_STEP / np.abs(direction).max()))  # a descent direction in any case


def _line_search(
    objective: Objective, x: Floats, direction: Floats, value: float, gradient: Floats
) -> tuple[float, Floats, float, Floats]:
    """Halve the step until the value decreases as much as the slope predicts; (0, x, …) if it never does."""
    slope = dot(gradient, direction)
    # Close to the minimum the decrease is below rounding and cannot be measured: such a step is accepted.
    rounding = 1e-11 * abs(value)
    length = 1.0
    while length > 1e-10:
        candidate = x + length * direction
        new_value, new_gradient = objective.evaluate(candidate)
        if new_value <= value + SUFFICIENT * length * slope + rounding:
            return length, candidate, new_value, new_gradient
        length /= 2
    value, gradient = objective.evaluate(x)
    return 0.0, x, value, gradient
