"""The likelihood of votes with the annotators' quality integrated out; in Numba.

Profile k has one of G qualities, η_g with probability share[k, g]. Its votes have the likelihood

    Σ_g share_g Π_v f_v(g)        f_v(g) = η_g F(d) + (1 − η_g) F(−d), with ties and bias as in `kernels`

One pass over the votes of a profile multiplies the factors of every quality, a second one adds the gradient. Products
need no logarithms; they are rescaled before they become too small.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from crowdrank.convert import TIED, WON_RIGHT
from crowdrank.methods.pairs.votes.kernels import FURTHEST, TINY, branch
from crowdrank.study import Floats

FACTORS = 16  # between two rescalings of a product
FAST = {"reassoc", "nsz", "arcp", "contract"}  # sums over qualities in any order; NaN and infinity stay what they are


class Qualities(NamedTuple):
    """The possible qualities of every profile, equally spaced: r = 2η − 1 is `first` + g `step`."""

    first: Floats
    step: Floats
    share: Floats  # profile × quality: prior probability, but for a common factor


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


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _chances(gap):
    """σ(gap) and σ(−gap)."""
    decay = math.exp(-min(abs(gap), FURTHEST))
    large = 1 / (1 + decay)
    small = decay * large
    return (large, small) if gap > 0 else (small, large)


@nb.njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _davidson(gap, first, step, tau, cosh, cosh_slope, rest):
    """For every r: C = 2 cosh(r gap / 2), its derivative by the gap, and 1 / (τ + C); exponentials by recurrence."""
    half = min(max(gap, -FURTHEST), FURTHEST) / 2
    up, up_step = math.exp(first * half), math.exp(step * half)
    down, down_step = math.exp(-first * half), math.exp(-step * half)
    for g in range(len(cosh)):
        cosh[g] = up + down
        cosh_slope[g] = (first + g * step) / 2 * (up - down)
        rest[g] = 1 / (tau + cosh[g])
        up *= up_step
        down *= down_step


@nb.njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _multiply(product, eta, not_eta, if_right, if_wrong):
    """Multiplies every quality's product by its factor of one vote."""
    for g in range(len(product)):
        product[g] *= eta[g] * if_right + not_eta[g] * if_wrong


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _add_logs(logs, eta, not_eta, if_right, if_wrong, weight):
    """The same for a vote that counts `weight` times, with logarithms."""
    for g in range(len(logs)):
        logs[g] += weight * math.log(eta[g] * if_right + not_eta[g] * if_wrong + TINY)


@nb.njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _slopes_of(posterior, eta, not_eta, if_right, if_wrong):
    """The mean over qualities of η / f and (1 − η) / f."""
    right, wrong = 0.0, 0.0
    for g in range(len(posterior)):
        share = posterior[g] / (eta[g] * if_right + not_eta[g] * if_wrong + TINY)
        right += share * eta[g]
        wrong += share * not_eta[g]
    return right, wrong


@nb.njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _rescale(product):
    """Divides the products by their sum; returns the logarithm of the sum."""
    total = 0.0
    for g in range(len(product)):
        total += product[g]
    total = max(total, TINY)
    for g in range(len(product)):
        product[g] /= total
    return math.log(total)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _include_logs(product, logs):
    """Multiplies the products by the exponentials of `logs`, but for a common factor; returns its logarithm."""
    top = -np.inf
    for g in range(len(product)):
        top = max(top, logs[g] + math.log(product[g] + TINY))
    for g in range(len(product)):
        product[g] = math.exp(logs[g] + math.log(product[g] + TINY) - top)
    return top


