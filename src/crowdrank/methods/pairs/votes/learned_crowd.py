"""The most likely scores of a crowd whose distribution of quality is learned from the votes.

The posterior has several modes: those of a ranking and its mirror image, in which all scores and qualities are
reversed, and poor ones in which nearly everybody guesses. So the search starts with a crowd that is as often reversed
as good and rarely guesses, which leads to the same scores from anywhere, but for their sign. The votes fit both signs
equally well. What decides between them is that annotators are more often good than reversed, or gold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdrank.methods.pairs.votes.crowd import Crowd, crowd_of, mixture
from crowdrank.methods.pairs.votes.hyperparameters import Hyperparameters
from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.methods.pairs.votes.mode import (
    SETTLED,
    Mode,
    find_mode,
    follow,
    has_many_votes,
    in_rounds,
    mode_at,
    with_learned,
)
from crowdrank.methods.verdicts import GOOD, GUESSING, REVERSED, USUAL_SHARES, VIRTUAL_ANNOTATORS, WIDTH
from crowdrank.study import Floats, Gold, Vocabulary

UNDECIDED_MIXTURE = mixture(0.4 * GOOD + 0.2 * GUESSING + 0.4 * REVERSED)
START_STEPS = 20
ROUGH = 0.1  # standard errors; of all scores together, or where votes are many of each
ROUGHLY_SETTLED = 0.05
ROUNDS = 30
REFINEMENTS = 4
UNLIKELY = 1e-3
# Of r = 2η − 1. Qualities of all annotators and the spread of the scores change together, by more than the votes of one
# annotator with given scores suggest: the possible qualities must reach further than those.
FINEST_STEP = 0.025


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
    undecided = replace(unknown_crowd(model.n_profiles), weight=UNDECIDED_MIXTURE)
    at = mode_at(model, vocabulary.task_starts, start, undecided, hyper)
    tol_of_start = ROUGH * model.n_entries**0.5 if has_many_votes(model) else ROUGH
    centre = follow(model, vocabulary.task_starts, at, max_iter=START_STEPS, tol=tol_of_start)
    if gold is not None:
        up = agreement_with_gold(model, centre.x, gold, vocabulary) >= 0
    else:
        up = _log_odds_of_direction(centre) >= 0
    image = centre if up else _mirrored(model, vocabulary, centre)
    mode = _refined_mode(model, vocabulary, with_learned(model, image), max_iter, tol)
    odds = np.inf if gold is not None else _log_odds_of_direction(mode)
    return LearnedCrowd(mode, float(1 / (1 + np.exp(-odds))))


def _log_odds_of_direction(mode: Mode) -> float:
    """The log-odds of these scores rather than their mirror image, by how common good and reversed annotators are."""
    share = mode.crowd.qualities.share
    likelihood = mode.posterior / share
    likelihood /= likelihood.max(axis=1, keepdims=True, initial=1e-300)
    width = share / mode.crowd.share[mode.crowd.cell]
    upright, mirrored = (
        _evidence(np.stack([(likelihood * width * shape[mode.crowd.cell]).sum(axis=1) for shape in shapes], axis=1))
        for shapes in ((GOOD, GUESSING, REVERSED), (GOOD[::-1], GUESSING[::-1], REVERSED[::-1]))
    )
    return upright - mirrored


def _evidence(likelihood: Floats) -> float:
    """The log-likelihood of profiles that are good, guessing or reversed, with the most likely shares of these."""
    counts = VIRTUAL_ANNOTATORS * USUAL_SHARES
    share, chance = USUAL_SHARES, likelihood
    for _ in range(ROUNDS):
        chance = likelihood * share
        total = counts + (chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)).sum(axis=0)
        share = total / total.sum()
    return float(np.log(np.maximum((likelihood * share).sum(axis=1), 1e-300)).sum() + counts @ np.log(share))


def unknown_crowd(n_profiles: int) -> Crowd:
    """Profiles of which nothing is known."""
    return crowd_of(np.zeros(n_profiles), np.full(n_profiles, np.inf), None)


def _mirrored(model: MarginalModel, vocabulary: Vocabulary, centre: Mode) -> Mode:
    """All scores reversed."""
    x = centre.x.copy()
    x[: model.n_entries] *= -1
    return mode_at(model, vocabulary.task_starts, x, centre.crowd, centre.hyper)


def _refined_mode(model: MarginalModel, vocabulary: Vocabulary, start: Mode, max_iter: int, tol: float) -> Mode:
    """The mode near a start, with the possible qualities of every profile where its votes are likely."""
    if has_many_votes(model):
        mode = in_rounds(model, vocabulary.task_starts, start, ROUGHLY_SETTLED)
    else:
        mode = find_mode(model, vocabulary.task_starts, start, max_iter=START_STEPS, tol=ROUGH)
    for _ in range(REFINEMENTS):
        crowd = refined(mode.crowd, mode.posterior)
        if crowd is mode.crowd:
            break
        mode = in_rounds(model, vocabulary.task_starts, _with_crowd(model, vocabulary, mode, crowd), SETTLED)
        if not mode.crowd.at_an_end(mode.posterior, UNLIKELY).any():
            break
    return follow(model, vocabulary.task_starts, mode, max_iter=max_iter, tol=tol)


def _with_crowd(model: MarginalModel, vocabulary: Vocabulary, mode: Mode, crowd: Crowd) -> Mode:
    """The same point with another crowd."""
    if has_many_votes(model):  # then every round starts with the curvature
        return replace(mode, crowd=crowd)
    return mode_at(model, vocabulary.task_starts, mode.x, crowd, mode.hyper)


def refined(crowd: Crowd, posterior: Floats) -> Crowd:
    """The crowd with qualities closer together where many votes determine them finely."""
    r = 2 * crowd.quality - 1
    mean = (posterior * r).sum(axis=1)
    error = np.sqrt((posterior * (r - mean[:, None]) ** 2).sum(axis=1))
    if not (error < 2 * WIDTH).any():
        return crowd
    finer = crowd_of(mean, np.where(error < 2 * WIDTH, np.maximum(error, FINEST_STEP), np.inf), None)
    return replace(crowd, first=finer.first, step=finer.step, cell=finer.cell, in_cells=finer.in_cells)


def agreement_with_gold(model: MarginalModel, x: Floats, gold: Gold, vocabulary: Vocabulary) -> float:
    """How many votes are on pairs that scores and gold order alike, minus those on pairs that they do not."""
    truth = np.nan_to_num(gold.align(vocabulary), nan=0.0)
    known = ~np.isnan(gold.align(vocabulary))
    winner, loser, weight = model.rows.winner, model.rows.loser, model.rows.weight
    both = known[winner] & known[loser]
    sign = np.sign(truth[winner] - truth[loser]) * np.sign(x[winner] - x[loser])
    return float((weight * sign * both).sum())
