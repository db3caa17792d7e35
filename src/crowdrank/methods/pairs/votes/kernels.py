"""The terms that votes add to a log-likelihood, with their first and second derivatives; in Numba.

With d the gap between the scores of the winner and the loser, η = σ(q) the annotator's quality, a = e^l the slope, b
the bias towards the left (z = 1 where the winner was shown on the left, −1 where on the right), a decided vote has the
probability

    P = η F(a d + z b) + (1 − η) F(−a d + z b)

F is the link: logistic, or normal with the variance of a difference of two. Ties, with τ = e^t:

    logistic   P(tie) = τ / (τ + 2 cosh((2η − 1) a d / 2)), and P is the chance given that there is no tie.
               For η = 1 this is Davidson's model. The lower the quality, the less ties depend on the gap; those of a
               spammer do not depend on it at all.
    normal     the annotator ties if the perceived gap is below the threshold τ (Glenn and David): F(u) becomes
               F(u − τ), and that of a tie is F(u + τ) − F(u − τ)

The parameters of a term are numbered d, q, l, t, b. The winner of a tie is the left item.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import TIED, WON_RIGHT
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.vector_exp import exp
from crowdrank.study import Codes, Floats

N_PARAMETERS = 5
T = 3  # the number of the parameter of ties
TINY = 1e-300
FAR = 40.0  # log-odds; beyond, 1 + e⁻ᵈ rounds to 1
FURTHEST = 700.0  # e⁷⁰⁰ does not overflow
BLOCK = 512  # votes
FACTORS = 16  # one logarithm of a product of so many chances is faster than one for each
SAFE_FACTOR = 1e-18  # the product of FACTORS of these does not underflow


class VoteRows(NamedTuple):
    """The votes, one row for each: whose profile, who won, who lost, the kind of vote, and its weight."""

    profile: Codes
    winner: Codes
    loser: Codes
    kind: NDArray[np.int8]
    weight: Floats

    def part(self, rows: slice) -> VoteRows:
        """Some of the rows."""
        return VoteRows(self.profile[rows], self.winner[rows], self.loser[rows], self.kind[rows], self.weight[rows])


class Derivatives(NamedTuple):
    """What the terms are added to.

    Of `score` and `profile`, [0] is the gradient and [1] the diagonal of the Hessian; `profile` has one row for each
    free parameter of the profiles. A row of `curvatures` is the upper triangle of the Hessian of one vote by d and the
    free parameters.
    """

    score: Floats
    profile: Floats
    curvatures: Floats


@kernel
def link(u, normal):
    """The link, its density, and the derivative of the density, at u."""
    if normal:
        density = math.exp(-u * u / 4) / (2 * math.sqrt(math.pi))
        return math.erfc(-u / 2) / 2, density, -u / 2 * density
    decay = math.exp(-abs(u))
    small = decay / (1 + decay)
    chance = 1 - small if u > 0 else small
    density = small * (1 - small)
    return chance, density, density * (1 - 2 * chance)


@kernel
def branch(u, tau, tied, normal):
    """The chance of the answer, if u is the perceived gap, and its derivatives by u, u twice, τ, τ twice, u and τ."""
    if not tied:
        chance, density, slope = link(u - tau, normal)
        return chance, density, slope, -density, slope, -slope
    # Both ends on the side where the link is small: the difference of two numbers near 1 would lose digits.
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


@kernel
def clear(first, second):
    """Zeros; by loops, because Numba takes seconds to compile an assignment to a slice."""
    for i in range(N_PARAMETERS):
        first[i] = 0.0
        for j in range(N_PARAMETERS):
            second[i, j] = 0.0


@kernel
def add_answer(d, eta, not_eta, a, tau, shift, z, tied, normal, first, second):
    """Adds the gradient and Hessian of minus the log-probability of the answer; returns that."""
    p, p_u, p_uu, p_t, p_tt, p_ut = branch(a * d + shift, tau, tied, normal)
    m, m_u, m_uu, m_t, m_tt, m_ut = branch(-a * d + shift, tau, tied, normal)
    both = eta * not_eta
    chance = max(eta * p + not_eta * m, TINY)
    by_d = a * (eta * p_u - not_eta * m_u)
    by_dd = a * a * (eta * p_uu + not_eta * m_uu)
    by_dq = a * both * (p_u + m_u)
    by_dt = a * tau * (eta * p_ut - not_eta * m_ut)
    by_db = a * z * (eta * p_uu - not_eta * m_uu)
    by_q = both * (p - m)
    by_t = tau * (eta * p_t + not_eta * m_t)
    by_b = z * (eta * p_u + not_eta * m_u)
    by_dl = by_d + d * by_dd
    slopes = (by_d, by_q, d * by_d, by_t, by_b)
    curvatures = (
        (by_dd, by_dq, by_dl, by_dt, by_db),
        (0.0, (not_eta - eta) * by_q, d * by_dq, both * tau * (p_t - m_t), both * z * (p_u - m_u)),
        (0.0, 0.0, d * by_dl, d * by_dt, d * by_db),
        (0.0, 0.0, 0.0, by_t + tau * tau * (eta * p_tt + not_eta * m_tt), tau * z * (eta * p_ut + not_eta * m_ut)),
        (0.0, 0.0, 0.0, 0.0, eta * p_uu + not_eta * m_uu),
    )
    for i in range(N_PARAMETERS):
        first[i] -= slopes[i] / chance
        for j in range(i, N_PARAMETERS):
            second[i, j] += (slopes[i] / chance) * (slopes[j] / chance) - curvatures[i][j] / chance
    return -math.log(chance)


@kernel
def add_whether_tied(d, eta, not_eta, a, tau, tied, first, second):
    """Adds the gradient and Hessian of minus the log-probability of a tie, or of no tie; returns that."""
    both = eta * not_eta
    u = (eta - not_eta) * a * d / 2
    decay = math.exp(-abs(u))
    odds = tau * decay / (1 + decay * decay)  # τ / 2 cosh u
    tie = odds / (1 + odds)
    tangent = math.tanh(u)
    lead = (1 - tie) * tangent
    by_u = lead if tied else -tie * tangent
    by_uu = (1 - tie) - lead * lead - (0.0 if tied else 1 - tangent * tangent)
    u_d, u_q, u_l = (eta - not_eta) * a / 2, both * a * d, u
    gap = (u_d, u_q, u_l)
    curvature = ((0.0, both * a, u_d), (0.0, both * (not_eta - eta) * a * d, u_q), (0.0, 0.0, u))
    for i in range(3):
        first[i] += by_u * gap[i]
        second[i, T] -= lead * tie * gap[i]
        for j in range(i, 3):
            second[i, j] += by_uu * gap[i] * gap[j] + by_u * curvature[i][j]
    first[T] += tie - (1.0 if tied else 0.0)
    second[T, T] += tie * (1 - tie)
    log_odds = math.log(tau) - abs(u) - math.log1p(decay * decay)  # finite where the odds are too small for a number
    return math.log1p(odds) - (log_odds if tied else 0.0)


@kernel
def any_terms(rows, score, profiles, normal, active, total):
    """Adds the votes' derivatives to `total`; returns minus the log-likelihood.

    `rows` are VoteRows, `total` Derivatives; `profiles` holds η, 1 − η, a, τ, b of each profile; `active` are the
    numbers of the free parameters.
    """
    profile, winner, loser, kind, weight = rows
    score_total, profile_total, curvatures = total
    first, second = np.empty(N_PARAMETERS), np.empty((N_PARAMETERS, N_PARAMETERS))
    places, value = np.zeros(len(active) + 1, np.int64), 0.0
    for i in range(len(active)):
        places[i + 1] = active[i]
    for r in range(len(winner)):
        k = profile[r]
        z = -1.0 if kind[r] == WON_RIGHT else 1.0
        tied = kind[r] == TIED
        d = score[winner[r]] - score[loser[r]]
        eta, not_eta, a, tau, bias = profiles[0, k], profiles[1, k], profiles[2, k], profiles[3, k], profiles[4, k]
        clear(first, second)
        term = 0.0
        if normal:
            term += add_answer(d, eta, not_eta, a, tau, z * bias, z, tied, normal, first, second)
        else:
            term += add_whether_tied(d, eta, not_eta, a, tau, tied, first, second) if tau > 0 else 0.0
            if not tied:
                term += add_answer(d, eta, not_eta, a, 0.0, z * bias, z, tied, normal, first, second)
        value += weight[r] * term
        score_total[0, winner[r]] += weight[r] * first[0]
        score_total[0, loser[r]] -= weight[r] * first[0]
        score_total[1, winner[r]] += weight[r] * second[0, 0]
        score_total[1, loser[r]] += weight[r] * second[0, 0]
        at = 0
        for i in range(len(places)):
            if i > 0:
                profile_total[0, i - 1, k] += weight[r] * first[places[i]]
                profile_total[1, i - 1, k] += weight[r] * second[places[i], places[i]]
            for j in range(i, len(places)):
                curvatures[r, at] = weight[r] * second[places[i], places[j]]
                at += 1
    return value


@kernel(error_model="numpy", _nrt=False)
def _find_gaps(winner, loser, start, end, score, gap):
    for r in range(start, end):
        gap[r - start] = min(score[winner[r]] - score[loser[r]], FURTHEST)


@kernel(fastmath={"contract"}, error_model="numpy", _nrt=False)
def _find_pulls(weight, start, end, gap, sums, pull, curvature):
    """Of each vote the slope and the curvature by its gap; `sums` become 1 + e⁻ᵈ. The number of special votes."""
    special = 0
    for r in range(start, end):
        odds = exp(-max(gap[r - start], -FAR))  # of the other outcome
        sums[r - start] = 1 + odds
        right = 1 / sums[r - start]
        pull[r - start] = weight[r] * odds * right
        curvature[r] = pull[r - start] * right
        special += 1 if weight[r] != 1.0 or gap[r - start] < -FAR else 0
    return special


@kernel(error_model="numpy", _nrt=False)
def _special_value(weight, start, end, gap, sums):
    """Minus the log-likelihood of votes that do not count once, or that nobody expected; their sums become 1."""
    value = 0.0
    for r in range(start, end):
        if weight[r] != 1.0 or gap[r - start] < -FAR:
            # Beyond, the logarithm is the gap itself to the last digit.
            value += weight[r] * (math.log(sums[r - start]) + max(-FAR - gap[r - start], 0.0))
            sums[r - start] = 1.0
    return value


@kernel(error_model="numpy", _nrt=False)
def _sum_of_logs(count, sums):
    """Four products at a time: none waits for another."""
    value = 0.0
    for b in range(0, count, FACTORS):
        one, two, three, four = 1.0, 1.0, 1.0, 1.0
        for i in range(b, min(b + FACTORS, count - 3), 4):
            one, two, three, four = one * sums[i], two * sums[i + 1], three * sums[i + 2], four * sums[i + 3]
        if b + FACTORS > count:
            for i in range(count // 4 * 4, count):
                one *= sums[i]
        value += math.log((one * two) * (three * four))
    return value


@kernel(error_model="numpy", _nrt=False)
def _add_pulls(winner, loser, start, end, pull, curvature, slope, curve):
    """Adds slopes and curvatures to the scores; successive votes often have the same winner."""
    r = start
    while r < end:
        current, pulls, curvatures = winner[r], 0.0, 0.0
        while r < end and winner[r] == current:
            slope[loser[r]] += pull[r - start]
            curve[loser[r]] += curvature[r]
            pulls += pull[r - start]
            curvatures += curvature[r]
            r += 1
        slope[current] -= pulls
        curve[current] += curvatures


@kernel(error_model="numpy")
def plain_terms(rows, score, total):
    """`any_terms` with scores alone: the logistic link, no ties, quality 1. A block of votes stays in the cache."""
    _, winner, loser, _, weight = rows
    slope, curve, curvature = total.score[0], total.score[1], total.curvatures.ravel()
    gap, sums, pull, value = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), 0.0
    for start in range(0, len(winner), BLOCK):
        end = min(start + BLOCK, len(winner))
        _find_gaps(winner, loser, start, end, score, gap)
        if _find_pulls(weight, start, end, gap, sums, pull, curvature):
            value += _special_value(weight, start, end, gap, sums)
        value += _sum_of_logs(end - start, sums)
        _add_pulls(winner, loser, start, end, pull, curvature, slope, curve)
    return value


@kernel
def quality_terms(rows, score, profiles, total):
    """`any_terms` with scores and qualities: the logistic link, no ties."""
    profile, winner, loser, _, weight = rows
    score_total, profile_total, curvatures = total
    value, product, factors = 0.0, 1.0, 0
    for r in range(len(winner)):
        k = profile[r]
        eta, not_eta = profiles[0, k], profiles[1, k]
        gap = min(max(score[winner[r]] - score[loser[r]], -FURTHEST), FURTHEST)
        odds = math.exp(-gap)
        sigma = 1 / (1 + odds)
        p = max((eta + not_eta * odds) * sigma, TINY)
        difference = (1 - odds) * sigma  # σ(d) − σ(−d)
        density = odds * sigma * sigma  # σ(d) σ(−d)
        inverse = 1 / p
        by_gap = (eta - not_eta) * density * inverse  # of log p
        by_logit = difference * eta * not_eta * inverse
        if weight[r] == 1.0 and p > SAFE_FACTOR:
            product *= p
            factors += 1
            if factors == FACTORS:
                value -= math.log(product)
                product, factors = 1.0, 0
        else:
            value -= weight[r] * math.log(p)
        by_gap_twice = weight[r] * by_gap * (by_gap + difference)
        score_total[0, winner[r]] -= weight[r] * by_gap
        score_total[0, loser[r]] += weight[r] * by_gap
        score_total[1, winner[r]] += by_gap_twice
        score_total[1, loser[r]] += by_gap_twice
        profile_total[0, 0, k] -= weight[r] * by_logit
        curvatures[r, 0] = by_gap_twice
        curvatures[r, 1] = weight[r] * (by_gap * by_logit - 2 * density * eta * not_eta * inverse)
        curvatures[r, 2] = weight[r] * by_logit * (by_logit + eta - not_eta)
        profile_total[1, 0, k] += curvatures[r, 2]
    return value - math.log(product)


@kernel
def any_hessian_product(rows, curvatures, score, profiles, score_total, profile_total):
    """Adds the Hessian of the votes times a vector, given as its scores and a row for each free parameter."""
    profile, winner, loser, _, _ = rows
    n_free = len(profiles)
    local = np.zeros(n_free + 1)
    for r in range(len(winner)):
        k = profile[r]
        local[0] = score[winner[r]] - score[loser[r]]
        for i in range(n_free):
            local[i + 1] = profiles[i, k]
        pull = 0.0
        for j in range(n_free + 1):
            pull += curvatures[r, j] * local[j]
        at = n_free + 1
        for i in range(1, n_free + 1):
            profile_total[i - 1, k] += curvatures[r, i] * local[0] + curvatures[r, at] * local[i]
            at += 1
            for j in range(i + 1, n_free + 1):
                profile_total[i - 1, k] += curvatures[r, at] * local[j]
                profile_total[j - 1, k] += curvatures[r, at] * local[i]
                at += 1
        score_total[winner[r]] += pull
        score_total[loser[r]] -= pull


@kernel
def plain_hessian_product(rows, curvatures, score, score_total):
    """`any_hessian_product` with scores alone. Rows are sorted by winner: each winner's sum is written once."""
    _, winner, loser, _, _ = rows
    current, total = 0, 0.0
    for r in range(len(winner)):
        if winner[r] != current:
            score_total[current] += total
            current, total = winner[r], 0.0
        pull = curvatures[r, 0] * (score[current] - score[loser[r]])
        total += pull
        score_total[loser[r]] -= pull
    score_total[current] += total


