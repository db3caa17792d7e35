"""Variance-BT: Bradley-Terry with a slope for every annotator: the steeper, the more their votes follow the scores.

    P(k puts i before j) = σ(a_k (s_i − s_j))    a_k > 0

A slope close to 0 is a spammer. Unlike Crowd-BT, the model cannot represent annotators whose votes are reversed.
log a_k has a normal prior around 0 and a mean of 0, which fixes the scale of the scores. Ties, the prior on scores and
intervals are as in Bradley-Terry, with a tie threshold for each annotator; quality is the share of an annotator's votes
that the scores agree with.

Volkovs and Zemel: A flexible generative model for preference aggregation, WWW 2012; a baseline of Chen et al., WSDM
2013.

>>> import crowdrank as cr
>>> study = cr.simulate.pairs(items=20, annotators=10, votes=2000, spammers=0.3, seed=1)
>>> cr.evaluate(cr.VarianceBT().fit(study.judgments), study.gold, ["acc"]).mean["acc"] > 0.9
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crowdrank.consensus import Consensus
from crowdrank.methods.pairs.votes.explicit import ModelVariant
from crowdrank.methods.pairs.votes.fit import fit_pairs
from crowdrank.methods.protocols import Description
from crowdrank.settings import check_fit, check_flag, check_positive
from crowdrank.study import KINDS, Judgments


@dataclass(frozen=True, slots=True)
class VarianceBT:
    """Settings of Variance-BT."""

    description: ClassVar[Description] = Description(
        name="variance-bt",
        family="pairs",
        summary="Bradley-Terry with a slope for every annotator: the steeper, the more reliable.",
        takes=KINDS,
        pair_columns=("weight",),
        expands_to_pairs=True,
        gives_intervals=True,
    )

    prior: float | None = None  # virtual wins and losses of every item; by default scores are normal
    slope_spread: float = 1.0  # prior standard deviation of the logarithm of the slopes
    intervals: bool = True
    max_iter: int = 60
    tol: float = 1e-8

    def __post_init__(self) -> None:
        check_fit(self.prior, self.max_iter, self.tol)
        check_positive("slope_spread", self.slope_spread)
        check_flag("intervals", self.intervals)

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their score."""
        return fit_pairs(self, judgments, ModelVariant(free_parameters=("slope",), slope_spread=self.slope_spread))
