"""The kernels of logistic votes in NumPy, for studies with few votes.

To compile the kernels takes seconds, more than such a study needs for everything else.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import TIED, WON_RIGHT
from crowdrank.methods.pairs.votes.few_tables import VoteTables, exp, half_gap, powers, right_and_wrong
from crowdrank.methods.pairs.votes.kernels import TINY, Derivatives, VoteRows
from crowdrank.methods.pairs.votes.marginal_kernels import CURVATURE, GRADIENT, VALUE, Qualities, Slopes
from crowdrank.numerics.compiled import is_compiled
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats

FEW, FEW_WITH_TIES, FEW_WITH_BIAS = 6000, 2000, 500  # so many take less time here than it takes to compile the kernels


def are_few(count: int, free: tuple[str, ...], kernel: Any) -> bool:
    """Whether so many logistic votes take less time here than until their kernel is ready; `free`: ties, bias."""
    limit = FEW_WITH_BIAS if "bias" in free else FEW_WITH_TIES if free else FEW
    return count <= limit and not _was_compiled(kernel)


@cache
def _was_compiled(kernel: Any) -> bool:
    """Whether a kernel was compiled before this process needed it: all its fits take the same way."""
    return is_compiled(kernel)


class Ties(NamedTuple):
    """Davidson's ties, where C = 2 cosh(rate gap / 2): the chance of one, C′ / C, and C′ / (τ + C)."""

    chance: Floats
    lead: Floats
    pull: Floats

    def lead_slope(self, rate: Floats | float) -> Floats:
        """The derivative of `lead` by the gap."""
        return np.asarray(np.asarray(rate) ** 2 / 4 - self.lead**2)


def _sigma(x: Floats) -> Floats:
    return np.asarray(1 / (1 + exp(-x)))


def _ties(up: Floats, rate: Floats | float, tau: Floats | float) -> Ties:
    """`rate` is 2η − 1, `up` e^(rate gap / 2), which is changed. One exponential gives everything."""
    down = 1 / up
    cosh = up + down
    up -= down
    up *= np.asarray(rate) / 2
    rest = 1 / (tau + cosh)
    lead = up / cosh
    up *= rest
    rest *= tau
    return Ties(rest, lead, up)


def pooled_terms(rows: VoteRows, score: Floats, tau: float, total: Derivatives) -> float:
    """`kernels.any_terms` with scores and, where `tau` is above 0, one tie threshold."""
    gap, tied, weight = score[rows.winner] - score[rows.loser], rows.kind == TIED, rows.weight
    right, wrong = right_and_wrong(gap)
    value = np.where(tied, 0.0, np.logaddexp(0.0, -gap))
    slope, curvature = np.where(tied, 0.0, -wrong), np.where(tied, 0.0, right * wrong)
    if tau > 0:
        ties = _ties(exp(gap / 2), 1.0, tau)
        both = ties.chance * (1 - ties.chance)
        value -= np.log(np.where(tied, ties.chance, 1 - ties.chance) + TINY)
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