@kernel
def quality_hessian_product(rows, curvatures, score, quality, score_total, quality_total):
    """`any_hessian_product` with scores and qualities. Rows are sorted by profile: each sum is written once."""
    profile, winner, loser, _, _ = rows
    current, total = 0, 0.0
    for r in range(len(winner)):
        if profile[r] != current:
            quality_total[current] += total
            current, total = profile[r], 0.0
        gap = score[winner[r]] - score[loser[r]]
        pull = curvatures[r, 0] * gap + curvatures[r, 1] * quality[current]
        total += curvatures[r, 1] * gap + curvatures[r, 2] * quality[current]
        score_total[winner[r]] += pull
        score_total[loser[r]] -= pull
    quality_total[current] += total


@kernel
def virtual_terms(score, prior, normal, slope, curvature):
    """Minus the log-likelihood of `prior` wins and losses of every item against one of score 0; writes derivatives."""
    value = 0.0
    for i in range(len(score)):
        won, density, density_slope = link(score[i], normal)
        lost = max(link(-score[i], normal)[0], TINY)
        won = max(won, TINY)
        value -= prior * (math.log(won) + math.log(lost))
        slope[i] = -prior * density * (1 / won - 1 / lost)
        curvature[i] = prior * ((density / won) ** 2 + (density / lost) ** 2 - density_slope * (1 / won - 1 / lost))
    return value
