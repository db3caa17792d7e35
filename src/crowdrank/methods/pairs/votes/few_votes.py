"""The kernels of logistic votes in NumPy, for studies with few votes.

To compile the kernels takes seconds, more than such a study needs for everything else.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import TIED, WON_RIGHT
from crowdrank.methods.pairs.votes.davidson_kernels import WIDEST
from crowdrank.methods.pairs.votes.kernels import FURTHEST, TINY, Derivatives, VoteRows
from crowdrank.methods.pairs.votes.marginal_kernels import CURVATURE, GRADIENT, VALUE, Qualities, Slopes
from crowdrank.numerics.compiled import is_compiled
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats

FEW, FEW_WITH_TIES, FEW_WITH_BIAS = 6000, 2000, 500  # so many take less time here than it takes to compile the kernels
FACTORS = 16  # of a product that cannot become too small, unless gaps are absurd


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


def _exp(x: Floats) -> Floats:
    return np.asarray(np.exp(np.minimum(np.maximum(x, -FURTHEST), FURTHEST)))  # `clip` takes five times as long


def _sigma(x: Floats) -> Floats:
    return np.asarray(1 / (1 + _exp(-x)))


def _right_and_wrong(gap: Floats) -> tuple[Floats, Floats]:
    """`_sigma` of the gap and of its opposite, both exact where they are small."""
    odds = _exp(-gap)
    right = 1 / (1 + odds)
    return right, odds * right


def _powers(first: Floats, step: Floats, rows: Floats) -> Floats:
    """Row k becomes e^(first + k step); by products, which take a tenth of the time of exponentials."""
    done, count, ratio = 1, len(rows), _exp(step)
    rows[0] = _exp(first)
    while done < count:
        more = min(done, count - done)
        np.multiply(rows[:more], ratio, out=rows[done : done + more])
        done, ratio = done + more, ratio * ratio
    return rows


def _half(gap: Floats, sharpness: float) -> Floats:
    return np.asarray(np.minimum(np.maximum(sharpness * gap, -WIDEST), WIDEST) / 2)


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
    right, wrong = _right_and_wrong(gap)
    value = np.where(tied, 0.0, np.logaddexp(0.0, -gap))
    slope, curvature = np.where(tied, 0.0, -wrong), np.where(tied, 0.0, right * wrong)
    if tau > 0:
        ties = _ties(_exp(gap / 2), 1.0, tau)
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


class Products:
    """Of the chances of every profile's votes. A few successive ones of the same weight need one logarithm."""

    def __init__(self, weight: Floats, counts: NDArray[np.int64]) -> None:
        self.with_votes = np.flatnonzero(counts)
        first = (np.cumsum(counts) - counts)[self.with_votes]
        of_other_weight = np.flatnonzero(np.diff(weight)) + 1
        self.cuts = np.unique(np.concatenate((first, np.arange(0, len(weight), FACTORS), of_other_weight)))
        self.weight = weight[self.cuts]
        self.first = np.searchsorted(self.cuts, first)

    def include(self, chance: Floats, log_product: Floats) -> None:
        """Adds the logarithm of every profile's product to its row; `chance` is quality × vote."""
        logs = self.weight * np.log(np.multiply.reduceat(chance, self.cuts, axis=1) + TINY)
        log_product[self.with_votes] += np.add.reduceat(logs, self.first, axis=1).T


