"""A plain word for every annotator, from the posterior of their quality.

Quality is one of 25 values. How common each is in the crowd is learned from all annotators, so that a few votes are
read as those of an annotator like the others. An accusation needs evidence: of annotators whose quality is .7 or more,
at most one in a hundred is called random or reversed. So does praise: nobody is informative only because the others
are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.study import Floats

DIFFERS = "differs from the consensus"
N_QUALITIES = 25
WIDTH = 1 / N_QUALITIES
QUALITY = (np.arange(N_QUALITIES) + 0.5) * WIDTH  # .02, .06, … .98
VIRTUAL_ANNOTATORS = 10.0
LEAST_SHARE = 1e-12
ROUNDS = 30
SURE = 0.95  # probability of being better than chance
FEWEST = 3.0  # answers of one's own
OWN = 0.975  # the same by one's own answers alone: two standard errors
ACCUSED = 0.7  # probability of a quality below what honest annotators have
HONEST = 0.66  # quality that honest annotators have at least
GOOD_QUALITY = 0.69  # quality that one's own answers must speak against
AGAINST = 3.0  # ratio of likelihoods: chance, or worse, to GOOD_QUALITY or better
PRECISE = 0.1  # standard error of quality by one's own answers; where it is larger, the ratio must be larger too
HARD = 0.6  # where even typical annotators are close to chance: that share of their distance from it
USUAL_ANNOTATORS = np.full(2, 0.8)  # count in the median of qualities, so that a crowd of one is not its own measure
WEAK = 0.65


def beta_shares(alpha: float, beta: float) -> Floats:
    """The shares of a Beta distribution."""
    log_density = (alpha - 1) * np.log(QUALITY) + (beta - 1) * np.log(1 - QUALITY)
    density = np.exp(log_density - log_density.max())
    return np.asarray(np.maximum(density / density.sum(), LEAST_SHARE))


GOOD, GUESSING, REVERSED = beta_shares(8, 2), beta_shares(30, 30), beta_shares(2, 8)
USUAL_SHARES = np.array([0.85, 0.10, 0.05])  # most are good, some guess, few are reversed
USUAL_CROWD = USUAL_SHARES @ np.stack([GOOD, GUESSING, REVERSED])


def verdicts(quality: Floats, evidence: Floats) -> NDArray[np.object_]:
    """The words, where quality is a share of right answers and evidence the number of answers that it is based on."""
    right = np.nan_to_num(quality) * evidence
    wrong = evidence - right
    log_chance = right[:, None] * np.log(QUALITY) + wrong[:, None] * np.log(1 - QUALITY)
    likelihood = np.exp(log_chance - log_chance.max(axis=1, keepdims=True, initial=-np.inf))
    posterior = crowd_posterior(likelihood)
    words = words_for(np.broadcast_to(QUALITY, posterior.shape), posterior, likelihood)
    words[np.isnan(quality) | (evidence < FEWEST)] = "unclear"
    return words


def crowd_posterior(likelihood: Floats) -> Floats:
    """The posterior of every annotator's quality, from the likelihood of each; the crowd's shares are learned."""
    share, posterior = USUAL_CROWD, likelihood
    for _ in range(ROUNDS):
        posterior = likelihood * share
        posterior /= posterior.sum(axis=1, keepdims=True)
        total = VIRTUAL_ANNOTATORS * USUAL_CROWD + posterior.sum(axis=0)
        share = total / total.sum()
    return np.asarray(posterior)


def words_for(quality: Floats, posterior: Floats, likelihood: Floats) -> NDArray[np.object_]:
    """The words for posteriors of quality: annotator × possible quality; the likelihood is that of one's own answers.

    informative, or weak where quality is below WEAK: very probably better than chance. reversed: very probably worse.
    random: probably below what honest annotators have, and perhaps no better than chance. unclear: too few votes to
    tell. Where items are hard to tell apart, or opinions differ, honest annotators agree with others little more often
    than by chance, so that depends on the crowd.
    """
    mean = (quality * posterior).sum(axis=1)
    better, worse = _chance_of(quality > 0.5, posterior), _chance_of(quality < 0.48, posterior)
    good = (better >= SURE) & (_chance_of(quality > 0.5, likelihood) >= OWN)
    typical = max(float(np.median(np.r_[mean, USUAL_ANNOTATORS])) - 0.5, 0.0)
    poor = _chance_of(quality < min(HONEST, 0.5 + HARD * typical), posterior) >= ACCUSED
    against = _highest(quality < 0.55, likelihood) >= _needed_ratio(quality, likelihood) * _highest(
        quality >= min(GOOD_QUALITY, 0.5 + typical), likelihood
    )
    word = np.full(len(quality), "unclear", dtype=object)
    word[poor & against & (better < SURE)] = "random"
    word[good] = "weak"
    word[good & (mean >= WEAK)] = "informative"
    word[(worse >= SURE) & (mean <= 1 - WEAK) & against] = "reversed"
    return word


def _chance_of(which: NDArray[np.bool_], density: Floats) -> Floats:
    return np.asarray((density * which).sum(axis=1) / np.maximum(density.sum(axis=1), LEAST_SHARE))


def _highest(which: NDArray[np.bool_], density: Floats) -> Floats:
    return np.asarray((density * which).max(axis=1, initial=0.0))


def _needed_ratio(quality: Floats, likelihood: Floats) -> Floats:
    """How much likelier answers must be by chance than by a good annotator: more where they are few."""
    weight = likelihood / np.maximum(likelihood.sum(axis=1, keepdims=True), LEAST_SHARE)
    mean = (quality * weight).sum(axis=1, keepdims=True)
    variance = ((quality - mean) ** 2 * weight).sum(axis=1)
    return np.asarray(AGAINST * np.maximum(variance / PRECISE**2, 1.0))
