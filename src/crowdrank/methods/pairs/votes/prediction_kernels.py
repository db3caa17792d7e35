"""How well each vote is predicted by the others, from which the prior is chosen; in Numba."""

from __future__ import annotations

import math

from crowdrank.convert import TIED, WON_RIGHT
from crowdrank.methods.pairs.votes.kernels import TINY, link
from crowdrank.numerics.compiled import kernel

LARGEST_LEVERAGE = 0.9  # beyond it, one Newton step is far from a fit without the vote


@kernel
def answer_chance(gap, eta, shift, normal):
    """The chance that an annotator of quality η answers that the gap is above 0."""
    right = link(gap + shift, normal)[0]
    return right if eta == 1 else eta * right + (1 - eta) * link(-gap + shift, normal)[0]


@kernel
def leave_one_out(rows, curvatures, score, profiles, normal, diagonal, count, pseudo, log_chance):
    """Writes the log-probability of each decided vote, given that it is decided, as the other votes predict it.

    Ties get 0. Exact enough to compare priors: the gap moves by one Newton step without the vote, its variance computed
    as if scores were independent; the quality moves by one EM step without it. `count` is the number of votes of each
    profile, `pseudo` the pseudo-votes of the quality prior (below 0: quality is not estimated).
    """
    profile, winner, loser, kind, weight = rows
    for r in range(len(winner)):
        log_chance[r] = 0.0
        if kind[r] == TIED:
            continue
        k = profile[r]
        eta, a, bias = profiles[0, k], profiles[2, k], profiles[4, k]
        tau = profiles[3, k] if normal else 0.0
        shift = -bias if kind[r] == WON_RIGHT else bias
        d = score[winner[r]] - score[loser[r]]
        p, p_slope, _ = link(a * d + shift - tau, normal)
        m, m_slope, _ = link(-a * d + shift - tau, normal) if eta < 1 else (0.0, 0.0, 0.0)
        chance = max(eta * p + (1 - eta) * m, TINY)
        slope = -a * (eta * p_slope - (1 - eta) * m_slope) / chance  # of the vote's own term, by d
        if not normal and profiles[3, k] > 0:
            u = (2 * eta - 1) * a * d / 2
            decay = math.exp(-abs(u))
            odds = profiles[3, k] * decay / (1 + decay * decay)
            slope -= odds / (1 + odds) * math.tanh(u) * (2 * eta - 1) * a / 2
        if pseudo >= 0:
            others = (eta * (count[k] + pseudo) - eta * p / chance) / max(count[k] - 1 + pseudo, 0.01)
            eta = min(max(others, 0.01), 0.99)
        variance = 1 / diagonal[winner[r]] + 1 / diagonal[loser[r]]
        d += variance * slope / (1 - min(curvatures[r, 0] / weight[r] * variance, LARGEST_LEVERAGE))
        won = answer_chance(a * d, eta, shift - tau, normal)
        lost = answer_chance(-a * d, eta, -shift - tau, normal) if normal else 1 - won
        log_chance[r] = math.log(max(won, TINY) / max(won + lost, TINY))
