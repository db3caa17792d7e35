"""Draws from the posterior of scores and their spread, for lists too few to take it as normal around its mode.

The posterior of few lists is skewed, the mode has too small a spread, and the scores depend on the spread. So both are
drawn together, along Hamiltonian trajectories: the logarithm of the spread, and the scores divided by it, which depend
less on it than the scores do. Positions are measured from the mode, in units of the curvature there. In these units the
posterior is close to a standard normal distribution, whose trajectories are circles: they are followed exactly, and
only the difference to it needs small steps (Shahbaba, Lan, Johnson, Neal: Split Hamiltonian Monte Carlo, Statistics and
Computing 2014).

The units are a symmetric root of the curvature, and random numbers are given to entries in the order of their scores:
so the draws do not depend on names.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from crowdrank.numerics.newton import dot
from crowdrank.numerics.progress import report
from crowdrank.study import Floats

DRAWS, WARM_UP, LEAPS = 240, 60, 4
LONGEST_ANGLE = math.pi / 8  # of one leap
WANTED_ACCEPTANCE = 0.8
USUAL = math.log(1.4)  # of the logarithm of the spread
LARGEST = 50.0  # logarithm of a spread
ADAPTION = 0.3  # how fast the angle follows the acceptance in the warm-up

# Minus the log-likelihood at some scores, and its gradient.
Likelihood = Callable[[Floats], tuple[float, Floats]]


class ScoreDraws:
    """A chain of draws: each step follows one trajectory, and accepts where it ends or stays.

    Scores are normal with mean 0; the logarithm of their spread is normal around `USUAL`, with standard deviation 1.
    """

    def __init__(
        self, likelihood: Likelihood, scores: Floats, spread: float, hessian: Floats, response: Floats, unit: float
    ) -> None:
        """Start at the mode of the scores for a spread, and the Hessian there.

        `response` is how far the mode moves when the logarithm of the spread moves by `unit`, its standard deviation.
        """
        self.likelihood, self.centre, self.log_spread = likelihood, scores / spread, math.log(spread)
        value, vectors = np.linalg.eigh(hessian)
        self.factor = (vectors / np.sqrt(value)) @ vectors.T / spread
        self.response, self.unit = response / spread - unit * self.centre, unit
        order = np.lexsort((np.round(np.diag(hessian), 8), np.round(scores, 8)))
        self.place = np.r_[np.argsort(order, kind="stable"), len(order)]  # of each entry among the random numbers
        self.rng = np.random.default_rng(0)
        self.angle = LONGEST_ANGLE

    def draw(self) -> Floats:
        """Draws of the scores, one row each."""
        at = np.zeros(len(self.place))
        here = self._evaluate(at)
        kept = []
        for step in range(WARM_UP + DRAWS):
            report("draws of the scores", step, WARM_UP + DRAWS)
            at, here, chance = self._trajectory(at, here)
            if step < WARM_UP:
                self.angle = min(LONGEST_ANGLE, self.angle * math.exp(ADAPTION * (chance - WANTED_ACCEPTANCE)))
            else:
                scaled, log_spread = self._position(at)
                kept.append(scaled * math.exp(log_spread))
        return np.array(kept)

    def _position(self, at: Floats) -> tuple[Floats, float]:
        """Scores divided by their spread, and its logarithm, from units."""
        scaled = self.centre + self.factor @ at[:-1] + at[-1] * self.response
        return scaled, self.log_spread + self.unit * float(at[-1])

    def _evaluate(self, at: Floats) -> tuple[float, Floats]:
        """Minus the log-posterior there, and its gradient."""
        scaled, log_spread = self._position(at)
        spread, off = math.exp(min(log_spread, LARGEST)), log_spread - USUAL
        value, slope = self.likelihood(spread * scaled)
        by_scaled = spread * slope + scaled
        by_spread = spread * dot(slope, scaled) + off
        gradient = np.r_[self.factor @ by_scaled, self.unit * by_spread + dot(self.response, by_scaled)]
        return value + dot(scaled, scaled) / 2 + off * off / 2, gradient

    def _trajectory(self, at: Floats, here: tuple[float, Floats]) -> tuple[Floats, tuple[float, Floats], float]:
        """Where the chain is after one trajectory, and the probability that its end is accepted."""
        speed = self.rng.normal(size=len(at))[self.place]
        before, angle = here[0] + dot(speed, speed) / 2, self.angle * self.rng.uniform(0.8, 1.2)
        cos, sin = math.cos(angle), math.sin(angle)
        end, there = at, here
        for _ in range(LEAPS):
            speed = speed - angle / 2 * (there[1] - end)
            end, speed = cos * end + sin * speed, cos * speed - sin * end
            there = self._evaluate(end)
            speed = speed - angle / 2 * (there[1] - end)
        rise = there[0] + dot(speed, speed) / 2 - before
        chance = math.exp(-max(rise, 0.0)) if math.isfinite(rise) else 0.0
        accepted = self.rng.random() < chance
        return (end, there, chance) if accepted else (at, here, chance)
