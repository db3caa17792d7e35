"""The likelihood of logistic votes with ties or a bias, with the annotators' quality integrated out; in Numba.

With r = 2η − 1 and C = 2 cosh(κ r d / 2), an annotator ties with the chance τ / (τ + C), and answers with the chance
C / (τ + C) times the mixture of `marginal_kernels`. The sharpness κ is 1 in Davidson's model. Ties are common and this
is computed thousands of times: a vote needs one division for each possible quality. The first pass keeps the
derivatives for the second.

The loops over qualities have a length that the compiler knows, and what they use stands in one array: so it knows that
nothing overlaps, and computes four qualities at a time. Functions with arrays are inlined by the compiler
(`forceinline`), and do not count references to their arrays (`_nrt=False`): a vote takes a fifth less time.
"""

from __future__ import annotations

import math

import numpy as np

from crowdrank.convert import TIED, WON_RIGHT
from crowdrank.methods.pairs.votes.kernels import FURTHEST, TINY
from crowdrank.methods.pairs.votes.marginal_kernels import (
    CURVATURE,
    FACTORS,
    FAST,
    FEW,
    NEGLIGIBLE,
    VALUE,
    answer_terms,
    end_of_block,
    include_logs,
    mean_rate,
    votes_in_blocks,
)
from crowdrank.methods.verdicts import N_QUALITIES
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.vector_exp import exp

WIDEST = 240.0  # gap: e¹²⁰ to the power of 4 r does not overflow, also for the r of places that are not used
KEPT = 512  # votes of a profile whose terms are kept for the second pass; more would not stay close to the processor
WIDTH = math.ceil(N_QUALITIES / 4) * 4  # places for qualities; those that are not used have probability 0
ETA, NOT_ETA, HALF_RATE, PRODUCT, FACTOR, UP = range(0, 6 * WIDTH, WIDTH)  # where each of them begins
# What is computed for a block of votes: powers; chances of an answer if the annotator is always right, or always wrong,
# and how these rise and fall with the gap.
LOWEST, RATIO, RIGHT, WRONG, RISES, FALLS = range(6)


@kernel(fastmath=FAST, error_model="numpy", inline="always")
def _tie(up, half_rate, tau):
    """The chance of a tie, and the derivatives of its logarithm by the gap and by log τ; `up` is e^(κ r gap / 2)."""
    square = up * up  # C is (square + 1) / up
    rest = 1 / (tau * up + square + 1)
    return tau * up * rest, (1 - square) * half_rate * rest, (square + 1) * rest


@kernel(fastmath=FAST, error_model="numpy", inline="always")
def _answer_or_tie(up, half_rate, tau, answer, lead):
    """The same of an answer where ties are possible; `answer` is its chance where they are not, `lead` the slope."""
    cosh = up * up + 1  # times up, as all of these
    over = tau * up + cosh
    share = 1 / ((answer + TINY) * cosh * over)  # the only division
    tied = tau * up * answer * share
    factor, by_gap = answer * cosh * answer * cosh * share, lead * cosh * over * share
    return factor, by_gap + tied * (cosh - 2) * half_rate, -tied * cosh


@kernel(error_model="numpy", _nrt=False)
def _find_exponents(rows, start, end, score, bias, qualities, votes):
    """Of some votes: the exponents of the powers and of the odds."""
    profile, winner, loser, kind, _ = rows
    for r in range(start, end):
        k, gap, shift = profile[r], score[winner[r]] - score[loser[r]], 0.0
        if len(bias):
            shift = -bias[k] if kind[r] == WON_RIGHT else bias[k]
        half = min(max(qualities.tie_sharpness * gap, -WIDEST), WIDEST) / 2
        votes[LOWEST, r - start], votes[RATIO, r - start] = qualities.first[k] * half, qualities.step[k] * half
        votes[RIGHT, r - start] = min(max(-gap - shift, -FURTHEST), FURTHEST)
        votes[WRONG, r - start] = min(max(gap - shift, -FURTHEST), FURTHEST)


