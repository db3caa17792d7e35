"""Quasi-Newton steps (L-BFGS) with a preconditioner, for objectives whose Hessian is expensive.

The preconditioner is an approximate inverse of the Hessian; the differences of the last gradients correct it. SciPy's
L-BFGS accepts no preconditioner.

Nocedal and Wright: Numerical optimization, 2nd edition, algorithm 7.4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from crowdrank.numerics.newton import dot
from crowdrank.numerics.progress import report
from crowdrank.study import Floats

MEMORY = 8
LONGEST_STEP = 2.0  # of any parameter
SUFFICIENT = 1e-4
HALVINGS = 30


class Point(NamedTuple):
    """Where the search is: parameters, value, gradient, and whatever else the objective returned."""

    x: Floats
    value: float
    gradient: Floats
    extra: Any


class Search(NamedTuple):
    """Where the search ended."""

    point: Point
    steps: int
    converged: bool


def descend(
    evaluate: Callable[[Floats], tuple[Any, ...]],
    start: Floats | Point,
    precondition: Callable[[Floats], Floats],
    *,
    max_iter: int,
    tol: float,
) -> Search:
    """Minimise until the gradient is below `tol` standard errors, as the preconditioner measures them.

    `evaluate` returns the value, the gradient, and anything else; a start that is a point was evaluated already.
    """
    point = start if isinstance(start, Point) else Point(start, *_evaluated(evaluate, start))
    memory = deque[tuple[Floats, Floats, float]](maxlen=MEMORY)
    for step in range(max_iter):
        report("scores", step, max_iter)
        direction = -_times_inverse(point.gradient, memory, precondition)
        slope = dot(direction, point.gradient)
        if not slope < 0:
            memory.clear()
            direction = -precondition(point.gradient)
            slope = dot(direction, point.gradient)
        if not -slope > tol**2:
            return Search(point, step, bool(-slope <= tol**2))
        shorter = min(1.0, LONGEST_STEP / max(float(np.abs(direction).max()), 1e-300))
        found = _line_search(evaluate, point, shorter * direction, shorter * slope)
        if found is None:  # only rounding is left
            return Search(point, step, -slope < 1e-6)
        moved, change = found.x - point.x, found.gradient - point.gradient
        curvature = dot(moved, change)
        if curvature > 1e-10 * dot(moved, moved):
            memory.append((moved, change, curvature))
        point = found
    return Search(point, max_iter, False)


def _evaluated(evaluate: Callable[[Floats], tuple[Any, ...]], x: Floats) -> tuple[float, Floats, Any]:
    value, gradient, *extra = evaluate(x)
    return value, gradient, extra


def _line_search(
    evaluate: Callable[[Floats], tuple[Any, ...]], point: Point, direction: Floats, slope: float
) -> Point | None:
    """Halve the step until the value decreases enough; None if it never does."""
    rounding, length = 1e-11 * abs(point.value), 1.0
    for _ in range(HALVINGS):
        found = Point(point.x + length * direction, *_evaluated(evaluate, point.x + length * direction))
        if found.value <= point.value + SUFFICIENT * length * slope + rounding:
            return found
        length /= 2
    return None


def _times_inverse(
    gradient: Floats, memory: deque[tuple[Floats, Floats, float]], precondition: Callable[[Floats], Floats]
) -> Floats:
    """The inverse Hessian times the gradient: the two loops of L-BFGS."""
    vector, shares = gradient.copy(), []
    for moved, change, curvature in reversed(memory):
        shares.append(dot(moved, vector) / curvature)
        vector -= shares[-1] * change
    vector = precondition(vector)
    for (moved, change, curvature), share in zip(memory, reversed(shares), strict=True):
        vector += (share - dot(change, vector) / curvature) * moved
    return vector
