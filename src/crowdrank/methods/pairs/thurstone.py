"""Thurstone's case V: annotators perceive each item's score with normal noise; the one that appears higher wins.

    P(i beats j) = Φ((s_i − s_j − τ) / √2)    P(j beats i) = Φ((s_j − s_i − τ) / √2)    the rest is a tie

Bradley-Terry with normal instead of logistic noise; the rankings hardly differ. Ties, the prior, intervals and the
annotators' quality are as there.

Thurstone: A law of comparative judgment, Psychological Review 1927. Glenn and David: Ties in paired-comparison
experiments using a modified Thurstone-Mosteller model, Biometrics 1960.

>>> import crowdrank as cr
>>> votes = {"left": ["a", "b", "a", "c"], "right": ["b", "c", "c", "b"], "winner": ["a", "b", "a", "tie"]}
>>> cr.Thurstone(prior=0.1).fit(cr.judgments(votes)).ranking["item"].to_list()
['a', 'b', 'c']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crowdrank.consensus import Consensus
from crowdrank.methods.pairs.leaderboard.fit import fit_votes
from crowdrank.methods.pairs.votes.explicit import ModelVariant
from crowdrank.methods.protocols import Description
from crowdrank.settings import check_fit, check_flag
from crowdrank.study import KINDS, Judgments


@dataclass(frozen=True, slots=True)
class Thurstone:
    """Settings of Thurstone's case V."""

    description: ClassVar[Description] = Description(
        name="thurstone",
        family="pairs",
        summary="Bradley-Terry with normal instead of logistic noise.",
        takes=KINDS,
        other_names=("thurstone-mosteller",),
        pair_columns=("weight", "covariates"),
        gives_intervals=True,
    )

    prior: float | None = None  # virtual wins and losses of every item; by default scores are normal
    intervals: bool = True
    max_iter: int = 200
    tol: float = 1e-8

    def __post_init__(self) -> None:
        check_fit(self.prior, self.max_iter, self.tol)
        check_flag("intervals", self.intervals)

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their score."""
        return fit_votes(self, judgments, ModelVariant(link="normal"))
