"""The most likely scores of a crowd whose distribution of quality is learned from the votes.

The posterior has several modes: those of a ranking and its mirror image, and poor ones in which nearly everybody
guesses. So the search starts with a crowd that is as often reversed as good and rarely guesses, which leads to the
same scores from anywhere, but for their sign. From there both images are followed with the distribution of the crowd
learned, and the more probable one is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdrank.methods.pairs.votes.crowd import Crowd, crowd_of
from crowdrank.methods.pairs.votes.hyperparameters import Hyperparameters
from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.methods.pairs.votes.mode import Mode, find_mode, follow, mode_at, with_learned
from crowdrank.methods.verdicts import N_QUALITIES, beta_shares
from crowdrank.numerics.newton import dot
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats, Gold, Vocabulary

UNDECIDED_CROWD = 0.4 * beta_shares(8, 2) + 0.2 * beta_shares(30, 30) + 0.4 * beta_shares(2, 8)
START_STEPS = 20
ROUGH = 0.1  # standard errors
FEW = 0.05  # share of the votes by reversed annotators below which the mirror image is out of the question
OPPOSITE = -0.5  # correlation of the scores of an image and its mirror image


@dataclass(frozen=True, slots=True, eq=False)
class LearnedCrowd:
    """The mode, and the probability that not its mirror image is right."""

    mode: Mode
    upright: float


def fit_learned_crowd(
    model: MarginalModel,
    vocabulary: Vocabulary,
    start: Floats,
    hyper: Hyperparameters,
    *,
    gold: Gold | None,
    max_iter: int,
    tol: float,
) -> LearnedCrowd:
    """The best mode that can be found; with gold, the image that agrees with it."""
    ends = {"max_iter": max_iter, "tol": tol}
    undecided = replace(unknown_crowd(model.n_profiles), share=UNDECIDED_CROWD)
    centre = follow(
        model, vocabulary, mode_at(model, vocabulary, start, undecided, hyper), max_iter=START_STEPS, tol=ROUGH
    )
    upright = _image(model, vocabulary, centre, 1.0, ends)
    image = None
    if gold is not None or _reversed_share(model, upright) >= FEW:
        image = _image(model, vocabulary, centre, -1.0, ends)
        if _correlation(upright.x, image.x) > OPPOSITE:  # the same mode, or a poor one
            upright, image = min(upright, image, key=lambda mode: mode.value), None
    if image is None:
        return LearnedCrowd(upright, 1.0)
    modes = sorted((upright, image), key=lambda mode: mode.value)
    if gold is not None:
        return LearnedCrowd(max(modes, key=lambda mode: agreement_with_gold(model, mode.x, gold, vocabulary)), 1.0)
    return LearnedCrowd(modes[0], float(1 / (1 + np.exp(max(modes[0].value - modes[1].value, -700.0)))))


def unknown_crowd(n_profiles: int) -> Crowd:
    """Profiles of which nothing is known."""
    return crowd_of(np.zeros(n_profiles), np.full(n_profiles, np.inf), None)


def _image(model: MarginalModel, vocabulary: Vocabulary, centre: Mode, sign: float, ends: dict) -> Mode:
    """The mode near one of the two images, with the possible qualities of every profile where its votes are likely."""
    x = centre.x.copy()
    x[: model.n_entries] *= sign
    at = mode_at(model, vocabulary, x, centre.crowd, centre.hyper)
    rough = find_mode(model, vocabulary, with_learned(model, at), max_iter=START_STEPS, tol=ROUGH)
    crowd = refined(rough.crowd, rough.posterior)
    if crowd is rough.crowd:
        return follow(model, vocabulary, rough, **ends)
    return find_mode(model, vocabulary, mode_at(model, vocabulary, rough.x, crowd, rough.hyper), **ends)


def refined(crowd: Crowd, posterior: Floats) -> Crowd:
    """The crowd with qualities closer together where many votes determine them finely."""
    r = 2 * crowd.quality - 1
    mean = (posterior * r).sum(axis=1)
    error = np.sqrt((posterior * (r - mean[:, None]) ** 2).sum(axis=1))
    if not (error < crowd.step).any():
        return crowd
    finer = crowd_of(mean, np.where(error < crowd.step, np.maximum(error, crowd.step / N_QUALITIES * 4), np.inf), None)
    return replace(finer, share=crowd.share, counts=crowd.counts)


def _reversed_share(model: MarginalModel, mode: Mode) -> float:
    """The expected share of the votes that come from annotators who are wrong more often than right."""
    chance = (mode.posterior * (mode.crowd.quality < 0.4)).sum(axis=1)
    votes = sum_by(model.rows.profile, model.rows.weight, model.n_profiles)
    return float(dot(chance, votes) / max(votes.sum(), 1e-300))


def _correlation(one: Floats, other: Floats) -> float:
    return dot(one, other) / max((dot(one, one) * dot(other, other)) ** 0.5, 1e-300)


def agreement_with_gold(model: MarginalModel, x: Floats, gold: Gold, vocabulary: Vocabulary) -> float:
    """How many votes are on pairs that scores and gold order alike, minus those on pairs that they do not."""
    truth = np.nan_to_num(gold.align(vocabulary), nan=0.0)
    known = ~np.isnan(gold.align(vocabulary))
    winner, loser, weight = model.rows.winner, model.rows.loser, model.rows.weight
    both = known[winner] & known[loser]
    sign = np.sign(truth[winner] - truth[loser]) * np.sign(x[winner] - x[loser])
    return float((weight * sign * both).sum())
