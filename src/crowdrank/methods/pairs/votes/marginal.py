"""The log-posterior of scores with the annotators' quality integrated out.

Quality is one of the possible qualities of the crowd, and all of them count by their probability. So annotators with
few votes cannot be called perfect or reversed by chance, as happens to the most likely quality of each. Scores are
normal with a common spread, or have virtual wins and losses. Tie thresholds and biases are normal around those of the
crowd.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import Votes
from crowdrank.methods.pairs.votes import few_votes
from crowdrank.methods.pairs.votes.davidson_kernels import davidson_marginal
from crowdrank.methods.pairs.votes.hyperparameters import Hyperparameters
from crowdrank.methods.pairs.votes.kernels import VoteRows, virtual_terms
from crowdrank.methods.pairs.votes.marginal_kernels import (
    CURVATURE,
    GRADIENT,
    VALUE,
    Qualities,
    Slopes,
    normal_marginal,
)
from crowdrank.methods.pairs.votes.plain_kernels import plain_marginal
from crowdrank.numerics.blocks import Layout
from crowdrank.numerics.groups import grouped
from crowdrank.numerics.newton import dot
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import MOST_CHUNKS, ROWS_PER_CHUNK, in_parts
from crowdrank.study import Codes, Floats

WORK_PER_ROW = 8  # a row costs as much as so many rows of a plain kernel
RIDGE = 1e-5  # where gaps have the prior: the precision of the scores themselves, relative to that of their gaps


class MarginalEvaluation(NamedTuple):
    """The log-posterior at a point, with its sign turned."""

    value: float
    gradient: Floats
    posterior: Floats  # of the quality of each profile


class MarginalModel:
    """Minus the log-posterior of scores, tie thresholds and biases, given their distributions and the crowd's."""

    def __init__(
        self, votes: Votes, profile: Codes, n_entries: int, n_profiles: int, normal: bool, free: tuple[str, ...]
    ) -> None:
        order, self.starts = grouped(profile, n_profiles)
        sides = votes.winner[order], votes.loser[order]
        self.rows = VoteRows(profile[order], *sides, votes.kind[order], votes.weight[order])
        self.n_entries, self.n_profiles, self.normal = n_entries, n_profiles, normal
        self.free = tuple(name for name in free if name in ("ties", "bias"))
        self.layout = Layout(score=n_entries, **dict.fromkeys(self.free, n_profiles))
        self.slices = tuple(self.layout.slices.get(name, slice(0)) for name in ("score", "ties", "bias"))
        kernel = davidson_marginal if self.free else plain_marginal
        few = not normal and few_votes.are_few(len(votes), self.free, kernel)
        self.few = few_votes.FewMarginal(self.rows, self.starts) if few else None
        self.parts = [(0, n_profiles)] if few else _parts(self.starts)
        self.gap_curvature, self.gap_quality = np.zeros((2, len(votes)))
        self.gap_prior: Floats | float = 0.0

    @property
    def has_tie_sharpness(self) -> bool:
        """Whether votes depend on how fast ties become rare with the gap."""
        return "ties" in self.free and not self.normal

    def evaluate(
        self, x: Floats, qualities: Qualities, hyper: Hyperparameters, curved: bool = False
    ) -> MarginalEvaluation:
        """The value, gradient and posterior of quality; if `curved`, the curvatures are kept for `diagonal`."""
        value, sums, posterior = self.likelihood(x, qualities, curved)
        gradient, curvature = sums.reshape(2, -1)
        if curved:
            self.profile_curvature = curvature
            self._keep_prior_curvature(x, hyper)
        return MarginalEvaluation(value + self._add_priors(x, hyper, gradient), gradient, posterior)

    def value(self, x: Floats, qualities: Qualities, hyper: Hyperparameters) -> float:
        """The value alone, in less than half the time."""
        return self.likelihood_value(x, qualities) + self.prior_value(x, hyper)

    def likelihood_value(self, x: Floats, qualities: Qualities) -> float:
        """The same without priors."""
        return self.evidence(x, qualities).value

    def evidence(self, x: Floats, qualities: Qualities) -> MarginalEvaluation:
        """The value without priors and the posterior of quality; no gradient, so it takes less than half the time."""
        return self._likelihood(x, qualities, VALUE)

    def prior_value(self, x: Floats, hyper: Hyperparameters, variance: Floats | float = 0.0) -> float:
        """Minus the log-density of all parameters; of the scores, where they vary so much, about its mean."""
        return self._add_priors(x, hyper, np.zeros(self.layout.size), float(np.sum(variance)))

    def likelihood(self, x: Floats, qualities: Qualities, curved: bool) -> MarginalEvaluation:
        """The same without priors; the gradient is followed by the curvatures of the profiles."""
        return self._likelihood(x, qualities, CURVATURE if curved else GRADIENT)

    def _likelihood(self, x: Floats, qualities: Qualities, order: int) -> MarginalEvaluation:
        """The value, and derivatives up to this order."""
        size = self.layout.size
        posterior, sums = np.empty(qualities.share.shape), np.zeros((len(self.parts), 2 * size))
        score, ties, bias = self._blocks(x)

        def terms(number: int) -> float:
            (first, last), total = self.parts[number], sums[number]
            of_gaps = self.gap_curvature, self.gap_quality
            slopes = Slopes(*self._blocks(total[:size]), *of_gaps, *self._blocks(total[size:])[1:])
            if self.few is not None:
                return self.few.evaluate(score, ties, bias, qualities, order, slopes, posterior)
            where = self.rows, self.starts, first, last, score
            if not self.normal and not self.free:
                return float(plain_marginal(*where, qualities, order, slopes, posterior))
            terms_of = normal_marginal if self.normal else davidson_marginal
            return float(terms_of(*where, ties, bias, qualities, order, slopes, posterior))

        values = in_parts(terms, range(len(self.parts)))
        return MarginalEvaluation(sum(values), sums[0] if len(sums) == 1 else sums.sum(axis=0), posterior)

    def _blocks(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Scores, log tie thresholds and biases; the latter two are empty where they are not free."""
        score, ties, bias = self.slices
        return x[score], x[ties], x[bias]

    def profiles(self, x: Floats) -> dict[str, Floats]:
        """The tie thresholds and biases of the profiles, where they are free."""
        return {name: x[self.layout.slices[name]] for name in self.free}

    def _add_priors(self, x: Floats, hyper: Hyperparameters, gradient: Floats, variance: float = 0.0) -> float:
        """Minus the log-density of all parameters; adds its derivatives. `variance` is that of all scores together."""
        score, into = x[: self.n_entries], gradient[: self.n_entries]
        if hyper.virtual is None:
            scaled = self._scaled(score, hyper)
            value, precision = hyper.score_terms(dot(score, scaled) + variance, self.n_entries)
            into += precision * scaled
        else:
            slope, curvature = np.empty((2, self.n_entries))
            value = float(virtual_terms(score, hyper.virtual, self.normal, slope, curvature))
            into += slope
        for name, values in self.profiles(x).items():
            slope, _ = hyper.profile_terms(name, values)
            value += dot(values - hyper.centre(name), slope) / 2
            gradient[self.layout.slices[name]] += slope
        return value

    def _keep_prior_curvature(self, x: Floats, hyper: Hyperparameters) -> None:
        """Of every parameter, and of the gap of every vote."""
        score, self.prior_curvature, self.gap_prior = x[: self.n_entries], np.empty(self.layout.size), 0.0
        if hyper.virtual is None:
            _, precision = hyper.score_terms(dot(score, self._scaled(score, hyper)), self.n_entries)
            self.prior_curvature[: self.n_entries] = precision * RIDGE if hyper.of_gaps else precision
            self.gap_prior = precision * self.rows.weight / self.mean_degree if hyper.of_gaps else 0.0
        else:
            slope, curvature = np.empty(self.n_entries), self.prior_curvature[: self.n_entries]
            virtual_terms(score, hyper.virtual, self.normal, slope, curvature)
        for name, values in self.profiles(x).items():
            self.prior_curvature[self.layout.slices[name]] = hyper.profile_terms(name, values)[1]

    @property
    def mean_degree(self) -> float:
        """How often an item is compared."""
        return max(2 * float(self.rows.weight.sum()) / self.n_entries, 1e-300)

    def squares(self, x: Floats, hyper: Hyperparameters) -> Floats:
        """Of the scores, or of the gaps between compared items: one number for each item."""
        return np.asarray(x[: self.n_entries] * self._scaled(x[: self.n_entries], hyper))

    def _scaled(self, score: Floats, hyper: Hyperparameters) -> Floats:
        """The scores times their prior precision, but for its size."""
        if not hyper.of_gaps:
            return score
        _, winner, loser, _, weight = self.rows
        pull = weight * (score[winner] - score[loser]) / self.mean_degree
        return RIDGE * score + sum_by(winner, pull, self.n_entries) - sum_by(loser, pull, self.n_entries)

    @property
    def gap_precision(self) -> Floats:
        """Of every vote: the curvature by its gap, with the prior."""
        return np.asarray(np.maximum(self.gap_curvature, 0.0) + self.gap_prior)

    def diagonal(self) -> Floats:
        """The curvature of every parameter by itself, at the last point evaluated with curvatures; above 0."""
        diagonal = np.maximum(self.profile_curvature, 0.0) + self.prior_curvature
        row = self.gap_precision
        for side in (self.rows.winner, self.rows.loser):
            diagonal[: self.n_entries] += sum_by(side, row, self.n_entries)
        return np.asarray(diagonal)


def _parts(starts: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Ranges of profiles with about as many rows each; their number depends on the rows only."""
    n_rows, n_profiles = int(starts[-1]), len(starts) - 1
    count = min(max(n_rows * WORK_PER_ROW // ROWS_PER_CHUNK, 1), MOST_CHUNKS, max(n_profiles, 1))
    edges = np.searchsorted(starts, np.linspace(0, n_rows, count + 1)[1:-1]).tolist()
    edges = sorted({0, *edges, n_profiles})
    return list(pairwise(edges)) or [(0, 0)]
