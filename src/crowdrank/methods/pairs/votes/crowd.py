"""The distribution of quality in a crowd: shares of 25 possible qualities, learned from the votes.

The prior of the shares counts as ten annotators: most are good, some guess, few are reversed. It decides where votes
are few. It also decides between a ranking and its mirror image, in which all scores and qualities are reversed: the
votes fit both equally well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdrank.methods.pairs.votes.marginal_kernels import Qualities
from crowdrank.methods.verdicts import N_QUALITIES, USUAL_CROWD, VIRTUAL_ANNOTATORS, WIDTH, beta_shares
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """The possible qualities of every profile, and how the crowd is distributed over the 25 cells of quality.

    An annotator with few votes has the middles of the cells as possible qualities. Many votes determine quality more
    finely than a cell: then the possible qualities are closer together, around the estimate.
    """

    first: Floats  # of each profile: the lowest r = 2η − 1
    step: Floats
    cell: Codes  # profile × quality: the cell that each quality lies in
    share: Floats  # of each cell
    counts: Floats | None  # virtual annotators in each cell; None: the shares are given, and not learned
    in_cells: bool  # each profile has one quality in each cell

    @property
    def qualities(self) -> Qualities:
        """For the kernels."""
        share = np.take(self.share, self.cell)
        return Qualities(self.first, self.step, share if self.in_cells else share * (self.step / (2 * WIDTH))[:, None])

    @property
    def quality(self) -> Floats:
        """η: profile × quality."""
        n_qualities = self.cell.shape[1]
        return np.asarray((1 + self.first[:, None] + self.step[:, None] * np.arange(n_qualities)) / 2)

    @property
    def penalty(self) -> float:
        """Minus the log-density of the shares, but for a constant."""
        return 0.0 if self.counts is None else -float(self.counts @ np.log(self.share))

    def cells(self, posterior: Floats) -> Floats:
        """The expected number of profiles in each cell, from the posteriors of their qualities."""
        if self.in_cells:
            return np.asarray(posterior.sum(axis=0))
        fine = self.step < 2 * WIDTH  # others have one quality in each cell
        cells = sum_by(self.cell[fine].ravel(), posterior[fine].ravel(), len(self.share))
        return cells if fine.all() else cells + posterior[~fine].sum(axis=0)

    def learned(self, posterior: Floats, rounds: int) -> Crowd:
        """The crowd with the shares that fit these posteriors of quality; every round uses the new shares (EM)."""
        assert self.counts is not None
        crowd = self
        for _ in range(rounds):
            cells = self.counts + self.cells(posterior)
            share = cells / cells.sum()
            posterior = posterior * np.take(share / crowd.share, self.cell)
            posterior /= posterior.sum(axis=1, keepdims=True)
            crowd = replace(self, share=share)
        return crowd


def perfect_crowd(n_profiles: int) -> Crowd:
    """Annotators of quality 1."""
    ones, zeros = np.ones(n_profiles), np.zeros(n_profiles)
    return Crowd(ones, zeros, np.zeros((n_profiles, 1), np.int32), np.ones(1), None, in_cells=True)


def crowd_of(estimate: Floats, error: Floats, quality_prior: tuple[float, float] | None) -> Crowd:
    """The crowd of profiles whose r = 2η − 1 was estimated with this standard error; infinite: not estimated."""
    step = np.minimum(2 * WIDTH, error)
    half = N_QUALITIES / 2 * step  # each stands for those around it, and these must lie on the scale
    centre = np.where(step < 2 * WIDTH, np.clip(estimate, half - 1, 1 - half), 0.0)
    first = centre - half + step / 2
    r = first[:, None] + step[:, None] * np.arange(N_QUALITIES)
    cell = np.clip(((1 + r) / 2 / WIDTH).astype(np.int32), 0, N_QUALITIES - 1)
    in_cells = bool((step == 2 * WIDTH).all())
    if quality_prior is not None:
        return Crowd(first, step, cell, beta_shares(*quality_prior), None, in_cells)
    return Crowd(first, step, cell, USUAL_CROWD, VIRTUAL_ANNOTATORS * USUAL_CROWD, in_cells)
