"""Draws from the posterior of Crowd-BT with a learned crowd: slow, obvious, for approximations to be compared with.

An annotator's quality is one of 25 values, of which the crowd has unknown shares π; it is integrated out, so that the
votes of an annotator count as Σ_g π_g Π_v (η_g p_v + (1 − η_g)(1 − p_v)). Scores are normal with an unknown variance.
One iteration takes a Hamiltonian step of the scores, draws a quality for every annotator, then π (Dirichlet) and the
variance (inverse gamma). Two moves keep the chain from standing still: all scores and their spread times one factor,
and the mirror image, in which all scores and qualities are reversed; the votes fit both images equally well, so that
only the prior of the crowd decides between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

QUALITIES = np.linspace(0.02, 0.98, 25)
SHAPE, SCALE = 1.0, 2.0  # inverse gamma prior of the variance of the scores
LEAPS = 5
FIRST_STEP, WANTED_ACCEPTANCE = 0.3, 0.8
SCALE_STEP = 0.1


def _beta(alpha: float, beta: float) -> Floats:
    density = QUALITIES ** (alpha - 1) * (1 - QUALITIES) ** (beta - 1)
    return density / density.sum()


# The prior of the crowd counts as ten annotators: most are good, some guess, few are reversed.
CROWD_COUNTS = 10 * (0.85 * _beta(8, 2) + 0.10 * _beta(30, 30) + 0.05 * _beta(2, 8))


@dataclass(frozen=True)
class Votes:
    """Row r: annotator[r] (ascending, all occur) puts winner[r] before loser[r]."""

    annotator: Codes
    winner: Codes
    loser: Codes
    n_items: int

    @property
    def starts(self) -> Codes:
        return np.searchsorted(self.annotator, np.arange(self.annotator[-1] + 1))


def log_likelihood(votes: Votes, score: Floats, share: Floats) -> tuple[float, Floats, Floats]:
    """With quality integrated out: its value, its gradient by the scores, and the posterior of each quality."""
    right = 1 / (1 + np.exp(np.clip(score[votes.loser] - score[votes.winner], -700, 700)))
    chance = right[:, None] * QUALITIES + (1 - right)[:, None] * (1 - QUALITIES)
    log_joint = np.log(share) + np.add.reduceat(np.log(chance), votes.starts)
    top = log_joint.max(axis=1, keepdims=True)
    joint = np.exp(log_joint - top)
    total = joint.sum(axis=1, keepdims=True)
    posterior = joint / total
    slope = (right * (1 - right))[:, None] * (2 * QUALITIES - 1) / chance
    pull = (posterior[votes.annotator] * slope).sum(axis=1)
    gradient = np.bincount(votes.winner, pull, votes.n_items) - np.bincount(votes.loser, pull, votes.n_items)
    return float((top + np.log(total)).sum()), gradient, posterior


class Chain:
    """One Markov chain."""

    def __init__(self, votes: Votes, score: Floats, seed: int) -> None:
        self.votes, self.rng = votes, np.random.default_rng(seed)
        self.score, self.variance = score - score.mean(), 2.0
        self.share = CROWD_COUNTS / CROWD_COUNTS.sum()
        won, lost = (np.bincount(side, minlength=votes.n_items) for side in (votes.winner, votes.loser))
        self.unit = 1 / np.sqrt(1 / self.variance + (won + lost) / 8)  # of each score: its error, roughly
        self.log_step = math.log(FIRST_STEP)

    def run(self, warm_up: int, draws: int) -> tuple[Floats, Floats]:
        """Scores relative to their mean, and the mean posterior of the annotators' qualities."""
        scores, qualities = np.empty((draws, self.votes.n_items)), 0.0
        for number in range(-warm_up, draws):
            accepted = self.hamiltonian_step()
            if number < 0:
                self.log_step += (accepted - WANTED_ACCEPTANCE) / math.sqrt(number + warm_up + 1)
            posterior = self.gibbs_step()
            if number >= 0:
                scores[number] = self.score - self.score.mean()
                qualities = qualities + posterior / draws
        return scores, np.asarray(qualities)

    def energy(self, score: Floats) -> tuple[float, Floats]:
        """Minus the log-density of the scores, and its gradient in their units."""
        value, gradient, _ = log_likelihood(self.votes, score, self.share)
        return score @ score / (2 * self.variance) - value, self.unit * (score / self.variance - gradient)

    def hamiltonian_step(self) -> float:
        """Leapfrog steps of the scores, then accept or refuse; returns the probability of acceptance."""
        step = math.exp(self.log_step) * self.rng.uniform(0.85, 1.15)
        momentum, score = self.rng.normal(size=self.votes.n_items), self.score.copy()
        value, gradient = self.energy(score)
        before = value + momentum @ momentum / 2
        for _ in range(LEAPS):
            momentum = momentum - step / 2 * gradient
            score = score + step * self.unit * momentum
            value, gradient = self.energy(score)
            momentum = momentum - step / 2 * gradient
        accepted = math.exp(min(0.0, before - value - float(momentum @ momentum) / 2))
        if self.rng.random() < accepted:
            self.score = score
        return accepted

    def gibbs_step(self) -> Floats:
        """Draw qualities, image, shares, variance and scale; returns the posterior of the qualities."""
        rng = self.rng
        _, _, posterior = log_likelihood(self.votes, self.score, self.share)
        quality = (posterior.cumsum(axis=1) < rng.random((len(posterior), 1))).sum(axis=1).clip(0, len(QUALITIES) - 1)
        counts = np.bincount(quality, minlength=len(QUALITIES))
        gain = (gammaln(CROWD_COUNTS + counts[::-1]) - gammaln(CROWD_COUNTS + counts)).sum()
        if math.log(rng.random()) < gain:
            self.score, counts, posterior = -self.score, counts[::-1], posterior[:, ::-1]
        self.share = np.maximum(rng.gamma(CROWD_COUNTS + counts), 1e-300)
        self.share /= self.share.sum()
        self.variance = (SCALE + self.score @ self.score / 2) / rng.gamma(SHAPE + self.votes.n_items / 2)
        self.scale_step()
        return posterior

    def scale_step(self) -> None:
        """Multiply all scores and their standard deviation by one factor, or not."""
        factor = math.exp(SCALE_STEP * self.rng.normal())
        before, after = (log_likelihood(self.votes, each, self.share)[0] for each in (self.score, factor * self.score))
        # The density of the scores given their spread shrinks as the volume grows; what is left is the prior's part.
        prior = -2 * SHAPE * math.log(factor) - SCALE / self.variance * (1 / factor**2 - 1)
        if math.log(self.rng.random()) < after - before + prior:
            self.score, self.variance = factor * self.score, factor**2 * self.variance
