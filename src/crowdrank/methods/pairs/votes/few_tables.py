"""Votes in tables of quality × vote, from which NumPy computes their likelihood without kernels.

A study has few votes here, so the time goes to the passes over these tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import TIED
from crowdrank.methods.pairs.votes.davidson_kernels import WIDEST
from crowdrank.methods.pairs.votes.kernels import FURTHEST, TINY, VoteRows
from crowdrank.methods.pairs.votes.marginal_kernels import Qualities, Slopes
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats

FACTORS = 16  # of a product that cannot become too small, unless gaps are absurd
MANY = 8  # products for each of their factors: so many are multiplied together
MIXED = 0.999  # further from ½, the chance of a surprising vote is too small for differences from ½


def exp(x: Floats) -> Floats:
    """Never infinite."""
    return np.asarray(np.exp(np.minimum(np.maximum(x, -FURTHEST), FURTHEST)))  # `clip` takes five times as long


def right_and_wrong(gap: Floats) -> tuple[Floats, Floats]:
    """`_sigma` of the gap and of its opposite, both exact where they are small."""
    odds = exp(-gap)
    right = 1 / (1 + odds)
    return right, odds * right


def half_gap(gap: Floats, sharpness: float) -> Floats:
    """Half the gap that decides about ties."""
    return np.asarray(np.minimum(np.maximum(sharpness * gap, -WIDEST), WIDEST) / 2)


def powers(first: Floats, step: Floats, rows: Floats) -> Floats:
    """Row k becomes e^(first + k step); by products, which take a tenth of the time of exponentials."""
    done, count, ratio = 1, len(rows), np.exp(step)
    np.exp(first, out=rows[0])
    while done < count:
        more = min(done, count - done)
        np.multiply(rows[:more], ratio, out=rows[done : done + more])
        done, ratio = done + more, ratio * ratio
    return rows


class Products:
    """Of the chances of every profile's votes, in the order `order`. A few votes of the same weight need one logarithm.

    Where there are many products, the first votes of all of them come first, then the second ones, and so on: then
    whole tables are multiplied. A few long products are multiplied one by one.
    """

    def __init__(self, profile: Codes, weight: Floats) -> None:
        order = np.lexsort((weight, profile))
        profile, weight = profile[order], weight[order]
        runs = _first_of_runs(profile, weight)
        number = (np.arange(len(order)) - np.repeat(runs, np.diff(runs, append=len(order)))) % FACTORS
        self.starts = np.flatnonzero(number == 0)
        self.weight, of_profile = weight[self.starts], profile[self.starts]
        self.with_votes, self.first = np.unique(of_profile, return_index=True)
        self.lengths = np.bincount(number).tolist()  # how many products have a first vote, a second one, …
        self.are_many = len(self.starts) > MANY * len(self.lengths)
        if self.are_many:
            sizes = np.diff(self.starts, append=len(order))
            largest_first = np.argsort(-sizes, kind="stable")
            self.place = np.argsort(largest_first)
            order = order[np.lexsort((np.repeat(self.place, sizes), number))]
        self.order = order

    def add_logs(self, chance: Floats, log_product: Floats) -> None:
        """Adds the logarithm of every profile's product to its column; `chance` is quality × vote."""
        product = self._multiplied(chance) if self.are_many else np.multiply.reduceat(chance, self.starts, axis=1)
        product += TINY
        logs = np.log(product, out=product)
        logs *= self.weight
        if len(self.first) < len(self.weight):
            logs = np.add.reduceat(logs, self.first, axis=1)
        if len(self.with_votes) == log_product.shape[1]:
            log_product += logs
        else:
            log_product[:, self.with_votes] += logs

    def _multiplied(self, chance: Floats) -> Floats:
        done = self.lengths[0]
        product = chance[:, :done].copy()
        for length in self.lengths[1:]:
            product[:, :length] *= chance[:, done : done + length]
            done += length
        return product.take(self.place, axis=1)


def _first_of_runs(*keys: NDArray[Any]) -> NDArray[np.int64]:
    """Where rows differ from those before, in any key."""
    differs = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return np.flatnonzero(np.concatenate(([True], differs)))[: len(keys[0])]


