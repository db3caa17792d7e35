"""Preferences between items whose grades are uncertain: LambdaMART's cross entropy with targets between 0 and 1.

    Σ |ΔZ| (P̄ log σ(s_d − s_d') + (1 − P̄) log σ(s_d' − s_d))        P̄ = P(grade of d higher) + ½ P(the same)

The sum is over pairs of a task of which at least one is among the first 30, as in LightGBM's lambdarank. Weights are
divided by their mean over the task, so that every item has the weight 1.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from crowdrank.learning.trees.pair_objective import scale_to
from crowdrank.learning.trees.swaps import ListsByScore, Swaps, change
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import RowSum
from crowdrank.study import Codes, Floats

DEPTH = 30  # places


class SoftPreferences:
    """From scores to slope and curvature of minus the cross entropy; `chance` has the probabilities of the grades."""

    def __init__(self, chance: Floats, task: Codes, swaps: Swaps) -> None:
        self.chance, self.task, self.swaps = np.ascontiguousarray(chance), task, swaps
        # P(lower grade) + ½ P(same grade), for each grade of another entry: P̄ is its mean over those grades.
        self.beaten = np.cumsum(self.chance, axis=1) - self.chance / 2
        self.items = sum_by(task, np.ones(len(task)), int(task.max(initial=-1)) + 1)
        self.ends = np.searchsorted(task, task, side="right")
        self.sum = RowSum(len(task), 3 * len(task), work=DEPTH)

    def __call__(self, score: Floats) -> tuple[Floats, Floats]:
        """Slope and curvature at these scores."""
        _, slope, curvature, weight = self.evaluate(score, self.swaps.lists(score))
        scale = scale_to(self.items, weight, self.task)
        return slope * scale, curvature * scale

    def evaluate(self, score: Floats, lists: ListsByScore) -> tuple[float, Floats, Floats, Floats]:
        """Value, and by entry slope, curvature and sum of weights, with the weights that pairs have in these lists."""
        order = np.lexsort((lists.place, self.task))
        total, values = self.sum(
            lambda r, total: preferences(
                r.start, r.stop, order, self.ends, self.chance, self.beaten, score, lists, total.reshape(3, len(score))
            )
        )
        slope, curvature, weight = total.reshape(3, len(score))
        return float(sum(values)), slope, curvature, weight


@nb.njit(cache=True, nogil=True)
def preferences(begin, end, order, ends, chance, beaten, score, lists, total):
    """Minus the weighted cross entropy of the pairs whose upper entry is at `begin` to `end` of the order.

    Adds to `total` slopes, curvatures and weights by entry.
    """
    slope, curvature, weight = total[0], total[1], total[2]
    value = 0.0
    for row in range(begin, end):
        d = order[row]
        if lists.place[d] > DEPTH:
            continue
        for later in range(row + 1, ends[row]):
            other = order[later]
            wanted = 0.0
            for grade in range(chance.shape[1]):
                wanted += chance[d, grade] * beaten[other, grade]
            worth = change(lists, d, other)
            gap = score[d] - score[other]
            small = math.exp(-abs(gap))
            higher = 1 / (1 + small)  # the probability of the order of the scores
            found = higher if gap >= 0 else 1 - higher
            value += worth * (wanted * gap - max(gap, 0.0) - math.log1p(small))
            gradient = worth * (wanted - found)
            information = worth * higher * (1 - higher)
            slope[d] += gradient
            slope[other] -= gradient
            curvature[d] += information
            curvature[other] += information
            weight[d] += worth
    return value
