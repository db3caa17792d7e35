"""Bradley-Terry: each item has a strength, the stronger wins more often.

    P(i beats j) = σ(s_i − s_j)

Every item also wins and loses `prior` times against a virtual item of score 0 (Chen et al., WSDM 2013, section 3.2). That keeps
scores finite where an item won or lost everything, and shrinks those of items with few votes. All tasks are fitted as one
optimisation. A tie is half a win for each side. The annotators are taken to be equally good; their quality is how often they
agree with the ranking found.

Bradley and Terry: Rank analysis of incomplete block designs, Biometrika 1952.

>>> import crowdrank as cr
>>> votes = {"left": ["a", "b", "a", "c"], "right": ["b", "c", "c", "b"], "winner": ["a", "b", "a", "b"]}
>>> cr.BradleyTerry(prior=0.1).fit(cr.judgments(votes)).ranking["item"].to_list()
['a', 'b', 'c']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numba as nb
import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.convert import Wins, as_pairs, wins
from crowdrank.methods.result import require, wrap
from crowdrank.numerics.newton import minimise
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import RowSum
from crowdrank.settings import check_fit
from crowdrank.study import KINDS, Floats, Judgments, Kind


@dataclass(frozen=True, slots=True)
class BradleyTerry:
    """Settings of the Bradley-Terry model."""

    name: ClassVar[str] = "bradley-terry"
    takes: ClassVar[tuple[Kind, ...]] = KINDS

    prior: float = 1.0  # virtual wins and losses of every item against an item of score 0 (λ of the paper)
    max_iter: int = 200
    tol: float = 1e-8  # a step that moves no score further than this ends the fit

    def __post_init__(self) -> None:
        check_fit(self.prior, self.max_iter, self.tol)

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their strength."""
        require(self.name, judgments, self.takes)
        pairs, words = as_pairs(judgments), judgments.vocabulary
        objective = NegativeLogPosterior(wins(pairs, words, pooled=True), words.n_entries, self.prior)
        found = minimise(objective, np.zeros(words.n_entries), max_iter=self.max_iter, tol=self.tol)
        return wrap(self.name, judgments, found.x, fit=found.fit, compared=pairs)


class NegativeLogPosterior:
    """-Σ weight · log σ(s_winner − s_loser) − prior · Σ [log σ(s) + log σ(−s)], and its derivatives."""

    def __init__(self, votes: Wins, n_entries: int, prior: float) -> None:
        self.votes, self.prior = votes, prior
        self.bend = np.empty(len(votes))  # second derivative of each row's term by the score difference
        self.sum = RowSum(len(votes), n_entries)

    def evaluate(self, score: Floats) -> tuple[float, Floats]:
        self.score = score
        v = self.votes
        gradient, values = self.sum(
            lambda r, total: _vote_terms(v.winner[r], v.loser[r], v.weight[r], score, total, self.bend[r])
        )
        value, slope, self.prior_bend = prior_terms(score, self.prior)
        return sum(values) + value, gradient + slope

    def curvature(self, v: Floats) -> Floats:
        w = self.votes
        return (
            self.sum(lambda r, total: _vote_curvature(w.winner[r], w.loser[r], self.bend[r], v, total))[0] + self.prior_bend * v
        )

    def diagonal(self) -> Floats:
        w = self.votes
        n = len(self.score)
        return self.prior_bend + sum_by(w.winner, self.bend, n) + sum_by(w.loser, self.bend, n)


def prior_terms(score: Floats, prior: float) -> tuple[float, Floats, Floats]:
    """Value, gradient and second derivative of the virtual comparisons with an item of score 0."""
    size = np.abs(score)
    decay = np.exp(-size)
    value = prior * float((size + 2 * np.log1p(decay)).sum())
    return value, prior * np.tanh(score / 2), 2 * prior * decay / (1 + decay) ** 2


@nb.njit(cache=True, nogil=True)
def _vote_terms(winner, loser, weight, score, gradient, bend):
    value = 0.0
    for r in range(len(winner)):
        gap = score[winner[r]] - score[loser[r]]
        decay = np.exp(-abs(gap))
        wrong = decay / (1 + decay) if gap > 0 else 1 / (1 + decay)  # probability of the other outcome
        value += weight[r] * (np.log1p(decay) + max(-gap, 0.0))
        gradient[winner[r]] -= weight[r] * wrong
        gradient[loser[r]] += weight[r] * wrong
        bend[r] = weight[r] * wrong * (1 - wrong)
    return value


@nb.njit(cache=True, nogil=True)
def _vote_curvature(winner, loser, bend, v, total):
    for r in range(len(winner)):
        pull = bend[r] * (v[winner[r]] - v[loser[r]])
        total[winner[r]] += pull
        total[loser[r]] -= pull
