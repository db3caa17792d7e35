"""How expert annotators are, given how far their lists are from the true orders: the M-step of θ.

θ_k is where the distance expected of all of an annotator's lists, of whatever lengths and ties, is what was found. It
is −∞ for one who is never wrong, 0 for one who guesses, and above 0 for one who turns the order around; `prior` virtual
pairs put right, and as many put wrong, keep it finite. The likelihood is concave in θ: whatever else is known of
annotators (`side.py`) leaves one maximum.
"""

from __future__ import annotations

from collections.abc import Mapping

import numba as nb
import numpy as np
from numpy.typing import NDArray

from crowdrank.learning.ltrma.crowd_lists import CrowdLists, Whole
from crowdrank.numerics.mallows import CLEAREST, part_moments, totals
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats

FIRST_STEP, MOST_STEPS, PRECISION = 0.25, 60, 1e-8
Kind = tuple[int, int, bytes]  # of lists: whose, how many places count, and the sizes of its groups of ties


class Expertise:
    """The likelihood of each annotator's θ, by all lists or those told."""

    def __init__(
        self, lists: CrowdLists, n_annotators: int, prior: float, only: NDArray[np.bool_] | None = None
    ) -> None:
        self.n, self.prior = n_annotators, prior
        self.used = np.arange(len(lists)) if only is None else np.flatnonzero(only)
        self.annotator = lists.annotator[self.used]
        kinds: dict[Kind, int] = {}
        for number in self.used:
            groups = lists.group[lists.shape_starts[number] : lists.shape_starts[number + 1]]
            key = int(lists.annotator[number]), int(lists.list_places[number]), groups.tobytes()
            kinds[key] = kinds.get(key, 0) + 1
        self.longest = max(
            [2, *(min(key[1], int(_groups(key).sum())) for key in kinds)]
        )  # of what an order tells apart
        # Lists told from a full order, with their ties: every arrangement of all items, over those within the groups.
        self.full = np.zeros((n_annotators, self.longest + 1))
        self.full[:, 2] = 2 * prior
        whole = {key: count for key, count in kinds.items() if key[1] >= _groups(key).sum()}
        for key, count in whole.items():
            self.full[key[0], _groups(key).sum()] += count
            np.subtract.at(self.full[key[0]], _groups(key), count)
        self.parts = _packed({key: count for key, count in kinds.items() if key not in whole}, n_annotators)

    def far(self, distance: Floats) -> Floats:
        """The distances of all lists of each annotator together."""
        return sum_by(self.annotator, distance[self.used], self.n)

    def solve(self, far: Floats, start: Floats | None = None) -> Floats:
        """θ of each annotator, by itself: where the expected distance, which rises with θ, is what was found; looked for around `start`."""
        near = np.zeros(self.n) if start is None else start
        (low, below), (high, above) = (self._bound(near, step, far) for step in (-FIRST_STEP, FIRST_STEP))
        theta, last = np.where(below >= 0, low, high), np.zeros(self.n)
        who = np.flatnonzero((below < 0) & (above > 0))
        for _ in range(MOST_STEPS):
            who = who[high[who] - low[who] >= PRECISION]
            if not len(who):
                break
            theta[who] = ((low * above - high * below)[who]) / (above - below)[who]
            value = self._excess(who, theta[who], far)
            # Along the secant; an end that stays twice counts half, so that both ends move (Illinois).
            more, less = who[value > 0], who[value <= 0]
            high[more], above[more], below[more] = (
                theta[more],
                value[value > 0],
                below[more] / np.where(last[more] > 0, 2, 1),
            )
            low[less], below[less], above[less] = (
                theta[less],
                value[value <= 0],
                above[less] / np.where(last[less] < 0, 2, 1),
            )
            last[who] = value
            who = who[np.abs(value) >= PRECISION * (far[who] + self.prior)]
        return theta

    def _bound(self, start: Floats, step: float, far: Floats) -> tuple[Floats, Floats]:
        """A θ on this side of what is looked for, in steps that double; and how far its expected distance is from what was found."""
        theta, value, who = start.copy(), np.zeros(self.n), np.arange(self.n)
        while len(who):
            theta[who] = np.clip(theta[who] + step, -CLEAREST, CLEAREST)
            value[who] = self._excess(who, theta[who], far)
            who = who[(value[who] * step < 0) & (np.abs(theta[who]) < CLEAREST)]
            step *= 2
        return theta, value

    def _excess(self, who: Whole, theta: Floats, far: Floats) -> Floats:
        return -self.terms(who, theta, far)[1]

    def terms(self, who: Whole, theta: Floats, far: Floats) -> tuple[float, Floats]:
        """The log-likelihood of some annotators' θ, and its derivatives."""
        wanted, of_length = far[who] + self.prior, totals(self.longest, -theta)
        log, mean = ((self.full[who] * each).sum(axis=1) for each in of_length)
        if len(self.parts[1]):
            _add_parts(self.parts, who, theta, *of_length, log, mean)
        return float((theta * wanted - log).sum()), wanted - mean

    @property
    def pairs(self) -> Floats:
        """How many pairs both the lists of each annotator and the orders tell apart; where only the first places count, as is expected."""
        nothing = np.zeros(self.n)
        return (
            -2 * self.terms(np.arange(self.n), nothing, nothing)[1]
        )  # a guess is wrong about half of them; the virtual ones cancel

    @property
    def known(self) -> NDArray[np.bool_]:
        """Who has lists."""
        return np.bincount(self.annotator, minlength=self.n) > 0


def _groups(kind: Kind) -> Whole:
    return np.frombuffer(kind[2], np.int64)


def _packed(kinds: Mapping[Kind, int], n_annotators: int) -> tuple[Whole, Whole, Floats, Whole, Whole]:
    """Kinds of lists in flat arrays: those of each annotator, their places, how many there are, and the groups of each."""
    found = sorted(kinds)
    shapes = [_groups(kind) for kind in found]
    who = np.array([annotator for annotator, _, _ in found], np.int64)
    return (
        np.searchsorted(who, np.arange(n_annotators + 1)),
        np.array([places for _, places, _ in found], np.int64),
        np.array([kinds[key] for key in found], np.float64),
        np.r_[0, np.cumsum([len(shape) for shape in shapes])].astype(np.int64),
        np.concatenate([np.zeros(0, np.int64), *shapes]),
    )


@nb.njit(cache=True, nogil=True)
def _add_parts(shapes, who, theta, log_total, mean_total, log, mean):
    """Add the logarithms of the normalisers of lists of which only the first places count, and their expected distances."""
    of_annotator, places, count, shape_starts, group = shapes
    room = np.empty((4, places.max() + 1))
    for i in range(len(who)):
        for shape in range(of_annotator[who[i]], of_annotator[who[i] + 1]):
            starts = shape_starts[shape : shape + 2]
            one_log, one_mean = part_moments(places[shape], starts, group, -theta[i], log_total[i], mean_total[i], room)
            log[i] += count[shape] * one_log
            mean[i] += count[shape] * one_mean
