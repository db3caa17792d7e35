"""The log-posterior of votes: scores of entries, and what raters are like. All probabilistic pairwise methods are one
of its cases.

A rater is an annotator, an annotator on a task, or everybody at once. Their parameters that are not free have the value
at which they do nothing: quality 1, slope 1, no ties, no bias.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from crowdrank.convert import TIED, Votes
from crowdrank.methods.pairs.votes import kernels
from crowdrank.numerics.blocks import Layout
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import RowSum
from crowdrank.study import Codes, Floats

Link = Literal["logistic", "normal"]
PARAMETERS = {"quality": 1, "slope": 2, "ties": 3, "bias": 4}  # the raters' parameters, by their number in the kernels
HERE = ((0.0, 1.0),)  # a point of a normal distribution, in standard errors, and its share
CLOUD = ((0.0, 2 / 3), (3**0.5, 1 / 6), (-(3**0.5), 1 / 6))  # three that have the first five moments of it


@dataclass(frozen=True, slots=True)
class Priors:
    """What is taken to be true before any vote."""

    score: float  # virtual wins and losses of every item against one of score 0
    quality: tuple[float, float] = (1.05, 1.05)  # Beta(α, β)
    normal: Mapping[str, tuple[float, float]] | None = None  # parameter → mean and standard deviation


class VoteModel:
    """Minus the log-posterior, its gradient and products with its Hessian, for `numerics.newton.minimise`.

    Where `variance` is set, that of every parameter, each is the mean over a normal cloud around x instead of the value
    at x.
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
        self.variance: Floats | None = None
        self.free = free = tuple(sorted(free, key=PARAMETERS.__getitem__))  # the kernels fill an upper triangle
        self.normal = link == "normal"
        self.n_entries, self.n_profiles = n_entries, n_profiles
        self.layout = Layout(score=n_entries, **dict.fromkeys(free, n_profiles))
        self.curvatures = np.empty((len(votes), (len(free) + 1) * (len(free) + 2) // 2))
        self.sum_terms = RowSum(len(votes), 2 * self.layout.size)
        self.sum_products = RowSum(len(votes), self.layout.size)
        self.pin = float(
            votes.weight.sum()
        )  # how firmly the slopes' scale is held: as firmly as the votes hold anything
        self.plain = not self.normal and set(free) <= {"quality"}

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient at x; remembers the curvature there."""
        away, profiles = self._points(x)
        sums, values = self.sum_terms(
            lambda r, total: self._terms(r, total.reshape(2, -1), x[: self.n_entries], away, profiles)
        )
        gradient, self.vote_curvature = sums.reshape(2, -1)
        self.own_curvature = np.zeros(self.layout.size)
        value, error = sum(values), 0.0 if self.variance is None else np.sqrt(self.variance)
        for errors, share in HERE if self.variance is None else CLOUD:
            value += share * self._add_priors(x + errors * error, share, gradient)
        return value, gradient

    def _points(self, x: Floats) -> tuple[Floats, Floats]:
        """Where votes are looked at: how many standard errors off the gap is, and all raters, for each point.

        Of a cloud, two points on each axis of what a vote depends on; equally weighted, they have its first three
        moments.
        """
        if self.variance is None:
            return np.zeros(1), self.profiles(x)[None]
        far = float(np.sqrt(1 + len(self.free)))
        away, profiles = [far, -far], [self.profiles(x)] * 2
        for name in self.free:
            for sign in (far, -far):
                moved = x.copy()
                moved[self.layout.slices[name]] += sign * np.sqrt(self.variance[self.layout.slices[name]])
                away.append(0.0)
                profiles.append(self.profiles(moved))
        return np.array(away), np.array(profiles)

    def profiles(self, x: Floats) -> Floats:
        """η, 1 − η, slope, threshold and bias of each rater."""
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

    def _terms(self, r: slice, total: Floats, score: Floats, away: Floats, profiles: Floats) -> float:
        v, profile, curvatures = self.votes, self.profile[r], self.curvatures[r]
        winner, loser, weight = v.winner[r], v.loser[r], v.weight[r]
        score_sums, profile_sums = self._split(total)
        if self.plain and not self.free:
            return float(kernels.plain_terms(winner, loser, weight, score, score_sums, curvatures))
        variance = np.zeros(1) if self.variance is None else self.variance
        points, sums = (score, variance, away, profiles), (score_sums, profile_sums, curvatures)
        if self.plain:
            return float(kernels.quality_terms(profile, winner, loser, weight, *points, *sums))
        active = np.array([PARAMETERS[name] for name in self.free], dtype=np.int64)
        return float(kernels.any_terms(profile, winner, loser, v.kind[r], weight, *points, self.normal, active, *sums))

    def _split(self, total: Floats) -> tuple[Floats, Floats]:
        """Vectors of all parameters as scores, and one row for each of the raters' free parameters."""
        scores, profiles = total[..., : self.n_entries], total[..., self.n_entries :]
        return scores, profiles.reshape(*total.shape[:-1], len(self.free), self.n_profiles)

    def _add_priors(self, x: Floats, share: float, gradient: Floats) -> float:
        """Minus the log-density at x; adds a share of its derivatives."""
        theta, slope, curvature = (
            self.layout.unpack(x),
            self.layout.unpack(gradient),
            self.layout.unpack(self.own_curvature),
        )
        pull, stiffness = np.empty(self.n_entries), np.empty(self.n_entries)
        value = float(kernels.virtual_terms(theta.score, self.priors.score, self.normal, pull, stiffness))
        slope.score += share * pull
        curvature.score += share * stiffness
        if "quality" in self.free:
            alpha, beta = self.priors.quality[0] - 1, self.priors.quality[1] - 1
            right, wrong = logistic(theta.quality), logistic(-theta.quality)
            slope.quality += share * (beta * right - alpha * wrong)
            curvature.quality += share * (alpha + beta) * right * wrong
            # log σ(q) = −log(1 + e^−q), which stays finite where σ(q) rounds to 0
            value += float((alpha * np.logaddexp(0, -theta.quality) + beta * np.logaddexp(0, theta.quality)).sum())
        for name, (mean, spread) in (self.priors.normal or {}).items():
            where = self.layout.slices[name]
            value += float(((x[where] - mean) ** 2).sum()) / (2 * spread**2)
            gradient[where] += share * (x[where] - mean) / spread**2
            self.own_curvature[where] += share / spread**2
        if "slope" in self.free:
            # All slopes times something, all scores divided by it: the same votes. The mean logarithm of the slopes stays at 0.
            mean = float(theta.slope.sum()) / max(self.n_profiles, 1)
            value += self.pin * self.n_profiles * mean**2 / 2
            slope.slope += share * self.pin * mean
        return value

    def hessian_product(self, v: Floats) -> Floats:
        """The Hessian at the last evaluated point times v."""
        product, _ = self.sum_products(lambda r, total: self._product(r, total, v))
        product += self.own_curvature * v
        if "slope" in self.free:
            where = self.layout.slices["slope"]
            product[where] += self.pin * v[where].sum() / max(self.n_profiles, 1)
        return product

    def _product(self, r: slice, total: Floats, v: Floats) -> None:
        profile, winner, loser, curvatures = (
            self.profile[r],
            self.votes.winner[r],
            self.votes.loser[r],
            self.curvatures[r],
        )
        score, profiles = self._split(v)
        score_total, profile_total = self._split(total)
        if self.plain and not self.free:
            kernels.plain_hessian_product(winner, loser, curvatures, score, score_total)
        elif self.plain:
            kernels.quality_hessian_product(
                profile, winner, loser, curvatures, score, profiles[0], score_total, profile_total[0]
            )
        else:
            kernels.any_hessian_product(profile, winner, loser, curvatures, score, profiles, score_total, profile_total)

    def left_out(self, x: Floats) -> Floats:
        """The log-probability of a decided vote of each row, about as the other votes predict it; 0 for ties."""
        self.evaluate(x)
        v, log_chance = self.votes, np.empty(len(self.votes))
        count = sum_by(self.profile, np.where(v.kind == TIED, 0.0, v.weight), self.n_profiles)
        pseudo = sum(self.priors.quality) - 2 if "quality" in self.free else -1.0
        diagonal = np.maximum(self.diagonal()[: self.n_entries], 1e-3)
        score, profiles = x[: self.n_entries], self.profiles(x)

        def predict(r: slice, _: Floats) -> None:
            rows = self.profile[r], v.winner[r], v.loser[r], v.kind[r], self.curvatures[r, 0] / v.weight[r]
            kernels.left_out(*rows, score, profiles, self.normal, diagonal, count, pseudo, log_chance[r])

        RowSum(len(v), 0)(predict)
        return log_chance

    def diagonal(self) -> Floats:
        """The diagonal of the Hessian at the last evaluated point."""
        diagonal = self.vote_curvature + self.own_curvature
        if "slope" in self.free:
            diagonal[self.layout.slices["slope"]] += self.pin / max(self.n_profiles, 1)
        return diagonal

    def hessian(self) -> Floats:
        """The whole Hessian at the last evaluated point, for models small enough to hold it."""
        size, n = self.layout.size, self.n_entries
        matrix = np.diag(self.own_curvature)
        if "slope" in self.free:
            matrix[self.layout.slices["slope"], self.layout.slices["slope"]] += self.pin / max(self.n_profiles, 1)
        winner, loser = self.votes.winner.astype(np.int64), self.votes.loser.astype(np.int64)
        # Each term's derivative by the gap is that by the winner's score, and minus that by the loser's.
        places = [[(winner, 1.0), (loser, -1.0)]]
        places += [[(n + i * self.n_profiles + self.profile.astype(np.int64), 1.0)] for i in range(len(self.free))]
        at = 0
        for i in range(len(places)):
            for j in range(i, len(places)):
                for one, sign in places[i]:
                    for other, other_sign in places[j]:
                        block = sum_by(
                            one * size + other, sign * other_sign * self.curvatures[:, at], size * size
                        ).reshape(size, size)
                        matrix += block if i == j else block + block.T
                at += 1
        return matrix


def logistic(x: Floats) -> Floats:
    """σ(x) without overflow, to the last digit at both ends: 1 + tanh(x / 2) would lose them below."""
    result: Floats = np.exp(-np.logaddexp(0.0, -x))
    return result
