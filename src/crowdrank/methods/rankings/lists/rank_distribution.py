"""The expected discount of an item's rank in a ballot from the distribution of the rank: for discounts that are no sums
of powers.

The rank (0 for the top) is the number of lost contests. Those that the ballot does not decide are lost as often as a
coin falls; then each decided contest, lost with chance 1 − p, moves a share 1 − p of the distribution down by one
place. Ranks without a discount, as those behind the tenth for precision at ten, need no place in it. All is sums of
products of chances: however small they are, no digits are lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba as nb
import numpy as np

from crowdrank.study import Floats

LOG_2 = math.log(2)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A discount by its values, that of the top first; behind them it is 0."""

    weight: Floats

    def log_undecided(self, others: Floats) -> Floats:
        """The logarithm of the chance of each rank among so many others, with none of which the contest is decided."""
        log = np.empty((len(others), len(self.weight)))
        _log_coins(others, log)
        return log


@nb.njit(cache=True, nogil=True)
def expect_levels(begin, stop, contests, leads, log_factor, room, out):
    """For the levels of the lists from `begin` on, each contest written out."""
    (starts, won, size, undecided), (slope, step) = contests, leads
    weight, base, state = room
    for number in range(begin, stop):
        _toss(base, undecided[number], log_factor[number])
        for level in range(starts[number], starts[number + 1]):
            copy_into(state, base)
            for other in range(starts[number], starts[number + 1]):
                difference = won[level] - won[other]
                lead = slope[number] * difference + step[number] * ((difference > 0) - (difference < 0))
                for _ in range(size[other] - (other == level)):
                    _meet(state, 0.5 + lead)
            out[level] = weighed(state, weight)


@nb.njit(cache=True, nogil=True)
def expect_rows(begin, stop, contests, trust, log_factor, room, out):
    """For the rows of ballots of pairs from `begin` on."""
    starts, lead, undecided = contests
    weight, base, state = room
    for row in range(begin, stop):
        # Rows alike are often neighbours, and exponentials dear.
        if row == begin or undecided[row] != undecided[row - 1] or log_factor[row] != log_factor[row - 1]:
            _toss(base, undecided[row], log_factor[row])
        copy_into(state, base)
        for contest in range(starts[row], starts[row + 1]):
            _meet(state, 0.5 + trust[row] * lead[contest])
        out[row] = weighed(state, weight)


@nb.njit(cache=True, nogil=True)
def _toss(state, contests, log_factor):
    """How many of so many contests are lost, if a coin decides them."""
    for rank in range(len(state)):
        state[rank] = math.exp(_log_coin(rank, contests) + log_factor)


@nb.njit(cache=True, nogil=True)
def _log_coins(tosses, log):
    for i in range(len(tosses)):
        for heads in range(log.shape[1]):
            log[i, heads] = _log_coin(heads, tosses[i])


@nb.njit(cache=True, nogil=True)
def _log_coin(heads, tosses):
    if heads > tosses:
        return -np.inf
    return math.lgamma(tosses + 1.0) - math.lgamma(heads + 1.0) - math.lgamma(tosses - heads + 1.0) - tosses * LOG_2


@nb.njit(cache=True, nogil=True)
def _meet(state, won):
    """One more contest."""
    for rank in range(len(state) - 1, 0, -1):
        state[rank] = won * state[rank] + (1 - won) * state[rank - 1]
    state[0] *= won


@nb.njit(cache=True, nogil=True)
def copy_into(target, source):
    """By a loop, which compiles faster than a slice."""
    for at in range(len(source)):
        target[at] = source[at]


@nb.njit(cache=True, nogil=True)
def weighed(state, weight):
    """The sum of the products."""
    total = 0.0
    for at in range(len(state)):
        total += weight[at] * state[at]
    return total
