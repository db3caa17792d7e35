"""Crowd-Thurstone: Thurstone's case V with a quality for every annotator, as Crowd-BT has it.

    P(k puts i before j) = η_k Φ((s_i − s_j) / √2) + (1 − η_k) Φ((s_j − s_i) / √2)

Everything else (ties with a threshold per annotator, priors on scores and quality, starting from gold, intervals) is as
in Crowd-BT.

Chen, Bennett, Collins-Thompson, Horvitz: Pairwise ranking aggregation in a crowdsourced setting, WSDM 2013, section
3.1.

>>> import crowdrank as cr
>>> study = cr.simulate.pairs(items=20, annotators=10, votes=2000, malicious=0.2, seed=1)
>>> cr.evaluate(cr.CrowdThurstone().fit(study.judgments), study.gold, ["acc"]).mean["acc"] > 0.9
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from crowdrank.consensus import Consensus
from crowdrank.methods.pairs.leaderboard.fit import fit_votes
from crowdrank.methods.pairs.votes.explicit import ModelVariant
from crowdrank.methods.protocols import Description
from crowdrank.settings import check_beta, check_choice, check_fit, check_flag
from crowdrank.study import KINDS, Gold, Judgments


@dataclass(frozen=True, slots=True)
class CrowdThurstone:
    """Settings of Crowd-Thurstone."""

    description: ClassVar[Description] = Description(
        name="crowd-thurstone",
        family="pairs",
        summary="Crowd-BT with normal noise.",
        takes=KINDS,
        pair_columns=("weight", "covariates"),
        starts_from_gold=True,
        expands_to_pairs=True,
        gives_intervals=True,
        ranks_by_draws=True,
    )

    prior: float | None = None  # virtual wins and losses of every item; by default scores are normal
    quality_prior: tuple[float, float] | None = None  # Beta(α, β) on quality; by default see above
    quality_per: Literal["study", "task"] = "study"  # one quality per annotator, or one for each of their tasks
    intervals: bool = True
    max_iter: int = 200
    tol: float = 1e-8

    def __post_init__(self) -> None:
        check_fit(self.prior, self.max_iter, self.tol)
        check_flag("intervals", self.intervals)
        check_beta("quality_prior", self.quality_prior)
        check_choice("quality_per", self.quality_per, ("study", "task"))

    def fit(self, judgments: Judgments, gold: Gold | None = None) -> Consensus:
        """Rank the items of each task; with gold, annotators start as good as their answers on pairs it decides."""
        variant = ModelVariant("normal", ("quality",), self.quality_prior, self.quality_per)
        return fit_votes(self, judgments, variant, gold=gold)
