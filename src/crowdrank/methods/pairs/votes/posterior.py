"""Posterior means of scores and annotators' parameters, by Gaussian variational Bayes.

All scores a little closer together and all qualities a little higher explain the votes of a weak crowd nearly as well.
The most likely parameters (the mode) are then far from the posterior mean: scores are too close together, by a quarter
where annotators are hardly better than a coin. So the posterior is approximated by a normal distribution with a mean
and a variance for each parameter. The means are where the gradient of the log-posterior, averaged over that
distribution, is 0; each variance is one over the averaged curvature. Each depends on the other, so both are found in
rounds. Every round also fits the priors that were not given: the strength of the prior on scores, the Beta distribution
of quality, and the normal distribution of the tie thresholds.

Rounds that keep moving in one direction show that this direction is poorly determined: if each round moves ρ times as
far as the one before, the variance along it is 1 / (1 − ρ) times that of the curvature (linear response: Giordano,
Broderick, Jordan: Linear response methods for accurate covariance estimates from mean field variational Bayes, NeurIPS
2015).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from crowdrank.methods.pairs.votes.model import QUADRATURE, Priors, VoteModel, logistic
from crowdrank.numerics.newton import dot, minimise
from crowdrank.numerics.special import digamma, trigamma
from crowdrank.study import Floats

MAX_ROUNDS = 30
SETTLED = 0.005  # standard errors, root mean square over parameters
SLOWEST = 0.95  # largest ρ; a slower decrease cannot be distinguished from rounding
STEADY = 0.05  # largest change of ρ from round to round
LEAST_CORRELATION = 0.95  # of the gaps of the votes at the mode and at the mean
LEAST_CURVATURE = 1e-3
LARGEST_CHANGE = 2.0  # factor by which a variance may change in a round
STEP = 3.0  # between neighbouring strengths of the prior that it was chosen from: it may be one step off
VIRTUAL = 1.0  # annotators of unknown quality added to the crowd, so that a few are not taken to be all alike
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
TINY = 1e-300

Normal = Mapping[str, tuple[float, float]]  # as in Priors
Status = Literal["settled", "rounds used up", "not identified"]


class PosteriorMeans(NamedTuple):
    """The means of all parameters, and how the rounds ended."""

    x: Floats
    common: Floats | None  # one standard error of the error that all parameters have in common
    status: Status


def posterior_means(
    model: VoteModel, mode: Floats, prior: float | None, quality_prior: tuple[float, float] | None
) -> PosteriorMeans:
    """The posterior means, from the mode; priors that are not given are fitted.

    Afterwards `model` averages over the posterior. Where the votes do not identify scores and qualities, no such
    distribution is close to the mode: the mode is returned, and `model` is as it was.
    """
    priors, crowd = model.priors, quality_prior or (1.0, 1.0)
    x, moves, change = _start(model, mode, crowd), Moves(len(mode)), np.zeros_like(mode)
    for _ in range(MAX_ROUNDS):
        model.variance, change = _variance(model, crowd, change)
        crowd = quality_prior or _fitted_quality_prior(model, x, crowd)
        strength = prior or _fitted_score_prior(model, x, priors.score)
        model.priors = _priors(strength, crowd, _with_fitted_ties(model, x, priors.normal or {}))
        after = minimise(model, x, max_iter=1, tol=0.1, what="intervals").x  # a short step is not evaluated again
        move, x = after - x, after
        moves.add(move, model.hessian_product(move))
        if moves.length <= SETTLED**2 * len(x):
            return PosteriorMeans(x, moves.common, "settled")
        if not _correlation_of_gaps(model, x, mode) >= LEAST_CORRELATION:  # also where it is not a number
            model.variance, model.priors = None, priors
            return PosteriorMeans(mode, None, "not identified")
        if moves.steady:
            x = x + moves.extrapolate()
            model.evaluate(x)
    return PosteriorMeans(x, moves.common, "rounds used up")


class Moves:
    """How far the rounds move, in squared standard errors, and ρ, the rate at which the moves shrink."""

    def __init__(self, size: int) -> None:
        self.common = self.last = np.zeros(size)
        self.length, self.rate = TINY, 0.0
        self.steady = self.extrapolated = False

    def add(self, move: Floats, hessian_times_move: Floats) -> None:
        """Update the rate, and the error that all parameters have in common, with the move of a round."""
        rate = min(max(dot(self.last, hessian_times_move) / self.length, 0.0), SLOWEST)
        self.steady = abs(rate - self.rate) < STEADY < rate
        self.last, self.length, self.rate = move, max(dot(move, hessian_times_move), TINY), rate
        if self.steady or (rate > STEADY and not self.extrapolated):
            self.common = move * np.sqrt(rate / (1 - rate) / self.length)

    def extrapolate(self) -> Floats:
        """The sum of all further moves, if they go on shrinking at this rate; the next move starts a new series."""
        move, self.last, self.extrapolated = self.last, np.zeros_like(self.last), True
        return np.asarray(self.rate / (1 - self.rate) * move)


def _priors(score: float, crowd: tuple[float, float], normal: Normal) -> Priors:
    """Priors with the Beta density of quality on the logit scale, where both parameters are greater by one."""
    return Priors(score, (crowd[0] + 1, crowd[1] + 1), normal)


def _start(model: VoteModel, mode: Floats, crowd: tuple[float, float]) -> Floats:
    """Close to the mode, without the qualities that diverged, around which there is nothing to average over."""
    model.priors = _priors(model.priors.score, crowd, model.priors.normal or {})
    x = minimise(model, mode, max_iter=20, tol=0.05, what="intervals").x
    model.evaluate(x)
    return x


def _variance(model: VoteModel, crowd: tuple[float, float], last: Floats) -> tuple[Floats, Floats]:
    """One over the curvature of every parameter, and the change of its logarithm; half the change if it alternates.

    A tie across a wide gap is concave in the logit of quality. So the precision of a quality is at least half that of
    the crowd's distribution, and no variance changes by more than LARGEST_CHANGE in a round: quality would diverge.
    """
    least = np.full(model.layout.size, LEAST_CURVATURE)
    least[model.layout.slices["quality"]] = 0.5 / trigamma(np.array(crowd)).sum()
    wanted = 1 / np.maximum(model.diagonal(), least)
    if model.variance is None:
        return wanted, last
    change = np.clip(np.log(wanted / model.variance), -np.log(LARGEST_CHANGE), np.log(LARGEST_CHANGE))
    change[change * last < 0] /= 2
    return model.variance * np.exp(change), change


def _correlation_of_gaps(model: VoteModel, one: Floats, other: Floats) -> float:
    """The correlation of the gaps between the items of each vote, at two points."""
    gaps, others = (x[model.votes.winner] - x[model.votes.loser] for x in (one, other))
    return float(dot(gaps, others) / max(np.sqrt(dot(gaps, gaps) * dot(others, others)), TINY))


def _fitted_score_prior(model: VoteModel, x: Floats, chosen: float) -> float:
    """The strength, close to the chosen one, whose expected log-density equals that of the scores."""

    def log_density(s: Floats) -> Floats:
        if model.normal:
            from scipy.special import log_ndtr  # not at the top: most methods do not need SciPy

            return np.asarray(log_ndtr(s / 2**0.5) + log_ndtr(-s / 2**0.5))
        return np.asarray(-np.logaddexp(0, s) - np.logaddexp(0, -s))

    assert model.variance is not None
    score, error = x[: model.n_entries], np.sqrt(model.variance[: model.n_entries])
    observed = sum(share * log_density(score + errors * error).mean() for errors, share in QUADRATURE)
    t = np.linspace(-12, 12, 1001)
    density, step = log_density(np.sinh(t)), np.cosh(t)
    strengths = chosen * STEP ** np.linspace(-1, 1, 17)
    weights = [step * np.exp(strength * density) for strength in strengths]
    return float(np.interp(observed, [weight @ density / weight.sum() for weight in weights], strengths))


def _fitted_quality_prior(model: VoteModel, x: Floats, start: tuple[float, float]) -> tuple[float, float]:
    """The Beta distribution of quality in the crowd, by maximum likelihood."""
    assert model.variance is not None
    where = model.layout.slices["quality"]
    a, b = as_beta(x[where], model.variance[where])
    total = model.n_profiles + VIRTUAL
    # The means of log η and log(1 − η).
    observed = np.array([(digamma(one) - digamma(a + b)).sum() - VIRTUAL for one in (a, b)]) / total
    found = np.array(start)
    for _ in range(50):
        slope = digamma(found) - digamma(found.sum()) - observed
        curvature = np.diag(trigamma(found)) - trigamma(found.sum())
        step = np.linalg.solve(curvature, slope) / found
        found *= np.exp(-np.clip(step, -1, 1))
        if np.abs(step).max() < 1e-9:
            break
    return float(found[0]), float(found[1])


def _with_fitted_ties(model: VoteModel, x: Floats, normal: Normal) -> Normal:
    """The normal priors, with the mean and standard deviation of the annotators' tie thresholds."""
    if "ties" not in normal:
        return normal
    assert model.variance is not None
    where, (mean, spread) = model.layout.slices["ties"], normal["ties"]
    total = model.n_profiles + VIRTUAL
    fitted = float(x[where].sum() + VIRTUAL * mean) / total
    squares = float((model.variance[where] + (x[where] - fitted) ** 2).sum()) + VIRTUAL * spread**2
    return {**normal, "ties": (fitted, (squares / total) ** 0.5)}


def as_beta(logit: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """The Beta distributions of quality that have these normal approximations on the logit scale."""
    points = logit + np.sqrt(variance) * NODES[:, None]
    shares = (WEIGHTS / WEIGHTS.sum())[:, None]
    right, wrong = ((shares * logistic(sign * points)).sum(axis=0) for sign in (1, -1))  # 1 − right would lose digits
    total = 1 / (variance * np.maximum((shares * logistic(points) * logistic(-points)).sum(axis=0), TINY))
    return np.maximum(total * right, TINY), np.maximum(total * wrong, TINY)
