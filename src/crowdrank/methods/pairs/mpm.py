"""Multinomial preference model: Variance-BT in which a strong preference counts as several votes.

    log-likelihood = Σ strength · log σ(a_k (s_i − s_j))

The strength of a preference is the column `strength` of pairs, the difference of the grades, or the distance of the
ranks in a list. It is divided by its mean over the study, so that the mean weight of a vote is 1. Without strengths all
are 1, and this is Variance-BT.

Volkovs and Zemel: A flexible generative model for preference aggregation, WWW 2012.

>>> import crowdrank as cr
>>> grades = {"annotator": ["ann"] * 3 + ["bob"] * 3, "item": list("xyzxyz"), "grade": [3, 0, 2, 1, 2, 0]}
>>> cr.MPM(prior=0.1).fit(cr.judgments(grades)).ranking["item"].to_list()
['x', 'z', 'y']
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.methods.pairs.votes.explicit import ModelVariant
from crowdrank.methods.pairs.votes.fit import fit_pairs
from crowdrank.methods.protocols import Description
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.settings import check_fit, check_flag, check_positive
from crowdrank.study import KINDS, TIE, Judgments, Pairs


@dataclass(frozen=True, slots=True)
class MPM:
    """Settings of the multinomial preference model."""

    description: ClassVar[Description] = Description(
        name="mpm",
        family="pairs",
        summary="Variance-BT in which a strong preference counts as several votes.",
        takes=KINDS,
        pair_columns=("weight", "strength"),
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

    @one_blas_thread
    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their score."""
        variant = ModelVariant(free_parameters=("slope",), slope_spread=self.slope_spread)
        return fit_pairs(self, judgments, variant, transform=_by_strength)


def _by_strength(pairs: Pairs) -> Pairs:
    """The strength of each preference as its weight, 1 on average; a tie has the weight of a vote."""
    decided = pairs.outcome != TIE
    if pairs.strength is None or not decided.any():
        return pairs
    strength = np.where(decided, pairs.strength / pairs.strength[decided].mean(), 1.0)
    return replace(pairs, weight=strength if pairs.weight is None else strength * pairs.weight)
