"""How expert annotators are, given how far their lists are from the true orders: the M-step of θ.

θ_k is where the distance expected of all of an annotator's lists, of whatever lengths and ties, is what was found. It is −∞ for one who
is never wrong, 0 for one who guesses, and above 0 for one who turns the order around; `prior` virtual pairs put right, and as many put
wrong, keep it finite. The likelihood is concave in θ: whatever else is known of annotators (`side.py`) leaves one maximum.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from crowdrank.learning.crowd_lists import CrowdLists, Whole
from crowdrank.numerics.mallows import CLEAREST, fill_totals, moments
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats

FIRST_STEP, MOST_STEPS, PRECISION = 0.25, 60, 1e-8


class Expertise:
    """The likelihood of each annotator's θ, by all lists or those told."""

    def __init__(self, lists: CrowdLists, n_annotators: int, prior: float, only: NDArray[np.bool_] | None = None) -> None:
        self.n, self.prior = n_annotators, prior
        self.used = np.arange(len(lists)) if only is None else np.flatnonzero(only)
        self.annotator = lists.annotator[self.used]
        kinds: dict[tuple[int, int, bytes], int] = {}
        for number in self.used:
            shape = lists.group[lists.shape_starts[number] : lists.shape_starts[number + 1]]
            key = int(lists.annotator[number]), int(lists.list_places[number]), shape.tobytes()
            kinds[key] = kinds.get(key, 0) + 1
        found = sorted(kinds)
        shapes = [np.frombuffer(shape, np.int64) for _, _, shape in found]
        who = np.array([annotator for annotator, _, _ in found], np.int64)
        self.shapes = (
            np.searchsorted(who, np.arange(n_annotators + 1)),  # of each annotator
            np.array([places for _, places, _ in found], np.int64),
            np.array([kinds[key] for key in found], np.float64),
            np.r_[0, np.cumsum([len(shape) for shape in shapes])].astype(np.int64),
            np.concatenate([np.zeros(0, np.int64), *shapes]),
        )
        longest = max((int(shape.sum()) for shape in shapes), default=2)
        most_places = int(self.shapes[1].max(initial=0))
        self.room = np.empty((2, longest + 1)), np.empty((4, most_places + 1))

    def far(self, distance: Floats) -> Floats:
        """The distances of all lists of each annotator together."""
        return sum_by(self.annotator, distance[self.used], self.n)

    def solve(self, far: Floats, start: Floats | None = None) -> Floats:
        """θ of each annotator, by itself; it is looked for around `start` first."""
        near = np.zeros(self.n) if start is None else start
        return np.asarray(_solve(self.shapes, far, self.prior, near, *self.room))

    def terms(self, who: Whole, theta: Floats, far: Floats) -> tuple[float, Floats]:
        """The log-likelihood of some annotators' θ, and its derivatives."""
        value, slope = _terms(self.shapes, who, theta, far, self.prior, *self.room)
        return value, slope

    @property
    def known(self) -> NDArray[np.bool_]:
        """Who has lists."""
        return np.bincount(self.annotator, minlength=self.n) > 0


@nb.njit(cache=True, nogil=True)
def _likelihood(shapes, k, theta, prior, totals, room):
    """The logarithm of the normaliser of all lists of an annotator, and their expected distance; with the virtual pairs."""
    of_annotator, places, count, shape_starts, group = shapes
    fill_totals(-theta, totals[0], totals[1])
    log, mean = 2 * prior * totals[0, 2], 2 * prior * totals[1, 2]
    for shape in range(of_annotator[k], of_annotator[k + 1]):
        one_log, one_mean = moments(places[shape], shape_starts[shape : shape + 2], group, -theta, totals[0], totals[1], room)
        log += count[shape] * one_log
        mean += count[shape] * one_mean
    return log, mean


@nb.njit(cache=True, nogil=True)
def _solve(shapes, far, prior, start, totals, room):
    """Where the expected distance, which rises with θ, is what was found: between two values around `start`, along the secant."""
    result = np.empty(len(far))
    for k in range(len(far)):
        wanted = far[k] + prior
        low, below = _bound(shapes, k, start[k], -FIRST_STEP, wanted, prior, totals, room)
        high, above = _bound(shapes, k, start[k], FIRST_STEP, wanted, prior, totals, room)
        middle, last = low if below >= 0 else high, 0.0
        for _ in range(MOST_STEPS):
            if below >= 0 or above <= 0 or high - low < PRECISION:
                break
            middle = (low * above - high * below) / (above - below)
            value = _likelihood(shapes, k, middle, prior, totals, room)[1] - wanted
            if abs(value) < PRECISION * wanted:
                break
            # An end that stays twice counts half, so that both ends move (Illinois).
            if value > 0:
                high, above = middle, value
                below = below / 2 if last > 0 else below
            else:
                low, below = middle, value
                above = above / 2 if last < 0 else above
            last = value
        result[k] = middle
    return result


@nb.njit(cache=True, nogil=True)
def _bound(shapes, k, start, step, wanted, prior, totals, room):
    """A θ on this side of what is looked for, in steps that double; and how far its expected distance is from what is wanted."""
    theta = start
    while True:
        theta = min(max(theta + step, -CLEAREST), CLEAREST)
        value = _likelihood(shapes, k, theta, prior, totals, room)[1] - wanted
        if value * step >= 0 or abs(theta) == CLEAREST:
            return theta, value
        step *= 2


@nb.njit(cache=True, nogil=True)
def _terms(shapes, who, theta, far, prior, totals, room):
    value, slope = 0.0, np.empty(len(who))
    for i in range(len(who)):
        log, mean = _likelihood(shapes, who[i], theta[i], prior, totals, room)
        value += theta[i] * (far[who[i]] + prior) - log
        slope[i] = far[who[i]] + prior - mean
    return value, slope
