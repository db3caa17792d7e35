"""The likelihood of logistic votes without ties and bias, with the annotators' quality integrated out; in Numba.

The slope of a vote is a sum over qualities of p r / (η σ(d) + (1 − η) σ(−d)), with p the posterior of the quality and
r = 2η − 1. Divisions take most of the time, so four of these fractions are added up to one. Its numerator and
denominator are polynomials in σ(d) and σ(−d), with coefficients that all votes of a profile share. Those of the
denominator are positive: nothing cancels.

Products are multiplied by two votes at a time: a number that was just written takes long to be read again. As in
`davidson_kernels`, loops over qualities have a length that the compiler knows, and what they use stands in one array.
"""

from __future__ import annotations

import math

import numpy as np

from crowdrank.methods.pairs.votes.kernels import FURTHEST, TINY
from crowdrank.methods.pairs.votes.marginal_kernels import (
    CURVATURE,
    FAST,
    FEW,
    NEGLIGIBLE,
    VALUE,
    end_of_block,
    include_logs,
    votes_in_blocks,
)
from crowdrank.methods.verdicts import N_QUALITIES
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.vector_exp import exp

FACTORS = 32  # of a product before it is rescaled
SUMS = 8  # of four fractions each
WIDTH = 4 * SUMS  # places for qualities; those that are not used have probability 0
assert N_QUALITIES <= WIDTH
ETA, NOT_ETA, PRODUCT, DENOMINATOR = range(0, 4 * WIDTH, WIDTH)  # where each of them begins in the work array
D0, D1, D2, D3, D4, N0, N1, N2, N3, FRACTION, WORK = range(DENOMINATOR, DENOMINATOR + 11 * SUMS, SUMS)


@kernel(fastmath={"contract"}, error_model="numpy", _nrt=False)
def _find_chances(winner, loser, start, end, score, kept):
    """Keeps σ(gap) and σ(−gap) of some votes."""
    for r in range(start, end):
        odds = exp(min(max(score[loser[r]] - score[winner[r]], -FURTHEST), FURTHEST))
        right = 1 / (1 + odds)
        kept[0, r - start], kept[1, r - start] = right, odds * right


@kernel(fastmath=FAST, error_model="numpy", _nrt=False, forceinline=True)
def _prepare(k, first, step, share, work):
    """The possible qualities of profile k, and their products before any vote."""
    lowest, half_step = (1 + first[k]) / 2, step[k] / 2
    for g in range(share.shape[1]):
        work[ETA + g] = lowest + g * half_step
        work[NOT_ETA + g] = 1 - work[ETA + g]
        work[PRODUCT + g] = share[k, g]


@kernel(fastmath=FAST, error_model="numpy", _nrt=False, forceinline=True)
def _rescale(work):
    """Divides the products by their sum; returns the logarithm of the sum."""
    total = 0.0
    for g in range(WIDTH):
        total += work[PRODUCT + g]
    total = max(total, TINY)
    factor = 1 / total
    for g in range(WIDTH):
        is_small = work[PRODUCT + g] <= NEGLIGIBLE * total
        work[PRODUCT + g] = 0.0 if is_small else work[PRODUCT + g] * factor
    return math.log(total)


@kernel(fastmath=FAST, error_model="numpy", _nrt=False, forceinline=True)
def _multiply(work, right, wrong):
    """Multiplies every quality's product by its factor of one vote."""
    for g in range(WIDTH):
        work[PRODUCT + g] *= work[ETA + g] * right + work[NOT_ETA + g] * wrong


@kernel(fastmath=FAST, error_model="numpy", _nrt=False, forceinline=True)
def _multiply_two(work, right, wrong, next_right, next_wrong):
    """The same with two votes."""
    for g in range(WIDTH):
        eta, not_eta = work[ETA + g], work[NOT_ETA + g]
        work[PRODUCT + g] *= (eta * right + not_eta * wrong) * (eta * next_right + not_eta * next_wrong)


