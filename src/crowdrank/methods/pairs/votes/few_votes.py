"""The kernels of logistic votes in NumPy, for studies with few votes.

To compile the kernels takes seconds, more than such a study needs for everything else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import TIED, WON_RIGHT
from crowdrank.methods.pairs.votes.kernels import FURTHEST, TINY, Derivatives, VoteRows
from crowdrank.methods.pairs.votes.marginal_kernels import Qualities, Slopes
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats

FEW_VOTES = 500


class Ties(NamedTuple):
    """Davidson's ties: the chance of one and of none, the derivative of log C by the gap."""

    chance: Floats
    none: Floats
    lead: Floats

    def lead_slope(self, rate: Floats | float) -> Floats:
        """The derivative of `lead` by the gap."""
        return np.asarray(np.asarray(rate) ** 2 / 4 - self.lead**2)


def _exp(x: Floats) -> Floats:
    return np.asarray(np.exp(np.clip(x, -FURTHEST, FURTHEST)))


def _sigma(x: Floats) -> Floats:
    return np.asarray(1 / (1 + _exp(-x)))


def _ties(gap: Floats, rate: Floats | float, tau: Floats | float) -> Ties:
    """`rate` is 2η − 1, and C = 2 cosh(rate gap / 2), of which one exponential gives everything."""
    up = _exp(rate * gap / 2)
    down = 1 / up
    cosh = up + down
    chance = tau / (tau + cosh)
    return Ties(chance, cosh / (tau + cosh), rate / 2 * (up - down) / cosh)


def pooled_terms(rows: VoteRows, score: Floats, tau: float, total: Derivatives) -> float:
    """`kernels.any_terms` with scores and, where `tau` is above 0, one tie threshold."""
    gap, tied, weight = score[rows.winner] - score[rows.loser], rows.kind == TIED, rows.weight
    right, wrong = _sigma(gap), _sigma(-gap)
    value = np.where(tied, 0.0, np.logaddexp(0.0, -gap))
    slope, curvature = np.where(tied, 0.0, -wrong), np.where(tied, 0.0, right * wrong)
    if tau > 0:
        ties = _ties(gap, 1.0, tau)
        both = ties.chance * (1 - ties.chance)
        value -= np.log(np.where(tied, ties.chance, ties.none) + TINY)
        slope += ties.lead * (tied - ties.chance)
        curvature += ties.lead_slope(1.0) * (tied - ties.chance) + ties.lead**2 * both
        total.profile[0, 0, 0] += weight @ (ties.chance - tied)
        total.profile[1, 0, 0] += weight @ both
        total.curvatures[:, 1], total.curvatures[:, 2] = -weight * ties.lead * both, weight * both
    total.curvatures[:, 0] = weight * curvature
    for side, sign in ((rows.winner, 1.0), (rows.loser, -1.0)):
        total.score[0] += sum_by(side, sign * weight * slope, len(score))
        total.score[1] += sum_by(side, weight * curvature, len(score))
    return float(weight @ value)


def pooled_product(
    rows: VoteRows, curvatures: Floats, score: Floats, ties: Floats, score_total: Floats, ties_total: Floats
) -> None:
    """`kernels.any_hessian_product` for `pooled_terms`; `ties` and `ties_total` may be empty."""
    gap = score[rows.winner] - score[rows.loser]
    pull = curvatures[:, 0] * gap
    if len(ties):
        pull = pull + curvatures[:, 1] * ties[0, 0]
        ties_total[0, 0] += (curvatures[:, 1] * gap + curvatures[:, 2] * ties[0, 0]).sum()
    for side, sign in ((rows.winner, 1.0), (rows.loser, -1.0)):
        score_total += sum_by(side, sign * pull, len(score))


def few_marginal(
    rows: VoteRows,
    starts: NDArray[np.int64],
    score: Floats,
    ties: Floats,
    bias: Floats,
    qualities: Qualities,
    curved: bool,
    slopes: Slopes,
    posterior: Floats,
) -> float:
    """`davidson_kernels.davidson_marginal` of all profiles; `ties` and `bias` may be empty."""
    profile, winner, loser, kind, weight = rows
    rates = qualities.first[:, None] + qualities.step[:, None] * np.arange(qualities.share.shape[1])
    tied, eta, not_eta = (kind == TIED)[:, None], ((1 + rates) / 2)[profile], ((1 - rates) / 2)[profile]
    gap = (score[winner] - score[loser])[:, None]
    side = np.where(kind == WON_RIGHT, -1.0, 1.0)[:, None]
    shift = side * bias[profile][:, None] if len(bias) else 0.0
    # A tie is no answer: with a chance of 1 for either, it has no slope.
    right, wrong = (np.where(tied, 1.0, _sigma(each + shift)) for each in (gap, -gap))
    chance = mixture = eta * right + not_eta * wrong + TINY
    right_density, wrong_density = right * (1 - right), wrong * (1 - wrong)
    slope = answer_slope = (eta * right_density - not_eta * wrong_density) / mixture
    if len(ties):
        rate = rates[profile]
        of_ties = _ties(gap, rate, _exp(ties)[profile][:, None])
        chance = mixture * np.where(tied, of_ties.chance, of_ties.none)
        slope = slope + of_ties.lead * (of_ties.chance - tied)
    value = _posterior(starts, weight[:, None] * np.log(chance + TINY), qualities.share, posterior)
    share = weight[:, None] * posterior[profile]
    pull = _dots(share, slope)
    slopes.score[:] += sum_by(loser, pull, len(score)) - sum_by(winner, pull, len(score))
    if len(ties):
        slopes.ties[:] -= sum_by(profile, _dots(share, tied - of_ties.chance), len(ties))
    if len(bias):
        by_bias = (eta * right_density + not_eta * wrong_density) / mixture
        slopes.bias[:] -= sum_by(profile, side[:, 0] * _dots(share, by_bias), len(bias))
    if curved:
        twice = eta * right_density * (1 - 2 * right) + not_eta * wrong_density * (1 - 2 * wrong)
        twice /= mixture
        curvature = answer_slope**2 - twice
        if len(ties):
            both = of_ties.chance * (1 - of_ties.chance)
            curvature = curvature + of_ties.lead_slope(rate) * (tied - of_ties.chance) + of_ties.lead**2 * both
            slopes.ties_curvature[:] += sum_by(profile, _dots(share, both), len(ties))
        if len(bias):
            slopes.bias_curvature[:] += sum_by(profile, _dots(share, by_bias**2 - twice), len(bias))
        slopes.gap_curvature[:] = _dots(share, curvature)
        off = rates - _dots(posterior, rates)[:, None]
        slopes.gap_quality[:] = _dots(share, slope * off[profile])
    return value


def _dots(one: Floats, other: Floats) -> Floats:
    """The products of rows, whose bits do not depend on the number of threads."""
    return np.asarray(np.einsum("ij,ij->i", one, other))


def _posterior(starts: NDArray[np.int64], log_chance: Floats, prior: Floats, posterior: Floats) -> float:
    """Writes the posterior of quality; minus the log-likelihood."""
    log_product = np.log(prior + TINY)
    with_votes = np.flatnonzero(np.diff(starts))
    if len(with_votes):
        log_product[with_votes] += np.add.reduceat(log_chance, starts[with_votes])
    top = log_product.max(axis=1, keepdims=True)
    chance = np.exp(log_product - top)
    total = chance.sum(axis=1, keepdims=True)
    posterior[:] = chance / total
    return -float((top + np.log(total)).sum())
