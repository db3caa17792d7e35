"""How strong a prior to use: chosen by leave-one-out prediction.

No fixed strength is right for all studies. Where all items are compared with each other, one virtual win and loss
stabilises the scores of rarely seen items. Where items are only compared with their neighbours, the same prior pulls at
every link of a long chain and makes all scores nearly equal. So each vote is predicted from all the others, for a range
of strengths, and the one that predicts best is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdrank.methods.pairs.votes.model import VoteModel
from crowdrank.numerics.newton import minimise
from crowdrank.study import Floats

STRENGTHS = (1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
USUAL = STRENGTHS.index(1.0)
DIVERGED = 4.0  # log-odds; if the median vote is between items so far apart, only the prior decides how far


class Candidate(NamedTuple):
    """A strength of the prior, by its number in STRENGTHS; how well it predicts; and the parameters fitted with it."""

    prediction: float
    number: int
    x: Floats


def choose_prior(model: VoteModel, start: Floats) -> tuple[float, Floats]:
    """The strength that predicts best, and the parameters of a rough fit with it; `model` is left with that strength.

    The scores of `start` are fitted with the usual strength, the profiles are not fitted yet. Along a chain of
    neighbours the usual strength makes scores nearly equal, so that they say nothing about annotators, and the search
    ends in a poor optimum. So a second search starts from a weaker strength, if one predicts better while the profiles
    stay as they are.
    """
    starts = [(USUAL, start)]
    if model.free:
        weaker = _climb(model, USUAL, start, fixed=slice(model.n_entries, None))
        starts += [(weaker.number, weaker.x)] * (weaker.number < USUAL)
    best = max((_climb(model, *place, fixed=slice(0)) for place in starts), key=lambda found: found.prediction)
    model.set_score_prior(STRENGTHS[best.number])
    return STRENGTHS[best.number], best.x


def _climb(model: VoteModel, first: int, start: Floats, fixed: slice) -> Candidate:
    """From one strength to stronger or weaker ones, as long as they predict better."""
    best = _try(model, first, start, fixed)
    for step in (1, -1):
        while 0 <= best.number + step < len(STRENGTHS):
            candidate = _try(model, best.number + step, best.x, fixed)
            if candidate.prediction <= best.prediction:
                break
            best = candidate
        if best.number != first:
            break
    return best


def _try(model: VoteModel, number: int, start: Floats, fixed: slice) -> Candidate:
    """A rough fit with this strength; one whose scores diverged, where the prediction is wrong, is never the best."""
    model.set_score_prior(STRENGTHS[number])
    x = minimise(model, start, max_iter=30, tol=0.05, fixed=fixed, what="prior").x
    if number < USUAL and _diverged(model, x):
        return Candidate(-np.inf, number, x)
    return Candidate(float(model.leave_one_out(x) @ model.votes.weight), number, x)


def _diverged(model: VoteModel, x: Floats) -> bool:
    gap = np.abs(x[model.votes.winner] - x[model.votes.loser])
    return bool(len(gap) and np.median(gap) > DIVERGED)
