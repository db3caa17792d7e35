"""TrueSkill: each item has a normal distribution of its strength, updated vote by vote.

Shown two items, an annotator perceives their strengths, each with a normal error of standard deviation `beta`, and
answers with a tie if they differ by less than a margin, at which two equal items tie with probability
`draw_probability`. After each vote the two distributions are replaced by the normal ones with the mean and variance of
the posterior (moment matching), in closed form:

    c² = 2 β² + σ_w² + σ_l²,    μ_w += σ_w² / c · v,    σ_w² −= (σ_w² / c)² · w

where v and w are the mean and the decrease in variance of a normal distribution truncated at the margin (for a tie, at
both margins). Before each vote σ² grows by `tau`², so that it does not go to 0.

The score is μ; `low` and `high` are μ ∓ 1.96 σ. Votes are processed one after the other, in the given order, so another
order gives slightly other scores. Grades and rankings are used after the pairs, as the pairs between their items, in a
fixed order. All annotators count the same; their quality is how often they agree with the ranking found.

Herbrich, Minka, Graepel: TrueSkill: a Bayesian skill rating system, NIPS 2006.

>>> import crowdrank as cr
>>> votes = {"left": ["a", "b"], "right": ["b", "c"], "winner": ["a", "tie"]}
>>> cr.TrueSkill().fit(cr.judgments(votes)).ranking["score"].round(3).to_list()
[29.396, 23.04, 22.056]
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, exp, expm1, pi, sqrt
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.convert import as_pairs
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds, dependent_pairs_note, make_consensus
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.special import NORMAL_95
from crowdrank.settings import check, check_not_negative, check_positive, is_number
from crowdrank.study import KINDS, Judgments

TAIL = 5.0  # beyond it a continued fraction is exact, where quotients of tiny probabilities lose digits
THIN = 1e-7  # a margin below this (in units of c) is treated as 0: a tie means that the two are equal


@dataclass(frozen=True, slots=True)
class TrueSkill:
    """Settings of TrueSkill."""

    description: ClassVar[Description] = Description(
        name="trueskill",
        family="pairs",
        summary="A normal distribution for the strength of every item, updated vote by vote.",
        takes=KINDS,
        other_names=("glicko", "openskill"),
        depends_on_order=True,
        expands_to_pairs=True,
        gives_intervals=True,
    )

    mu: float = 25.0  # initial mean of every strength
    sigma: float = 25 / 3  # initial standard deviation of every strength
    beta: float = 25 / 6  # standard deviation of an annotator's error about one item
    tau: float = 25 / 300  # standard deviation of the change of a strength before each vote
    draw_probability: float = 0.1  # probability of a tie between equal items

    def __post_init__(self) -> None:
        check_not_negative("mu", self.mu)
        check_positive("sigma", self.sigma)
        check_positive("beta", self.beta)
        check_not_negative("tau", self.tau)
        fits = is_number(self.draw_probability) and 0 <= self.draw_probability < 1
        check(fits, "draw_probability", self.draw_probability, "a number of at least 0 and below 1")

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their expected strength after the last vote."""
        check_kinds(self.description, judgments)
        pairs, n = as_pairs(judgments), judgments.vocabulary.n_entries
        margin = NormalDist().inv_cdf((self.draw_probability + 1) / 2) * sqrt(2) * self.beta
        mean, variance = np.full(n, float(self.mu)), np.full(n, float(self.sigma**2))
        noise, drift = float(2 * self.beta**2), float(self.tau**2)
        _play(pairs.left, pairs.right, pairs.outcome, mean, variance, noise, drift, float(margin))
        reach = NORMAL_95 * np.sqrt(variance)
        notes = dependent_pairs_note(judgments)
        return make_consensus(
            self.description, judgments, mean, low=mean - reach, high=mean + reach, compared=pairs, notes=notes
        )


@kernel
def _play(left, right, outcome, mean, variance, noise, drift, margin):
    for r in range(len(left)):
        i, j = left[r], right[r]
        of_left, of_right = variance[i] + drift, variance[j] + drift
        spread = noise + of_left + of_right
        scale = np.sqrt(spread)
        lead = (mean[i] - mean[j]) / scale
        if outcome[r] == 0:
            side = 1.0 if lead > 0 else -1.0
            pull, narrowing = tie_update(abs(lead), margin / scale)
        else:
            side = float(outcome[r])
            pull, narrowing = win_update(side * lead - margin / scale)
        pull *= side / scale
        mean[i] += of_left * pull
        mean[j] -= of_right * pull
        variance[i] = of_left * (1.0 - of_left / spread * narrowing)
        variance[j] = of_right * (1.0 - of_right / spread * narrowing)


@kernel
def win_update(x):
    """Mean (with the sign changed) and decrease in variance of a normal below x: v = φ(x) / Φ(x), w = v (v + x)."""
    if x < -TAIL:
        beyond = 1.0 / _fraction(-x, 2.0)  # v + x, without taking the difference
        return beyond - x, (beyond - x) * beyond
    v = exp(-0.5 * x * x) / sqrt(2 * pi) / (0.5 * erfc(-x / sqrt(2.0)))
    return v, v * (v + x)


@kernel
def tie_update(lead, margin):
    """The same for a tie: the normal is truncated at lead − margin and lead + margin; the lead is not negative."""
    if margin < THIN:
        return -lead, 1.0
    start, end = lead - margin, lead + margin
    fall = exp(-2.0 * lead * margin)  # φ(end) / φ(start)
    if start > TAIL:
        between = 1.0 / _fraction(start, 1.0) - fall / _fraction(end, 1.0)
    else:
        density = exp(-0.5 * start * start) / sqrt(2 * pi)
        if density < 1e-290:  # the margin is so far away that nothing is truncated
            return 0.0, 0.0
        between = 0.5 * (erfc(start / sqrt(2.0)) - erfc(end / sqrt(2.0))) / density
    v = expm1(-2.0 * lead * margin) / between
    return v, min(max(v * v + (end * fall - start) / between, 0.0), 1.0)


@kernel
def _fraction(x, first):
    """Laplace's continued fraction x + first / (x + (first + 1) / (x + ...)); from 1 on it is φ(x) / (1 − Φ(x))."""
    value = x
    for more in range(40, -1, -1):
        value = x + (first + more) / value
    return value