class FewMarginal:
    """`davidson_kernels.davidson_marginal` of all profiles; what all evaluations share is computed once.

    Tables are quality × vote, so that sums over qualities add whole rows.
    """

    def __init__(self, rows: VoteRows, starts: NDArray[np.int64]) -> None:
        self.rows, self.counts = rows, np.diff(starts)
        self.tied = rows.kind == TIED
        self.side = np.where(rows.kind == WON_RIGHT, -1.0, 1.0)
        self.tables = VoteTables(rows)
        self.found_at: tuple[Any, ...] = ()

    def _set_rates(self, qualities: Qualities) -> None:
        """The rates 2η − 1, η and 1 − η of every vote."""
        first, step, share, _ = qualities
        self.rates = first + step * np.arange(share.shape[1])[:, None]
        self.rate = self._by_vote(self.rates)
        self.first_rate, self.rate_step = np.repeat((first, step), self.counts, axis=1)
        self.eta = (1 + self.rate) / 2
        self.not_eta = 1 - self.eta

    def _by_vote(self, of_profiles: Floats) -> Floats:
        return np.repeat(np.ascontiguousarray(of_profiles), self.counts, axis=1)  # transposed: twice the time

    def evaluate(
        self,
        score: Floats,
        ties: Floats,
        bias: Floats,
        qualities: Qualities,
        order: int,
        slopes: Slopes,
        posterior: Floats,
    ) -> float:
        """Minus the log-likelihood; `ties` and `bias` may be empty."""
        profile, winner, loser, _, weight = self.rows
        if order <= GRADIENT and not len(bias):
            return self._evaluate_quickly(score, ties, qualities, order, slopes, posterior)
        self._set_rates(qualities)
        gap = score[winner] - score[loser]
        right, wrong = self._chances(gap, bias)
        right_density, wrong_density = right * (1 - right), wrong * (1 - wrong)
        mixture = self.eta * right
        mixture += self.not_eta * wrong + TINY
        chance = mixture
        if len(ties):
            half = half_gap(gap, qualities.tie_sharpness)
            up = powers(half * self.first_rate, half * self.rate_step, np.empty_like(self.rate))
            of_ties = _ties(up, qualities.tie_sharpness * self.rate, exp(ties)[profile])
            chance = mixture * np.where(self.tied, of_ties.chance, 1 - of_ties.chance)
        log_product = np.zeros(qualities.share.T.shape) + _log_shares(qualities)
        self.tables.products.add_logs(chance[:, self.tables.products.order], log_product)
        value, by_quality = _normalised(log_product)
        posterior[:] = by_quality.T
        if order == VALUE:
            return value
        share = self._by_vote(by_quality)
        over = share / mixture
        by_right, by_wrong = _sums(over, self.eta), _sums(over, self.not_eta)
        pull = right_density * by_right - wrong_density * by_wrong
        if len(ties):
            # d log C / d gap of an answer, less d log (τ + C) / d gap of any vote
            pull += ~self.tied * _sums(share, of_ties.lead) - _sums(share, of_ties.pull)
            missed = _sums(share, of_ties.chance) - self.tied
            slopes.ties[:] += sum_by(profile, weight * missed, len(ties))
        pull *= weight
        slopes.score[:] += sum_by(loser, pull, len(score)) - sum_by(winner, pull, len(score))
        if len(bias):
            by_bias = right_density * by_right + wrong_density * by_wrong
            slopes.bias[:] -= sum_by(profile, weight * self.side * by_bias, len(bias))
        if order == CURVATURE:
            answers = (self.eta * right_density - self.not_eta * wrong_density) / mixture
            twice = right_density * (1 - 2 * right) * by_right + wrong_density * (1 - 2 * wrong) * by_wrong
            curvature = _sums(share, answers**2) - twice
            if len(ties):
                both, off = of_ties.chance * (1 - of_ties.chance), of_ties.chance - self.tied
                lead_slope = of_ties.lead_slope(qualities.tie_sharpness * self.rate)
                curvature += _sums(share, of_ties.lead**2 * both - lead_slope * off)
                slopes.ties_curvature[:] += sum_by(profile, weight * _sums(share, both), len(ties))
                answers += of_ties.lead * off
            if len(bias):
                squares = _sums(share, ((self.eta * right_density + self.not_eta * wrong_density) / mixture) ** 2)
                slopes.bias_curvature[:] += sum_by(profile, weight * (squares - twice), len(bias))
            slopes.gap_curvature[:] = weight * curvature
            off = self.rates - _sums(by_quality, self.rates)
            slopes.gap_quality[:] = weight * _sums(share, answers * self._by_vote(off))
        return value

    def _chances(self, gap: Floats, bias: Floats) -> tuple[Floats, Floats]:
        """Of the answer where the annotator is right, and where not. A tie is no answer: 1 for either, so no slope."""
        if len(bias):
            shift = self.side * bias[self.rows.profile]
            right, wrong = _sigma(gap + shift), _sigma(shift - gap)
        else:
            right, wrong = right_and_wrong(gap)
        return np.where(self.tied, 1.0, right), np.where(self.tied, 1.0, wrong)

    def _evaluate_quickly(
        self, score: Floats, ties: Floats, qualities: Qualities, order: int, slopes: Slopes, posterior: Floats
    ) -> float:
        """The same without biases and curvatures: what is needed most often."""
        where = (score.tobytes(), ties.tobytes(), qualities.tie_sharpness, qualities.first, qualities.step)
        if not _same(where, self.found_at):  # other shares of the qualities leave the likelihood of each as it was
            self.log_likelihood, self.found_at = np.zeros(qualities.share.T.shape), where
            self.tables.include(score, exp(ties), qualities, self.log_likelihood)
        value, by_quality = _normalised(self.log_likelihood + _log_shares(qualities))
        posterior[:] = by_quality.T
        if order == GRADIENT:
            self.tables.add_slopes(by_quality, slopes)
        return value


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and one[:3] == other[:3] and one[3] is other[3] and one[4] is other[4]


def _log_shares(qualities: Qualities) -> Floats:
    """Quality × profile; a single column where all profiles have the same shares."""
    share = qualities.share
    if (share[:-1] == share[1:]).all():
        share = share[:1]
    return np.log(np.ascontiguousarray(share.T) + TINY)


def _normalised(log_product: Floats) -> tuple[float, Floats]:
    """Minus the log-likelihood, and the posterior of quality; quality × profile."""
    top = log_product.max(axis=0)
    odds = np.exp(log_product - top)
    total = odds.sum(axis=0)
    odds /= total
    return -float((top + np.log(total)).sum()), odds


def _sums(share: Floats, values: Floats) -> Floats:
    """Of products over qualities, whose bits do not depend on the number of threads."""
    return np.asarray(np.einsum("gn,gn->n", share, values))


def divided_anew(share: Floats, chance: Floats, columns: Floats, divisions: Floats, limits: Floats) -> Floats:
    """`share_kernels.divided_anew`."""
    share = share.copy()
    for cell, (division, limit) in enumerate(zip(divisions, limits, strict=True)):
        both = share[cell] + share[cell + 1]
        new = division * both
        there = chance + (new - share[cell]) * (columns[cell] - columns[cell + 1])
        if limit < np.log(there / chance).sum():
            share[cell], share[cell + 1], chance = new, (1 - division) * both, there
    return share
