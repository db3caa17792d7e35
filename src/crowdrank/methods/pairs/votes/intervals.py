"""How sure the votes are of what a model found: intervals of scores, ranks and what raters are like."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.methods.pairs.votes.model import VoteModel
from crowdrank.methods.pairs.votes.posterior import posterior_means
from crowdrank.methods.pairs.votes.quality import quality_interval
from crowdrank.numerics.laplace import LARGEST_BLOCK, LARGEST_DENSE, Spread, block_spread, dense_spread, probed_spread
from crowdrank.numerics.ranks import rank_interval
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats, Vocabulary

NINETY_FIVE = 1.959964  # standard errors
FLAT = (1.0, 1.0)
TOLD_TOO_LITTLE = (
    "the votes hardly tell how far apart items are from how good annotators are: intervals may be too narrow"
)


@dataclass(frozen=True, slots=True)
class PosteriorSummary:
    """The middle of what the votes leave possible, and how far it reaches."""

    model: VoteModel
    middle: Floats  # of all parameters
    spread: Spread
    quality_prior: tuple[float, float]
    notes: tuple[str, ...]

    def interval(self, name: str) -> tuple[Floats, Floats]:
        """Of one of the raters' parameters."""
        if name == "quality":
            return quality_interval(self.model, self.middle, self.spread.variance, self.quality_prior)
        where = self.model.layout.slices[name]
        error = NINETY_FIVE * np.sqrt(self.spread.variance[where])
        return self.middle[where] - error, self.middle[where] + error


def summarise_posterior(
    model: VoteModel,
    mode: Floats,
    vocabulary: Vocabulary,
    prior: float | None,
    quality_prior: tuple[float, float] | None,
) -> PosteriorSummary:
    """From the mode. Where quality is estimated, the middle lies elsewhere, and `model` is left averaging over the
    posterior.

    The priors are those that were given. An annotator's own interval takes nothing from the crowd, unless told to by a
    prior.
    """
    averages = "quality" in model.free and len(model.votes) > 0
    posterior = posterior_means(model, mode, prior, quality_prior) if averages else None
    middle, common = posterior or (mode, None)
    model.evaluate(middle)
    table, diagonal = model.votes, model.diagonal()
    if model.layout.size <= LARGEST_DENSE:
        spread = dense_spread(model.hessian(), vocabulary.entry_task)
    elif np.diff(vocabulary.task_starts).max() <= LARGEST_BLOCK:
        spread = block_spread(diagonal, table.winner, table.loser, model.curvatures[:, 0], vocabulary.task_starts)
    else:
        spread = probed_spread(model.hessian_product, diagonal, vocabulary.entry_task)
    if common is not None:
        spread = spread.widened(common, diagonal, vocabulary.entry_task)
    return PosteriorSummary(
        model, middle, spread, quality_prior or FLAT, (TOLD_TOO_LITTLE,) if averages and posterior is None else ()
    )


def with_intervals(consensus: Consensus, spread: Spread, middle: Floats | None = None) -> Consensus:
    """Add the intervals of scores and ranks, around the scores, or around the middle of what they may be."""
    vocabulary, score = consensus.vocabulary, consensus.score
    error = np.sqrt(spread.variance[: len(score)])
    middle = score if middle is None else _beside(score, middle, error, vocabulary)
    scored = ~np.isnan(score)
    starts = np.searchsorted(vocabulary.entry_task[scored], np.arange(len(vocabulary.tasks) + 1))
    rank_low, rank_high = np.zeros((2, len(score)), dtype=np.int32)
    rank_low[scored], rank_high[scored] = rank_interval(middle[scored], error[scored], starts)
    above, below = consensus.neighbours
    gap_error = np.full(len(error), np.nan)
    gap_error[above] = np.sqrt(spread.of_gaps(above, below))
    return replace(
        consensus,
        low=np.minimum(middle - NINETY_FIVE * error, score),
        high=np.maximum(middle + NINETY_FIVE * error, score),
        rank_low=np.minimum(rank_low, consensus.rank),
        rank_high=np.maximum(rank_high, consensus.rank),
        gap_error=gap_error,
    )


def _beside(score: Floats, middle: Floats, error: Floats, vocabulary: Vocabulary) -> Floats:
    """The middles brought to where the scores lie: only distances within a task mean something."""
    known = 1 / np.maximum(error, 1e-9) ** 2
    off = sum_by(vocabulary.entry_task, known * (score - middle), len(vocabulary.tasks))
    total = sum_by(vocabulary.entry_task, known, len(vocabulary.tasks))
    return np.asarray(middle + (off / np.maximum(total, 1e-300))[vocabulary.entry_task])
