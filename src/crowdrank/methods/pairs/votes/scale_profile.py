"""The scale of the scores and the crowd that goes with it, where there are too many votes to sample.

The most likely scores of a crowd whose distribution is learned with them lie too close together: scores a little
further apart and annotators a little worse explain the same votes, and there are many more such combinations. So scales
are compared by how probable each is together with all scores around it. For every scale, the crowd is learned from
scores that lie as far from these as they are uncertain, and the evidence is that of a normal distribution around them
(variational Bayes). A parabola through the evidence of neighbouring scales gives the most probable one, and how certain
it is.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.pairs.votes.canonical import keys, mixed
from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.methods.pairs.votes.mode import SHARE_ROUNDS, Mode, follow, mode_at, with_fitting_ties
from crowdrank.study import Floats

HASH_ROUNDS = 2
FIRST_SCAN = 0.4 * np.linspace(-1.0, 1.0, 5)  # changes of the logarithm of the scale
MOST_FIRST_SCANS = 3  # while the best scale is at an end
LATER_SCANS = 0.1 * np.linspace(-1.0, 1.0, 3), 0.05 * np.linspace(-1.0, 1.0, 3)
STEPS = 3  # of the scores after a scan
ROUGH = 0.02  # standard errors
SHARPEST, FLATTEST = 1e8, 1.0  # curvatures of the evidence that are believed


class Scale(NamedTuple):
    """A scale that was tried."""

    evidence: float
    mode: Mode  # the scores, with the distributions that fit them
    posterior: Floats  # of the quality of each profile, averaged over scores nearby


def with_probable_scale(
    model: MarginalModel, mode: Mode, task_starts: NDArray[np.int64], *, max_iter: int, tol: float
) -> tuple[Mode, float]:
    """The scores of the most probable scale, and the standard error of its logarithm."""
    noise, error = _noise(model), 0.0
    if mode.hyper.of_gaps or not mode.x[: model.n_entries].any():
        return follow(model, task_starts, mode, max_iter=max_iter, tol=tol), error
    for _ in range(MOST_FIRST_SCANS):
        mode, error, inside = _after_scan(model, task_starts, mode, FIRST_SCAN, noise)
        if inside:
            break
    for scan in LATER_SCANS:
        mode, error, _ = _after_scan(model, task_starts, mode, scan, noise)
    found = follow(model, task_starts, mode, max_iter=max_iter, tol=tol)
    stretched = _stretched(model, task_starts, found)
    posterior = _tried(model, task_starts, stretched, noise).posterior
    return replace(stretched, posterior=posterior, steps=mode.steps + found.steps, converged=found.converged), error


def _noise(model: MarginalModel) -> list[Floats]:
    """Standard normal numbers for the scores, and the same with the other sign; names and rows do not matter."""
    from scipy.special import ndtri  # not at the top: small studies do not need SciPy

    entry_key, _ = keys(model.rows, model.n_entries, model.n_profiles, HASH_ROUNDS)
    uniform = (mixed(entry_key) >> np.uint64(11)).astype(np.float64) / 2**53
    normal = ndtri(np.clip(uniform, 1e-12, 1 - 1e-12))
    return [normal, -normal]


def _after_scan(
    model: MarginalModel, task_starts: NDArray[np.int64], mode: Mode, scan: Floats, noise: list[Floats]
) -> tuple[Mode, float, bool]:
    """The mode at the best scale near this one, the standard error, and whether the best was not at an end."""
    tried = [_tried(model, task_starts, _rescaled(model, mode, change), noise) for change in scan]
    evidence = np.array([each.evidence for each in tried])
    best = int(np.argmax(evidence))
    middle = min(max(best, 1), len(scan) - 2)
    low, top, high = evidence[middle - 1 : middle + 2]
    step = scan[1] - scan[0]
    curvature = min(max((2 * top - low - high) / step**2, FLATTEST), SHARPEST)
    change = scan[middle] + min(max((high - low) / (2 * step * curvature), -2 * step), 2 * step)
    there = _tried(model, task_starts, _rescaled(model, mode, change), noise).mode
    at = mode_at(model, task_starts, there.x, there.crowd, there.hyper)
    moved = follow(model, task_starts, at, max_iter=STEPS, tol=ROUGH)
    return _stretched(model, task_starts, moved), curvature**-0.5, 0 < best < len(scan) - 1


def _rescaled(model: MarginalModel, mode: Mode, change: float) -> Mode:
    """The mode with another scale."""
    factor, x = math.exp(change), mode.x.copy()
    x[: model.n_entries] *= factor
    crowd = mode.crowd.sharper(-change) if model.has_tie_sharpness else mode.crowd  # then ties change little
    return replace(mode, x=x, crowd=crowd, hyper=replace(mode.hyper, spread=factor * mode.hyper.spread))


def _stretched(model: MarginalModel, task_starts: NDArray[np.int64], mode: Mode) -> Mode:
    """The mode with the scale at which scores, and what is not known about them, vary as much as their distribution."""
    n = model.n_entries
    varied = math.sqrt(float((mode.x[:n] ** 2 + mode.variance[:n]).mean()))
    x = mode.x.copy()
    x[:n] *= mode.hyper.spread / varied
    return replace(mode_at(model, task_starts, x, mode.crowd, mode.hyper), steps=mode.steps)


def _tried(model: MarginalModel, task_starts: NDArray[np.int64], mode: Mode, noise: list[Floats]) -> Scale:
    """The evidence of a scale, with the distributions that fit it."""
    at, n = mode_at(model, task_starts, mode.x, mode.crowd, mode.hyper), model.n_entries
    x, deviation = _with_shifted_profiles(model, at), np.sqrt(at.variance[:n])
    crowd = with_fitting_ties(model, x, at.crowd)
    nearby = [model.evidence(np.concatenate((x[:n] + deviation * each, x[n:])), crowd.qualities) for each in noise]
    likelihood = np.concatenate([crowd.likelihood(each.posterior) for each in nearby])
    learned = crowd.learned(likelihood, SHARE_ROUNDS, copies=len(noise))
    log_likelihood = np.log(likelihood @ learned.weight).sum() - sum(each.value for each in nearby)
    hyper = at.hyper.learned(x[:n], model.profiles(x), at.variance)
    prior = model.prior_value(x, replace(hyper, integrated=True), at.variance[:n])
    evidence = log_likelihood / len(noise) - prior - learned.penalty + np.log(at.variance).sum() / 2
    posterior = sum(each.posterior for each in nearby) / len(noise)
    return Scale(float(evidence), replace(at, x=x, crowd=learned, hyper=hyper), np.asarray(posterior))


def _with_shifted_profiles(model: MarginalModel, at: Mode) -> Floats:
    """The parameters with all tie thresholds, and all biases, changed alike: what fits this scale of the scores."""
    x = at.x.copy()
    for name in model.free:
        block = model.layout.slices[name]
        x[block] -= at.gradient[block].sum() / (1 / at.variance[block]).sum()
    return x
