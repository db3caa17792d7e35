"""EM-Elo: estimate the true preference of each pair and the quality of annotators, then rate the items.

Each two items that were compared have a true preference, either way equally likely beforehand, and annotator k reports
it with probability η_k, their quality, whatever the items. The votes on a pair then have the probability

    ½ Π_k η_k^right (1 − η_k)^wrong + ½ Π_k (1 − η_k)^right η_k^wrong

EM alternates between the chance q of each pair's two truths and the qualities. Its fixed point is the maximum of the
product of these probabilities and a Beta prior on quality, found here by Newton's method on logit η, in a few steps
instead of hundreds. The likelihood has a mirror image, in which all preferences and qualities are reversed. All
annotators start with the most likely quality of the prior, so that the solution has mostly honest ones.

The second part is Elo on one game per pair, with q points for one side and 1 − q for the other. Played one after the
other, the ratings would depend on the order of the games. Instead, these are the ratings at which the expected change
of every item is 0, where each item also won and lost `prior` games against a player of the initial rating. A tie says
nothing about the true preference or about the annotator: a pair's points are the mean of ½ for each tie and q for each
other vote.

An annotator whose pairs nobody else judged keeps the quality of the prior. The order of the judgments and the names do
not matter.

Bashir, Anderton, Wu, Golbus, Pavlu, Aslam: A document rating system for preference judgements, SIGIR 2013.

>>> import crowdrank as cr
>>> study = cr.simulate.pairs(items=10, annotators=10, votes=2000, malicious=0.2, seed=1)
>>> consensus = cr.EMElo().fit(study.judgments)
>>> cr.evaluate(consensus, study.gold, ["acc"]).mean["acc"] > 0.9
True
>>> [word for word, quality in zip(consensus.annotators["verdict"], study.quality) if quality == 0]
['reversed', 'reversed']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit
from crowdrank.convert import as_pairs
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import annotator_columns, check_kinds, evidence_per_preference, make_consensus
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.numerics.newton import minimise
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check, check_fit, check_not_negative, check_positive
from crowdrank.study import KINDS, TIE, Codes, Floats, Judgments, Pairs


@dataclass(frozen=True, slots=True)
class EMElo:
    """Settings of EM-Elo."""

    description: ClassVar[Description] = Description(
        name="em-elo",
        family="pairs",
        summary="EM over annotators and the truth of each pair, then Elo ratings fitted to the pairs.",
        takes=KINDS,
        expands_to_pairs=True,
    )

    prior: float = 0.5  # virtual wins and losses of every item against one of the initial rating
    quality_prior: tuple[float, float] = (4.0, 2.0)  # Beta(α, β) on quality, most likely (α − 1) / (α + β − 2)
    initial: float = 1000.0  # the initial rating of every item
    scale: float = 400.0  # a difference of so many points means odds of ten to one
    max_iter: int = 200
    tol: float = 1e-8  # the fit ends when a step changes no logit of quality and no rating / (scale / log 10) by more

    def __post_init__(self) -> None:
        check_not_negative("prior", self.prior)
        check_fit(None, self.max_iter, self.tol)
        given = self.quality_prior
        fits = isinstance(given, tuple) and len(given) == 2 and 1 < given[1] < given[0] < np.inf
        check(fits, "quality_prior", given, "two numbers above 1, the first the greater")
        check_not_negative("initial", self.initial)
        check_positive("scale", self.scale)

    @one_blas_thread
    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their rating; annotators count by their quality."""
        check_kinds(self.description, judgments)
        pairs, vocabulary = as_pairs(judgments), judgments.vocabulary
        votes = _pair_votes(pairs, vocabulary.n_entries, len(vocabulary.annotators))
        truth = NegativeLogPosterior(votes, len(vocabulary.annotators), self.quality_prior)
        alpha, beta = self.quality_prior
        start = np.full(len(vocabulary.annotators), np.log((alpha - 1) / (beta - 1)))
        quality = minimise(truth, start, max_iter=self.max_iter, tol=self.tol, what="quality")
        logit = truth.logit_of_pairs(quality.x)
        q = 0.5 + np.tanh(logit / 2) * (1 - votes.tied) / 2
        games = Games(votes.left, votes.right, q, vocabulary.n_entries, self.prior)
        rated = minimise(games, np.zeros(vocabulary.n_entries), max_iter=self.max_iter, tol=self.tol, what="ratings")
        rating = self.initial + self.scale / np.log(10) * rated.x
        # The evidence of a vote about its annotator is as strong as the evidence of the other votes about the pair.
        others = np.tanh((logit[votes.pair] - votes.net * quality.x[votes.annotator]) / 2) ** 2
        evidence = sum_by(votes.annotator, others * votes.count, len(vocabulary.annotators))
        columns = annotator_columns(
            judgments, 0.5 + 0.5 * np.tanh(quality.x / 2), evidence * evidence_per_preference(judgments)
        )
        fit = Fit(quality.steps, quality.converged and rated.converged, -quality.value)
        return make_consensus(self.description, judgments, rating, fit=fit, annotators=columns, compared=pairs)


