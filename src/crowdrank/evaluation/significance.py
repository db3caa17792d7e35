"""Paired significance tests over tasks: is one method better than another, or is the difference random?

Smucker, Allan, Carterette: A comparison of statistical significance tests for information retrieval evaluation, CIKM
2007.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.seeds import generator
from crowdrank.study import Floats

EXACT = 12  # up to this many tasks that differ, all 2^12 assignments of signs are tried
SAMPLES = 10_000
AT_ONCE = 2_000_000  # signs in memory at one time


def paired_t(difference: Floats) -> float:
    """Two-sided p of the paired t test, from the differences per task; NaN with fewer than two tasks.

    >>> round(paired_t(np.array([0.1, 0.3, 0.2, 0.2])), 4)
    0.0163
    """
    from scipy.special import stdtr  # here, not above: `evaluate` does not need SciPy

    difference = difference[~np.isnan(difference)]
    n = len(difference)
    if n < 2:
        return float("nan")
    mean, error = float(difference.mean()), float(difference.std(ddof=1)) / n**0.5
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stdtr(n - 1, -abs(mean / error)))


def randomisation(differences: Floats, *, seed: int = 0, samples: int = SAMPLES) -> Floats:
    """Two-sided p of Fisher's randomisation test, one per column, from the differences per task.

    If two methods were the same, each task's difference could as well have the other sign: p is the share of
    assignments of signs that give a mean at least as far from 0. All of them are tried where at most twelve tasks
    differ, else `samples` random ones and the observed one. NaN (a task without value) is not used; with fewer than two
    tasks p is NaN.

    >>> randomisation(np.array([[0.1], [0.3], [0.2], [0.2]])).tolist()  # all four up, or all four down, of 16
    [0.125]
    """
    tasks = (~np.isnan(differences)).sum(axis=0)
    differences = np.where(np.isnan(differences), 0.0, differences)  # a difference of 0 adds nothing, whatever its sign
    few = np.count_nonzero(differences, axis=0) <= EXACT
    p = np.empty(differences.shape[1])
    for column in np.flatnonzero(few):
        p[column] = _exact(differences[differences[:, column] != 0, column])
    if not few.all():
        p[~few] = _sampled(differences[:, ~few], generator(seed), samples)
    p[tasks < 2] = np.nan
    return p


def _exact(difference: Floats) -> float:
    n = len(difference)
    signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    return float(_as_far(signs, difference[:, None]).mean())


def _sampled(differences: Floats, rng: np.random.Generator, samples: int) -> Floats:
    """The observed assignment is one of those counted: p is never 0."""
    differences = differences[differences.any(axis=1)]
    count, left = np.ones(differences.shape[1]), samples
    while left > 0:
        rows = min(left, max(AT_ONCE // len(differences), 1))
        signs = rng.integers(0, 2, (rows, len(differences)), dtype=np.int8) * 2.0 - 1.0
        count += _as_far(signs, differences).sum(axis=0)
        left -= rows
    return np.asarray(count / (samples + 1), dtype=np.float64)


def _as_far(signs: NDArray[np.floating], differences: Floats) -> NDArray[np.bool_]:
    """Which assignments of signs give a sum at least as far from 0 as the observed one."""
    observed = np.abs(differences.sum(axis=0))
    noise = 1e-12 * np.abs(differences).sum(axis=0)  # sums in another order differ in their last digits
    return np.asarray(np.abs(signs @ differences) >= observed - noise)


def holm(p: Floats) -> Floats:
    """The p values corrected for multiple tests (Holm 1979); NaN stays NaN and does not count.

    >>> holm(np.array([0.01, 0.04, 0.03, 0.005])).round(3).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    corrected = np.full(len(p), np.nan)
    order = np.argsort(p)[: int((~np.isnan(p)).sum())]  # NaN sorts last
    steps = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * steps), 1.0)
    return corrected
