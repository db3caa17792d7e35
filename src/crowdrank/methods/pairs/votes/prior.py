"""How strong a prior the votes call for.

No fixed strength serves all: where everybody is compared with everybody, one virtual win and loss steadies the scores
of rarely seen items; where items are only compared with their neighbours, the same prior pulls at every link of a long
chain and squeezes the ranking flat. So each vote is predicted from all the others, for a range of strengths, and the
one that predicts best is taken.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crowdrank.methods.pairs.votes.model import VoteModel
from crowdrank.numerics.newton import minimise
from crowdrank.study import Floats

STRENGTHS = (1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
USUAL = STRENGTHS.index(1.0)
RUN_OFF = 4.0  # log-odds; where the usual vote is between items so far apart, only the prior says how far


def choose_prior(model_with: Callable[[float], VoteModel], start: Floats) -> tuple[float, Floats]:
    """The strength the votes call for, and the parameters of a rough fit with it. `start` fits the usual strength,
    raters apart.

    Along a chain of neighbours the usual strength leaves nothing of the scores to tell raters by, and they lead astray.
    So where weaker ones predict better as long as raters stay what they are, that is another place to start from.
    """
    model = model_with(STRENGTHS[USUAL])
    starts = [(USUAL, start)]
    if model.free:
        _, weaker, near = _uphill(model_with, USUAL, start, fixed=slice(model.n_entries, None))
        starts += [(weaker, near)] * (weaker < USUAL)
    _, chosen, x = max((_uphill(model_with, *place, fixed=slice(0)) for place in starts), key=lambda found: found[0])
    return STRENGTHS[chosen], x


def _uphill(
    model_with: Callable[[float], VoteModel], first: int, start: Floats, fixed: slice
) -> tuple[float, int, Floats]:
    """From one strength to stronger or weaker ones, until they predict worse, or scores run off, which would fool the
    prediction.

    How well the best predicts, its number, and its fit.
    """

    def tried(number: int, near: Floats) -> tuple[float, Floats]:
        model = model_with(STRENGTHS[number])
        x = minimise(model, near, max_iter=30, tol=0.05, fixed=fixed, what="prior").x
        if number < USUAL and _ran_off(model, x):
            return -np.inf, x
        return float(model.left_out(x) @ model.votes.weight), x

    chosen, (best, x) = first, tried(first, start)
    for step in (1, -1):
        while 0 <= chosen + step < len(STRENGTHS):
            predicted, near = tried(chosen + step, x)
            if predicted <= best:
                break
            chosen, best, x = chosen + step, predicted, near
        if chosen != first:
            break
    return best, chosen, x


def _ran_off(model: VoteModel, x: Floats) -> bool:
    gap = np.abs(x[model.votes.winner] - x[model.votes.loser])
    return bool(len(gap) and np.median(gap) > RUN_OFF)
