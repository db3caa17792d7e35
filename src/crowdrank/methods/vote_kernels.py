"""The terms that votes add to a log-likelihood, with their first and second derivatives; in Numba.

A vote's probability, for the gap d between the scores of the winner and the loser:

    won    P = η A(u₊) + (1 − η) A(u₋)   with A(u) = F(u − τ)               u₊ =  a d + z b
    tied   the same                      with A(u) = F(u + τ) − F(u − τ)    u₋ = −a d + z b

F is the link (logistic, or normal with the variance of a difference of two), η = σ(q) the quality, a = e^l the slope, τ = e^t the
threshold of ties (Rao and Kupper's model for the logistic link), b the bias towards the left, z = 1 where the winner was shown on the
left and −1 where on the right; of a tie, the left item is called the winner. The parameters of a term are numbered d, q, l, t, b.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from crowdrank.convert import TIED, WON_RIGHT

N_PARAMETERS = 5
TINY = 1e-300
LARGEST_LEVERAGE = 0.9  # beyond it, one Newton step is no guide to a fit without the vote


@nb.njit(cache=True, nogil=True, inline="always")
def link(u, normal):
    """The link, its density and the density's slope at u."""
    if normal:
        density = math.exp(-u * u / 4) / (2 * math.sqrt(math.pi))
        return math.erfc(-u / 2) / 2, density, -u / 2 * density
    decay = math.exp(-abs(u))
    small = decay / (1 + decay)
    chance = 1 - small if u > 0 else small
    density = small * (1 - small)
    return chance, density, density * (1 - 2 * chance)


@nb.njit(cache=True, nogil=True, inline="always")
def branch(u, tau, tied, normal):
    """A(u) and its derivatives: by u, by u twice, by τ, by τ twice, by u and τ."""
    if not tied:
        chance, density, slope = link(u - tau, normal)
        return chance, density, slope, -density, slope, -slope
    # Both ends on the side where the link is small: the difference of two numbers near 1 would lose its digits.
    sign = -1.0 if u > 0 else 1.0
    high, high_density, high_slope = link(sign * u + tau, normal)
    low, low_density, low_slope = link(sign * u - tau, normal)
    across = high_slope - low_slope
    return (
        high - low,
        sign * (high_density - low_density),
        across,
        high_density + low_density,
        across,
        sign * (high_slope + low_slope),
    )


@nb.njit(cache=True, nogil=True)
def any_terms(rater, winner, loser, kind, weight, score, raters, normal, active, score_slope, rater_slope, bends):
    """Adds each vote's gradient to `score_slope` and `rater_slope`, writes its Hessian to `bends`; returns minus the log-likelihood.

    `raters` holds η, 1 − η, a, τ, b of each rater; `active` the numbers of the rater's parameters that are free, whose gradients
    are the rows of `rater_slope`. A row of `bends` is the upper triangle of the Hessian by d and the active parameters.
    """
    first, second = np.zeros(N_PARAMETERS), np.zeros((N_PARAMETERS, N_PARAMETERS))
    places = np.zeros(len(active) + 1, np.int64)
    places[1:] = active
    value = 0.0
    for r in range(len(winner)):
        k = rater[r]
        eta, not_eta, a, tau, bias = raters[0, k], raters[1, k], raters[2, k], raters[3, k], raters[4, k]
        z = -1.0 if kind[r] == WON_RIGHT else 1.0
        tied = kind[r] == TIED
        d = score[winner[r]] - score[loser[r]]
        p, p_u, p_uu, p_t, p_tt, p_ut = branch(a * d + z * bias, tau, tied, normal)
        m, m_u, m_uu, m_t, m_tt, m_ut = branch(-a * d + z * bias, tau, tied, normal)
        both = eta * not_eta
        chance = max(eta * p + not_eta * m, TINY)
        sum_uu = eta * p_uu + not_eta * m_uu
        first[0] = a * (eta * p_u - not_eta * m_u)
        first[1] = both * (p - m)
        first[2] = d * first[0]
        first[3] = tau * (eta * p_t + not_eta * m_t)
        first[4] = z * (eta * p_u + not_eta * m_u)
        second[0, 0] = a * a * sum_uu
        second[0, 1] = a * both * (p_u + m_u)
        second[0, 2] = first[0] + d * second[0, 0]
        second[0, 3] = a * tau * (eta * p_ut - not_eta * m_ut)
        second[0, 4] = a * z * (eta * p_uu - not_eta * m_uu)
        second[1, 1] = (not_eta - eta) * first[1]
        second[1, 2] = d * second[0, 1]
        second[1, 3] = both * tau * (p_t - m_t)
        second[1, 4] = both * z * (p_u - m_u)
        second[2, 2] = d * second[0, 2]
        second[2, 3] = d * second[0, 3]
        second[2, 4] = d * second[0, 4]
        second[3, 3] = first[3] + tau * tau * (eta * p_tt + not_eta * m_tt)
        second[3, 4] = tau * z * (eta * p_ut + not_eta * m_ut)
        second[4, 4] = sum_uu
        value -= weight[r] * math.log(chance)
        score_slope[winner[r]] -= weight[r] * first[0] / chance
        score_slope[loser[r]] += weight[r] * first[0] / chance
        at = 0
        for i in range(len(places)):
            x = first[places[i]] / chance
            if i > 0:
                rater_slope[i - 1, k] -= weight[r] * x
            for j in range(i, len(places)):
                bends[r, at] = weight[r] * (x * first[places[j]] / chance - second[places[i], places[j]] / chance)
                at += 1
    return value