@nb.njit(cache=True, nogil=True, error_model="numpy")
def plain_marginal(rows, starts, first, last, score, qualities, order, slopes, posterior):
    """Minus the log-likelihood of profiles `first` to `last`: the logistic link, no ties, no bias.

    `order` is that of the derivatives: 0 none, 1 the gradient, 2 curvatures too. Writes the posterior of quality.
    """
    _, winner, loser, _, weight = rows
    start_r, step_r, share = qualities
    n_types = share.shape[1]
    eta, not_eta, logs = np.empty(n_types), np.empty(n_types), np.empty(n_types)
    value = 0.0
    for k in range(first, last):
        product = posterior[k]
        for g in range(n_types):
            eta[g] = (1 + start_r[k] + g * step_r[k]) / 2
            not_eta[g] = 1 - eta[g]
            product[g], logs[g] = share[k, g], 0.0
        since, heavy = 0, False
        for r in range(starts[k], starts[k + 1]):
            right, wrong = _chances(score[winner[r]] - score[loser[r]])
            if weight[r] == 1.0:
                _multiply(product, eta, not_eta, right, wrong)
                since += 1
            else:
                _add_logs(logs, eta, not_eta, right, wrong, weight[r])
                heavy = True
            if since == FACTORS:
                value -= _rescale(product)
                since = 0
        if heavy:
            value -= _include_logs(product, logs)
        value -= _rescale(product)
        if order == 0:
            continue
        rate = 0.0  # the mean of r
        for g in range(n_types):
            rate += product[g] * (eta[g] - not_eta[g])
        for r in range(starts[k], starts[k + 1]):
            right, wrong = _chances(score[winner[r]] - score[loser[r]])
            by_right, by_wrong = _slopes_of(product, eta, not_eta, right, wrong)
            density = right * wrong
            pull = weight[r] * density * (by_right - by_wrong)
            slopes.score[winner[r]] -= pull
            slopes.score[loser[r]] += pull
            if order == 2:
                squares, with_rate = 0.0, 0.0
                for g in range(n_types):
                    slope = (eta[g] - not_eta[g]) * density / (eta[g] * right + not_eta[g] * wrong + TINY)
                    squares += product[g] * slope * slope
                    with_rate += product[g] * slope * (eta[g] - not_eta[g] - rate)
                slopes.gap_curvature[r] = weight[r] * squares - pull * (wrong - right)
                slopes.gap_quality[r] = weight[r] * with_rate
    return value


