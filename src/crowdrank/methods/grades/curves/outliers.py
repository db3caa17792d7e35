"""Verdicts on annotators of grades: who is further from the crowd than honest annotators differ.

How often the preferences of two honest annotators agree depends on the study: nearly always about facts, seldom about
opinions. So the crowd itself is the measure. Honest annotators are taken to spread evenly around the median quality,
and the better half shows how far. Who lies more than `FAR` standard deviations below the median is not one of them:
their grades are reversed if they are as far below a coin toss too, otherwise random. Where opinions differ the crowd
spreads so widely that nobody is accused.

Who agrees with the others no more than by chance, after many grades, but lies within a crowd of many opinions, differs
from the consensus.

Praise takes two standard errors above a coin toss. Where annotators hardly agree it takes three: the order that they
are compared with may be one that the curves found in noise, and those who shaped it agree with it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.leave_one_out import PRAISE, PRAISED
from crowdrank.methods.verdicts import DIFFERS
from crowdrank.study import Floats

FAR = 3.0  # standard deviations; 1 of 700 honest annotators is further away
VIRTUAL, USUAL_SPREAD = 4.0, 0.08  # annotators of a crowd whose quality has this standard deviation
WEAK = 0.65
LITTLE_AGREEMENT = 0.6  # median quality
NO_AGREEMENT = 0.55  # quality; where it is certainly lower, more grades would not change that


def graded_verdicts(quality: Floats, evidence: Floats) -> NDArray[np.object_]:
    """A plain word for each annotator; `evidence` is the number of independent votes behind `quality`."""
    verdict = np.full(len(quality), "unclear", dtype=object)
    known = ~np.isnan(quality) & (evidence > 0)
    if not known.any():
        return verdict
    own, votes = quality[known], evidence[known]
    above = (own - 0.5) * 2 * np.sqrt(votes)  # standard errors above a coin toss
    middle = _weighted_median(own, votes)
    outlier = middle - own > FAR * np.sqrt(_crowd_variance(own, votes, middle) + 0.25 / votes)
    word = np.where(outlier, "random", "unclear").astype(object)
    word[outlier & (above <= -FAR)] = "reversed"
    word[~outlier & (own + FAR * 0.5 / np.sqrt(votes) < NO_AGREEMENT)] = DIFFERS
    praised = above >= (FAR if np.median(own) < LITTLE_AGREEMENT else PRAISED)
    word[praised] = np.where(own < WEAK, *PRAISE)[praised]
    verdict[known] = word
    return verdict


def _weighted_median(values: Floats, weight: Floats) -> float:
    """The median, annotators weighted by the square root of what is known about them."""
    order = np.argsort(values)
    below = np.cumsum(np.sqrt(weight[order]))
    return float(values[order[np.searchsorted(below, below[-1] / 2)]])


def _crowd_variance(quality: Floats, votes: Floats, middle: float) -> float:
    """The variance of true qualities: that of the better half, less the error of each, with some virtual annotators."""
    better = quality >= middle
    own, count = quality[better], votes[better]
    weight = count / (count + 1 / (4 * USUAL_SPREAD**2))  # who is known better says more
    excess = (own - middle) ** 2 - np.maximum(own * (1 - own), 0.01) / count
    found = float((weight * excess).sum()) + VIRTUAL * USUAL_SPREAD**2
    return max(found / (float(weight.sum()) + VIRTUAL), USUAL_SPREAD**2 / 4)
