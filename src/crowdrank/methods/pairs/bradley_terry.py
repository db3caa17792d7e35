"""Bradley-Terry: each item has a strength, the stronger wins more often.

    P(i beats j) = σ(s_i − s_j), if there is no tie    P(tie) = τ / (τ + 2 cosh((s_i − s_j) / 2))

Without ties in the votes this is Bradley and Terry's model; with them, Davidson's, τ estimated. Scores are normal with
a spread that is learned from the votes. That keeps the score of an item finite that won or lost everything, and shrinks
those of items with few votes. With `prior`, instead every item wins and loses so many times against a virtual item of
score 0 (Chen et al., WSDM 2013, section 3.2). All tasks are fitted in one optimisation. All annotators count the same;
their quality is how often they agree with the ranking found. Intervals are from draws where votes are few, by Laplace's
approximation elsewhere; those of scores are relative to the mean of the task.

Bradley and Terry: Rank analysis of incomplete block designs, Biometrika 1952. Davidson: On extending
the Bradley-Terry model to accommodate ties in paired comparison experiments, JASA 1970.

>>> import crowdrank as cr
>>> votes = {"left": ["a", "b", "a", "c"], "right": ["b", "c", "c", "b"], "winner": ["a", "b", "a", "tie"]}
>>> cr.BradleyTerry(prior=0.1).fit(cr.judgments(votes)).ranking["item"].to_list()
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
class BradleyTerry:
    """Settings of the Bradley-Terry model."""

    description: ClassVar[Description] = Description(
        name="bradley-terry",
        family="pairs",
        summary="Each item has a strength; the stronger wins more often.",
        takes=KINDS,
        other_names=("bt", "btl", "bradley-terry-luce", "rank-centrality"),
        pair_columns=("weight", "covariates"),
        gives_intervals=True,
    )

    prior: float | None = None  # virtual wins and losses of every item (λ of the paper); by default scores are normal
    intervals: bool = True  # of scores and ranks; on large studies they take longer than the fit itself
    max_iter: int = 200
    tol: float = 1e-8  # the fit ends when a step changes no score by more than this

    def __post_init__(self) -> None:
        check_fit(self.prior, self.max_iter, self.tol)
        check_flag("intervals", self.intervals)

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their strength."""
        return fit_votes(self, judgments, ModelVariant())
