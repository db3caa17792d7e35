"""The likelihood of pairs of grades, given scores of their entries: GDA-PW's, weighted by what the order of the pair is
worth.

    Σ |ΔZ| log P(g | g', d, d', a, a')        P ∝ α_g N(s_d − s_d'; μ_g − μ'_g', √(w w') + rest)

over pairs of judgments of a task on different entries. Two items with the same features are not of the same relevance:
`rest` is the variance of a difference of relevance that the scores leave open. Without it sharp annotators, whose
curves leave no room, would have scores explain what features cannot. Weights are divided by their mean over the task,
so that every judgment counts as one, whatever the measure.

A judgment meets `partners` others each time, evenly spread over its task in a random order (`methods.pair_likelihood`),
and others the next time: from round to round all of them.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from crowdrank.learning.trees.swaps import Equal, Lists, Swaps, change
from crowdrank.methods.grades.curves.curves import Gaussians, GradesByProfile
from crowdrank.methods.grades.curves.pair_likelihood import PairLikelihood, chances, moments
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import RowSum
from crowdrank.study import Codes, Floats

TURN = 0.6180339887  # of the circle from round to round: the fraction whose multiples fill it most evenly


class PairObjective:
    """From scores to the slope and bend of the weighted log-likelihood."""

    def __init__(
        self,
        rows: GradesByProfile,
        task: Codes,
        curves: Gaussians,
        swaps: Swaps | Equal,
        *,
        partners: int,
        rest: float,
        seed: int,
    ) -> None:
        self.pairs = PairLikelihood(rows, task, curves, partners=partners, difficulty=False, seed=seed)
        self.task, self.curves, self.swaps, self.rest = task, curves, swaps, rest
        self.judgments = sum_by(task[rows.entry], np.ones(len(rows.entry)), int(task.max(initial=-1)) + 1)
        self.spread = np.sqrt(curves.variance)[self.pairs.judgments.profile]
        self.sum, self.round = RowSum(len(rows.entry), 3 * len(task), work=partners), 0

    def __call__(self, score: Floats) -> tuple[Floats, Floats]:
        """Slope and bend at these scores; other partners at every call."""
        turn, self.round = (self.round * TURN) % 1, self.round + 1
        _, slope, curvature, weight = self.evaluate(score, self.swaps.lists(score), turn)
        scale = each_counts_as(self.judgments, weight, self.task)
        return slope * scale, curvature * scale

    def evaluate(self, score: Floats, lists: Lists, turn: float) -> tuple[float, Floats, Floats, Floats]:
        """Value, slope and bend by entry with the weights that pairs have in these lists, and the sum of an entry's weights."""
        pairs, n = self.pairs.judgments, len(self.task)
        at = score[pairs.entry]
        total, values = self.sum(
            lambda r, total: weighted_pairs(
                r.start, r.stop, pairs.task_start, pairs.task_size, pairs.n_partners, turn, pairs.entry, pairs.profile, pairs.level,
                at, at - self.pairs.mean, self.curves.mean, self.pairs.curves.log_weight, self.curves.n_levels, self.spread, self.rest,
                lists.how, lists.place, lists.gain, lists.variance, lists.above, lists.below, total.reshape(3, n),
            )
        )  # fmt: skip
        slope, curvature, weight = total.reshape(3, n)
        return float(sum(values)), slope, curvature, weight


def each_counts_as(wanted: Floats, weight: Floats, task: Codes) -> Floats:
    """Per entry, the factor that gives each task the weight that is wanted of it."""
    by_task = sum_by(task, weight, len(wanted))
    return np.divide(wanted, by_task, out=np.zeros(len(wanted)), where=by_task > 0)[task]


@nb.njit(cache=True, nogil=True)
def weighted_pairs(
    begin, end, first, size, met, turn, entry, profile, level, at, residual, mean, log_weight, n_levels, spread, rest,
    how, place, gain, variance, above, below, total,
):  # fmt: skip
    """The weighted log-likelihood of the pairs of judgments `begin` to `end`; adds slopes, bends and weights by entry."""
    slope, curvature, weight = total[0], total[1], total[2]
    value = 0.0
    lean, chance = np.empty(mean.shape[1]), np.empty(mean.shape[1])
    for i in range(begin, end):
        own, d, g, others = profile[i], entry[i], level[i], size[i] - 1
        centre, n, turned = mean[own], n_levels[own], int(turn * others)
        for partner in range(met[i]):
            j = i + 1 + (partner * others // met[i] + turned) % others
            if j >= first[i] + size[i]:
                j -= size[i]
            other = entry[j]
            if other == d:
                continue
            worth = change(how, d, other, place, gain, variance, above, below)
            precision = 1 / (spread[i] * spread[j] + rest)
            log_mass = chances(at[i] - residual[j], precision, centre, log_weight[own], n, lean, chance)
            expected, squares = moments(centre, chance, n)
            value += worth * (log_weight[own, g] + lean[g] - log_mass)
            push = worth * (centre[g] - expected) * precision
            stiff = worth * (squares - expected * expected) * precision * precision
            slope[d] += push
            slope[other] -= push
            curvature[d] += stiff
            curvature[other] += stiff
            weight[d] += worth
    return value