class VoteTables:
    """Votes without biases, whose likelihood is that of every possible quality. Tables are used again and again.

    With E = e^(κ r gap / 2) and N = E² + 1, a tie has the chance τE / (τE + N), which is the same for r and −r. So
    where the possible qualities lie as far on both sides of ½, tables of ties need only half of them.
    """

    def __init__(self, rows: VoteRows) -> None:
        self.products = Products(rows.profile, rows.weight)
        self.profile, self.winner, self.loser = (each[self.products.order].astype(np.intp) for each in rows[:3])
        self.weight, self.tied = rows.weight[self.products.order], rows.kind[self.products.order] == TIED
        self.middle = np.where(self.tied, 1.0, 0.5)  # of the chances that an answer has with r and −r
        self.of_rates: tuple[Floats, Floats] | None = None

    def _set_rates(self, first: Floats, step: Floats, n_types: int) -> None:
        """The rates r = 2η − 1 of every vote; they change seldom."""
        if self.of_rates is None or self.of_rates[0] is not first or self.of_rates[1] is not step:
            self.first_rate, self.rate_step = first[self.profile], step[self.profile]
            self.rate = self.first_rate + self.rate_step * np.arange(n_types)[:, None]
            mirrored = np.allclose(2 * first + step * (n_types - 1), 0, rtol=0, atol=1e-12)
            self.n_different = (n_types + 1) // 2 if mirrored else n_types
            self.is_mixed = bool((np.abs(self.rate) < MIXED).all())
            self.mixture, self.table = np.empty((2, *self.rate.shape))
            self.square, self.tie, self.spare = np.empty((3, self.n_different, len(self.profile)))
            self.of_rates = first, step

    def _halves(self, table: Floats) -> tuple[Floats, Floats]:
        """The rows of different rates, and those of rates whose opposites are among them, in the opposites' order."""
        return table[: self.n_different], table[self.n_different :][::-1]

    def include(self, score: Floats, tau: Floats, qualities: Qualities, log_product: Floats) -> None:
        """Adds the log-likelihood of every profile's votes, by quality; `tau` may be empty."""
        self._set_rates(qualities.first, qualities.step, qualities.share.shape[1])
        gap = score[self.winner] - score[self.loser]
        self._set_mixture(gap)
        chance = self.mixture
        if len(tau):
            self.sharpness = qualities.tie_sharpness
            self._set_ties(half_gap(gap, self.sharpness), tau[self.profile])
            chance, kind = self.table, np.divide(self.square, self.spare, out=self.spare)
            np.copyto(kind, self.tie, where=self.tied)
            for half, mixture in zip(self._halves(chance), self._halves(self.mixture), strict=True):
                np.multiply(mixture, kind[: len(half)], out=half)
        self.products.add_logs(chance, log_product)

    def _set_mixture(self, gap: Floats) -> None:
        """The chance of the answer where it is no tie: η right + (1 − η) wrong. A tie is no answer: 1."""
        right, wrong = right_and_wrong(gap)
        self.density = np.where(self.tied, 0.0, right * wrong)
        if self.is_mixed:
            different, opposite = self._halves(self.mixture)
            np.multiply(self.rate[: self.n_different], np.where(self.tied, 0.0, right - 0.5), out=different)
            np.subtract(self.middle, different[: len(opposite)], out=opposite)
            different += self.middle
        else:
            np.multiply((1 + self.rate) / 2, np.where(self.tied, 1.0, right), out=self.mixture)
            self.mixture += (1 - self.rate) / 2 * np.where(self.tied, 1.0, wrong)

    def _set_ties(self, half: Floats, tau: Floats) -> None:
        """`square` becomes N, `spare` τE + N, and `tie` the chance of a tie."""
        powers(half * self.first_rate, half * self.rate_step, self.tie)
        np.multiply(self.tie, self.tie, out=self.square)
        self.square += 1
        self.tie *= tau
        self.tie /= np.add(self.tie, self.square, out=self.spare)

    def add_slopes(self, posterior: Floats, slopes: Slopes) -> None:
        """Adds the gradient where the likelihood was found; `posterior` is quality × profile."""
        share = posterior.take(self.profile, axis=1)
        if n_ties := len(slopes.ties):
            different, opposite = self._halves(share)
            either = different.copy()
            either[: len(opposite)] += opposite
            missed = np.subtract(self.tie, self.tied, out=self.spare)
            missed *= either
            slopes.ties[:] += sum_by(self.profile, self.weight * missed.sum(axis=0), n_ties)
            missed *= self.rate[: self.n_different]
            by_ties = missed.sum(axis=0)
            missed /= self.square
            by_ties -= 2 * missed.sum(axis=0)
            by_ties *= self.sharpness
        share *= self.rate
        share /= self.mixture
        pull = 2 * self.density * share.sum(axis=0)  # twice the derivative of the log-likelihood by the gap
        by_vote, size = self.weight * (pull + by_ties if n_ties else pull) / 2, len(slopes.score)
        slopes.score[:] += sum_by(self.loser, by_vote, size) - sum_by(self.winner, by_vote, size)
