"""Between which values an annotator's quality lies.

Near its ends quality has no bell-shaped posterior on any scale, so there is no short cut by a standard error: the
posterior of each rater's quality, everything else given, is computed at points on the logit scale. Scores are averaged
over: what is not known of a gap brings the chances of both answers closer together. What is lost by holding all else
fixed, which is little, the quantiles are stretched by.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from crowdrank.convert import TIED, WON_RIGHT
from crowdrank.methods.pairs.votes.kernels import TINY, branch
from crowdrank.methods.pairs.votes.model import VoteModel, logistic
from crowdrank.study import Floats

POINTS = np.linspace(-6, 6, 33)  # in standard errors
WIDEST = 2.0  # standard error on the logit scale: three quarters of all possible qualities
NINETY_FIVE = math.log(0.975 / 0.025)  # log-odds


def quality_interval(
    model: VoteModel, x: Floats, variance: Floats, prior: tuple[float, float]
) -> tuple[Floats, Floats]:
    """The 95 % intervals of all raters' quality, given its Beta prior and the variance of every parameter.

    `model` was last evaluated at x.
    """
    where = model.layout.slices["quality"]
    alone = 1 / np.maximum(model.diagonal(), 1 / WIDEST**2)
    counts = np.bincount(model.profile, model.votes.weight, model.n_profiles)
    furthest = np.log(2 + counts)  # whoever has been right n times is not known to be better than that
    centre = np.clip(x[where], -furthest, furthest)
    logit = centre[:, None] + np.sqrt(alone[where])[:, None] * POINTS
    right, wrong = logistic(logit), logistic(-logit)
    log_density = prior[0] * np.log(right) + prior[1] * np.log(wrong)
    v = model.votes
    rows = model.profile, v.winner, v.loser, v.kind, v.weight
    _add_log_chances(*rows, x[: model.n_entries], alone, model.profiles(x), right, wrong, model.normal, log_density)
    share = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    slope = np.diff(np.pad(share, ((0, 0), (1, 1))), axis=1)
    # The trapezoidal rule and its first correction.
    below = np.cumsum(share, axis=1) - share / 2 - (slope[:, :-1] + slope[:, 1:]) / 24
    below = np.clip(below, TINY, 1 - 1e-15)
    log_odds = np.log(below / (1 - below))  # nearly linear, unlike the share itself
    low, middle, high = (_where_it_reaches(log_odds, logit, level) for level in (-NINETY_FIVE, 0.0, NINETY_FIVE))
    stretch = np.sqrt(np.maximum(variance[where] / alone[where], 1.0))
    return logistic(middle - stretch * (middle - low)), logistic(middle + stretch * (high - middle))


def _where_it_reaches(below: Floats, logit: Floats, level: float) -> Floats:
    """By linear interpolation in each row, where what grows passes a level."""
    rows = np.arange(len(below))
    after = np.clip((below < level).sum(axis=1), 1, below.shape[1] - 1)
    start, end = below[rows, after - 1], below[rows, after]
    part = np.clip((level - start) / np.maximum(end - start, TINY), 0.0, 1.0)
    return np.asarray(logit[rows, after - 1] + part * (logit[rows, after] - logit[rows, after - 1]))


@nb.njit(cache=True, nogil=True)
def _add_log_chances(profile, winner, loser, kind, weight, score, variance, profiles, right, wrong, normal, total):
    """Adds the log-probability of every vote to its rater's row, for each quality of that row."""
    blur = 0.5 if normal else math.pi / 8  # by so much of its variance a gap counts less: exact for the normal link
    for r in range(len(winner)):
        k = profile[r]
        a, tau, bias = profiles[2, k], profiles[3, k], profiles[4, k]
        tied = kind[r] == TIED
        shift = -bias if kind[r] == WON_RIGHT else bias
        d = a * (score[winner[r]] - score[loser[r]])
        d /= math.sqrt(1 + blur * a * a * (variance[winner[r]] + variance[loser[r]]))
        threshold = tau if normal else 0.0
        seen, not_seen = 1.0, 1.0
        if normal or not tied:
            seen = branch(d + shift, threshold, tied, normal)[0]
            not_seen = branch(-d + shift, threshold, tied, normal)[0]
        for g in range(right.shape[1]):
            chance = right[k, g] * seen + wrong[k, g] * not_seen
            if tau > 0 and not normal:
                odds = tau / (2 * math.cosh((right[k, g] - wrong[k, g]) * d / 2))
                chance *= odds / (1 + odds) if tied else 1 / (1 + odds)
            total[k, g] += weight[r] * math.log(max(chance, TINY))
