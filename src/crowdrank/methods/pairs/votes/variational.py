"""A normal distribution of the parameters that is close to their posterior, where votes are too many to sample.

The most likely scores of a crowd whose distribution is learned with them lie too close together: scores a little
further apart and annotators a little worse explain the same votes, and there are many more such combinations. A normal
distribution whose lower bound of the evidence is highest takes these into account (variational Bayes). Expectations are
means over two points, as far from the middle as the parameters are uncertain, on opposite sides of it.

The curvature of the votes given the qualities is too large where these are hardly known. So it is divided by the factor
with which variances agree with the expected curvature, which is the mean difference of the gradients at the two points
(Stein's identity).

Blei, Kucukelbir, McAuliffe: Variational inference, a review for statisticians, JASA 2017.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.pairs.votes.canonical import keys, mixed
from crowdrank.methods.pairs.votes.crowd import Crowd
from crowdrank.methods.pairs.votes.hyperparameters import Hyperparameters
from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.methods.pairs.votes.mode import SHARE_ROUNDS, Mode, mode_at, preconditioner, with_fitting_ties
from crowdrank.numerics.newton import dot
from crowdrank.numerics.quasi_newton import Search, descend
from crowdrank.study import Floats

HASH_ROUNDS = 2
MOST_ROUNDS = 20
STEPS = 8  # of a round
SHARE_ROUNDS_OF_STEP = 5  # the next step goes on with these shares
ROUGH, FINE = 0.1, 1e-3  # standard errors
SETTLED = 0.03  # change of the logarithms of the variances of the scores, and of their spread
OTHER_SCALE = 0.1  # change of the logarithm of the scale, to compare evidence
FACTORS = 0.5, 8.0  # by which the curvature of the votes may be too large
SHARPEST, FLATTEST = 1e8, 1.0  # curvatures of the evidence that are believed


class NormalPosterior(NamedTuple):
    """A normal distribution of the parameters, and the distributions that fit it."""

    mode: Mode  # at the middle; the posterior of qualities is the mean over the distribution
    variance: Floats  # of every score, given the others
    scale_error: float  # standard error of the logarithm of the scale of all scores


class _State(NamedTuple):
    """Where the search is."""

    at: Mode  # the middle with its curvature, and the distributions
    factor: float  # by which votes tell less about the scores than if the qualities were known

    def variance(self, n_entries: int) -> Floats:
        """Of all parameters, given the others."""
        variance, prior = self.at.variance.copy(), self.at.hyper.spread**-2
        variance[:n_entries] = 1 / (prior + self.of_votes(n_entries) / self.factor)
        return variance

    def of_votes(self, n_entries: int) -> Floats:
        """What the votes add to the precision of every score, if the qualities were known."""
        return np.maximum(1 / self.at.variance[:n_entries] - self.at.hyper.spread**-2, 0.0)


def normal_posterior(
    model: MarginalModel, mode: Mode, task_starts: NDArray[np.int64], *, max_iter: int
) -> NormalPosterior:
    """The normal distribution that is closest to the posterior, from rough scores."""
    n, noise, state, steps, settled = model.n_entries, _noise(model), _State(mode, 1.0), mode.steps, False
    for _ in range(MOST_ROUNDS):
        before = state
        state, search = _round(model, task_starts, state, noise)
        steps += search.steps
        wider = float(np.log(state.variance(n)[:n] / before.variance(n)[:n]).mean())
        further = math.log(state.at.hyper.spread / before.at.hyper.spread)
        settled = search.converged and max(abs(wider), abs(further)) < SETTLED
        if settled:
            break
    error = _scale_error(model, state, noise)
    found = _finished(model, task_starts, state, noise, max_iter)
    found = replace(found, steps=steps + found.steps, converged=settled and found.converged)
    return NormalPosterior(found, state.variance(n)[:n], error)


def _noise(model: MarginalModel) -> Floats:
    """Normal numbers for all parameters; names and the order of rows do not matter."""
    from scipy.special import ndtri  # not at the top: small studies do not need SciPy

    entry_key, profile_key = keys(model.rows, model.n_entries, model.n_profiles, HASH_ROUNDS)
    blocks = [entry_key, *(mixed(profile_key + np.uint64(1 + number)) for number in range(len(model.free)))]
    uniform = [(mixed(block) >> np.uint64(11)).astype(np.float64) / 2**53 for block in blocks]
    normal = [ndtri(np.clip(block, 1e-12, 1 - 1e-12)) for block in uniform]
    # Of mean square 1, or variances would be too large or too small as a whole.
    return np.concatenate([block / max(float(np.sqrt((block**2).mean())), 1e-12) for block in normal])


def _round(model: MarginalModel, task_starts: NDArray[np.int64], state: _State, noise: Floats) -> tuple[_State, Search]:
    """Steps of the middle, with the crowd that fits at every point; then the variances, and the distributions."""
    n, at = model.n_entries, state.at
    variance, hyper, crowd = state.variance(n), replace(at.hyper, integrated=True), at.crowd
    shift = noise * np.sqrt(variance)

    def evaluate(x: Floats) -> tuple[Any, ...]:
        nonlocal crowd
        crowd, _ = _fitting_crowd(model, x, shift, crowd, SHARE_ROUNDS_OF_STEP)
        value, gradient, pair = _at_two_points(model, x, shift, crowd, hyper)
        return value + crowd.penalty, gradient, pair, crowd

    search = descend(evaluate, at.x, preconditioner(at, n, variance), max_iter=STEPS, tol=ROUGH)
    x, (pair, crowd) = search.point.x, search.point.extra
    curvature = dot(pair[0].gradient[:n] - pair[1].gradient[:n], shift[:n]) / 2
    of_votes = max(curvature - float(variance[:n].sum()) / at.hyper.spread**2, 1e-300)
    factor = min(max(dot(variance[:n], state.of_votes(n)) / of_votes, state.factor / 2, FACTORS[0]), FACTORS[1])
    factor = min(factor, 2 * state.factor)
    crowd = with_fitting_ties(model, (x + shift, x - shift), crowd)
    learned = at.hyper.learned(x[:n], model.profiles(x), variance)
    return _State(mode_at(model, task_starts, x, crowd, learned), factor), search


def _finished(
    model: MarginalModel, task_starts: NDArray[np.int64], state: _State, noise: Floats, max_iter: int
) -> Mode:
    """The middle to the last step, with the distributions as they are."""
    at, variance = state.at, state.variance(model.n_entries)
    evaluate = partial(_at_two_points, model, shift=noise * np.sqrt(variance), crowd=at.crowd, hyper=at.hyper)
    search = descend(evaluate, at.x, preconditioner(at, model.n_entries, variance), max_iter=max_iter, tol=FINE)
    found = mode_at(model, task_starts, search.point.x, at.crowd, at.hyper)
    posterior = np.asarray(sum(each.posterior for each in search.point.extra[0]) / 2)
    return replace(found, posterior=posterior, steps=search.steps, converged=search.converged)


def _at_two_points(
    model: MarginalModel, x: Floats, shift: Floats, crowd: Crowd, hyper: Hyperparameters
) -> tuple[float, Floats, Any]:
    """The mean value and gradient at two points around x, and both evaluations."""
    pair = [model.evaluate(x + sign * shift, crowd.qualities, hyper) for sign in (1, -1)]
    return sum(each.value for each in pair) / 2, np.asarray(sum(each.gradient for each in pair) / 2), pair


def _fitting_crowd(
    model: MarginalModel, x: Floats, shift: Floats, crowd: Crowd, rounds: int = SHARE_ROUNDS
) -> tuple[Crowd, float]:
    """The crowd that fits at two points around x, and the mean log-likelihood with it."""
    pair = [model.evidence(x + sign * shift, crowd.qualities) for sign in (1, -1)]
    likelihood = np.concatenate([crowd.likelihood(each.posterior) for each in pair])
    learned = crowd.learned(likelihood, rounds, copies=2)
    value = np.log(likelihood @ learned.weight).sum() - sum(each.value for each in pair)
    return learned, float(value / 2)


def _scale_error(model: MarginalModel, state: _State, noise: Floats) -> float:
    """The standard error of the logarithm of the scale: from the evidence of scales nearby."""
    low, here, high = (_evidence(model, state, noise, change) for change in (-OTHER_SCALE, 0.0, OTHER_SCALE))
    curvature = (2 * here - low - high) / OTHER_SCALE**2
    return float(min(max(curvature, FLATTEST), SHARPEST) ** -0.5)


def _evidence(model: MarginalModel, state: _State, noise: Floats, change: float) -> float:
    """The lower bound of the log-evidence, but for a constant, with another scale of the scores.

    The chances of ties stay what they are.
    """
    n, variance = model.n_entries, state.variance(model.n_entries)
    x, shift, crowd = state.at.x.copy(), noise * np.sqrt(variance), state.at.crowd
    x[:n] *= math.exp(change)
    crowd = crowd.sharper(-change) if model.has_tie_sharpness else crowd
    crowd, log_likelihood = _fitting_crowd(model, x, shift, with_fitting_ties(model, (x + shift, x - shift), crowd))
    prior = model.prior_value(x, replace(state.at.hyper, integrated=True), variance[:n])
    return log_likelihood - prior - crowd.penalty
