"""CrowdAgg's rank distributions as Niu et al. (WSDM 2015) compute them: a slow reference for tests and benchmarks.

`contest_chances` is the matrix of probabilities that follows from one annotator's judgments on a task. Algorithm 1
convolves the contests of an item one after the other, Algorithm 2 by halves, with fast Fourier transforms.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.rankings.lists.ballots import Reading
from crowdrank.study import Floats


def contest_chances(outcome: NDArray[np.float64], reading: Reading, quality: float = 1.0) -> Floats:
    """The chance that each item stands above each other one (eq. 6 and 9).

    `outcome[s, t]` is 1 if the annotator put s above t, -1 if below, 0 if beside, NaN if they did not judge the two
    together.
    """
    n = len(outcome)
    chance = np.full((n, n), 0.5)
    for s, t in permutations(range(n), 2):
        if np.isnan(outcome[s, t]) or outcome[s, t] == 0:
            continue
        met = ~np.isnan(outcome)
        among = met[s] & met[t] if reading == "judged" else np.ones(n, dtype=bool)
        among = among | np.isin(np.arange(n), [s, t])
        difference = int((outcome[s, among] == 1).sum() - (outcome[t, among] == 1).sum())
        sign = np.sign(difference)
        chance[s, t] = {
            "judged": 0.5 + difference / (2 * among.sum()),
            "task": 0.5 + difference / (2 * n),
            "hard": 0.5 + outcome[s, t] / 2,
            "literal": 0.5 + difference / n - sign / 2,
        }[reading]
    return quality * chance + (1 - quality) * (1 - chance)


def algorithm_1(chance: Floats) -> Floats:
    """Row j: the distribution of item j's rank, 0 for the top, one contest after the other."""
    n = len(chance)
    return np.array([_convolved(np.delete(chance[j], j)) for j in range(n)]).reshape(n, n)


def _convolved(chance: Floats) -> Floats:
    distribution = np.ones(1)
    for p in chance:
        distribution = np.convolve(distribution, [p, 1 - p])
    return distribution


def algorithm_2(chance: Floats) -> Floats:
    """The same by divide and conquer, all items at once; long parts are multiplied by Fourier transforms."""
    won = chance.copy()
    np.fill_diagonal(won, 1.0)
    parts = np.stack([won, 1 - won], axis=-1)  # item × contest × how often lost
    while parts.shape[1] > 1:
        if parts.shape[1] % 2:
            nothing = np.zeros_like(parts[:, :1])
            nothing[..., 0] = 1.0
            parts = np.concatenate([parts, nothing], axis=1)
        parts = _multiplied(parts[:, ::2], parts[:, 1::2])
    return parts[:, 0, : len(chance)]


def _multiplied(one: Floats, other: Floats) -> Floats:
    from scipy.fft import irfft, next_fast_len, rfft

    length = one.shape[-1] + other.shape[-1] - 1
    if length <= 16:
        product = np.zeros((*one.shape[:-1], length))
        for at in range(other.shape[-1]):
            product[..., at : at + one.shape[-1]] += one * other[..., at, None]
        return product
    size = next_fast_len(length, real=True)
    return np.asarray(irfft(rfft(one, size) * rfft(other, size), size)[..., :length])


def expected_discounts(distribution: Floats, discount: Callable[[int], float]) -> Floats:
    """The expected discount of each item; `discount` is of the rank, 1 for the top."""
    return np.asarray(distribution @ np.array([discount(rank) for rank in range(1, distribution.shape[1] + 1)]))
