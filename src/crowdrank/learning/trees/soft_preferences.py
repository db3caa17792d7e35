"""Preferences between items whose grades are uncertain: LambdaMART's cross entropy with targets between 0 and 1.

    Σ |ΔZ| (P̄ log σ(s_d − s_d') + (1 − P̄) log σ(s_d' − s_d))        P̄ = P(grade of d higher) + ½ P(the same)

over pairs of a task of which at least one stands among the first 30, as in LightGBM's lambdarank. Weights are divided
by their mean over the task, so that every item counts as one.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from crowdrank.learning.trees.pair_objective import each_counts_as
from crowdrank.learning.trees.swaps import Lists, Swaps, change
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import RowSum
from crowdrank.study import Codes, Floats

DEPTH = 30  # places


class SoftPreferences:
    """From scores to the slope and bend of minus the cross entropy; `chance` has a row of chances of the grades for each entry."""

    def __init__(self, chance: Floats, task: Codes, swaps: Swaps) -> None:
        self.chance, self.task, self.swaps = np.ascontiguousarray(chance), task, swaps
        # The chance of a lower grade, with half of that of the same one: P̄ is the mean of this over the grades of the other entry.
        self.beaten = np.cumsum(self.chance, axis=1) - self.chance / 2
        self.items = sum_by(task, np.ones(len(task)), int(task.max(initial=-1)) + 1)
        self.ends = np.searchsorted(task, task, side="right")
        self.sum = RowSum(len(task), 3 * len(task), work=DEPTH)

    def __call__(self, score: Floats) -> tuple[Floats, Floats]:
        """Slope and bend at these scores."""
        _, slope, curvature, weight = self.evaluate(score, self.swaps.lists(score))
        scale = each_counts_as(self.items, weight, self.task)
        return slope * scale, curvature * scale

    def evaluate(self, score: Floats, lists: Lists) -> tuple[float, Floats, Floats, Floats]:
        """Value, slope and bend by entry with the weights that pairs have in these lists, and the sum of an entry's weights."""
        order = np.lexsort((lists.place, self.task))
        total, values = self.sum(
            lambda r, total: preferences(
                r.start, r.stop, order, self.ends, self.chance, self.beaten, score,
                lists.how, lists.place, lists.gain, lists.variance, lists.above, lists.below, total.reshape(3, len(score)),
            )
        )  # fmt: skip
        slope, curvature, weight = total.reshape(3, len(score))
        return float(sum(values)), slope, curvature, weight


@nb.njit(cache=True, nogil=True)
def preferences(begin, end, order, ends, chance, beaten, score, how, place, gain, variance, above, below, total):
    """The weighted cross entropy of the pairs whose upper entry is at `begin` to `end` of the order; adds slopes, bends, weights."""
    slope, curvature, weight = total[0], total[1], total[2]
    value = 0.0
    for row in range(begin, end):
        d = order[row]
        if place[d] > DEPTH:
            continue
        for later in range(row + 1, ends[row]):
            other = order[later]
            wanted = 0.0
            for grade in range(chance.shape[1]):
                wanted += chance[d, grade] * beaten[other, grade]
            worth = change(how, d, other, place, gain, variance, above, below)
            gap = score[d] - score[other]
            small = math.exp(-abs(gap))
            sure = 1 / (1 + small)  # of the one with the higher score
            found = sure if gap >= 0 else 1 - sure
            value += worth * (wanted * gap - max(gap, 0.0) - math.log1p(small))
            push = worth * (wanted - found)
            stiff = worth * sure * (1 - sure)
            slope[d] += push
            slope[other] -= push
            curvature[d] += stiff
            curvature[other] += stiff
            weight[d] += worth
    return value