@kernel(fastmath={"contract"}, error_model="numpy", _nrt=False)
def _find_powers_and_chances(count, votes):
    """What `votes` has, from the exponents."""
    for i in range(count):
        votes[LOWEST, i], votes[RATIO, i] = exp(votes[LOWEST, i]), exp(votes[RATIO, i])
        for_right, for_wrong = exp(votes[RIGHT, i]), exp(votes[WRONG, i])
        right, wrong = 1 / (1 + for_right), 1 / (1 + for_wrong)
        votes[RIGHT, i], votes[RISES, i] = right, right * right * for_right
        votes[WRONG, i], votes[FALLS, i] = wrong, wrong * wrong * for_wrong


@kernel(fastmath=FAST, error_model="numpy", _nrt=False, forceinline=True)
def _find_powers(lowest, ratio, work):
    """e^(κ r gap / 2) for every r: four of them, and then as many more as there are, by one factor."""
    ratio_2 = ratio * ratio
    ratio_4 = ratio_2 * ratio_2
    ratio_8 = ratio_4 * ratio_4
    work[UP], work[UP + 1] = lowest, lowest * ratio
    work[UP + 2], work[UP + 3] = lowest * ratio_2, lowest * ratio * ratio_2
    for g in range(4):
        work[UP + 4 + g] = work[UP + g] * ratio_4
    for g in range(8):
        work[UP + 8 + g] = work[UP + g] * ratio_8
    for g in range(WIDTH - 16):
        work[UP + 16 + g] = work[UP + g] * ratio_8 * ratio_8


@kernel(fastmath=FAST, error_model="numpy", _nrt=False)
def _bias_slopes(rows, start, end, n_types, work, votes, begin):
    """The gradient of some votes by the bias."""
    _, _, _, kind, weight = rows
    by_bias = 0.0
    for r in range(start, end):
        if kind[r] == TIED:
            continue
        z, slope = -1.0 if kind[r] == WON_RIGHT else 1.0, 0.0
        for g in range(n_types):
            towards = work[ETA + g] * votes[RISES, r - begin] + work[NOT_ETA + g] * votes[FALLS, r - begin]
            chance = work[ETA + g] * votes[RIGHT, r - begin] + work[NOT_ETA + g] * votes[WRONG, r - begin]
            slope += work[PRODUCT + g] * towards / (chance + TINY)
        by_bias -= weight[r] * z * slope
    return by_bias


@kernel(fastmath=FAST, error_model="numpy", _nrt=False)
def _tie_curvatures(tau, tied, mean_rate, n_types, work):
    """Of the log-chance of a tie, or of none: curvatures by gap and log τ; the covariance of the slope with r."""
    gap_curve, ties_curve, with_rate = 0.0, 0.0, 0.0
    for g in range(n_types):
        up, half_rate, share = work[UP + g], work[HALF_RATE + g], work[PRODUCT + g]
        cosh, sinh = up + 1 / up, (up - 1 / up) * half_rate
        rest = 1 / (tau + cosh)
        tie, lead = tau * rest, sinh * rest
        slope = -lead if tied else lead * tau / cosh
        with_rate += share * slope * (work[ETA + g] - work[NOT_ETA + g] - mean_rate)
        second = half_rate * half_rate  # C″ / C
        gap_curve += share * (second * cosh * rest - lead * lead)
        if not tied:
            gap_curve -= share * (second - (sinh / cosh) ** 2)
        ties_curve += share * tie * (1 - tie)
    return gap_curve, ties_curve, with_rate


