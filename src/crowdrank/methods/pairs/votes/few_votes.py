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
    """Davidson's ties: the chance of one, the derivative of log C by the gap and the derivative of that."""

    chance: Floats
    lead: Floats
    lead_slope: Floats
    log_odds: Floats


def _sigma(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -FURTHEST, FURTHEST))))


def _ties(gap: Floats, rate: Floats | float, log_tau: Floats | float) -> Ties:
    """`rate` is 2η − 1, and C = 2 cosh(rate gap / 2)."""
    half = np.asarray(rate * gap / 2)
    log_odds = log_tau - np.logaddexp(half, -half)
    lead = rate / 2 * np.tanh(half)
    return Ties(_sigma(log_odds), lead, np.asarray(rate) ** 2 / 4 - lead**2, log_odds)


def pooled_terms(rows: VoteRows, score: Floats, tau: float, total: Derivatives) -> float:
    """`kernels.any_terms` with scores and, where `tau` is above 0, one tie threshold."""
    gap, tied, weight = score[rows.winner] - score[rows.loser], rows.kind == TIED, rows.weight
    right, wrong = _sigma(gap), _sigma(-gap)
    value = np.where(tied, 0.0, np.logaddexp(0.0, -gap))
    slope, curvature = np.where(tied, 0.0, -wrong), np.where(tied, 0.0, right * wrong)
    if tau > 0:
        ties = _ties(gap, 1.0, float(np.log(tau)))
        both = ties.chance * (1 - ties.chance)
        value += np.logaddexp(0.0, np.where(tied, -ties.log_odds, ties.log_odds))
        slope += ties.lead * (tied - ties.chance)
        curvature += ties.lead_slope * (tied - ties.chance) + ties.lead**2 * both
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
    rate, tied = rates[profile], (kind == TIED)[:, None]
    eta, not_eta = (1 + rate) / 2, (1 - rate) / 2
    gap = (score[winner] - score[loser])[:, None]
    side = np.where(kind == WON_RIGHT, -1.0, 1.0)[:, None]
    shift = side * bias[profile][:, None] if len(bias) else 0.0
    right, wrong = _sigma(gap + shift), _sigma(-gap + shift)
    mixture = eta * right + not_eta * wrong + TINY
    right_density, wrong_density = right * (1 - right), wrong * (1 - wrong)
    log_chance = np.where(tied, 0.0, np.log(mixture))
    slope = np.where(tied, 0.0, (eta * right_density - not_eta * wrong_density) / mixture)
    answer_slope = slope
    if len(ties):
        of_ties = _ties(gap, rate, ties[profile][:, None])
        log_chance = log_chance - np.logaddexp(0.0, np.where(tied, -of_ties.log_odds, of_ties.log_odds))
        slope = slope + of_ties.lead * (of_ties.chance - tied)
    value = _posterior(starts, weight[:, None] * log_chance, qualities.share, posterior)
    share = weight[:, None] * posterior[profile]
    pull = (share * slope).sum(axis=1)
    slopes.score[:] += sum_by(loser, pull, len(score)) - sum_by(winner, pull, len(score))
    by_bias = np.where(tied, 0.0, (eta * right_density + not_eta * wrong_density) / mixture)
    if len(ties):
        slopes.ties[:] -= sum_by(profile, (share * (tied - of_ties.chance)).sum(axis=1), len(ties))
    if len(bias):
        slopes.bias[:] -= sum_by(profile, (share * side * by_bias).sum(axis=1), len(bias))
    if curved:
        twice = eta * right_density * (1 - 2 * right) + not_eta * wrong_density * (1 - 2 * wrong)
        twice = np.where(tied, 0.0, twice / mixture)
        curvature = answer_slope**2 - twice
        if len(ties):
            both = of_ties.chance * (1 - of_ties.chance)
            curvature = curvature + of_ties.lead_slope * (tied - of_ties.chance) + of_ties.lead**2 * both
            slopes.ties_curvature[:] += sum_by(profile, (share * both).sum(axis=1), len(ties))
        if len(bias):
            slopes.bias_curvature[:] += sum_by(profile, (share * (by_bias**2 - twice)).sum(axis=1), len(bias))
        slopes.gap_curvature[:] = (share * curvature).sum(axis=1)
        mean_rate = (posterior * rates).sum(axis=1)[profile]
        slopes.gap_quality[:] = (share * slope * (rate - mean_rate[:, None])).sum(axis=1)
    return value


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