class SameKind:
    """Votes that were all won or all tied, without biases. Tables are quality × vote, and used again and again.

    With E = e^(κ r gap / 2) and N = E² + 1, a tie has the chance τE / (τE + N).
    """

    def __init__(self, rows: VoteRows, which: NDArray[np.int64], n_profiles: int) -> None:
        which = which[np.lexsort((rows.weight[which], rows.profile[which]))]
        self.profile, self.winner, self.loser = (each[which].astype(np.intp) for each in rows[:3])
        self.weight, self.are_tied = rows.weight[which], bool((rows.kind[which] == TIED).any())
        self.counts = np.bincount(self.profile, minlength=n_profiles)
        self.products = Products(self.weight, self.counts)
        self.of_rates: tuple[Floats, Floats] | None = None

    def _set_rates(self, first: Floats, step: Floats, n_types: int) -> None:
        """The rates 2η − 1, η and 1 − η of every vote; they change seldom."""
        if self.of_rates is None or self.of_rates[0] is not first or self.of_rates[1] is not step:
            self.rate = np.repeat(first + step * np.arange(n_types)[:, None], self.counts, axis=1)
            self.first_rate, self.rate_step = np.repeat((first, step), self.counts, axis=1)
            self.eta = (1 + self.rate) / 2
            self.not_eta = 1 - self.eta
            self.mixture, self.square, self.tie, self.total, self.table, self.spare = np.empty((6, *self.rate.shape))
            self.of_rates = first, step

    def include(self, score: Floats, tau: Floats, qualities: Qualities, log_product: Floats) -> None:
        """Adds the log-likelihood of every profile's votes, by quality; `tau` may be empty."""
        self._set_rates(qualities.first, qualities.step, qualities.share.shape[1])
        gap = score[self.winner] - score[self.loser]
        chance = self.table
        if len(tau):
            self.sharpness = qualities.tie_sharpness
            half = _half(gap, self.sharpness)
            tie = _powers(half * self.first_rate, half * self.rate_step, self.tie)
            np.multiply(tie, tie, out=self.square)
            self.square += 1
            tie *= tau[self.profile]
            np.add(tie, self.square, out=self.total)
        if self.are_tied:
            np.divide(self.tie, self.total, out=chance)
        else:
            right, wrong = _right_and_wrong(gap)
            self.density = right * wrong
            np.multiply(self.eta, right, out=self.mixture)
            self.mixture += np.multiply(self.not_eta, wrong, out=chance)
            chance = self.mixture
            if len(tau):
                chance = np.divide(self.square, self.total, out=self.table)
                chance *= self.mixture
        self.products.include(chance, log_product)

    def add_slopes(self, posterior: Floats, slopes: Slopes) -> None:
        """Adds the gradient where the likelihood was found."""
        share = np.repeat(np.ascontiguousarray(posterior.T), self.counts, axis=1)  # transposed: twice the time
        if n_ties := len(slopes.ties):
            missed = _sums(share, np.divide(self.tie, self.total, out=self.spare)) - self.are_tied
            slopes.ties[:] += sum_by(self.profile, self.weight * missed, n_ties)
        by_vote, size = self.weight * _sums(share, self._pulls(n_ties > 0)) / 2, len(slopes.score)
        slopes.score[:] += sum_by(self.loser, by_vote, size) - sum_by(self.winner, by_vote, size)

    def _pulls(self, with_ties: bool) -> Floats:
        """Twice the derivative of the log-likelihood by the gap; with ties, their chances stand in `spare`."""
        pull: Floats = self.table
        if self.are_tied:
            np.subtract(2, self.square, out=pull)
            pull /= self.total
            pull *= self.sharpness
        elif with_ties:
            np.subtract(self.square, 2, out=pull)
            pull /= self.square
            pull *= self.spare
            pull *= self.sharpness
            pull += np.divide(2 * self.density, self.mixture, out=self.spare)
        else:
            np.divide(2 * self.density, self.mixture, out=pull)
        pull *= self.rate
        return pull


class FewMarginal:
    """`davidson_kernels.davidson_marginal` of all profiles; what all evaluations share is computed once.

    Tables are quality × vote, so that sums over qualities add whole rows.
    """

    def __init__(self, rows: VoteRows, starts: NDArray[np.int64]) -> None:
        self.rows, self.counts = rows, np.diff(starts)
        self.tied = rows.kind == TIED
        self.side = np.where(rows.kind == WON_RIGHT, -1.0, 1.0)
        self.products = Products(rows.weight, self.counts)
        kinds = [np.flatnonzero(kind) for kind in (~self.tied, self.tied)]
        self.kinds = [SameKind(rows, which, len(self.counts)) for which in kinds if len(which)]
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
            half = _half(gap, qualities.tie_sharpness)
            up = _powers(half * self.first_rate, half * self.rate_step, np.empty_like(self.rate))
            of_ties = _ties(up, qualities.tie_sharpness * self.rate, _exp(ties)[profile])
            chance = mixture * np.where(self.tied, of_ties.chance, 1 - of_ties.chance)
        log_product = np.log(qualities.share + TINY)
        self.products.include(chance, log_product)
        value = _normalised(log_product, posterior)
        if order == VALUE:
            return value
        share = self._by_vote(posterior.T)
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
            off = self.rates - _sums(posterior.T, self.rates)
            slopes.gap_quality[:] = weight * _sums(share, answers * self._by_vote(off))
        return value

    def _chances(self, gap: Floats, bias: Floats) -> tuple[Floats, Floats]:
        """Of the answer where the annotator is right, and where not. A tie is no answer: 1 for either, so no slope."""
        if len(bias):
            shift = self.side * bias[self.rows.profile]
            right, wrong = _sigma(gap + shift), _sigma(shift - gap)
        else:
            right, wrong = _right_and_wrong(gap)
        return np.where(self.tied, 1.0, right), np.where(self.tied, 1.0, wrong)

    def _evaluate_quickly(
        self, score: Floats, ties: Floats, qualities: Qualities, order: int, slopes: Slopes, posterior: Floats
    ) -> float:
        """The same without biases and curvatures: what is needed most often."""
        kinds = [votes for votes in self.kinds if len(ties) or not votes.are_tied]  # a tie is no answer
        where = (score.tobytes(), ties.tobytes(), qualities.tie_sharpness, qualities.first, qualities.step)
        if not _same(where, self.found_at):  # other shares of the qualities leave the likelihood of each as it was
            self.log_likelihood, self.found_at = np.zeros(qualities.share.shape), where
            for votes in kinds:
                votes.include(score, _exp(ties), qualities, self.log_likelihood)
        value = _normalised(self.log_likelihood + np.log(qualities.share + TINY), posterior)
        if order == GRADIENT:
            for votes in kinds:
                votes.add_slopes(posterior, slopes)
        return value


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and one[:3] == other[:3] and one[3] is other[3] and one[4] is other[4]


def _normalised(log_product: Floats, posterior: Floats) -> float:
    """Writes the posterior of quality; minus the log-likelihood."""
    top = log_product.max(axis=1, keepdims=True)
    odds = np.exp(log_product - top)
    total = odds.sum(axis=1, keepdims=True)
    np.divide(odds, total, out=posterior)
    return -float((top + np.log(total)).sum())


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
