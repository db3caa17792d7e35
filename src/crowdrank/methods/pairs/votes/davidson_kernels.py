"""The likelihood of logistic votes with ties or a bias, with the annotators' quality integrated out; in Numba.

With r = 2η − 1 and C = 2 cosh(r d / 2), an annotator ties with the chance τ / (τ + C), and answers with the chance
C / (τ + C) times the mixture of `marginal_kernels`. Ties are common and this is computed thousands of times: a vote
needs one division for each possible quality. The first pass keeps the derivatives for the second.

The loops over qualities have a length that the compiler knows, and what they use stands in one array: so it knows that
nothing overlaps, and computes four qualities at a time. Functions with arrays are inlined by the compiler
(`forceinline`): Numba itself would count references to their arrays in every call.
"""

from __future__ import annotations

import math

import numpy as np

from crowdrank.convert import TIED, WON_RIGHT
from crowdrank.methods.pairs.votes.kernels import TINY
from crowdrank.methods.pairs.votes.marginal_kernels import (
    FACTORS,
    FAST,
    FEW,
    NEGLIGIBLE,
    answer_terms,
    chances,
    include_logs,
    mean_rate,
)
from crowdrank.methods.verdicts import N_QUALITIES
from crowdrank.numerics.compiled import kernel

WIDEST = 240.0  # gap: e¹²⁰ to the power of 4 r does not overflow, also for the r of places that are not used
KEPT = 512  # votes of a profile whose terms are kept for the second pass; more would not stay close to the processor
WIDTH = math.ceil(N_QUALITIES / 4) * 4  # places for qualities; those that are not used have probability 0
ETA, NOT_ETA, HALF_RATE, PRODUCT, FACTOR, UP = range(0, 6 * WIDTH, WIDTH)  # where each of them begins


@kernel(fastmath=FAST, error_model="numpy", inline="always")
def _tie(up, half_rate, tau):
    """The chance of a tie, and the derivatives of its logarithm by the gap and by log τ; `up` is e^(r gap / 2)."""
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


@kernel(error_model="numpy", inline="always")
def _answer_chances(gap, shift):
    """The chances of an answer if the annotator is always right, or always wrong, and their derivatives."""
    right, not_right = chances(gap + shift)
    if shift == 0.0:
        return right, not_right, right * not_right, right * not_right
    wrong, not_wrong = chances(-gap + shift)
    return right, wrong, right * not_right, wrong * not_wrong


@kernel(fastmath=FAST, error_model="numpy", forceinline=True)
def _find_powers(gap, first, step, work):
    """e^(r gap / 2) for every r, by recurrence, in four sequences that the processor computes at the same time."""
    half = min(max(gap, -WIDEST), WIDEST) / 2
    one, by = math.exp(first * half), math.exp(step * half)
    two, three, four, by_4 = one * by, one * by * by, one * by * by * by, by * by * by * by
    for g in range(0, WIDTH, 4):
        work[UP + g], work[UP + g + 1], work[UP + g + 2], work[UP + g + 3] = one, two, three, four
        one, two, three, four = one * by_4, two * by_4, three * by_4, four * by_4


@kernel(fastmath=FAST, error_model="numpy")
def _bias_slopes(rows, start, end, score, bias, n_types, work):
    """The gradient of some votes by the bias."""
    _, winner, loser, kind, weight = rows
    by_bias = 0.0
    for r in range(start, end):
        if kind[r] == TIED:
            continue
        z = -1.0 if kind[r] == WON_RIGHT else 1.0
        right, wrong, right_density, wrong_density = _answer_chances(score[winner[r]] - score[loser[r]], z * bias)
        slope = 0.0
        for g in range(n_types):
            towards = work[ETA + g] * right_density + work[NOT_ETA + g] * wrong_density
            slope += work[PRODUCT + g] * towards / (work[ETA + g] * right + work[NOT_ETA + g] * wrong + TINY)
        by_bias -= weight[r] * z * slope
    return by_bias


@kernel(fastmath=FAST, error_model="numpy")
def _tie_curvatures(tau, tied, mean_rate, n_types, work):
    """Of the log-chance of a tie, or of none: curvatures by gap and log τ; the covariance of the slope with r."""
    gap_curve, ties_curve, with_rate = 0.0, 0.0, 0.0
    for g in range(n_types):
        up, half_rate, share = work[UP + g], work[HALF_RATE + g], work[PRODUCT + g]
        cosh, sinh = up + 1 / up, (up - 1 / up) * half_rate
        rest = 1 / (tau + cosh)
        tie, lead = tau * rest, sinh * rest
        slope = -lead if tied else lead * tau / cosh
        with_rate += share * slope * (2 * half_rate - mean_rate)
        second = half_rate * half_rate  # C″ / C
        gap_curve += share * (second * cosh * rest - lead * lead)
        if not tied:
            gap_curve -= share * (second - (sinh / cosh) ** 2)
        ties_curve += share * tie * (1 - tie)
    return gap_curve, ties_curve, with_rate


