"""The intervals of annotators' quality.

Close to 0 and 1 the posterior of quality is not normal on any scale, so a standard error is not enough: the posterior
of each profile's quality, everything else fixed, is computed at points on the logit scale. Scores are averaged over:
the uncertainty of a gap brings the chances of both answers closer together. The other parameters are fixed, which makes
the interval a little too short; the quantiles are stretched by as much.
"""

from __future__ import annotations

import math

import numpy as np

from crowdrank.convert import TIED, WON_RIGHT
from crowdrank.methods.pairs.votes.kernels import TINY, branch
from crowdrank.methods.pairs.votes.model import VoteModel, logistic
from crowdrank.numerics.compiled import kernel
from crowdrank.study import Floats

POINTS = np.linspace(-6, 6, 33)  # in standard errors
WIDEST = 2.0  # standard error on the logit scale: three quarters of all possible qualities
LOG_ODDS_975 = math.log(0.975 / 0.025)


def quality_interval(
    model: VoteModel, x: Floats, variance: Floats, prior: tuple[float, float]
) -> tuple[Floats, Floats]:
    """The 95 % interval of the quality of each profile, given its Beta prior and the variance of every parameter.

    `model` was last evaluated at x.
    """
    where = model.layout.slices["quality"]
    conditional = 1 / np.maximum(model.diagonal(), 1 / WIDEST**2)
    counts = np.bincount(model.profile, model.votes.weight, model.n_profiles)
    furthest = np.log(2 + counts)  # n right answers do not support a higher quality than that
    centre = np.clip(x[where], -furthest, furthest)
    logit = centre[:, None] + np.sqrt(conditional[where])[:, None] * POINTS
    right, wrong = logistic(logit), logistic(-logit)
    log_density = prior[0] * np.log(right) + prior[1] * np.log(wrong)
    scores = x[: model.n_entries], conditional
    _add_log_chances(model.rows, *scores, model.profiles(x), right, wrong, model.normal, log_density)
    share = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    slope = np.diff(np.pad(share, ((0, 0), (1, 1))), axis=1)
    # The trapezoidal rule with its first correction.
    below = np.cumsum(share, axis=1) - share / 2 - (slope[:, :-1] + slope[:, 1:]) / 24
    below = np.clip(below, TINY, 1 - 1e-15)
    log_odds = np.log(below / (1 - below))  # nearly linear, unlike the share itself
    low, median, high = (_crossing(log_odds, logit, level) for level in (-LOG_ODDS_975, 0.0, LOG_ODDS_975))
    stretch = np.sqrt(np.maximum(variance[where] / conditional[where], 1.0))
    return logistic(median - stretch * (median - low)), logistic(median + stretch * (high - median))


def _crossing(below: Floats, logit: Floats, level: float) -> Floats:
    """The logit at which each row of `below`, which increases, crosses a level; by linear interpolation."""
    rows = np.arange(len(below))
    after = np.clip((below < level).sum(axis=1), 1, below.shape[1] - 1)
    start, end = below[rows, after - 1], below[rows, after]
    part = np.clip((level - start) / np.maximum(end - start, TINY), 0.0, 1.0)
    return np.asarray(logit[rows, after - 1] + part * (logit[rows, after] - logit[rows, after - 1]))


@kernel
def _add_log_chances(rows, score, variance, profiles, right, wrong, normal, total):
    """Adds the log-probability of every vote to the row of its profile, for each quality of that row."""
    profile, winner, loser, kind, weight = rows
    shrinkage = 0.5 if normal else math.pi / 8  # of a gap per unit of its variance: exact for the normal link
    for r in range(len(winner)):
        k = profile[r]
        a, tau, bias = profiles[2, k], profiles[3, k], profiles[4, k]
        tied = kind[r] == TIED
        shift = -bias if kind[r] == WON_RIGHT else bias
        d = a * (score[winner[r]] - score[loser[r]])
        d /= math.sqrt(1 + shrinkage * a * a * (variance[winner[r]] + variance[loser[r]]))
        threshold = tau if normal else 0.0
        if_right, if_wrong = 1.0, 1.0
        if normal or not tied:
            if_right = branch(d + shift, threshold, tied, normal)[0]
            if_wrong = branch(-d + shift, threshold, tied, normal)[0]
        for g in range(right.shape[1]):
            chance = right[k, g] * if_right + wrong[k, g] * if_wrong
            if tau > 0 and not normal:
                odds = tau / (2 * math.cosh((right[k, g] - wrong[k, g]) * d / 2))
                chance *= odds / (1 + odds) if tied else 1 / (1 + odds)
            total[k, g] += weight[r] * math.log(max(chance, TINY))
