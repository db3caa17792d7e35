"""The likelihood of logistic votes with ties or a bias, with the annotators' quality integrated out; in Numba.

With r = 2η − 1 and C = 2 cosh(r d / 2), an annotator ties with the chance τ / (τ + C), and answers with the chance
C / (τ + C) times the mixture of `marginal_kernels`. Ties are common and this is computed thousands of times: a vote
needs one division for each possible quality in each of the two passes, and the second pass takes C from the first.
"""

from __future__ import annotations

import math

import numpy as np

from crowdrank.convert import TIED, WON_RIGHT
from crowdrank.methods.pairs.votes.kernels import TINY
from crowdrank.methods.pairs.votes.marginal_kernels import (
    FACTORS,
    FAST,
    answer_terms,
    chances,
    include_logs,
    mean_rate,
    prepare,
    rescale,
)
from crowdrank.numerics.compiled import kernel

WIDEST = 300.0  # gap: e¹⁵⁰ squared does not overflow
KEPT = 256  # votes of a profile whose C is kept for the second pass: as many as stay close to the processor


@kernel(fastmath=FAST, error_model="numpy")
def _hyperbolic(gap, first, step, cosh, sinh):
    """For every r: C = 2 cosh(r gap / 2), and its derivative by the gap.

    Exponentials are by recurrence, in four sequences that the processor computes at the same time.
    """
    half = min(max(gap, -WIDEST), WIDEST) / 2
    up, up_step = math.exp(first * half), math.exp(step * half)
    down, down_step = 1 / up, 1 / up_step
    up_1, up_2, up_3 = up * up_step, up * up_step**2, up * up_step**3
    down_1, down_2, down_3 = down * down_step, down * down_step**2, down * down_step**3
    up_4, down_4 = up_step**4, down_step**4
    whole = len(cosh) - len(cosh) % 4
    for g in range(0, whole, 4):
        cosh[g], cosh[g + 1], cosh[g + 2], cosh[g + 3] = up + down, up_1 + down_1, up_2 + down_2, up_3 + down_3
        sinh[g], sinh[g + 1], sinh[g + 2], sinh[g + 3] = up - down, up_1 - down_1, up_2 - down_2, up_3 - down_3
        up, up_1, up_2, up_3 = up * up_4, up_1 * up_4, up_2 * up_4, up_3 * up_4
        down, down_1, down_2, down_3 = down * down_4, down_1 * down_4, down_2 * down_4, down_3 * down_4
    for g in range(whole, len(cosh)):
        cosh[g], sinh[g] = up + down, up - down
        up, down = up * up_step, down * down_step
    for g in range(len(cosh)):
        sinh[g] *= (first + g * step) / 2


@kernel(fastmath=FAST, error_model="numpy")
def _factors(eta, not_eta, right, wrong, tau, tied, cosh, factor):
    """The chance of the vote for every quality."""
    if tied:
        for g in range(len(factor)):
            factor[g] = tau / (tau + cosh[g])
    elif tau > 0:
        for g in range(len(factor)):
            factor[g] = (eta[g] * right + not_eta[g] * wrong) * cosh[g] / (tau + cosh[g])
    else:
        for g in range(len(factor)):
            factor[g] = eta[g] * right + not_eta[g] * wrong


@kernel(fastmath=FAST, error_model="numpy")
def _multiply_by(product, factor):
    for g in range(len(product)):
        product[g] *= factor[g]


@kernel(error_model="numpy")
def _products(rows, start, end, score, tau, bias, r_first, r_step, eta, not_eta, logs, product, factor, kept):
    """Multiplies the chances of the votes; minus the log-likelihood. The products become the posterior."""
    _, winner, loser, kind, weight = rows
    value, since, heavy = 0.0, 0, False
    for r in range(start, end):
        gap, tied = score[winner[r]] - score[loser[r]], kind[r] == TIED
        right, wrong = chances(gap)
        if bias != 0.0:
            shift = -bias if kind[r] == WON_RIGHT else bias
            right, wrong = chances(gap + shift)[0], chances(-gap + shift)[0]
        cosh, sinh = kept[0, min(r - start, KEPT)], kept[1, min(r - start, KEPT)]
        if tau > 0:
            _hyperbolic(gap, r_first, r_step, cosh, sinh)
        _factors(eta, not_eta, right, wrong, tau, tied, cosh, factor)
        if weight[r] == 1.0:
            _multiply_by(product, factor)
        else:
            heavy = True
            for g in range(len(logs)):
                logs[g] += weight[r] * math.log(factor[g] + TINY)
        since += 2
        if since >= FACTORS:
            value -= rescale(product)
            since = 0
    if heavy:
        value -= include_logs(product, logs)
    return value - rescale(product)


@kernel(fastmath=FAST, error_model="numpy")
def _tied_slopes(product, tau, cosh, sinh):
    """The derivatives of the log-chance of a tie by the gap and log τ."""
    by_gap, others = 0.0, 0.0
    for g in range(len(product)):
        share = product[g] / (tau + cosh[g])
        by_gap -= share * sinh[g]
        others += share * cosh[g]
    return by_gap, others


