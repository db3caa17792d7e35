"""Crowd-BT: Bradley-Terry with a quality for every annotator, the chance that they report what they see.

    P(k puts i before j) = η_k σ(s_i − s_j) + (1 − η_k) σ(s_j − s_i)

η near 1 is a good annotator, ½ a spammer whose votes then count nothing, near 0 a malicious one whose votes are turned around.
Scores and qualities of all tasks are found together, by Newton's method on (s, logit η); the paper's alternation reaches the
same optimum many passes later. The likelihood has local optima and a mirror image (all scores and all qualities turned around),
so the start decides: everybody is taken to be good, as in the paper, or as good as their answers on gold pairs; scores are
fitted to that first.

`prior` is λ of the paper. A tie is half a vote for each side.

Chen, Bennett, Collins-Thompson, Horvitz: Pairwise ranking aggregation in a crowdsourced setting, WSDM 2013.

>>> import crowdrank as cr
>>> study = cr.simulate.pairs(items=20, annotators=10, votes=2000, malicious=0.2, seed=1)
>>> consensus = cr.CrowdBT().fit(study.judgments)
>>> cr.evaluate(consensus, study.gold, ["acc"]).mean["acc"] > 0.9
True
>>> [word for word, quality in zip(consensus.annotators["verdict"], study.quality) if quality == 0]
['reversed', 'reversed']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numba as nb
import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.convert import Wins, as_pairs, wins
from crowdrank.methods.bradley_terry import prior_terms
from crowdrank.methods.result import annotator_columns, require, wrap
from crowdrank.numerics.blocks import Layout
from crowdrank.numerics.newton import Minimum, minimise
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import RowSum
from crowdrank.settings import check, check_fit, choice
from crowdrank.study import KINDS, Codes, Floats, Gold, Judgments, Kind, Vocabulary

START = 0.9  # quality everybody starts from: at 1 itself there is no slope to leave by


@dataclass(frozen=True, slots=True)
class CrowdBT:
    """Settings of Crowd-BT."""

    name: ClassVar[str] = "crowd-bt"
    takes: ClassVar[tuple[Kind, ...]] = KINDS

    prior: float = 1.0  # virtual wins and losses of every item against an item of score 0 (λ of the paper)
    quality_prior: tuple[float, float] = (1.05, 1.05)  # Beta(α, β) on quality; (1, 1) is flat and lets it reach 0 and 1
    quality_per: Literal["study", "task"] = "study"  # one quality per annotator, or one for each of their tasks
    max_iter: int = 200
    tol: float = 1e-8  # a step that moves no score further than this ends the fit

    def __post_init__(self) -> None:
        check_fit(self.prior, self.max_iter, self.tol)
        check(
            isinstance(self.quality_prior, tuple)
            and len(self.quality_prior) == 2
            and all(1 <= part < np.inf for part in self.quality_prior),
            "quality_prior",
            self.quality_prior,
            "a tuple of two numbers of at least 1",
        )
        choice("quality_per", self.quality_per, ("study", "task"))

    def fit(self, judgments: Judgments, gold: Gold | None = None) -> Consensus:
        """Rank the items of each task; with gold, annotators start as good as their answers on pairs it decides."""
        require(self.name, judgments, self.takes)
        pairs, words = as_pairs(judgments), judgments.vocabulary
        votes = wins(pairs, words)
        rater, rater_annotator, rater_task = self._raters(judgments, votes)
        objective = NegativeLogPosterior(votes, rater, words.n_entries, len(rater_annotator), self.prior, self.quality_prior)
        found = self._solve(objective, _start(votes, rater, len(rater_annotator), words, gold))
        score, quality = objective.layout.unpack(found.x).score, logistic(objective.layout.unpack(found.x).quality)
        # A vote between equal items tells nothing of who gave it: each counts by what it tells (the Fisher information at ½).
        tells = np.tanh((score[votes.winner] - score[votes.loser]) / 2) ** 2
        evidence = sum_by(rater, votes.weight * tells, len(rater_annotator))
        columns = annotator_columns(judgments, quality, evidence, rater_annotator, rater_task)
        return wrap(self.name, judgments, score, fit=found.fit, annotators=columns, compared=pairs)

    def _raters(self, judgments: Judgments, votes: Wins) -> tuple[Codes, Codes, Codes | None]:
        """Whose quality each vote tells about: the annotator's, or the annotator's on that task."""
        if self.quality_per == "study":
            return votes.annotator, np.arange(len(judgments.vocabulary.annotators), dtype=np.int32), None
        n_tasks = len(judgments.vocabulary.tasks)
        annotator, task = judgments.annotator_and_task()
        keys = np.unique(annotator.astype(np.int64) * n_tasks + task)
        vote_keys = votes.annotator.astype(np.int64) * n_tasks + judgments.vocabulary.entry_task[votes.winner]
        return (
            np.searchsorted(keys, vote_keys).astype(np.int32),
            (keys // max(n_tasks, 1)).astype(np.int32),
            (keys % max(n_tasks, 1)).astype(np.int32),
        )

    def _solve(self, objective: NegativeLogPosterior, quality: Floats) -> Minimum:
        start = objective.layout.pack(score=0.0, quality=np.log(quality / (1 - quality)))
        held = objective.layout.slices["quality"]
        first = minimise(objective, start, max_iter=self.max_iter, tol=0.1, held=held, what="scores")
        return minimise(objective, first.x, max_iter=self.max_iter, tol=self.tol, what="scores and quality")


def _start(votes: Wins, rater: Codes, n_raters: int, words: Vocabulary, gold: Gold | None) -> Floats:
    """The quality each rater starts from: START, or the share of gold pairs they put right, shrunk to everybody's share."""
    if gold is None:
        return np.full(n_raters, START)
    truth = gold.align(words)
    gap = truth[votes.winner] - truth[votes.loser]
    decided = np.where(np.abs(gap) > 0, votes.weight, 0.0)  # NaN, where gold is missing, is not above 0
    right = sum_by(rater, np.where(gap > 0, votes.weight, 0.0), n_raters)
    total = sum_by(rater, decided, n_raters)
    everybody = float((right.sum() + START) / (total.sum() + 1))
    return (right + 2 * everybody) / (total + 2)


