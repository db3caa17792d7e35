"""The likelihood of votes with the annotators' quality integrated out; in Numba.

Profile k has one of G qualities, η_g with probability share[k, g]. Its votes have the likelihood

    Σ_g share_g Π_v f_v(g)        f_v(g) = η_g F(d) + (1 − η_g) F(−d), with ties and bias as in `kernels`

One pass over the votes of a profile multiplies the factors of every quality, a second one adds the gradient. Products
need no logarithms; they are rescaled before they become too small. Divisions take most of the time: a vote needs one
for each quality, and none where only the value is wanted. Exponentials are computed for a block of votes at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from crowdrank.convert import TIED, WON_RIGHT
from crowdrank.methods.pairs.votes.kernels import TINY, branch
from crowdrank.numerics.compiled import kernel
from crowdrank.study import Floats

VALUE, GRADIENT, CURVATURE = range(3)  # what is wanted, with what stands before it
BLOCK = 1024  # votes whose exponentials are computed together
FACTORS = 16  # between two rescalings of a product, at most
NEGLIGIBLE = 1e-150  # relative; the processor is slow with numbers close to the smallest ones
FEW = 8  # a vote that counts a few times is so many factors; other weights need logarithms
# Sums over qualities in any order; NaN and infinity stay what they are.
FAST: set[str] = {"reassoc", "nsz", "arcp", "contract"}


class Qualities(NamedTuple):
    """The possible qualities of every profile, equally spaced: r = 2η − 1 is `first` + g `step`."""

    first: Floats
    step: Floats
    share: Floats  # profile × quality: prior probability, but for a common factor
    tie_sharpness: float  # times the gap that decides about answers, it is the gap that decides about ties


class Slopes(NamedTuple):
    """What the terms are added to: the gradient by scores, log tie thresholds and biases, and curvatures.

    The curvatures are those of the expected log-likelihood given the qualities' posterior: by the gap of each vote,
    by the log tie threshold and by the bias of each profile.
    """

    score: Floats
    ties: Floats
    bias: Floats
    gap_curvature: Floats
    gap_quality: Floats  # of each vote: the covariance, over qualities, of its slope by the gap and r = 2η − 1
    ties_curvature: Floats
    bias_curvature: Floats


@kernel(fastmath=FAST, error_model="numpy", inline="always")
def multiply(product, eta, not_eta, if_right, if_wrong):
    """Multiplies every quality's product by its factor of one vote."""
    for g in range(len(product)):
        product[g] *= eta[g] * if_right + not_eta[g] * if_wrong


@kernel(error_model="numpy")
def add_logs(logs, eta, not_eta, if_right, if_wrong, weight):
    """The same for a vote that counts `weight` times, with logarithms."""
    for g in range(len(logs)):
        logs[g] += weight * math.log(eta[g] * if_right + not_eta[g] * if_wrong + TINY)


@kernel(fastmath=FAST, error_model="numpy")
def _slopes_of(posterior, eta, not_eta, if_right, if_wrong):
    """The mean over qualities of η / f and (1 − η) / f."""
    right, wrong = 0.0, 0.0
    for g in range(len(posterior)):
        share = posterior[g] / (eta[g] * if_right + not_eta[g] * if_wrong + TINY)
        right += share * eta[g]
        wrong += share * not_eta[g]
    return right, wrong


@kernel(fastmath=FAST, error_model="numpy", inline="always")
def rescale(product):
    """Divides the products by their sum; returns the logarithm of the sum."""
    total = 0.0
    for g in range(len(product)):
        total += product[g]
    total = max(total, TINY)
    factor = 1 / total
    for g in range(len(product)):
        product[g] = product[g] * factor if product[g] > NEGLIGIBLE * total else 0.0
    return math.log(total)


@kernel(error_model="numpy")
def include_logs(product, logs):
    """Multiplies the products by the exponentials of `logs`, but for a common factor; returns its logarithm."""
    top = -np.inf
    for g in range(len(product)):
        top = max(top, logs[g] + math.log(product[g] + TINY))
    for g in range(len(product)):
        product[g] = math.exp(logs[g] + math.log(product[g] + TINY) - top)
    return top


@kernel(fastmath=FAST, error_model="numpy", inline="always")
def prepare(k, qualities, eta, not_eta, logs, product):
    """The possible qualities of profile k, and their products before any vote."""
    first, step = qualities.first[k], qualities.step[k]
    for g in range(len(eta)):
        eta[g] = (1 + first + g * step) / 2
        not_eta[g] = 1 - eta[g]
        product[g], logs[g] = qualities.share[k, g], 0.0


@kernel(fastmath=FAST, error_model="numpy", inline="always")
def keep_posterior(k, product, posterior):
    """Writes the posterior of profile k."""
    for g in range(posterior.shape[1]):
        posterior[k, g] = product[g]


@kernel(fastmath=FAST, error_model="numpy", inline="always")
def mean_rate(product, eta, not_eta, weights):
    """The mean of r = 2η − 1; `weights` become what each quality adds to it."""
    rate = 0.0
    for g in range(len(product)):
        weights[g] = product[g] * (eta[g] - not_eta[g])
        rate += weights[g]
    return rate