@kernel(fastmath=FAST, error_model="numpy")
def _decided_slopes(product, eta, not_eta, right, wrong, right_density, wrong_density, tau, cosh, sinh):
    """The derivatives of the log-chance of an answer by the gap, log τ and the bias (as if shown on the left)."""
    by_gap, by_ties, by_bias = 0.0, 0.0, 0.0
    for g in range(len(product)):
        mixture, over = eta[g] * right + not_eta[g] * wrong, tau + cosh[g]
        share = product[g] / (mixture * cosh[g] * over + TINY)
        up, down = eta[g] * right_density, not_eta[g] * wrong_density
        answered = share * cosh[g] * over
        by_gap += answered * (up - down) + share * mixture * tau * sinh[g]
        by_bias += answered * (up + down)
        by_ties -= share * mixture * tau * cosh[g]
    return by_gap, by_ties, by_bias


@kernel(fastmath=FAST, error_model="numpy")
def _tie_curvatures(product, eta, not_eta, tau, tied, rate, cosh, sinh):
    """Of the log-chance of a tie, or of none: curvatures by gap and log τ; the covariance of the slope with r."""
    gap_curve, ties_curve, with_rate = 0.0, 0.0, 0.0
    for g in range(len(product)):
        share, rest = product[g], 1 / (tau + cosh[g])
        tie, lead = tau * rest, sinh[g] * rest
        slope = -lead if tied else lead * tau / cosh[g]
        with_rate += share * slope * (eta[g] - not_eta[g] - rate)
        second = (eta[g] - 0.5) ** 2  # C″ / C
        gap_curve += share * (second * cosh[g] * rest - lead * lead)
        if not tied:
            gap_curve -= share * (second - (sinh[g] / cosh[g]) ** 2)
        ties_curve += share * tie * (1 - tie)
    return gap_curve, ties_curve, with_rate


@kernel(error_model="numpy")
def _curvatures(product, eta, not_eta, gap, shift, z, tau, tied, rate, cosh, sinh):
    """Curvatures of a vote by gap, log τ and bias; the covariance of its slope by the gap with r."""
    gap_curve, ties_curve, bias_curve, with_rate = 0.0, 0.0, 0.0, 0.0
    if not tied:
        terms = answer_terms(product, eta, not_eta, gap, shift, z, 0.0, False, False, rate, True)
        gap_curve, bias_curve, with_rate = terms[3], terms[5], terms[6]
    if tau > 0:
        of_tie = _tie_curvatures(product, eta, not_eta, tau, tied, rate, cosh, sinh)
        gap_curve += of_tie[0]
        ties_curve += of_tie[1]
        with_rate += of_tie[2]
    return gap_curve, ties_curve, bias_curve, with_rate


@kernel(error_model="numpy")
def davidson_marginal(rows, starts, first, last, score, ties, bias, qualities, curved, slopes, posterior):
    """`plain_marginal` with ties (log thresholds) or biases; `ties` or `bias` may be empty."""
    _, winner, loser, kind, weight = rows
    n_types = qualities.share.shape[1]
    eta, not_eta, logs, factor, value = np.empty(n_types), np.empty(n_types), np.empty(n_types), np.empty(n_types), 0.0
    kept = np.ones((2, min(np.diff(starts[first : last + 1]).max(), KEPT) + 1, n_types))
    for k in range(first, last):
        tau = math.exp(ties[k]) if len(ties) else 0.0
        b = bias[k] if len(bias) else 0.0
        r_first, r_step, product = qualities.first[k], qualities.step[k], posterior[k]
        prepare(k, qualities, eta, not_eta, logs, product)
        of_profile = (score, tau, b, r_first, r_step, eta, not_eta, logs, product, factor, kept)
        value += _products(rows, starts[k], starts[k + 1], *of_profile)
        rate = mean_rate(product, eta, not_eta)
        for r in range(starts[k], starts[k + 1]):
            gap, tied = score[winner[r]] - score[loser[r]], kind[r] == TIED
            z = -1.0 if kind[r] == WON_RIGHT else 1.0
            cosh, sinh = kept[0, min(r - starts[k], KEPT)], kept[1, min(r - starts[k], KEPT)]
            if tau > 0 and r - starts[k] >= KEPT:
                _hyperbolic(gap, r_first, r_step, cosh, sinh)
            if tied:
                by_gap, by_ties = _tied_slopes(product, tau, cosh, sinh)
                by_bias = 0.0
            else:
                right, not_right = chances(gap + z * b)
                wrong, not_wrong = chances(-gap + z * b)
                densities = right * not_right, wrong * not_wrong
                by_gap, by_ties, by_bias = _decided_slopes(
                    product, eta, not_eta, right, wrong, *densities, tau, cosh, sinh
                )
            slopes.score[winner[r]] -= weight[r] * by_gap
            slopes.score[loser[r]] += weight[r] * by_gap
            if len(ties):
                slopes.ties[k] -= weight[r] * by_ties
            if len(bias):
                slopes.bias[k] -= weight[r] * z * by_bias
            if curved:
                gap_curve, ties_curve, bias_curve, with_rate = _curvatures(
                    product, eta, not_eta, gap, z * b, z, tau, tied, rate, cosh, sinh
                )
                slopes.gap_curvature[r], slopes.gap_quality[r] = weight[r] * gap_curve, weight[r] * with_rate
                if len(ties):
                    slopes.ties_curvature[k] += weight[r] * ties_curve
                if len(bias):
                    slopes.bias_curvature[k] += weight[r] * bias_curve
    return value
