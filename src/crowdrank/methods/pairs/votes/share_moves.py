"""Draws of the shares of qualities in a crowd, given the likelihood of every annotator's votes.

Qualities drawn for the annotators give new shares (Dirichlet). With many annotators of few votes these change slowly,
because so do the qualities that are drawn. So they are also tilted: multiplied by the exponential of a random
polynomial of quality, or not (Liu, Sabatti: Generalised Gibbs sampler and multigrid Monte Carlo for Bayesian
computation, Biometrika 2000). And the sum of two neighbours is divided anew, as the prior divides it, or not: few votes
do not tell similar qualities apart.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.pairs.votes import few_votes
from crowdrank.methods.pairs.votes.crowd import SHAPES, Crowd
from crowdrank.methods.pairs.votes.share_kernels import divided_anew
from crowdrank.methods.verdicts import LEAST_SHARE, QUALITY
from crowdrank.numerics.newton import SHORT
from crowdrank.study import Floats

RATE = SHAPES @ (2 * QUALITY - 1)  # of each shape: the mean of r = 2η − 1
TILTS = np.polynomial.legendre.legvander(RATE, 3)[:, 1:].T  # linear, quadratic and cubic
START = 0.3
WANTED_ACCEPTANCE = 0.4


class ShareMoves:
    """Draws shares; the sizes of the tilts are learned while `rate` is above 0. With `few` votes, without kernels."""

    def __init__(self, few: bool) -> None:
        self.size, self.divide = np.full(len(TILTS), START), few_votes.divided_anew if few else divided_anew

    def drawn(self, crowd: Crowd, posterior: Floats, rng: np.random.Generator, rate: float) -> Crowd:
        """The crowd with new shares, given the posterior of each profile's quality with the old ones."""
        assert crowd.counts is not None
        weights = crowd.likelihood(posterior)
        share = _drawn_shares(crowd.counts + _drawn_shapes(weights * crowd.weight, rng), rng)
        likelihood = _log_likelihood(weights, share)
        for number, shape in enumerate(TILTS):
            tilted = tilt(share, self.size[number] * rng.normal() * shape)
            there = _log_likelihood(weights, tilted)
            change = there - likelihood + log_prior_ratio(crowd.counts, tilted, share)
            accepted = math.exp(min(0.0, change))
            if rng.random() < accepted:
                share, likelihood = tilted, there
            self.size[number] *= math.exp(rate * (accepted - WANTED_ACCEPTANCE))
        divisions = np.clip(rng.beta(crowd.counts[:-1], crowd.counts[1:]), LEAST_SHARE, 1 - LEAST_SHARE)
        limits = np.log(rng.random(len(divisions)))
        chance, columns = times(weights, share), np.ascontiguousarray(weights.T)
        return replace(crowd, weight=self.divide(share, chance, columns, divisions, limits))


def tilt(share: Floats, exponent: NDArray[np.floating[Any]]) -> Floats:
    """The shares multiplied by the exponentials."""
    share = np.maximum(share * np.exp(exponent), LEAST_SHARE)
    return np.asarray(share / share.sum())


def log_prior_ratio(counts: Floats, new: Floats, old: Floats) -> float:
    """The logarithm of how much likelier tilted shares are by the prior, with the change of volume."""
    return float(counts @ np.log(new / old))


def _log_likelihood(weights: Floats, share: Floats) -> float:
    return float(np.log(times(weights, share)).sum())


def times(matrix: Floats, vector: Floats) -> Floats:
    """The product, with the same bits for any number of threads; BLAS adds large ones in another order with each."""
    return np.asarray(matrix @ vector if matrix.size <= SHORT else np.einsum("ij,j->i", matrix, vector))


def _drawn_shapes(weights: Floats, rng: np.random.Generator) -> Floats:
    """How many profiles are of each shape, if these are drawn with these weights."""
    total = weights.cumsum(axis=1)
    chosen = (total < total[:, -1:] * rng.random((len(weights), 1))).sum(axis=1)
    return np.bincount(chosen, minlength=weights.shape[1]).astype(np.float64)


def _drawn_shares(counts: Floats, rng: np.random.Generator) -> Floats:
    """Random shares, given the number of profiles of each shape, with the virtual ones."""
    share = rng.gamma(counts)
    share = np.maximum(share / share.sum(), LEAST_SHARE)
    return np.asarray(share / share.sum())
