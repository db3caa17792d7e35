"""Tiers: groups of entries whose order the judgments do not settle.

The first entry of a tier is its anchor. Those that follow belong to it until one is below the anchor with probability
`level`; that one is the next anchor. As the anchor is fixed, chains of small overlaps do not merge everybody.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.settings import check
from crowdrank.study import Floats, JudgmentError

PAIRS_AT_ONCE = 10_000  # whose draws are compared; keeps memory small


def score_error(consensus: Consensus) -> Floats:
    """The standard error of each score; from its 95 % interval where nothing else is known."""
    if consensus.low is None or consensus.high is None:
        raise JudgmentError(
            f"{consensus.method} has no intervals: use a method that has them, or cr.bootstrap "
            "(rank --bootstrap 200), which works with every method"
        )
    if consensus.score_error is not None:
        return consensus.score_error
    return np.asarray((consensus.high - consensus.low) / (2 * NORMAL_95_ROUNDED))


def chance_above(consensus: Consensus, one: NDArray[np.intp], other: NDArray[np.intp]) -> Floats:
    """The probability that each of `one` is truly above the entry beside it in `other`.

    It is the share of draws where there are any, as in `neighbours`. Otherwise errors are normal and independent.
    """
    from scipy.special import ndtr  # here, not above: a command without tiers needs no SciPy

    if consensus.draws is not None:
        return _share_of_draws(consensus.draws, consensus.upright, one, other)
    error = score_error(consensus)
    gap, spread = consensus.score[one] - consensus.score[other], np.hypot(error[one], error[other])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(ndtr(np.where(gap == 0, 0.0, gap / spread)))


def _share_of_draws(
    draws: NDArray[np.float32], upright: float, one: NDArray[np.intp], other: NDArray[np.intp]
) -> Floats:
    """How often one is above the other in the draws; never exactly 0 or 1."""
    share = np.empty(len(one))
    for at in range(0, len(one), PAIRS_AT_ONCE):
        part = slice(at, at + PAIRS_AT_ONCE)
        share[part] = (draws[:, one[part]] > draws[:, other[part]]).mean(axis=0)
    share = upright * share + (1 - upright) * (1 - share)
    return (len(draws) * share + 0.5) / (len(draws) + 1)


def tiers(consensus: Consensus, level: float = 0.95) -> NDArray[np.int32]:
    """The tier of each entry within its task, 1 for the best; 0 for entries without a score.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=6, annotators=9, votes=3000, seed=0)
    >>> tiers(cr.fit("bradley-terry", study.judgments)).min().item()
    1
    """
    check(0.5 <= level < 1, "level", level, "at least 0.5 and below 1")
    tier = np.zeros(len(consensus.score), np.int32)
    starts = consensus.vocabulary.task_starts
    order = consensus.best_first
    for first, end in pairwise(starts):
        entries = order[first:end]
        entries = entries[consensus.rank[entries] > 0]
        number = 1
        while len(entries):
            below = chance_above(consensus, np.full(len(entries), entries[0]), entries) >= level
            # The first that is below ends the tier, even if a later, less certain one is not.
            size = int(np.argmax(below)) if below.any() else len(entries)
            tier[entries[:size]] = number
            entries, number = entries[size:], number + 1
    return tier
