"""The log-posterior of votes: scores of entries and parameters of annotators.

All probabilistic pairwise methods are cases of it. A profile is a set of an annotator's parameters: one per annotator,
one per annotator and task, or one for all. Parameters that are not free have the value without effect: quality 1,
slope 1, no ties, no bias.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from crowdrank.convert import Votes
from crowdrank.methods.pairs.votes import few_votes, kernels
from crowdrank.methods.pairs.votes.kernels import Derivatives, VoteRows
from crowdrank.numerics.blocks import Layout
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import RowSum
from crowdrank.study import Codes, Floats

Link = Literal["logistic", "normal"]
PARAMETERS = {"quality": 1, "slope": 2, "ties": 3, "bias": 4}  # those of a profile, by their number in the kernels


@dataclass(frozen=True, slots=True)
class Priors:
    """The prior distributions of all parameters."""

    score: float | None  # virtual wins and losses of every item against one of score 0
    quality: tuple[float, float] = (1.05, 1.05)  # Beta(α, β)
    normal: Mapping[str, tuple[float, float]] | None = None  # parameter → mean and standard deviation
    spread: float = 1.0  # standard deviation of the scores, where there are no virtual wins and losses
    similar: bool = False  # items are mostly compared with others of about the same score


class VoteModel:
    """Minus the log-posterior, its gradient and products with its Hessian, for `numerics.newton.minimise`.

    `priors` may change; the arrays stay.
    """

    def __init__(
        self,
        votes: Votes,
        profile: Codes,
        n_entries: int,
        n_profiles: int,
        link: Link,
        free: tuple[str, ...],
        priors: Priors,
    ) -> None:
        self.votes, self.profile, self.priors = votes, profile, priors
        self.rows = VoteRows(profile, votes.winner, votes.loser, votes.kind, votes.weight)
        self.free = free = tuple(sorted(free, key=PARAMETERS.__getitem__))  # the kernels fill an upper triangle
        self.active = np.array([PARAMETERS[name] for name in free], dtype=np.int64)
        self.normal = link == "normal"
        self.n_entries, self.n_profiles = n_entries, n_profiles
        self.layout = Layout(score=n_entries, **dict.fromkeys(free, n_profiles))
        self.curvatures = np.empty((len(votes), (len(free) + 1) * (len(free) + 2) // 2))
        self.sum_terms = RowSum(len(votes), 2 * self.layout.size)
        self.sum_products = RowSum(len(votes), self.layout.size)
        self.virtual_gradient, self.virtual_curvature = np.empty((2, n_entries))
        self.slope_scale_weight = float(votes.weight.sum())  # keeps the mean log slope at 0 as firmly as all votes
        self.plain = not self.normal and set(free) <= {"quality"}
        one_profile = n_profiles == 1 and set(free) <= {"ties"}
        kernel = kernels.any_terms if free else kernels.plain_terms
        self.few = one_profile and not self.normal and few_votes.are_few(len(votes), free, kernel)

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient at x; remembers the curvature there."""
        value, sums = self.likelihood(x)
        gradient, self.vote_curvature = sums.reshape(2, -1)
        self.prior_curvature = np.zeros(self.layout.size)
        return value + self._add_priors(x, gradient), gradient

    def likelihood(self, x: Floats) -> tuple[float, Floats]:
        """The same without priors; the gradient is followed by the diagonal of the Hessian."""
        score, profiles = x[: self.n_entries], self.profiles(x)
        sums, values = self.sum_terms(lambda part, total: self._terms(part, total.reshape(2, -1), score, profiles))
        return sum(values), sums

    def profiles(self, x: Floats) -> Floats:
        """η, 1 − η, slope, threshold and bias of each profile."""
        theta = self.layout.unpack(x)
        values = np.tile(np.array([[1.0], [0.0], [1.0], [0.0], [0.0]]), self.n_profiles)
        if "quality" in self.free:
            values[0], values[1] = logistic(theta.quality), logistic(-theta.quality)
        if "slope" in self.free:
            values[2] = np.exp(theta.slope)
        if "ties" in self.free:
            values[3] = np.exp(theta.ties)
        if "bias" in self.free:
            values[4] = theta.bias
        return values

    def _terms(self, part: slice, total: Floats, score: Floats, profiles: Floats) -> float:
        rows, derivatives = self.rows.part(part), Derivatives(*self._split(total), self.curvatures[part])
        if self.few:
            return few_votes.pooled_terms(rows, score, float(profiles[3, 0]), derivatives)
        if self.plain and not self.free:
            return float(kernels.plain_terms(rows, score, derivatives))
        if self.plain:
            return float(kernels.quality_terms(rows, score, profiles, derivatives))
        return float(kernels.any_terms(rows, score, profiles, self.normal, self.active, derivatives))

    def _split(self, total: Floats) -> tuple[Floats, Floats]:
        """Vectors of all parameters as scores, and one row for each free parameter of the profiles."""
        scores, profiles = total[..., : self.n_entries], total[..., self.n_entries :]
        return scores, profiles.reshape(*total.shape[:-1], len(self.free), self.n_profiles)

    def _add_priors(self, x: Floats, gradient: Floats) -> float:
        """Minus the log-density at x; adds its derivatives."""
        theta, first, second = (self.layout.unpack(each) for each in (x, gradient, self.prior_curvature))
        if self.priors.score is None:
            value = float((theta.score**2).sum()) / (2 * self.priors.spread**2)
            first.score += theta.score / self.priors.spread**2
            second.score += 1 / self.priors.spread**2
        else:
            virtual = self.virtual_gradient, self.virtual_curvature
            value = float(kernels.virtual_terms(theta.score, self.priors.score, self.normal, *virtual))
            first.score += self.virtual_gradient
            second.score += self.virtual_curvature
        if "quality" in self.free:
            alpha, beta = self.priors.quality[0] - 1, self.priors.quality[1] - 1
            right, wrong = logistic(theta.quality), logistic(-theta.quality)
            first.quality += beta * right - alpha * wrong
            second.quality += (alpha + beta) * right * wrong
            # log σ(q) = −log(1 + e^−q), which stays finite where σ(q) rounds to 0
            value += float((alpha * np.logaddexp(0, -theta.quality) + beta * np.logaddexp(0, theta.quality)).sum())
        for name, (mean, spread) in (self.priors.normal or {}).items():
            where = self.layout.slices[name]
            value += float(((x[where] - mean) ** 2).sum()) / (2 * spread**2)
            gradient[where] += (x[where] - mean) / spread**2
            self.prior_curvature[where] += 1 / spread**2
        if "slope" in self.free:
            # All slopes times a factor and all scores divided by it predict the same: the mean log slope stays at 0.
            mean = float(theta.slope.sum()) / max(self.n_profiles, 1)
            value += self.slope_scale_weight * self.n_profiles * mean**2 / 2
            first.slope += self.slope_scale_weight * mean
        return value

    def hessian_product(self, v: Floats) -> Floats:
        """The Hessian at the last evaluated point times v."""
        product = self.vote_product(v) + self.prior_curvature * v
        if "slope" in self.free:
            where = self.layout.slices["slope"]
            product[where] += self.slope_scale_weight * v[where].sum() / max(self.n_profiles, 1)
        return product

    def vote_product(self, v: Floats) -> Floats:
        """The same without priors."""
        return self.sum_products(lambda part, total: self._product(part, total, v))[0]

    def _product(self, part: slice, total: Floats, v: Floats) -> None:
        rows, curvatures = self.rows.part(part), self.curvatures[part]
        (score, profiles), (score_total, profile_total) = self._split(v), self._split(total)
        if self.few:
            few_votes.pooled_product(rows, curvatures, score, profiles, score_total, profile_total)
        elif self.plain and not self.free:
            kernels.plain_hessian_product(rows, curvatures, score, score_total)
        elif self.plain:
            kernels.quality_hessian_product(rows, curvatures, score, profiles[0], score_total, profile_total[0])
        else:
            kernels.any_hessian_product(rows, curvatures, score, profiles, score_total, profile_total)

    def diagonal(self) -> Floats:
        """The diagonal of the Hessian at the last evaluated point."""
        diagonal = self.vote_curvature + self.prior_curvature
        if "slope" in self.free:
            diagonal[self.layout.slices["slope"]] += self.slope_scale_weight / max(self.n_profiles, 1)
        return diagonal

    def hessian(self) -> Floats:
        """The whole Hessian at the last evaluated point, for models small enough to hold it."""
        size, n = self.layout.size, self.n_entries
        matrix = np.diag(self.prior_curvature)
        if "slope" in self.free:
            where = self.layout.slices["slope"]
            matrix[where, where] += self.slope_scale_weight / max(self.n_profiles, 1)
        winner, loser = self.votes.winner.astype(np.int64), self.votes.loser.astype(np.int64)
        # The derivative of a term by the gap is that by the winner's score, and minus that by the loser's.
        places = [[(winner, 1.0), (loser, -1.0)]]
        places += [[(n + i * self.n_profiles + self.profile.astype(np.int64), 1.0)] for i in range(len(self.free))]
        at = 0
        for i in range(len(places)):
            for j in range(i, len(places)):
                for one, sign in places[i]:
                    for other, other_sign in places[j]:
                        value = sign * other_sign * self.curvatures[:, at]
                        block = sum_by(one * size + other, value, size * size).reshape(size, size)
                        matrix += block if i == j else block + block.T
                at += 1
        return matrix


def logistic(x: Floats) -> Floats:
    """σ(x) without overflow, exact to the last digit at both ends, unlike (1 + tanh(x / 2)) / 2."""
    result: Floats = np.exp(-np.logaddexp(0.0, -x))
    return result