@kernel(error_model="numpy")
def _add_curvatures(k, rows, starts, score, of_profile, n_types, work, slopes):
    """The curvatures of the votes of profile k."""
    _, winner, loser, kind, weight = rows
    tau, bias, first, step = of_profile
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
            _find_powers(gap, first, step, work)
            of_tie = _tie_curvatures(tau, tied, rate, n_types, work)
            gap_curve += of_tie[0]
            with_rate += of_tie[2]
            slopes.ties_curvature[k] += weight[r] * of_tie[1]
        slopes.gap_curvature[r], slopes.gap_quality[r] = weight[r] * gap_curve, weight[r] * with_rate
        if len(slopes.bias):
            slopes.bias_curvature[k] += weight[r] * bias_curve


@kernel(fastmath=FAST, error_model="numpy", forceinline=True)
def _find_terms(gap, kind, of_profile, work, kept, row):
    """For every quality: the chance of a vote, and the derivatives of its logarithm by the gap and by log τ."""
    tau, bias, first, step = of_profile
    _find_powers(gap if tau > 0 else 0.0, first, step, work)
    if kind == TIED:
        for g in range(WIDTH):
            terms = _tie(work[UP + g], work[HALF_RATE + g], tau)
            work[FACTOR + g], kept[row, 0, g], kept[row, 1, g] = terms
    else:
        right, wrong, rises, falls = _answer_chances(gap, -bias if kind == WON_RIGHT else bias)
        for g in range(WIDTH):
            answer = work[ETA + g] * right + work[NOT_ETA + g] * wrong
            lead = work[ETA + g] * rises - work[NOT_ETA + g] * falls
            terms = _answer_or_tie(work[UP + g], work[HALF_RATE + g], tau, answer, lead)
            work[FACTOR + g], kept[row, 0, g], kept[row, 1, g] = terms


@kernel(fastmath=FAST, error_model="numpy", forceinline=True)
def _rescale(work):
    """Divides the products by their sum; returns the logarithm of the sum."""
    total = 0.0
    for g in range(WIDTH):
        total += work[PRODUCT + g]
    total = max(total, TINY)
    for g in range(WIDTH):
        is_small = work[PRODUCT + g] <= NEGLIGIBLE * total
        work[PRODUCT + g] = 0.0 if is_small else work[PRODUCT + g] / total
    return math.log(total)


@kernel(fastmath=FAST, error_model="numpy", forceinline=True)
def _multiply_votes(rows, start, end, score, of_profile, work, kept, logs):
    """Multiplies the chances of the votes; minus their log-likelihood. The products become the posterior."""
    _, winner, loser, kind, weight = rows
    value, since, heavy = 0.0, 0, False
    for r in range(start, end):
        row, times = r - start if end - start <= KEPT else 0, int(min(weight[r], FEW))
        _find_terms(score[winner[r]] - score[loser[r]], kind[r], of_profile, work, kept, row)
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
        value -= include_logs(work[PRODUCT:FACTOR], logs)
    return value - _rescale(work)


@kernel(fastmath=FAST, error_model="numpy", forceinline=True)
def _add_slopes(rows, start, end, score, of_profile, work, kept, pulls):
    """Adds the gradient of the votes by the scores; that by log τ."""
    _, winner, loser, kind, weight = rows
    by_ties = 0.0
    for r in range(start, end):
        row = r - start if end - start <= KEPT else 0
        if end - start > KEPT:  # nothing was kept
            _find_terms(score[winner[r]] - score[loser[r]], kind[r], of_profile, work, kept, row)
        gap_slope, ties_slope = 0.0, 0.0
        for g in range(WIDTH):
            gap_slope += work[PRODUCT + g] * kept[row, 0, g]
            ties_slope += work[PRODUCT + g] * kept[row, 1, g]
        pulls[winner[r]] -= weight[r] * gap_slope
        pulls[loser[r]] += weight[r] * gap_slope
        by_ties -= weight[r] * ties_slope
    return by_ties


@kernel(fastmath=FAST, error_model="numpy")
def davidson_marginal(rows, starts, first, last, score, ties, bias, qualities, curved, slopes, posterior):
    """`plain_marginal` with ties (log thresholds) or biases; `ties` or `bias` may be empty."""
    n_types, value, work, logs = qualities.share.shape[1], 0.0, np.empty(6 * WIDTH), np.empty(WIDTH)
    kept = np.empty((min(np.diff(starts[first : last + 1]).max(), KEPT), 2, WIDTH))
    for k in range(first, last):
        start, end = starts[k], starts[k + 1]
        tau, b = math.exp(ties[k]) if len(ties) else 0.0, bias[k] if len(bias) else 0.0
        of_profile = tau, b, qualities.first[k], qualities.step[k]
        for g in range(WIDTH):
            rate = qualities.first[k] + g * qualities.step[k] if g < n_types else 0.0
            work[ETA + g], work[NOT_ETA + g], work[HALF_RATE + g] = (1 + rate) / 2, (1 - rate) / 2, rate / 2
            work[PRODUCT + g] = qualities.share[k, g] if g < n_types else 0.0
            logs[g] = 0.0
        value += _multiply_votes(rows, start, end, score, of_profile, work, kept, logs)
        by_ties = _add_slopes(rows, start, end, score, of_profile, work, kept, slopes.score)
        for g in range(n_types):
            posterior[k, g] = work[PRODUCT + g]
        if len(ties):
            slopes.ties[k] += by_ties
        if len(bias):
            slopes.bias[k] += _bias_slopes(rows, start, end, score, b, n_types, work)
        if curved:
            _add_curvatures(k, rows, starts, score, of_profile, n_types, work, slopes)
    return value