@kernel(error_model="numpy")
def _add_curvatures(k, rows, starts, score, tau, bias, n_types, work, votes, begin, slopes):
    """The curvatures of the votes of profile k."""
    _, winner, loser, kind, weight = rows
    eta, not_eta = work[ETA : ETA + n_types], work[NOT_ETA : NOT_ETA + n_types]
    product = work[PRODUCT : PRODUCT + n_types]
    rate = mean_rate(product, eta, not_eta, np.empty(n_types))
    for r in range(starts[k], starts[k + 1]):
        gap, tied, z = score[winner[r]] - score[loser[r]], kind[r] == TIED, -1.0 if kind[r] == WON_RIGHT else 1.0
        gap_curve, bias_curve, with_rate = 0.0, 0.0, 0.0
        if not tied:
            terms = answer_terms(product, eta, not_eta, gap, z * bias, z, 0.0, False, False, rate, True)
            gap_curve, bias_curve, with_rate = terms[3], terms[5], terms[6]
        if tau > 0:
            _find_powers(votes[LOWEST, r - begin], votes[RATIO, r - begin], work)
            of_tie = _tie_curvatures(tau, tied, rate, n_types, work)
            gap_curve += of_tie[0]
            with_rate += of_tie[2]
            slopes.ties_curvature[k] += weight[r] * of_tie[1]
        slopes.gap_curvature[r], slopes.gap_quality[r] = weight[r] * gap_curve, weight[r] * with_rate
        if len(slopes.bias):
            slopes.bias_curvature[k] += weight[r] * bias_curve


@kernel(fastmath=FAST, error_model="numpy", _nrt=False, forceinline=True)
def _find_factors(tied, tau, work, votes, vote):
    """For every quality: the chance of a vote."""
    _find_powers(votes[LOWEST, vote], votes[RATIO, vote], work)
    if tied:
        for g in range(WIDTH):
            up = work[UP + g]
            rest = 1 / (tau * up + up * up + 1)
            work[FACTOR + g] = tau * up * rest
    else:
        right, wrong = votes[RIGHT, vote], votes[WRONG, vote]
        for g in range(WIDTH):
            up = work[UP + g]
            cosh = up * up + 1
            rest = 1 / (tau * up + cosh)
            work[FACTOR + g] = (work[ETA + g] * right + work[NOT_ETA + g] * wrong) * cosh * rest


@kernel(fastmath=FAST, error_model="numpy", _nrt=False, forceinline=True)
def _find_terms(tied, tau, work, votes, vote, kept, row):
    """The same, with the derivatives of its logarithm by the gap and by log τ."""
    _find_powers(votes[LOWEST, vote], votes[RATIO, vote], work)
    if tied:
        for g in range(WIDTH):
            terms = _tie(work[UP + g], work[HALF_RATE + g], tau)
            work[FACTOR + g], kept[row, 0, g], kept[row, 1, g] = terms
    else:
        right, wrong, rises, falls = votes[RIGHT, vote], votes[WRONG, vote], votes[RISES, vote], votes[FALLS, vote]
        for g in range(WIDTH):
            answer = work[ETA + g] * right + work[NOT_ETA + g] * wrong
            lead = work[ETA + g] * rises - work[NOT_ETA + g] * falls
            terms = _answer_or_tie(work[UP + g], work[HALF_RATE + g], tau, answer, lead)
            work[FACTOR + g], kept[row, 0, g], kept[row, 1, g] = terms


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def _find_wanted(order, tied, tau, work, votes, vote, kept, row):
    """The chances of a vote, and the derivatives if they are wanted."""
    if order == VALUE:
        _find_factors(tied, tau, work, votes, vote)
    else:
        _find_terms(tied, tau, work, votes, vote, kept, row)


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
def _multiply_votes(rows, start, end, tau, n_types, work, votes, begin, kept, logs, order):
    """Multiplies the chances of the votes; minus their log-likelihood. The products become the posterior."""
    _, _, _, kind, weight = rows
    value, since, heavy = 0.0, 0, False
    for r in range(start, end):
        row, times = r - start if end - start <= KEPT else 0, int(min(weight[r], FEW))
        _find_wanted(order, kind[r] == TIED, tau, work, votes, r - begin, kept, row)
        if weight[r] == 1.0:  # the usual one; a loop would take longer than the products
            for g in range(WIDTH):
                work[PRODUCT + g] *= work[FACTOR + g]
        elif weight[r] == times:
            for _ in range(times):
                for g in range(WIDTH):
                    work[PRODUCT + g] *= work[FACTOR + g]
        else:
            heavy, times = True, 0
            for g in range(WIDTH):
                logs[g] += weight[r] * math.log(work[FACTOR + g] + TINY)
        since += 2 * times  # a tie across a wide gap is less probable than any answer
        if since > FACTORS - FEW:
            value -= _rescale(work)
            since = 0
    if heavy:
        # Not of the places that are not used: a vote that counts a million times would make them probable.
        value -= include_logs(work[PRODUCT : PRODUCT + n_types], logs)
    return value - _rescale(work)


