"""The expected discount of an item's rank in a ballot from the distribution of the rank.

For discounts that are no sums of powers. The rank (0 for the top) is the number of lost contests. Contests that the
ballot does not decide are lost with probability ½: they give a binomial distribution. Then each decided contest, lost
with probability 1 − p, moves a share 1 − p of the distribution down by one place. Ranks without a discount, as those
after the tenth for precision at ten, are not stored. All sums are of products of probabilities, so small values keep
all digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crowdrank.numerics.compiled import kernel
from crowdrank.study import Floats

LOG_2 = math.log(2)


@dataclass(frozen=True, slots=True, eq=False)
class DiscountTable:
    """A discount by its values, that of the top first; it is 0 after them."""

    weight: Floats

    def log_undecided(self, others: Floats) -> Floats:
        """The log-probability of each rank among so many others, without decided contests."""
        log = np.empty((len(others), len(self.weight)))
        _log_binomials(others, log)
        return log


@kernel
def expect_levels(begin, stop, contests, leads, log_factor, arrays, out):
    """For the levels of lists `begin` to `stop`, contest by contest."""
    (starts, won, size, undecided), (slope, step) = contests, leads
    weight, base, state = arrays
    for number in range(begin, stop):
        _start_distribution(base, undecided[number], log_factor[number])
        for level in range(starts[number], starts[number + 1]):
            copy_into(state, base)
            for other in range(starts[number], starts[number + 1]):
                difference = won[level] - won[other]
                lead = slope[number] * difference + step[number] * ((difference > 0) - (difference < 0))
                for _ in range(size[other] - (other == level)):
                    _add_contest(state, 0.5 + lead)
            out[level] = weighted_sum(state, weight)


@kernel
def expect_rows(begin, stop, contests, trust, log_factor, arrays, out):
    """For rows `begin` to `stop` of ballots of pairs."""
    starts, lead, undecided = contests
    weight, base, state = arrays
    for row in range(begin, stop):
        # Neighbouring rows are often equal, and exponentials are expensive.
        if row == begin or undecided[row] != undecided[row - 1] or log_factor[row] != log_factor[row - 1]:
            _start_distribution(base, undecided[row], log_factor[row])
        copy_into(state, base)
        for contest in range(starts[row], starts[row + 1]):
            _add_contest(state, 0.5 + trust[row] * lead[contest])
        out[row] = weighted_sum(state, weight)


@kernel
def _start_distribution(state, contests, log_factor):
    """The distribution of lost contests where each is lost with probability ½."""
    for rank in range(len(state)):
        state[rank] = math.exp(_log_binomial(rank, contests) + log_factor)


@kernel
def _log_binomials(trials, log):
    for i in range(len(trials)):
        for count in range(log.shape[1]):
            log[i, count] = _log_binomial(count, trials[i])


@kernel
def _log_binomial(count, trials):
    """The log-probability of `count` successes in `trials` with probability ½."""
    if count > trials:
        return -np.inf
    return math.lgamma(trials + 1.0) - math.lgamma(count + 1.0) - math.lgamma(trials - count + 1.0) - trials * LOG_2


@kernel
def _add_contest(state, won):
    """Update the distribution by one more contest, won with probability `won`."""
    for rank in range(len(state) - 1, 0, -1):
        state[rank] = won * state[rank] + (1 - won) * state[rank - 1]
    state[0] *= won


@kernel
def copy_into(target, source):
    """Copy in a loop, which compiles faster than a slice."""
    for at in range(len(source)):
        target[at] = source[at]


@kernel
def weighted_sum(state, weight):
    """The sum of the products."""
    total = 0.0
    for at in range(len(state)):
        total += weight[at] * state[at]
    return total
