"""The expected discount of an item's rank in a ballot, without the distribution of the rank.

The rank (0 for the top) is the number of lost contests, each lost independently with probability 1 − p. Its generating
function is

    E[z^r] = Π_contests (p + (1 − p) z) = ((1 + z) / 2)^undecided × Π_decided ((1 + z) / 2 + lead (1 − z))

so a discount that is a sum of powers, D(r) = Σ_q w_q z_q^r (see `numerics.exponentials`), has the expectation Σ_q w_q
E[z_q^r]. All items that the annotator did not judge have the same value. Trust is 2η − 1 for an annotator of quality η;
leads are multiplied by it.

Everything is multiplied by a factor of the task, given as its logarithm, because the discount of rank 20,000 may be too
small for a floating-point number.
"""

from __future__ import annotations

import numpy as np

from crowdrank.methods.rankings.lists import rank_distribution
from crowdrank.methods.rankings.lists.ballots import ListBallots, PairBallots
from crowdrank.methods.rankings.lists.rank_distribution import DiscountTable, copy_into, weighted_sum
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.exponentials import PowerSum
from crowdrank.numerics.threads import chunks, in_parts
from crowdrank.study import Floats

Discount = PowerSum | DiscountTable


def log_undecided_discount(discount: Discount, others: Floats) -> Floats:
    """The logarithm of the expected discount of an item without decided contests among `others`; 0 if it is 0."""
    sizes, which = np.unique(others, return_inverse=True)
    power = discount.log_undecided(sizes)
    peak = power.max(axis=1, initial=-np.inf)
    value = np.exp(power - peak[:, None]) @ discount.weight
    return np.asarray(np.where(value > 0, np.log(np.maximum(value, np.finfo(float).tiny)) + peak, 0.0)[which])


def undecided_discount(discount: Discount, others: Floats, log_factor: Floats) -> Floats:
    """The expected discount of an item without decided contests, times its task's factor."""
    both, which = np.unique(np.stack([others, log_factor]), axis=1, return_inverse=True)
    return np.asarray((np.exp(discount.log_undecided(both[0]) + both[1][:, None]) @ discount.weight)[which])


