"""Majority vote, then Bradley-Terry: each pair of items counts once, for the side that most of its votes chose.

A simple idea for noisy votes, but it loses information: it ignores how clear a majority was. A pair whose votes are
split evenly (a tie is half a vote for each side) is a tie. The rest is as in Bradley-Terry, on the majorities.

A baseline of Chen et al., WSDM 2013.

>>> import crowdrank as cr
>>> votes = {"left": ["a", "a", "a", "b"], "right": ["b", "b", "b", "c"], "winner": ["a", "a", "b", "b"]}
>>> cr.MajorityBradleyTerry(prior=0.1).fit(cr.judgments(votes)).ranking["item"].to_list()
['a', 'b', 'c']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.methods.pairs.votes.explicit import ModelVariant
from crowdrank.methods.pairs.votes.fit import fit_pairs
from crowdrank.methods.protocols import Description
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check_fit, check_flag
from crowdrank.study import KINDS, Judgments, Pairs


@dataclass(frozen=True, slots=True)
class MajorityBradleyTerry:
    """Settings of majority vote followed by Bradley-Terry."""

    description: ClassVar[Description] = Description(
        name="majority-bradley-terry",
        family="pairs",
        summary="Majority vote on each pair, then Bradley-Terry.",
        takes=KINDS,
        pair_columns=("weight",),
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
        """Rank the items of each task by their strength in majority contests."""
        return fit_pairs(
            self,
            judgments,
            ModelVariant(),
            transform=lambda pairs: _majorities(pairs, judgments.vocabulary.n_entries),
        )


def _majorities(pairs: Pairs, n_entries: int) -> Pairs:
    """One pair for every two items that were compared, with the outcome most votes gave it."""
    reversed_ = pairs.left > pairs.right
    first, second = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    keys, contest = np.unique(first.astype(np.int64) * n_entries + second, return_inverse=True)
    lead = np.where(reversed_, -pairs.outcome, pairs.outcome) * (1.0 if pairs.weight is None else pairs.weight)
    outcome = np.sign(sum_by(contest.astype(np.int32), lead, len(keys))).astype(np.int8)
    first, second = (half.astype(np.int32) for half in np.divmod(keys, max(n_entries, 1)))
    return Pairs(np.zeros(len(keys), np.int32), first, second, outcome)