@nb.njit(cache=True, nogil=True)
def plain_terms(winner, loser, weight, score, score_slope, bends):
    """`any_terms` where there is nothing but scores: the logistic link, no ties, quality 1."""
    value, product, factors = 0.0, 1.0, 0
    for r in range(len(winner)):
        gap = score[winner[r]] - score[loser[r]]
        decay = math.exp(-abs(gap))
        wrong = decay / (1 + decay) if gap > 0 else 1 / (1 + decay)  # probability of the other outcome
        if weight[r] == 1.0:  # the logarithm of a product of 64 factors, each below 2, is one logarithm instead of 64
            product *= 1 + decay
            factors += 1
            if factors == 64:
                value += math.log(product)
                product, factors = 1.0, 0
        else:
            value += weight[r] * math.log1p(decay)
        value += weight[r] * max(-gap, 0.0)
        score_slope[winner[r]] -= weight[r] * wrong
        score_slope[loser[r]] += weight[r] * wrong
        bends[r, 0] = weight[r] * wrong * (1 - wrong)
    return value + math.log(product)


@nb.njit(cache=True, nogil=True)
def quality_terms(rater, winner, loser, weight, score, right, wrong, score_slope, quality_slope, bends):
    """`any_terms` with scores and qualities: the logistic link, no ties."""
    value = 0.0
    for r in range(len(winner)):
        eta, not_eta = right[rater[r]], wrong[rater[r]]
        gap = score[winner[r]] - score[loser[r]]
        decay = math.exp(-abs(gap))
        both = 1 + decay
        toward = (1 - decay) / both if gap > 0 else (decay - 1) / both  # σ(d) − σ(−d)
        p = (eta + not_eta * decay) / both if gap > 0 else (eta * decay + not_eta) / both
        spread = decay / (both * both)  # σ(d) σ(−d)
        by_gap = (eta - not_eta) * spread / p  # of log p
        by_logit = toward * eta * not_eta / p
        value -= weight[r] * math.log(p)
        score_slope[winner[r]] -= weight[r] * by_gap
        score_slope[loser[r]] += weight[r] * by_gap
        quality_slope[rater[r]] -= weight[r] * by_logit
        bends[r, 0] = weight[r] * by_gap * (by_gap + toward)
        bends[r, 1] = weight[r] * (by_gap * by_logit - 2 * spread * eta * not_eta / p)
        bends[r, 2] = weight[r] * by_logit * (by_logit + eta - not_eta)
    return value


@nb.njit(cache=True, nogil=True)
def curvature(rater, winner, loser, bends, score, raters, score_total, rater_total):
    """Adds the product of the Hessian of the votes with a vector, given as its scores and its rows of raters' parameters."""
    n_free = len(raters)
    local = np.zeros(n_free + 1)
    for r in range(len(winner)):
        gap = score[winner[r]] - score[loser[r]]
        if n_free == 0:
            pull = bends[r, 0] * gap
        else:
            k = rater[r]
            local[0] = gap
            for i in range(n_free):
                local[i + 1] = raters[i, k]
            pull = 0.0
            at = n_free + 1
            for j in range(n_free + 1):
                pull += bends[r, j] * local[j]
            for i in range(1, n_free + 1):
                rater_total[i - 1, k] += bends[r, i] * gap + bends[r, at] * local[i]
                at += 1
                for j in range(i + 1, n_free + 1):
                    rater_total[i - 1, k] += bends[r, at] * local[j]
                    rater_total[j - 1, k] += bends[r, at] * local[i]
                    at += 1
        score_total[winner[r]] += pull
        score_total[loser[r]] -= pull


@nb.njit(cache=True, nogil=True)
def virtual_terms(score, prior, normal, slope, bend):
    """Minus the log-likelihood of `prior` wins and losses of every item against one of score 0; writes slope and bend."""
    value = 0.0
    for i in range(len(score)):
        won, density, density_slope = link(score[i], normal)
        lost = max(link(-score[i], normal)[0], TINY)
        won = max(won, TINY)
        value -= prior * (math.log(won) + math.log(lost))
        slope[i] = -prior * density * (1 / won - 1 / lost)
        bend[i] = prior * ((density / won) ** 2 + (density / lost) ** 2 - density_slope * (1 / won - 1 / lost))
    return value


@nb.njit(cache=True, nogil=True)
def left_out(rater, winner, loser, kind, bend, score, raters, normal, diagonal, count, pseudo, log_chance):
    """Writes the log-probability of each vote as the other votes predict it, near enough to compare priors.

    The gap moves by one Newton step without the vote, its variance taken as if scores were independent; the quality by one step of EM
    without it, from the `count` of the rater's votes and the `pseudo`-votes of the prior (below 0: quality is not estimated).
    """
    for r in range(len(winner)):
        k = rater[r]
        eta, not_eta, a, tau, bias = raters[0, k], raters[1, k], raters[2, k], raters[3, k], raters[4, k]
        shift = -bias if kind[r] == WON_RIGHT else bias
        tied = kind[r] == TIED
        d = score[winner[r]] - score[loser[r]]
        p, p_u = branch(a * d + shift, tau, tied, normal)[:2]
        m, m_u = branch(-a * d + shift, tau, tied, normal)[:2]
        chance = max(eta * p + not_eta * m, TINY)
        variance = 1 / diagonal[winner[r]] + 1 / diagonal[loser[r]]
        leverage = min(bend[r] * variance, LARGEST_LEVERAGE)
        d -= variance * a * (eta * p_u - not_eta * m_u) / chance / (1 - leverage)
        if pseudo >= 0:
            others = (eta * (count[k] + pseudo) - eta * p / chance) / max(count[k] - 1 + pseudo, 0.01)
            eta = min(max(others, 0.01), 0.99)
        p = branch(a * d + shift, tau, tied, normal)[0]
        m = branch(-a * d + shift, tau, tied, normal)[0]
        log_chance[r] = math.log(max(eta * p + (1 - eta) * m, TINY))
