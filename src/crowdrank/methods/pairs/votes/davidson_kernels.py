"""The likelihood of logistic votes with ties or a bias, with the annotators' quality integrated out; in Numba.

With r = 2η − 1 and C = 2 cosh(r d / 2), an annotator ties with the chance τ / (τ + C), and answers with the chance
C / (τ + C) times the mixture of `marginal_kernels`. Ties are common and this is computed thousands of times: a vote
needs one division for each possible quality. The first pass keeps the derivatives for the second.
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
    answer_terms,
    chances,
    include_logs,
    keep_posterior,
    mean_rate,
    prepare,
    rescale,
)
from crowdrank.numerics.compiled import kernel

WIDEST = 300.0  # gap: e¹⁵⁰ squared does not overflow
KEPT = 512  # votes whose terms are computed together, and kept for the second pass: they stay close to the processor


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
def _tie_terms(tau, cosh, sinh, factor, by_gap, by_ties, row):
    """For every quality: the chance of a tie, and the derivatives of its logarithm by the gap and by log τ."""
    for g in range(factor.shape[1]):
        rest = 1 / (tau + cosh[g])
        factor[row, g] = tau * rest
        by_gap[row, g] = -sinh[g] * rest
        by_ties[row, g] = cosh[g] * rest


@kernel(fastmath=FAST, error_model="numpy")
def _answer_or_tie_terms(eta, not_eta, right, wrong, densities, tau, cosh, sinh, factor, by_gap, by_ties, row):
    """The same of an answer where ties are possible."""
    right_density, wrong_density = densities
    for g in range(factor.shape[1]):
        answer, over = eta[g] * right + not_eta[g] * wrong, tau + cosh[g]
        share = 1 / ((answer + TINY) * cosh[g] * over)  # the only division
        lead = eta[g] * right_density - not_eta[g] * wrong_density
        tied = tau * answer * share
        factor[row, g] = answer * cosh[g] * answer * cosh[g] * share
        by_gap[row, g] = lead * cosh[g] * over * share + tied * sinh[g]
        by_ties[row, g] = -tied * cosh[g]


@kernel(fastmath=FAST, error_model="numpy")
def _answer_terms(eta, not_eta, right, wrong, densities, factor, by_gap, row):
    """The same of an answer where no ties are possible."""
    right_density, wrong_density = densities
    for g in range(factor.shape[1]):
        factor[row, g] = eta[g] * right + not_eta[g] * wrong
        by_gap[row, g] = (eta[g] * right_density - not_eta[g] * wrong_density) / (factor[row, g] + TINY)


@kernel(error_model="numpy")
def _answer_chances(gap, shift):
    """The chances of an answer if the annotator is always right, or always wrong, and their derivatives."""
    right, not_right = chances(gap + shift)
    if shift == 0.0:
        density = right * not_right
        return right, not_right, (density, density)
    wrong, not_wrong = chances(-gap + shift)
    return right, wrong, (right * not_right, wrong * not_wrong)


@kernel(error_model="numpy", inline="always")
def _find_terms(rows, start, end, score, of_profile, eta, not_eta, cosh, sinh, factor, by_gap, by_ties):
    """For votes `start` to `end` and every quality: the chance, and the derivatives by the gap and by log τ.

    One call for many votes: to pass so many arrays takes as long as to compute the terms of a vote.
    """
    _, winner, loser, kind, _ = rows
    tau, bias, first, step = of_profile
    for r in range(start, end):
        gap, row = score[winner[r]] - score[loser[r]], r - start
        if tau > 0:
            _hyperbolic(gap, first, step, cosh, sinh)
        if kind[r] == TIED:
            _tie_terms(tau, cosh, sinh, factor, by_gap, by_ties, row)
            continue
        right, wrong, densities = _answer_chances(gap, -bias if kind[r] == WON_RIGHT else bias)
        if tau > 0:
            _answer_or_tie_terms(eta, not_eta, right, wrong, densities, tau, cosh, sinh, factor, by_gap, by_ties, row)
        else:
            _answer_terms(eta, not_eta, right, wrong, densities, factor, by_gap, row)


@kernel(fastmath=FAST, error_model="numpy")
def _multiply_by(product, factor, row):
    for g in range(len(product)):
        product[g] *= factor[row, g]


@kernel(error_model="numpy")
def _add_logs(logs, factor, row, weight):
    for g in range(len(logs)):
        logs[g] += weight * math.log(factor[row, g] + TINY)


@kernel(error_model="numpy", inline="always")
def _multiply_votes(weight, start, end, factor, product, logs):
    """Multiplies the chances of the votes; minus the logarithm of what the products were divided by."""
    value, since = 0.0, 0
    for r in range(start, end):
        times = int(min(weight[r], FEW))
        if weight[r] != times:
            _add_logs(logs, factor, r - start, weight[r])
            continue
        for _ in range(times):
            _multiply_by(product, factor, r - start)
        since += 2 * times  # a tie across a wide gap is less probable than any answer
        if since > FACTORS - FEW:
            value -= rescale(product)
            since = 0
    return value - rescale(product)


@kernel(fastmath=FAST, error_model="numpy")
def _means(product, by_gap, by_ties, row):
    """The means over qualities."""
    gap, ties = 0.0, 0.0
    for g in range(len(product)):
        gap += product[g] * by_gap[row, g]
        ties += product[g] * by_ties[row, g]
    return gap, ties


@kernel(fastmath=FAST, error_model="numpy")
def _bias_slope(product, eta, not_eta, gap, shift):
    """The derivative of the log-chance of an answer by the bias, as if the winner were shown on the left."""
    right, wrong, (right_density, wrong_density) = _answer_chances(gap, shift)
    slope = 0.0
    for g in range(len(product)):
        towards = eta[g] * right_density + not_eta[g] * wrong_density
        slope += product[g] * towards / (eta[g] * right + not_eta[g] * wrong + TINY)
    return slope


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
def _add_curvatures(k, rows, starts, score, tau, bias, qualities, eta, not_eta, product, rate, slopes):
    """The curvatures of the votes of profile k."""
    _, winner, loser, kind, weight = rows
    cosh, sinh = np.empty(len(eta)), np.empty(len(eta))
    for r in range(starts[k], starts[k + 1]):
        gap, tied, z = score[winner[r]] - score[loser[r]], kind[r] == TIED, -1.0 if kind[r] == WON_RIGHT else 1.0
        gap_curve, bias_curve, with_rate = 0.0, 0.0, 0.0
        if not tied:
            terms = answer_terms(product, eta, not_eta, gap, z * bias, z, 0.0, False, False, rate, True)
            gap_curve, bias_curve, with_rate = terms[3], terms[5], terms[6]
        if tau > 0:
            _hyperbolic(gap, qualities.first[k], qualities.step[k], cosh, sinh)
            of_tie = _tie_curvatures(product, eta, not_eta, tau, tied, rate, cosh, sinh)
            gap_curve += of_tie[0]
            with_rate += of_tie[2]
            slopes.ties_curvature[k] += weight[r] * of_tie[1]
        slopes.gap_curvature[r], slopes.gap_quality[r] = weight[r] * gap_curve, weight[r] * with_rate
        if len(slopes.bias):
            slopes.bias_curvature[k] += weight[r] * bias_curve


@kernel(error_model="numpy", inline="always")
def _add_slopes(rows, start, end, product, by_gap, by_ties, pulls):
    """Adds the gradient of some votes by the scores; that by log τ."""
    _, winner, loser, _, weight = rows
    by_threshold = 0.0
    for r in range(start, end):
        gap_slope, ties_slope = _means(product, by_gap, by_ties, r - start)
        pulls[winner[r]] -= weight[r] * gap_slope
        pulls[loser[r]] += weight[r] * gap_slope
        by_threshold -= weight[r] * ties_slope
    return by_threshold


@kernel(error_model="numpy")
def _bias_slopes(rows, start, end, score, bias, eta, not_eta, product):
    """The gradient of some votes by the bias."""
    _, winner, loser, kind, weight = rows
    by_bias = 0.0
    for r in range(start, end):
        z = -1.0 if kind[r] == WON_RIGHT else 1.0
        if kind[r] != TIED:
            by_bias -= weight[r] * z * _bias_slope(product, eta, not_eta, score[winner[r]] - score[loser[r]], z * bias)
    return by_bias


@kernel(error_model="numpy")
def _threshold_and_bias(k, ties, bias):
    """τ and b of profile k; 0 where they are not free."""
    return math.exp(ties[k]) if len(ties) else 0.0, bias[k] if len(bias) else 0.0


@kernel(error_model="numpy")
def davidson_marginal(rows, starts, first, last, score, ties, bias, qualities, curved, slopes, posterior):
    """`plain_marginal` with ties (log thresholds) or biases; `ties` or `bias` may be empty."""
    n_types, value = qualities.share.shape[1], 0.0
    eta, not_eta, logs, product = np.empty(n_types), np.empty(n_types), np.empty(n_types), np.empty(n_types)
    cosh, sinh, weights = np.empty(n_types), np.empty(n_types), np.empty(n_types)
    most = min(np.diff(starts[first : last + 1]).max(), KEPT)
    factor, by_gap, by_ties = np.empty((most, n_types)), np.empty((most, n_types)), np.zeros((most, n_types))
    for k in range(first, last):
        start, end, (tau, b) = starts[k], starts[k + 1], _threshold_and_bias(k, ties, bias)
        of_profile = tau, b, qualities.first[k], qualities.step[k]
        prepare(k, qualities, eta, not_eta, logs, product)
        for row in range(start, end, KEPT):
            last_row = min(row + KEPT, end)
            _find_terms(rows, row, last_row, score, of_profile, eta, not_eta, cosh, sinh, factor, by_gap, by_ties)
            value += _multiply_votes(rows.weight, row, last_row, factor, product, logs)
        if np.any(logs):
            value -= include_logs(product, logs) + rescale(product)
        keep_posterior(k, product, posterior)
        for row in range(start, end, KEPT):
            last_row = min(row + KEPT, end)
            if end - start > KEPT:
                _find_terms(rows, row, last_row, score, of_profile, eta, not_eta, cosh, sinh, factor, by_gap, by_ties)
            by_threshold = _add_slopes(rows, row, last_row, product, by_gap, by_ties, slopes.score)
            if len(ties):
                slopes.ties[k] += by_threshold
        if len(bias):
            slopes.bias[k] += _bias_slopes(rows, start, end, score, b, eta, not_eta, product)
        if curved:
            rate = mean_rate(product, eta, not_eta, weights)
            _add_curvatures(k, rows, starts, score, tau, b, qualities, eta, not_eta, product, rate, slopes)
    return value