@kernel(error_model="numpy", _nrt=False)
def _add_logs(logs, work, right, wrong, weight):
    """The same for a vote that counts `weight` times, with logarithms."""
    for g in range(WIDTH):
        logs[g] += weight * math.log(work[ETA + g] * right + work[NOT_ETA + g] * wrong + TINY)


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def _multiply_votes(weight, start, end, n_types, work, logs, kept, begin):
    """Multiplies the chances of the votes; minus the log-likelihood. The products become the posterior.

    Those of the first vote are at `begin`.
    """
    value, since, heavy, r = 0.0, 0, False, start
    while r < end:
        at = r - start + begin
        right, wrong, times = kept[0, at], kept[1, at], int(min(weight[r], FEW))
        if weight[r] == 1.0 and r + 1 < end and weight[r + 1] == 1.0:
            _multiply_two(work, right, wrong, kept[0, at + 1], kept[1, at + 1])
            times, r = 2, r + 1
        elif weight[r] == times:
            for _ in range(times):
                _multiply(work, right, wrong)
        else:
            if not heavy:
                logs[:] = 0.0
            _add_logs(logs, work, right, wrong, weight[r])
            heavy, times = True, 0
        since, r = since + times, r + 1
        if since > FACTORS - FEW:
            value -= _rescale(work)
            since = 0
    if heavy:
        # Not of the places that are not used: a vote that counts a million times would make them probable.
        value -= include_logs(work[PRODUCT : PRODUCT + n_types], logs)
    return value - _rescale(work)


@kernel(fastmath=FAST, error_model="numpy", _nrt=False, forceinline=True)
def _find_fractions(work, n_sums):
    """The coefficients of the sums of four fractions: pairs of fractions first, then pairs of these."""
    for q in range(n_sums):
        a, b, c, d = work[ETA + q], work[ETA + SUMS + q], work[ETA + 2 * SUMS + q], work[ETA + 3 * SUMS + q]
        not_a, not_b = work[NOT_ETA + q], work[NOT_ETA + SUMS + q]
        not_c, not_d = work[NOT_ETA + 2 * SUMS + q], work[NOT_ETA + 3 * SUMS + q]
        of_a, of_b = work[PRODUCT + q] * (a - not_a), work[PRODUCT + SUMS + q] * (b - not_b)
        of_c, of_d = work[PRODUCT + 2 * SUMS + q] * (c - not_c), work[PRODUCT + 3 * SUMS + q] * (d - not_d)
        ab0, ab1, ab2 = a * b, a * not_b + not_a * b, not_a * not_b
        cd0, cd1, cd2 = c * d, c * not_d + not_c * d, not_c * not_d
        n_ab0, n_ab1 = of_a * b + of_b * a, of_a * not_b + of_b * not_a
        n_cd0, n_cd1 = of_c * d + of_d * c, of_c * not_d + of_d * not_c
        work[D0 + q], work[D1 + q] = ab0 * cd0, ab0 * cd1 + ab1 * cd0
        work[D2 + q] = ab0 * cd2 + ab1 * cd1 + ab2 * cd0
        work[D3 + q], work[D4 + q] = ab1 * cd2 + ab2 * cd1, ab2 * cd2
        work[N0 + q] = n_ab0 * cd0 + n_cd0 * ab0
        work[N1 + q] = n_ab0 * cd1 + n_ab1 * cd0 + n_cd0 * ab1 + n_cd1 * ab0
        work[N2 + q] = n_ab0 * cd2 + n_ab1 * cd1 + n_cd0 * ab2 + n_cd1 * ab1
        work[N3 + q] = n_ab1 * cd2 + n_cd1 * ab2