@dataclass(frozen=True, slots=True, eq=False)
class PairVotes:
    """The votes of each annotator on each pair, sorted, so that the order of the judgments does not matter."""

    left: Codes  # of each pair, the lower code
    right: Codes
    tied: Floats  # share of the votes on the pair that are ties
    pair: Codes  # of each row
    annotator: Codes
    net: Floats  # votes for the left less votes for the right
    count: Floats  # votes that are not ties


def _pair_votes(pairs: Pairs, n_entries: int, n_annotators: int) -> PairVotes:
    low, high = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    keys, pair = _unique(low.astype(np.int64) * n_entries + high)
    decided = pairs.outcome != TIE
    rows, row = _unique(pair[decided].astype(np.int64) * n_annotators + pairs.annotator[decided])
    for_left = np.where(pairs.left < pairs.right, pairs.outcome, -pairs.outcome)[decided]
    return PairVotes(
        left=(keys // max(n_entries, 1)).astype(np.int32),
        right=(keys % max(n_entries, 1)).astype(np.int32),
        tied=sum_by(pair, ~decided, len(keys)) / np.bincount(pair, minlength=len(keys)),
        pair=(rows // max(n_annotators, 1)).astype(np.int32),
        annotator=(rows % max(n_annotators, 1)).astype(np.int32),
        net=sum_by(row, for_left, len(rows)),
        count=sum_by(row, np.ones(len(row)), len(rows)),
    )


def _unique(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], Codes]:
    found, code = np.unique(keys, return_inverse=True)
    return found, code.astype(np.int32)


class NegativeLogPosterior:
    """Minus the log-posterior of the logit qualities l, the truth of the pairs summed out, and its derivatives.

    The probability of the votes on a pair comes out as cosh(x / 2) / Π_votes 2 cosh(l_k / 2), where x = Σ ± l_k is the
    log-odds of its truth.
    """

    def __init__(self, votes: PairVotes, n_annotators: int, quality_prior: tuple[float, float]) -> None:
        self.votes, self.n = votes, n_annotators
        self.alpha, self.beta = quality_prior[0] - 1, quality_prior[1] - 1
        self.count = sum_by(votes.annotator, votes.count, n_annotators) + self.alpha + self.beta

    def logit_of_pairs(self, logit: Floats) -> Floats:
        """The log-odds that the left entry of each pair is the better."""
        v = self.votes
        return sum_by(v.pair, v.net * logit[v.annotator], len(v.left))

    def evaluate(self, logit: Floats) -> tuple[float, Floats]:
        v, x = self.votes, self.logit_of_pairs(logit)
        self.pair_lead, self.quality_lead = np.tanh(x / 2), np.tanh(logit / 2)
        value = (
            (self.count * _log_cosh(logit / 2)).sum()
            - _log_cosh(x / 2).sum()
            - (self.alpha - self.beta) / 2 * logit.sum()
        )
        agreement = sum_by(v.annotator, v.net * self.pair_lead[v.pair], self.n)
        return float(value), (self.count * self.quality_lead - agreement - (self.alpha - self.beta)) / 2

    def hessian_product(self, v: Floats) -> Floats:
        w = self.votes
        change = self.logit_of_pairs(v) * (1 - self.pair_lead**2)
        return (
            np.asarray(
                self.count * (1 - self.quality_lead**2) * v - sum_by(w.annotator, w.net * change[w.pair], self.n)
            )
            / 4
        )

    def diagonal(self) -> Floats:
        w = self.votes
        from_pairs = sum_by(w.annotator, w.net**2 * (1 - self.pair_lead**2)[w.pair], self.n)
        return np.asarray((self.count * (1 - self.quality_lead**2) - from_pairs) / 4)


def _log_cosh(x: Floats) -> Floats:
    return np.asarray(np.logaddexp(x, -x))  # + log ½, which does not matter


class Games:
    """−Σ [q log σ(d) + (1 − q) log σ(−d)], d = s_left − s_right, and its derivatives.

    Every item also has `prior` wins and losses against one of score 0.
    """

    def __init__(self, left: Codes, right: Codes, q: Floats, n_entries: int, prior: float) -> None:
        self.left, self.right, self.q, self.n, self.prior = left, right, q, n_entries, prior

    def evaluate(self, score: Floats) -> tuple[float, Floats]:
        gap = score[self.left] - score[self.right]
        expected, lead = 0.5 + 0.5 * np.tanh(gap / 2), np.tanh(score / 2)
        self.curvature, self.prior_curvature = expected * (1 - expected), self.prior * (1 - lead**2) / 2
        value = (_log_cosh(gap / 2) - (self.q - 0.5) * gap).sum() + 2 * self.prior * _log_cosh(score / 2).sum()
        return float(value), self._left_less_right(expected - self.q) + self.prior * lead

    def hessian_product(self, v: Floats) -> Floats:
        return self._left_less_right(self.curvature * (v[self.left] - v[self.right])) + self.prior_curvature * v

    def diagonal(self) -> Floats:
        return (
            self.prior_curvature
            + sum_by(self.left, self.curvature, self.n)
            + sum_by(self.right, self.curvature, self.n)
        )

    def _left_less_right(self, value: Floats) -> Floats:
        """Per entry: the values of its games as the left item less those as the right item."""
        return sum_by(self.left, value, self.n) - sum_by(self.right, value, self.n)