@nb.njit(cache=True, nogil=True, error_model="numpy")
def any_marginal(rows, starts, first, last, score, ties, bias, normal, qualities, order, slopes, posterior):
    """The same with any link, ties (log thresholds) and biases; `ties` and `bias` may be empty."""
    _, winner, loser, kind, weight = rows
    start_r, step_r, share = qualities
    n_types = share.shape[1]
    eta, not_eta, logs = np.empty(n_types), np.empty(n_types), np.empty(n_types)
    cosh, cosh_slope, rest = np.empty(n_types), np.empty(n_types), np.empty(n_types)
    value = 0.0
    for k in range(first, last):
        product = posterior[k]
        tau = math.exp(ties[k]) if len(ties) else 0.0
        threshold = tau if normal else 0.0
        davidson = tau > 0 and not normal
        b = bias[k] if len(bias) else 0.0
        for g in range(n_types):
            eta[g] = (1 + start_r[k] + g * step_r[k]) / 2
            not_eta[g] = 1 - eta[g]
            product[g], logs[g] = share[k, g], 0.0
        since, heavy = 0, False
        for r in range(starts[k], starts[k + 1]):
            gap = score[winner[r]] - score[loser[r]]
            tied = kind[r] == TIED
            shift = -b if kind[r] == WON_RIGHT else b
            if normal or not tied:
                right = branch(gap + shift, threshold, tied, normal)[0]
                wrong = branch(-gap + shift, threshold, tied, normal)[0]
                if weight[r] == 1.0:
                    _multiply(product, eta, not_eta, right, wrong)
                else:
                    _add_logs(logs, eta, not_eta, right, wrong, weight[r])
            heavy = heavy or weight[r] != 1.0
            if davidson:
                _davidson(gap, start_r[k], step_r[k], tau, cosh, cosh_slope, rest)
                for g in range(n_types):
                    factor = (tau if tied else cosh[g]) * rest[g]
                    if weight[r] == 1.0:
                        product[g] *= factor
                    else:
                        logs[g] += weight[r] * math.log(factor + TINY)
            since += 2
            if since >= FACTORS:
                value -= _rescale(product)
                since = 0
        if heavy:
            value -= _include_logs(product, logs)
        value -= _rescale(product)
        if order == 0:
            continue
        rate = 0.0  # the mean of r
        for g in range(n_types):
            rate += product[g] * (eta[g] - not_eta[g])
        for r in range(starts[k], starts[k + 1]):
            gap = score[winner[r]] - score[loser[r]]
            tied = kind[r] == TIED
            z = -1.0 if kind[r] == WON_RIGHT else 1.0
            by_gap, by_ties, by_bias, gap_curve, ties_curve, bias_curve, with_rate = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            if normal or not tied:
                p, p_u, p_uu, p_t, p_tt, _ = branch(gap + z * b, threshold, tied, normal)
                m, m_u, m_uu, m_t, m_tt, _ = branch(-gap + z * b, threshold, tied, normal)
                by_right, by_wrong = _slopes_of(product, eta, not_eta, p, m)
                by_gap += by_right * p_u - by_wrong * m_u
                by_ties += threshold * (by_right * p_t + by_wrong * m_t)
                by_bias += z * (by_right * p_u + by_wrong * m_u)
                if order == 2:
                    gap_curve -= by_right * p_uu + by_wrong * m_uu
                    ties_curve -= by_ties + threshold * threshold * (by_right * p_tt + by_wrong * m_tt)
                    bias_curve -= by_right * p_uu + by_wrong * m_uu
                    for g in range(n_types):
                        chance = eta[g] * p + not_eta[g] * m + TINY
                        gap_slope = (eta[g] * p_u - not_eta[g] * m_u) / chance
                        ties_slope = threshold * (eta[g] * p_t + not_eta[g] * m_t) / chance
                        bias_slope = (eta[g] * p_u + not_eta[g] * m_u) / chance
                        gap_curve += product[g] * gap_slope**2
                        with_rate += product[g] * gap_slope * (eta[g] - not_eta[g] - rate)
                        ties_curve += product[g] * ties_slope**2
                        bias_curve += product[g] * bias_slope**2
            if davidson:
                _davidson(gap, start_r[k], step_r[k], tau, cosh, cosh_slope, rest)
                for g in range(n_types):
                    held, tie, lead = product[g], tau * rest[g], cosh_slope[g] * rest[g]
                    slope = -lead if tied else lead * tau / cosh[g]
                    by_gap += held * slope
                    with_rate += held * slope * (eta[g] - not_eta[g] - rate)
                    by_ties += held * ((1.0 if tied else 0.0) - tie)
                    if order == 2:
                        second = (eta[g] - 0.5) ** 2  # C″ / C
                        gap_curve += held * (second * cosh[g] * rest[g] - lead * lead)
                        if not tied:
                            gap_curve -= held * (second - (cosh_slope[g] / cosh[g]) ** 2)
                        ties_curve += held * tie * (1 - tie)
            slopes.score[winner[r]] -= weight[r] * by_gap
            slopes.score[loser[r]] += weight[r] * by_gap
            if len(ties):
                slopes.ties[k] -= weight[r] * by_ties
            if len(bias):
                slopes.bias[k] -= weight[r] * by_bias
            if order == 2:
                slopes.gap_curvature[r] = weight[r] * gap_curve
                slopes.gap_quality[r] = weight[r] * with_rate
                if len(ties):
                    slopes.ties_curvature[k] += weight[r] * ties_curve
                if len(bias):
                    slopes.bias_curvature[k] += weight[r] * bias_curve
    return value
