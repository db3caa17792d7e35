"""Elo: ratings that change after every vote, the more the less likely the vote was.

    expected = 1 / (1 + base ^ ((rating_right − rating_left) / scale)),    rating_left += k (points − expected)

and the rating of the right item changes by the opposite; points are 1 for a win, ½ for a tie and 0 for a loss. Votes
are processed one after the other, in the given order, so another order gives (slightly) other ratings: recent votes
count most. Where the order means nothing, use `bradley-terry`: it fits the same model to all votes at once. Grades and
rankings are used after the pairs, as the pairs between their items, in a fixed order. All annotators count the same;
their quality is how often they agree with the ranking found. Items that nobody compared keep the initial rating.

Elo: The rating of chessplayers, past and present, 1978.

>>> import crowdrank as cr
>>> votes = {"left": ["a", "b", "a"], "right": ["b", "c", "c"], "winner": ["a", "tie", "a"]}
>>> cr.Elo(k=20).fit(cr.judgments(votes)).ranking["score"].round(1).to_list()
[1019.7, 990.3, 990.0]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.convert import as_pairs
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.numerics.compiled import kernel
from crowdrank.settings import check, check_not_negative, check_positive, is_number
from crowdrank.study import KINDS, Judgments


@dataclass(frozen=True, slots=True)
class Elo:
    """Settings of the Elo ratings."""

    description: ClassVar[Description] = Description(
        name="elo",
        family="pairs",
        summary="Ratings that change after every vote.",
        takes=KINDS,
        depends_on_order=True,
        expands_to_pairs=True,
    )

    initial: float = 1000.0  # the initial rating of every item
    k: float = 4.0  # the largest change of a rating by one vote
    base: float = 10.0  # the odds of winning at a lead of `scale` points
    scale: float = 400.0  # the lead, in points, at which the odds of winning are `base` to one

    def __post_init__(self) -> None:
        check_not_negative("initial", self.initial)
        check_positive("k", self.k)
        check(is_number(self.base) and 1 < self.base < np.inf, "base", self.base, "a number above 1")
        check_positive("scale", self.scale)

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their rating after the last vote."""
        check_kinds(self.description, judgments)
        pairs = as_pairs(judgments)
        rating = np.full(judgments.vocabulary.n_entries, float(self.initial))
        _play(pairs.left, pairs.right, pairs.outcome, rating, float(self.k), float(np.log(self.base) / self.scale))
        return make_consensus(self.description, judgments, rating, compared=pairs)


@kernel
def _play(left, right, outcome, rating, k, slope):
    for r in range(len(left)):
        lead = rating[left[r]] - rating[right[r]]
        # If exp overflows to infinity, the chance is 0, as it should be.
        move = k * (0.5 + 0.5 * outcome[r] - 1.0 / (1.0 + np.exp(-slope * lead)))
        rating[left[r]] += move
        rating[right[r]] -= move