@kernel(fastmath=FAST, error_model="numpy", _nrt=False, forceinline=True)
def _sum_of_fractions(work, right, wrong, n_sums):
    """The sum over qualities of p r / (η `right` + (1 − η) `wrong`)."""
    rr, rw, ww = right * right, right * wrong, wrong * wrong
    rrr, rrw, rww, www = rr * right, rr * wrong, right * ww, ww * wrong
    r4, r3w, r2w2, rw3, w4 = rr * rr, rr * rw, rw * rw, rw * ww, ww * ww
    for q in range(n_sums):
        above = work[N0 + q] * rrr + work[N1 + q] * rrw + work[N2 + q] * rww + work[N3 + q] * www
        below = work[D0 + q] * r4 + work[D1 + q] * r3w + work[D2 + q] * r2w2 + work[D3 + q] * rw3 + work[D4 + q] * w4
        work[FRACTION + q] = above / (below + TINY)  # written, not added up: the compiler then computes four at a time
    total = 0.0
    for q in range(SUMS):
        total += work[FRACTION + q]
    return total


@kernel(fastmath=FAST, error_model="numpy", _nrt=False)
def _add_curvatures(weight, start, end, work, kept, begin, gap_curvature, gap_quality):
    """The curvatures of the votes of a profile."""
    mean_rate = 0.0
    for g in range(WIDTH):
        mean_rate += work[PRODUCT + g] * (work[ETA + g] - work[NOT_ETA + g])
    for r in range(start, end):
        right, wrong = kept[0, r - start + begin], kept[1, r - start + begin]
        density, slope, squares, with_rate = right * wrong, 0.0, 0.0, 0.0
        for g in range(WIDTH):
            rate = work[ETA + g] - work[NOT_ETA + g]
            by_gap = rate / (work[ETA + g] * right + work[NOT_ETA + g] * wrong + TINY)
            slope += work[PRODUCT + g] * by_gap
            squares += work[PRODUCT + g] * by_gap * by_gap
            with_rate += work[PRODUCT + g] * by_gap * (rate - mean_rate)
        gap_curvature[r] = weight[r] * density * (density * squares - slope * (wrong - right))
        gap_quality[r] = weight[r] * density * with_rate


@kernel(fastmath=FAST, error_model="numpy", _nrt=False)
def _add_profiles(rows, starts, first, last, score, qualities, order, slopes, posterior, work, logs, kept):
    """`plain_marginal` with arrays to work in; `_nrt=False`: it does not count references to arrays."""
    _, winner, loser, _, weight = rows
    n_types, pulls, value, begin, block_end = posterior.shape[1], slopes.score, 0.0, 0, first
    n_sums = len(logs) // 4
    for k in range(first, last):
        if k == block_end:
            begin, block_end = starts[k], end_of_block(starts, k, last)
            _find_chances(winner, loser, begin, starts[block_end], score, kept)
        start, end = starts[k], starts[k + 1]
        _prepare(k, qualities.first, qualities.step, qualities.share, work)
        value += _multiply_votes(weight, start, end, n_types, work, logs, kept, start - begin)
        for g in range(n_types):
            posterior[k, g] = work[PRODUCT + g]
        if order == VALUE:
            continue
        if order == CURVATURE:
            _add_curvatures(weight, start, end, work, kept, start - begin, slopes.gap_curvature, slopes.gap_quality)
        _find_fractions(work, n_sums)
        for r in range(start, end):
            right, wrong = kept[0, r - begin], kept[1, r - begin]
            kept[0, r - begin] = weight[r] * right * wrong * _sum_of_fractions(work, right, wrong, n_sums)
        for r in range(start, end):  # a loop of its own: what is outside the cache is fetched several at a time
            pulls[winner[r]] -= kept[0, r - begin]
            pulls[loser[r]] += kept[0, r - begin]
    return value


@kernel(error_model="numpy")
def plain_marginal(rows, starts, first, last, score, qualities, order, slopes, posterior):
    """Minus the log-likelihood of profiles `first` to `last`: the logistic link, no ties, no bias.

    Adds the gradient and the curvatures to `slopes`, up to the `order` that is wanted. Writes the posterior of quality.
    """
    work, logs, kept = np.zeros(WORK), np.empty(WIDTH), np.empty((2, votes_in_blocks(starts, first, last)))
    work[ETA:PRODUCT] = 0.5  # also where no quality is: denominators there are not 0
    return _add_profiles(rows, starts, first, last, score, qualities, order, slopes, posterior, work, logs, kept)