@kernel(fastmath=FAST, error_model="numpy", _nrt=False, forceinline=True)
def _add_slopes(rows, start, end, tau, work, votes, begin, kept, pulls):
    """Adds the gradient of the votes by the scores; that by log τ."""
    _, winner, loser, kind, weight = rows
    by_ties = 0.0
    for r in range(start, end):
        row = r - start if end - start <= KEPT else 0
        if end - start > KEPT:  # nothing was kept
            _find_terms(kind[r] == TIED, tau, work, votes, r - begin, kept, row)
        gap_slope, ties_slope = 0.0, 0.0
        for g in range(WIDTH):
            gap_slope += work[PRODUCT + g] * kept[row, 0, g]
            ties_slope += work[PRODUCT + g] * kept[row, 1, g]
        pulls[winner[r]] -= weight[r] * gap_slope
        pulls[loser[r]] += weight[r] * gap_slope
        by_ties -= weight[r] * ties_slope
    return by_ties


@kernel(fastmath=FAST, error_model="numpy")
def davidson_marginal(rows, starts, first, last, score, ties, bias, qualities, order, slopes, posterior):
    """`plain_marginal` with ties (log thresholds) or biases; `ties` or `bias` may be empty."""
    n_types, value, work, logs = qualities.share.shape[1], 0.0, np.empty(6 * WIDTH), np.empty(WIDTH)
    kept = np.empty((min(np.diff(starts[first : last + 1]).max(), KEPT), 2, WIDTH))
    votes, begin, block_end = np.empty((6, votes_in_blocks(starts, first, last))), 0, first
    for k in range(first, last):
        if k == block_end:
            begin, block_end = starts[k], end_of_block(starts, k, last)
            _find_exponents(rows, begin, starts[block_end], score, bias, qualities, votes)
            _find_powers_and_chances(starts[block_end] - begin, votes)
        start, end = starts[k], starts[k + 1]
        tau, b = math.exp(ties[k]) if len(ties) else 0.0, bias[k] if len(bias) else 0.0
        for g in range(WIDTH):
            rate = qualities.first[k] + g * qualities.step[k] if g < n_types else 0.0
            work[ETA + g], work[NOT_ETA + g] = (1 + rate) / 2, (1 - rate) / 2
            work[HALF_RATE + g] = qualities.tie_sharpness * rate / 2
            work[PRODUCT + g] = qualities.share[k, g] if g < n_types else 0.0
            logs[g] = 0.0
        value += _multiply_votes(rows, start, end, tau, n_types, work, votes, begin, kept, logs, order)
        for g in range(n_types):
            posterior[k, g] = work[PRODUCT + g]
        if order == VALUE:
            continue
        by_ties = _add_slopes(rows, start, end, tau, work, votes, begin, kept, slopes.score)
        if len(ties):
            slopes.ties[k] += by_ties
        if len(bias):
            slopes.bias[k] += _bias_slopes(rows, start, end, n_types, work, votes, begin)
        if order == CURVATURE:
            _add_curvatures(k, rows, starts, score, tau, b, n_types, work, votes, begin, slopes)
    return value
