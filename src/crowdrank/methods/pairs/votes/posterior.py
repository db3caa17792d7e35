"""Posterior means: the middle of what the votes leave possible, where its highest point lies at the edge.

All scores a little closer together and all qualities a little higher explain the votes of a weak crowd nearly as well.
The most likely parameters, taken all at once, then lie off the middle: scores too close, by a quarter where annotators
are hardly better than a coin. So the posterior is approximated by a normal distribution with a mean and a variance for
each parameter (Gaussian variational Bayes). Its means are where the log-posterior averaged over that distribution is
flat; its variances, one over the averaged curvature. Each follows from the other, so both are found in rounds, and with
them what items and annotators are like in general: how far scores spread, the Beta distribution of the crowd's quality,
and the normal one of its readiness to tie.

Rounds that go on and on in one direction say that this direction is poorly known: if each round moves ρ times as far as
the one before, the variance along it is 1 / (1 − ρ) times what the curvature says (linear response: Giordano,
Broderick, Jordan: Linear response methods for accurate covariance estimates from mean field variational Bayes, NeurIPS
2015).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crowdrank.methods.pairs.votes.model import CLOUD, Priors, VoteModel, logistic
from crowdrank.numerics.newton import dot, minimise
from crowdrank.numerics.special import digamma, trigamma
from crowdrank.study import Floats

MOST_ROUNDS = 30
SETTLED = 0.005  # standard errors, root mean square over parameters: what all do together matters more than each alone
SLOWEST = 0.95  # ρ; what is slower is not told from rounding
STEADY = 0.05  # change of ρ from round to round
LEAST_LIKENESS = 0.95  # of the gaps of the votes at the mode and in the middle
LEAST_CURVATURE = 1e-3
STEP = 3.0  # of the ladder that the prior is chosen from: it may be a step off
VIRTUAL = 1.0  # annotators of unknown quality who join the crowd, lest few people be taken to be all alike
NODES, SHARES = np.polynomial.hermite_e.hermegauss(9)
TINY = 1e-300

Normal = Mapping[str, tuple[float, float]]  # as in Priors


def posterior_means(
    model: VoteModel, mode: Floats, prior: float | None, quality_prior: tuple[float, float] | None
) -> tuple[Floats, Floats] | None:
    """The means of all parameters, and by how much all of them may be off together (one standard error).

    Priors that are not given are fitted. `model` is left averaging over the posterior. None, and `model` as it was,
    where the votes hardly tell scores from qualities: then no such distribution is near the mode.
    """
    priors, crowd = model.priors, quality_prior or (1.0, 1.0)
    x, nothing = _from_mode(model, mode, crowd), np.zeros_like(mode)
    common, change, before, before_length, rate, leapt = nothing, nothing, nothing, TINY, 0.0, False
    for _ in range(MOST_ROUNDS):
        model.variance, change = _variance(model, change)
        crowd = quality_prior or _crowd(model, x, crowd)
        score_prior = prior or _strength(model, x, priors.score)
        model.priors = _priors(score_prior, crowd, _with_ties(model, x, priors.normal or {}))
        near = minimise(model, x, max_iter=1, tol=0.1, what="intervals").x  # short steps are taken without another look
        move, x = near - x, near
        bent = model.hessian_product(move)
        length = max(dot(move, bent), TINY)
        last_rate, rate = rate, min(max(dot(before, bent) / before_length, 0.0), SLOWEST)
        steady = abs(rate - last_rate) < STEADY < rate
        if steady or (rate > STEADY and not leapt):
            common = move * np.sqrt(rate / (1 - rate) / length)
        if length <= SETTLED**2 * len(x):
            break
        if _likeness(model, x, mode) < LEAST_LIKENESS:
            model.variance, model.priors = None, priors
            return None
        before, before_length = move, length
        if steady:
            x = x + rate / (1 - rate) * move  # where all further rounds would lead
            model.evaluate(x)
            before, leapt = nothing, True
    return x, common


def _priors(score: float, crowd: tuple[float, float], normal: Normal) -> Priors:
    """On the logit scale a Beta density has one more of each, which is right where it is averaged over, not made large."""
    return Priors(score, (crowd[0] + 1, crowd[1] + 1), normal)


def _from_mode(model: VoteModel, mode: Floats, crowd: tuple[float, float]) -> Floats:
    """Near the mode, but for qualities that ran off to the ends, where there is nothing to average over."""
    model.priors = _priors(model.priors.score, crowd, model.priors.normal or {})
    x = minimise(model, mode, max_iter=20, tol=0.05, what="intervals").x
    model.evaluate(x)
    return x


def _variance(model: VoteModel, last: Floats) -> tuple[Floats, Floats]:
    """One over the curvature of every parameter, and the change of its logarithm; half of it where it goes to and fro."""
    wanted = 1 / np.maximum(model.diagonal(), LEAST_CURVATURE)
    if model.variance is None:
        return wanted, last
    change = np.log(wanted / model.variance)
    change[change * last < 0] /= 2
    return model.variance * np.exp(change), change


def _likeness(model: VoteModel, one: Floats, other: Floats) -> float:
    """The correlation of the gaps that votes are about."""
    gaps, others = (x[model.votes.winner] - x[model.votes.loser] for x in (one, other))
    return float(dot(gaps, others) / max(np.sqrt(dot(gaps, gaps) * dot(others, others)), TINY))


def _strength(model: VoteModel, x: Floats, chosen: float) -> float:
    """The prior on scores, near the chosen one, under which scores would be as far out as they are."""

    def log_density(s: Floats) -> Floats:
        if model.normal:
            from scipy.special import log_ndtr  # here, not above: most methods do without SciPy

            return np.asarray(log_ndtr(s / 2**0.5) + log_ndtr(-s / 2**0.5))
        return np.asarray(-np.logaddexp(0, s) - np.logaddexp(0, -s))

    assert model.variance is not None
    score, error = x[: model.n_entries], np.sqrt(model.variance[: model.n_entries])
    seen = sum(share * log_density(score + errors * error).mean() for errors, share in CLOUD)
    t = np.linspace(-12, 12, 1001)
    density, step = log_density(np.sinh(t)), np.cosh(t)
    strengths = chosen * STEP ** np.linspace(-1, 1, 17)
    weights = [step * np.exp(strength * density) for strength in strengths]
    return float(np.interp(seen, [weight @ density / weight.sum() for weight in weights], strengths))


def _crowd(model: VoteModel, x: Floats, near: tuple[float, float]) -> tuple[float, float]:
    """The Beta distribution of the crowd's quality: the one most likely to give such annotators."""
    assert model.variance is not None
    where = model.layout.slices["quality"]
    a, b = as_beta(x[where], model.variance[where])
    total = model.n_profiles + VIRTUAL
    seen = (
        np.array([(digamma(one) - digamma(a + b)).sum() - VIRTUAL for one in (a, b)]) / total
    )  # mean log η and log(1 − η)
    found = np.array(near)
    for _ in range(50):
        slope = digamma(found) - digamma(found.sum()) - seen
        curvature = np.diag(trigamma(found)) - trigamma(found.sum())
        step = np.linalg.solve(curvature, slope) / found
        found *= np.exp(-np.clip(step, -1, 1))
        if np.abs(step).max() < 1e-9:
            break
    return float(found[0]), float(found[1])


def _with_ties(model: VoteModel, x: Floats, normal: Normal) -> Normal:
    """The normal priors, that of the readiness to tie fitted: the mean and standard deviation that annotators have."""
    if "ties" not in normal:
        return normal
    assert model.variance is not None
    where, (mean, spread) = model.layout.slices["ties"], normal["ties"]
    total = model.n_profiles + VIRTUAL
    fitted = float(x[where].sum() + VIRTUAL * mean) / total
    squares = float((model.variance[where] + (x[where] - fitted) ** 2).sum()) + VIRTUAL * spread**2
    return {**normal, "ties": (fitted, (squares / total) ** 0.5)}


def as_beta(logit: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """The Beta distributions of quality whose normal approximations on the logit scale these are."""
    points = logit + np.sqrt(variance) * NODES[:, None]
    shares = (SHARES / SHARES.sum())[:, None]
    mean = (shares * logistic(points)).sum(axis=0)
    total = 1 / (variance * (shares * logistic(points) * logistic(-points)).sum(axis=0))
    return total * mean, total * (1 - mean)
