"""The distribution of quality in a crowd: a mixture of smooth shapes, whose shares are learned from the votes.

The shapes are the Beta distributions of one degree, which together can have any smooth form, and three narrow ones:
annotators who are nearly always right, who guess, and who are nearly always wrong. Shares of single qualities instead
of shapes were too free: with few votes of each annotator, the votes are explained as well by a crowd of two qualities
with scores a tenth too far apart.

The prior of the shares counts as ten annotators: most are good, some guess, few are reversed. It decides where votes
are few. It also decides between a ranking and its mirror image, in which all scores and qualities are reversed: the
votes fit both equally well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.pairs.votes.marginal_kernels import Qualities
from crowdrank.methods.verdicts import (
    GUESSING,
    N_QUALITIES,
    QUALITY,
    USUAL_CROWD,
    VIRTUAL_ANNOTATORS,
    WIDTH,
    beta_shares,
)
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats

DEGREE = 12  # of the smooth shapes: Beta(1, 12), Beta(2, 11), … Beta(12, 1)
NARROW = 40.0  # Beta(40, 1): right in 98 of 100 cases
ROUNDS = 50
SHARPNESS_SPREAD = 0.7  # of the logarithm of the sharpness of ties, around Davidson's model


def _shapes() -> Floats:
    """Shape × cell, from the lowest mean quality to the highest."""
    smooth = [beta_shares(degree, DEGREE + 1 - degree) for degree in range(1, DEGREE + 1)]
    shapes = np.array([*smooth, beta_shares(1, NARROW), GUESSING, beta_shares(NARROW, 1)])
    return np.asarray(shapes[np.argsort(shapes @ QUALITY, kind="stable")])


SHAPES: Floats = _shapes()


def mixture(share: Floats) -> Floats:
    """The shares of the shapes whose mixture comes close to these shares of cells (EM)."""
    weight = np.full(len(SHAPES), 1 / len(SHAPES))
    for _ in range(ROUNDS):
        weight = weight * (SHAPES @ (share / (weight @ SHAPES)))
        weight /= weight.sum()
    return np.asarray(weight)


# A little of every shape: what is all but impossible could not be learned either.
USUAL_MIXTURE = 0.98 * mixture(USUAL_CROWD) + 0.02 / len(SHAPES)


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """The possible qualities of every profile, and how the crowd is distributed over the 25 cells of quality.

    An annotator with few votes has the middles of the cells as possible qualities. Many votes determine quality more
    finely than a cell: then the possible qualities are closer together, around the estimate.
    """

    first: Floats  # of each profile: the lowest r = 2η − 1
    step: Floats
    cell: Codes  # profile × quality: the cell that each quality lies in
    shapes: Floats  # shape × cell: distributions of quality
    weight: Floats  # of each shape: the distribution of the crowd is their mixture
    counts: Floats | None  # virtual annotators of each shape; None: the distribution is given, and not learned
    in_cells: bool  # each profile has one quality in each cell
    tie_sharpness: float = 1.0  # how fast ties become rare with the gap; 1 in Davidson's model

    @property
    def share(self) -> Floats:
        """Of each cell."""
        return np.asarray(self.weight @ self.shapes)

    @property
    def qualities(self) -> Qualities:
        """For the kernels."""
        share = np.take(self.share, self.cell)
        share = share if self.in_cells else share * (self.step / (2 * WIDTH))[:, None]
        return Qualities(self.first, self.step, share, self.tie_sharpness)

    @property
    def quality(self) -> Floats:
        """η: profile × quality."""
        n_qualities = self.cell.shape[1]
        return np.asarray((1 + self.first[:, None] + self.step[:, None] * np.arange(n_qualities)) / 2)

    @property
    def penalty(self) -> float:
        """Minus the log-density of the distribution and of the sharpness of ties, but for a constant."""
        return 0.0 if self.counts is None else self.tie_penalty - float(self.counts @ np.log(self.weight))

    def sharper(self, step: float) -> Crowd:
        """The same with this much more of the logarithm of the sharpness of ties."""
        return replace(self, tie_sharpness=self.tie_sharpness * math.exp(step))

    @property
    def tie_penalty(self) -> float:
        """Minus the log-density of the logarithm of the sharpness of ties, but for a constant."""
        return (math.log(self.tie_sharpness) / SHARPNESS_SPREAD) ** 2 / 2

    def at_an_end(self, posterior: Floats, unlikely: float) -> NDArray[np.bool_]:
        """Which profiles have a likely quality at an end of those possible that is not the end of the scale."""
        last = self.first + (self.cell.shape[1] - 1) * self.step
        low, high = posterior[:, 0] > unlikely, posterior[:, -1] > unlikely
        return np.asarray((low & (self.first > self.step - 1)) | (high & (last < 1 - self.step)))

    def with_all_cells(self, which: NDArray[np.bool_]) -> Crowd:
        """The same, but these profiles have one possible quality in each cell."""
        first, step = np.where(which, WIDTH - 1, self.first), np.where(which, 2 * WIDTH, self.step)
        cell = np.where(which[:, None], np.arange(N_QUALITIES, dtype=np.int32), self.cell)
        return replace(self, first=first, step=step, cell=cell, in_cells=bool((step == 2 * WIDTH).all()))

    def likelihood(self, posterior: Floats) -> Floats:
        """How likely the votes of each profile are if it is of each shape, from the posterior of its quality."""
        return np.asarray(self._by_cell(posterior) / self.share @ self.shapes.T)

    def _by_cell(self, posterior: Floats) -> Floats:
        """The probability that each profile's quality is in each cell."""
        if self.in_cells:
            return posterior
        by_cell, fine = posterior.copy(), np.flatnonzero(self.step < 2 * WIDTH)  # others have one quality in each cell
        n_cells = self.shapes.shape[1]
        where = self.cell[fine] + n_cells * np.arange(len(fine))[:, None]
        by_cell[fine] = sum_by(where.ravel(), posterior[fine].ravel(), n_cells * len(fine)).reshape(-1, n_cells)
        return by_cell

    def learned(self, likelihood: Floats, rounds: int, copies: int = 1) -> Crowd:
        """The crowd with the mixture that fits the likelihoods of profiles; every round uses the new one (EM).

        There are so many copies of every profile, which count as one together.
        """
        assert self.counts is not None
        weight = self.weight
        for _ in range(rounds):
            total = self.counts + weight * ((1 / (likelihood @ weight)) @ likelihood) / copies
            weight = total / total.sum()
        return replace(self, weight=weight)


def perfect_crowd(n_profiles: int) -> Crowd:
    """Annotators of quality 1."""
    ones, zeros = np.ones(n_profiles), np.zeros(n_profiles)
    cell = np.zeros((n_profiles, 1), np.int32)
    return Crowd(ones, zeros, cell, np.ones((1, 1)), np.ones(1), None, in_cells=True)


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
        return Crowd(first, step, cell, beta_shares(*quality_prior)[None], np.ones(1), None, in_cells)
    return Crowd(first, step, cell, SHAPES, USUAL_MIXTURE, VIRTUAL_ANNOTATORS * USUAL_MIXTURE, in_cells)
