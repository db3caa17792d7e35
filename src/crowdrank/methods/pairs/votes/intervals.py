"""The posterior of a vote model: its mean, its spread, and the intervals of annotators' parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdrank.methods.pairs.votes.model import VoteModel
from crowdrank.methods.pairs.votes.posterior import MAX_ROUNDS, PosteriorMeans, Status, posterior_means
from crowdrank.methods.pairs.votes.quality import quality_interval
from crowdrank.numerics.laplace import LARGEST_BLOCK, LARGEST_DENSE, Spread, block_spread, dense_spread, probed_spread
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.study import Floats, Vocabulary

FLAT = (1.0, 1.0)
ADVICE = "intervals may be too narrow; use --bootstrap 200 to check them"
NOTES: dict[Status, tuple[str, ...]] = {
    "settled": (),
    "rounds used up": (f"the intervals did not settle after {MAX_ROUNDS} rounds: {ADVICE}",),
    "not identified": (f"the votes hardly separate distances between items from quality of annotators: {ADVICE}",),
}


@dataclass(frozen=True, slots=True)
class PosteriorSummary:
    """The posterior mean of all parameters and their uncertainty."""

    model: VoteModel
    mean: Floats
    spread: Spread
    quality_prior: tuple[float, float]
    notes: tuple[str, ...]

    def interval(self, name: str) -> tuple[Floats, Floats]:
        """The 95 % interval of a parameter of the profiles."""
        if name == "quality":
            return quality_interval(self.model, self.mean, self.spread.variance, self.quality_prior)
        where = self.model.layout.slices[name]
        error = NORMAL_95_ROUNDED * np.sqrt(self.spread.variance[where])
        return self.mean[where] - error, self.mean[where] + error


def summarise_posterior(
    model: VoteModel,
    mode: Floats,
    vocabulary: Vocabulary,
    prior: float | None,
    quality_prior: tuple[float, float] | None,
) -> PosteriorSummary:
    """The posterior around its mode, with the priors that were given.

    Where quality is estimated, the mean is not the mode, and `model` averages over the posterior afterwards. The
    interval of an annotator's quality borrows nothing from the crowd, unless a prior is given.
    """
    means = PosteriorMeans(mode, None, "settled")
    if "quality" in model.free and len(model.votes):
        means = posterior_means(model, mode, prior, quality_prior)
    model.evaluate(means.x)
    spread = _spread(model, vocabulary)
    if means.common is not None:
        spread = spread.widened(means.common, model.diagonal(), vocabulary.entry_task)
    return PosteriorSummary(model, means.x, spread, quality_prior or FLAT, NOTES[means.status])


def _spread(model: VoteModel, vocabulary: Vocabulary) -> Spread:
    """The uncertainty at the last evaluated point, by the exact inverse of the Hessian where it is small enough."""
    if model.layout.size <= LARGEST_DENSE:
        return dense_spread(model.hessian(), vocabulary.entry_task)
    diagonal = model.diagonal()
    if np.diff(vocabulary.task_starts).max() <= LARGEST_BLOCK:
        votes = model.votes
        return block_spread(diagonal, votes.winner, votes.loser, model.curvatures[:, 0], vocabulary.task_starts)
    return probed_spread(model.hessian_product, diagonal, vocabulary.entry_task)
