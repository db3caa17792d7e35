"""Digamma and trigamma without SciPy, which takes long to import; and the normal quantile of 95 % intervals."""

from __future__ import annotations

import numpy as np

from crowdrank.study import Floats

NORMAL_95 = 1.959963984540054  # a 95 % interval reaches so many standard errors to each side
NORMAL_95_ROUNDED = 1.959964  # the same in methods that have always used six digits: their results must not change
SHIFT = 8  # from here on the series are exact to the last digits


def digamma(x: Floats) -> Floats:
    """The derivative of log Γ, for x > 0: by recurrence to where the asymptotic series holds."""
    x = np.asarray(x, dtype=np.float64)
    below = sum(1 / (x + step) for step in range(SHIFT))
    z = x + SHIFT
    w = 1 / (z * z)
    series = w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w * (5 / 660 - w * 691 / 32760)))))
    return np.asarray(np.log(z) - 1 / (2 * z) - series - below)


def trigamma(x: Floats) -> Floats:
    """The second derivative of log Γ, for x > 0."""
    x = np.asarray(x, dtype=np.float64)
    below = sum(1 / (x + step) ** 2 for step in range(SHIFT))
    z = x + SHIFT
    w = 1 / (z * z)
    series = w * (1 / 6 - w * (1 / 30 - w * (1 / 42 - w * (1 / 30 - w * (5 / 66 - w * 691 / 2730)))))
    return np.asarray(1 / z + w / 2 + series / z + below)