def expected_in_lists(
    lists: ListBallots, discount: Discount, trust: Floats, others: Floats, log_factor: Floats
) -> Floats:
    """The expected discount of each row; trust, number of other items in the task and factor are per list."""
    of_level = np.empty(len(lists.won))
    leads = (trust * lists.slope, trust * lists.step)
    contests = (lists.level_starts, lists.won, lists.size, others - (lists.length - 1))
    kernel = _expect_levels if isinstance(discount, PowerSum) else rank_distribution.expect_levels
    if len(of_level):  # else do not compile: it takes longer than most fits
        most = int(np.diff(lists.level_starts).max())
        parts = chunks(len(trust), work=len(of_level) // len(trust) + 1)
        in_parts(
            lambda r: kernel(r.start, r.stop, contests, leads, log_factor, _work_arrays(discount, most), of_level),
            parts,
        )
    return of_level[lists.row_level]


def expected_in_pairs(
    pairs: PairBallots, discount: Discount, trust: Floats, others: Floats, log_factor: Floats
) -> Floats:
    """The expected discount of each row; trust, number of other items in the task and factor are per row."""
    of_row = np.empty(len(pairs.entry))
    contests = (pairs.starts, pairs.lead, others - np.diff(pairs.starts))
    kernel = _expect_rows if isinstance(discount, PowerSum) else rank_distribution.expect_rows
    if len(of_row):
        most = int(np.diff(pairs.starts).max())
        parts = chunks(len(of_row), work=len(pairs.lead) // len(of_row) + 1)
        in_parts(
            lambda r: kernel(r.start, r.stop, contests, trust, log_factor, _work_arrays(discount, most), of_row), parts
        )
    return of_row


def _work_arrays(discount: Discount, most: int) -> tuple[Floats, ...]:
    """The arrays of the kernels. For powers, a contest contributes the factor `half + lead × gap` at each node."""
    if isinstance(discount, DiscountTable):
        return discount.weight, np.empty_like(discount.weight), np.empty_like(discount.weight)
    half = (1 + discount.node) / 2
    return half, 1 - discount.node, np.log(half), discount.weight, *np.empty((2, len(half))), *np.empty((2, most))


@kernel
def _expect_levels(begin, stop, contests, leads, log_factor, at_nodes, out):
    (starts, won, size, undecided), (slope, step) = contests, leads
    half, gap, log_half, weight, base, state, single, _ = at_nodes
    for number in range(begin, stop):
        _start_products(base, log_half, undecided[number], log_factor[number])
        first, end = starts[number], starts[number + 1]
        # As many levels as items, apart from unlisted items at the end: no ties.
        if first < end and won[first] + size[first] - size[end - 1] == end - 1 - first:
            _expect_untied(won, size, first, end, slope[number], step[number], at_nodes, out)
            continue
        for level in range(first, end):
            copy_into(state, base)
            singles = np.int64(0)  # Numba would compile another version of _multiply for a literal 0
            for other in range(first, end):
                difference = won[level] - won[other]
                lead = slope[number] * difference + step[number] * ((difference > 0) - (difference < 0))
                times = size[other] - (other == level)
                if times == 1:
                    single[singles] = lead
                    singles += 1
                elif times > 1:
                    _multiply_equal(state, half, gap, lead, times)
            _multiply(state, half, gap, single, singles)
            out[level] = weighted_sum(state, weight)


@kernel
def _expect_untied(won, size, first, end, slope, step, at_nodes, out):
    """Lists without ties, in time linear in their length.

    A contest depends only on the distance of its places. So the product over the contests with items above (or below)
    is that of the neighbouring item, times one more contest.
    """
    half, gap, _, weight, base, _, _, below = at_nodes
    last = end - 1
    for level in range(first, end):
        out[level] = 0.0
    for q in range(len(half)):
        product = base[q]
        of_last = product * _power(half[q], size[last] - 1)
        for level in range(last - 1, first - 1, -1):
            below[level - first] = product  # its contests with the levels below it, except the last
            product *= half[q] + (slope * (last - level) + step) * gap[q]
            of_last *= half[q] - (slope * won[level] + step) * gap[q]
        product = 1.0  # its contests with the levels above it
        for level in range(first, last):
            with_last = _power(half[q] + (slope * won[level] + step) * gap[q], size[last])
            out[level] += weight[q] * (below[level - first] * product * with_last)
            product *= half[q] - (slope * (level + 1 - first) + step) * gap[q]
        out[last] += weight[q] * of_last


@kernel
def _expect_rows(begin, stop, contests, trust, log_factor, at_nodes, out):
    starts, lead, undecided = contests
    half, gap, log_half, weight, base, state, single, _ = at_nodes
    for row in range(begin, stop):
        # Neighbouring rows are often equal, and exponentials are expensive.
        if row == begin or undecided[row] != undecided[row - 1] or log_factor[row] != log_factor[row - 1]:
            _start_products(base, log_half, undecided[row], log_factor[row])
        copy_into(state, base)
        for contest in range(starts[row], starts[row + 1]):
            single[contest - starts[row]] = trust[row] * lead[contest]
        _multiply(state, half, gap, single, starts[row + 1] - starts[row])
        out[row] = weighted_sum(state, weight)


@kernel
def _start_products(state, log_half, undecided, log_factor):
    for q in range(len(state)):
        state[q] = np.exp(undecided * log_half[q] + log_factor)


# `reassoc` lets the compiler multiply several contests at a time: twice as fast.
@kernel(fastmath={"reassoc"})
def _multiply(state, half, gap, lead, count):
    for q in range(len(state)):
        at_half, at_gap, product = half[q], gap[q], state[q]
        for contest in range(count):
            product *= at_half + lead[contest] * at_gap
        state[q] = product


@kernel
def _multiply_equal(state, half, gap, lead, times):
    """Several contests with the same lead."""
    for q in range(len(state)):
        state[q] *= _power(half[q] + lead * gap[q], times)


@kernel
def _power(factor, times):
    """By repeated squaring."""
    product = 1.0
    while times > 0:
        if times & 1:
            product *= factor
        factor *= factor
        times >>= 1
    return product