def logistic(x: Floats) -> Floats:
    """σ(x) without overflow, to the last digit at both ends: 1 + tanh(x / 2) would lose them below."""
    return np.exp(-np.logaddexp(0.0, -x)).astype(np.float64)


class NegativeLogPosterior:
    """Minus the log-posterior of scores and logit qualities, and its derivatives.

    A row's term is w = -weight · log p with p = η σ(d) + (1 − η) σ(−d), d the score of the winner less the loser's, η = σ(q).
    `bends` are its second derivatives: by d twice, by d and q, by q twice.
    """

    def __init__(
        self, votes: Wins, rater: Codes, n_entries: int, n_raters: int, prior: float, quality_prior: tuple[float, float]
    ) -> None:
        self.rater, self.winner, self.loser = rater, votes.winner, votes.loser
        self.weight, self.prior, self.quality_prior = votes.weight, prior, quality_prior
        self.layout = Layout(score=n_entries, quality=n_raters)
        self.bends = np.empty((len(votes), 3))
        self.sum = RowSum(len(votes), self.layout.size)

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        theta = self.layout.unpack(x)
        right, wrong = logistic(theta.quality), logistic(-theta.quality)

        def kernel(r: slice, total: Floats) -> float:
            part = self.layout.unpack(total)
            rater, winner, loser, weight = self.rater[r], self.winner[r], self.loser[r], self.weight[r]
            return float(
                _vote_terms(rater, winner, loser, weight, theta.score, right, wrong, part.score, part.quality, self.bends[r])
            )

        gradient, values = self.sum(kernel)
        slope = self.layout.unpack(gradient)
        prior_value, prior_slope, self.score_bend = prior_terms(theta.score, self.prior)
        slope.score += prior_slope
        alpha, beta = self.quality_prior[0] - 1, self.quality_prior[1] - 1
        slope.quality += beta * right - alpha * wrong
        self.quality_bend = (alpha + beta) * right * wrong
        # log σ(q) = −log(1 + e^−q), which stays finite where σ(q) rounds to 0
        quality_value = (alpha * np.logaddexp(0, -theta.quality) + beta * np.logaddexp(0, theta.quality)).sum()
        return sum(values) + prior_value + float(quality_value), gradient

    def curvature(self, v: Floats) -> Floats:
        theta = self.layout.unpack(v)

        def kernel(r: slice, total: Floats) -> None:
            part = self.layout.unpack(total)
            rater, winner, loser = self.rater[r], self.winner[r], self.loser[r]
            _vote_curvature(rater, winner, loser, self.bends[r], theta.score, theta.quality, part.score, part.quality)

        product = self.sum(kernel)[0]
        part = self.layout.unpack(product)
        part.score += self.score_bend * theta.score
        part.quality += self.quality_bend * theta.quality
        return product

    def diagonal(self) -> Floats:
        by_score, by_quality = self.bends[:, 0], self.bends[:, 2]
        n, k = len(self.score_bend), len(self.quality_bend)
        return self.layout.pack(
            score=self.score_bend + sum_by(self.winner, by_score, n) + sum_by(self.loser, by_score, n),
            quality=self.quality_bend + sum_by(self.rater, by_quality, k),
        )


@nb.njit(cache=True, nogil=True)
def _vote_terms(rater, winner, loser, weight, score, right, wrong, score_slope, quality_slope, bends):
    value = 0.0
    for r in range(len(winner)):
        eta, not_eta = right[rater[r]], wrong[rater[r]]
        gap = score[winner[r]] - score[loser[r]]
        decay = np.exp(-abs(gap))
        both = 1 + decay
        toward = (1 - decay) / both if gap > 0 else (decay - 1) / both  # σ(d) − σ(−d)
        p = (eta + not_eta * decay) / both if gap > 0 else (eta * decay + not_eta) / both
        spread = decay / (both * both)  # σ(d) σ(−d)
        by_gap = (eta - not_eta) * spread / p  # of log p
        by_logit = toward * eta * not_eta / p
        value -= weight[r] * np.log(p)
        score_slope[winner[r]] -= weight[r] * by_gap
        score_slope[loser[r]] += weight[r] * by_gap
        quality_slope[rater[r]] -= weight[r] * by_logit
        bends[r, 0] = weight[r] * by_gap * (by_gap + toward)
        bends[r, 1] = weight[r] * (by_gap * by_logit - 2 * spread * eta * not_eta / p)
        bends[r, 2] = weight[r] * by_logit * (by_logit + eta - not_eta)
    return value


@nb.njit(cache=True, nogil=True)
def _vote_curvature(rater, winner, loser, bends, score, quality, score_total, quality_total):
    for r in range(len(winner)):
        gap = score[winner[r]] - score[loser[r]]
        logit = quality[rater[r]]
        pull = bends[r, 0] * gap + bends[r, 1] * logit
        score_total[winner[r]] += pull
        score_total[loser[r]] -= pull
        quality_total[rater[r]] += bends[r, 1] * gap + bends[r, 2] * logit