@kernel(fastmath=FAST, error_model="numpy")
def _answer_curvature(product, eta, not_eta, if_right, if_wrong, slope_right, slope_wrong, rate):
    """The mean square over qualities of the slope of the log-chance, and the covariance of the slope with r."""
    squares, with_rate = 0.0, 0.0
    for g in range(len(product)):
        slope = eta[g] * slope_right + not_eta[g] * slope_wrong
        slope /= eta[g] * if_right + not_eta[g] * if_wrong + TINY
        squares += product[g] * slope * slope
        with_rate += product[g] * slope * (eta[g] - not_eta[g] - rate)
    return squares, with_rate


@kernel(error_model="numpy")
def end_of_block(starts, k, last):
    """The profile after those from k whose votes are computed together: BLOCK of them, or those of one profile."""
    end = k + 1
    while end < last and starts[end + 1] - starts[k] <= BLOCK:
        end += 1
    return end


@kernel(error_model="numpy")
def votes_in_blocks(starts, first, last):
    """The most votes that a block can have."""
    return max(BLOCK, np.diff(starts[first : last + 1]).max())


@kernel(error_model="numpy")
def _normal_products(rows, start, end, score, tau, bias, eta, not_eta, logs, product):
    """`plain_products` with the normal link, ties and a bias."""
    _, winner, loser, kind, weight = rows
    value, since, heavy = 0.0, 0, False
    for r in range(start, end):
        gap, tied = score[winner[r]] - score[loser[r]], kind[r] == TIED
        shift = -bias if kind[r] == WON_RIGHT else bias
        right, wrong = branch(gap + shift, tau, tied, True)[0], branch(-gap + shift, tau, tied, True)[0]
        if weight[r] == 1.0:
            multiply(product, eta, not_eta, right, wrong)
        else:
            add_logs(logs, eta, not_eta, right, wrong, weight[r])
            heavy = True
        since += 1
        if since >= FACTORS:
            value -= rescale(product)
            since = 0
    if heavy:
        value -= include_logs(product, logs)
    return value - rescale(product)


@kernel(error_model="numpy")
def answer_terms(product, eta, not_eta, gap, shift, z, threshold, tied, normal, rate, curved):
    """The derivatives of the log-chance of an answer: by gap, ties, bias; curvatures of these; gap with r."""
    p, p_u, p_uu, p_t, p_tt, _ = branch(gap + shift, threshold, tied, normal)
    m, m_u, m_uu, m_t, m_tt, _ = branch(-gap + shift, threshold, tied, normal)
    by_right, by_wrong = _slopes_of(product, eta, not_eta, p, m)
    by_gap = by_right * p_u - by_wrong * m_u
    by_ties = threshold * (by_right * p_t + by_wrong * m_t)
    by_bias = z * (by_right * p_u + by_wrong * m_u)
    if not curved:
        return by_gap, by_ties, by_bias, 0.0, 0.0, 0.0, 0.0
    gap_squares, with_rate = _answer_curvature(product, eta, not_eta, p, m, p_u, -m_u, rate)
    ties_squares, _ = _answer_curvature(product, eta, not_eta, p, m, threshold * p_t, threshold * m_t, rate)
    bias_squares, _ = _answer_curvature(product, eta, not_eta, p, m, p_u, m_u, rate)
    twice = by_right * p_uu + by_wrong * m_uu
    ties_twice = by_ties + threshold * threshold * (by_right * p_tt + by_wrong * m_tt)
    return by_gap, by_ties, by_bias, gap_squares - twice, ties_squares - ties_twice, bias_squares - twice, with_rate


@kernel(error_model="numpy")
def normal_marginal(rows, starts, first, last, score, ties, bias, qualities, order, slopes, posterior):
    """`plain_marginal` with the normal link, ties (log thresholds) and biases; `ties` and `bias` may be empty."""
    _, winner, loser, kind, weight = rows
    n_types = qualities.share.shape[1]
    eta, not_eta, logs = np.empty(n_types), np.empty(n_types), np.empty(n_types)
    product, weights = np.empty(n_types), np.empty(n_types)
    value = 0.0
    for k in range(first, last):
        tau = math.exp(ties[k]) if len(ties) else 0.0
        b = bias[k] if len(bias) else 0.0
        prepare(k, qualities, eta, not_eta, logs, product)
        value += _normal_products(rows, starts[k], starts[k + 1], score, tau, b, eta, not_eta, logs, product)
        keep_posterior(k, product, posterior)
        if order == VALUE:
            continue
        rate, curved = mean_rate(product, eta, not_eta, weights), order == CURVATURE
        for r in range(starts[k], starts[k + 1]):
            gap, tied = score[winner[r]] - score[loser[r]], kind[r] == TIED
            z = -1.0 if kind[r] == WON_RIGHT else 1.0
            by_gap, by_ties, by_bias, gap_curve, ties_curve, bias_curve, with_rate = answer_terms(
                product, eta, not_eta, gap, z * b, z, tau, tied, True, rate, curved
            )
            slopes.score[winner[r]] -= weight[r] * by_gap
            slopes.score[loser[r]] += weight[r] * by_gap
            if curved:
                slopes.gap_curvature[r], slopes.gap_quality[r] = weight[r] * gap_curve, weight[r] * with_rate
            if len(ties):
                slopes.ties[k] -= weight[r] * by_ties
                slopes.ties_curvature[k] += weight[r] * ties_curve
            if len(bias):
                slopes.bias[k] -= weight[r] * by_bias
                slopes.bias_curvature[k] += weight[r] * bias_curve
    return value
