"""The expertise of annotators, given the distances of their lists from the true orders: the M-step of θ.

θ_k is where the expected distance of all lists of an annotator, of any lengths and ties, equals the distance found. It
is −∞ for one who is never wrong, 0 for one who guesses, and above 0 for one who reverses the order; `prior` virtual
pairs put right, and as many put wrong, keep it finite. The likelihood is concave in θ: together with side information
(`side_information.py`) it still has one maximum.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crowdrank.learning.ltrma.crowd_lists import CrowdLists, Whole
from crowdrank.learning.ltrma.expertise_kernels import add_parts
from crowdrank.numerics.mallows import CLEAREST, totals
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats

FIRST_STEP, MOST_STEPS, PRECISION = 0.25, 60, 1e-8
Kind = tuple[int, int, bytes]  # of lists: annotator, number of places that count, and sizes of the groups of ties


class Expertise:
    """The likelihood of each annotator's θ, given all lists or `only` some."""

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
        self.longest = max([2, *(min(key[1], int(_groups(key).sum())) for key in kinds)])  # places with an order
        # The normaliser of a full list with ties is that of all its items divided by those of its groups.
        self.full = np.zeros((n_annotators, self.longest + 1))
        self.full[:, 2] = 2 * prior
        whole = {key: count for key, count in kinds.items() if key[1] >= _groups(key).sum()}
        for key, count in whole.items():
            self.full[key[0], _groups(key).sum()] += count
            np.subtract.at(self.full[key[0]], _groups(key), count)
        self.parts = _packed({key: count for key, count in kinds.items() if key not in whole}, n_annotators)

    def total_distance(self, distance: Floats) -> Floats:
        """The sum of the distances of all lists of each annotator."""
        return sum_by(self.annotator, distance[self.used], self.n)

    def solve(self, found: Floats, start: Floats | None = None) -> Floats:
        """θ of each annotator alone: where the expected distance, which increases with θ, equals the one found.

        The search begins around `start`.
        """
        start = np.zeros(self.n) if start is None else start
        (low, below), (high, above) = (self._bound(start, step, found) for step in (-FIRST_STEP, FIRST_STEP))
        theta, last = np.where(below >= 0, low, high), np.zeros(self.n)
        who = np.flatnonzero((below < 0) & (above > 0))
        for _ in range(MOST_STEPS):
            who = who[high[who] - low[who] >= PRECISION]
            if not len(who):
                break
            theta[who] = ((low * above - high * below)[who]) / (above - below)[who]
            value = self._excess(who, theta[who], found)
            # The Illinois rule: the value at an end that stays twice is halved, so that both ends move.
            more, less = who[value > 0], who[value <= 0]
            high[more], above[more] = theta[more], value[value > 0]
            below[more] /= np.where(last[more] > 0, 2, 1)
            low[less], below[less] = theta[less], value[value <= 0]
            above[less] /= np.where(last[less] < 0, 2, 1)
            last[who] = value
            who = who[np.abs(value) >= PRECISION * (found[who] + self.prior)]
        return theta

    def _bound(self, start: Floats, step: float, found: Floats) -> tuple[Floats, Floats]:
        """A θ on one side of the solution, found in steps that double; and its expected distance less the one found."""
        theta, value, who = start.copy(), np.zeros(self.n), np.arange(self.n)
        while len(who):
            theta[who] = np.clip(theta[who] + step, -CLEAREST, CLEAREST)
            value[who] = self._excess(who, theta[who], found)
            who = who[(value[who] * step < 0) & (np.abs(theta[who]) < CLEAREST)]
            step *= 2
        return theta, value

    def _excess(self, who: Whole, theta: Floats, found: Floats) -> Floats:
        """The expected distance of some annotators at these θ, less the one found."""
        return -self.terms(who, theta, found)[1]

    def terms(self, who: Whole, theta: Floats, found: Floats) -> tuple[float, Floats]:
        """The log-likelihood of some annotators' θ, and its derivatives."""
        with_prior, of_length = found[who] + self.prior, totals(self.longest, -theta)
        log, mean = ((self.full[who] * each).sum(axis=1) for each in of_length)
        if len(self.parts[1]):
            add_parts(self.parts, who, theta, *of_length, log, mean)
        return float((theta * with_prior - log).sum()), with_prior - mean

    @property
    def pairs(self) -> Floats:
        """How many pairs of each annotator's lists the true orders have in an order; with `top`, their expectation."""
        zeros = np.zeros(self.n)
        # At θ = 0 half of the pairs are expected to be wrong; the virtual pairs cancel.
        return -2 * self.terms(np.arange(self.n), zeros, zeros)[1]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which annotators have lists."""
        return np.bincount(self.annotator, minlength=self.n) > 0


def _groups(kind: Kind) -> Whole:
    """The sizes of the groups of ties."""
    return np.frombuffer(kind[2], np.int64)


def _packed(kinds: Mapping[Kind, int], n_annotators: int) -> tuple[Whole, Whole, Floats, Whole, Whole]:
    """Kinds of lists in flat arrays: where each annotator's begin, places, how many lists, and the groups of each."""
    ordered = sorted(kinds)
    shapes = [_groups(kind) for kind in ordered]
    who = np.array([annotator for annotator, _, _ in ordered], np.int64)
    return (
        np.searchsorted(who, np.arange(n_annotators + 1)),
        np.array([places for _, places, _ in ordered], np.int64),
        np.array([kinds[key] for key in ordered], np.float64),
        np.r_[0, np.cumsum([len(shape) for shape in shapes])].astype(np.int64),
        np.concatenate([np.zeros(0, np.int64), *shapes]),
    )
