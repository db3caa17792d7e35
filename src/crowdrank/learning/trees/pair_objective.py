"""The likelihood of pairs of grades given scores of their entries: GDA-PW's, weighted by the effect of a swap.

    Σ |ΔZ| log P(g | g', d, d', a, a')        P ∝ α_g N(s_d − s_d'; μ_g − μ'_g', √(w w') + rest)

The sum is over pairs of judgments of a task on different entries. Two items with the same features may differ in
relevance: `rest` is the variance of a difference of relevance that the scores do not explain. Without it, the scores of
items that precise annotators judged would have to explain what features cannot. Weights are divided by their mean over
the task, so that every judgment has the weight 1, for any measure.

Each judgment is paired with `partners` others, evenly spread over its task in a random order (`pair_likelihood`), and
with different ones in each round: over the rounds with all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.learning.trees.kernels import weighted_pairs
from crowdrank.learning.trees.swaps import EqualSwaps, ListsByScore, Swaps
from crowdrank.methods.grades.curves.curves import Gaussians, GradesByProfile
from crowdrank.methods.grades.curves.pair_likelihood import PairLikelihood
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import RowSum
from crowdrank.study import Codes, Floats

TURN = 0.6180339887  # of the circle from round to round: the golden ratio, whose multiples fill it most evenly


class RandomJudgments(NamedTuple):
    """The judgments in random order within each task."""

    entry: Codes
    profile: Codes
    level: NDArray[np.integer]
    spread: Floats  # of the curves of its profile
    task_start: NDArray[np.int64]  # where the judgments of its task begin
    task_size: NDArray[np.int64]  # how many judgments its task has
    n_partners: NDArray[np.int64]


class ScoredJudgments(NamedTuple):
    """The current scores, by judgment."""

    score: Floats  # of its entry
    residual: Floats  # the score less the mean of its level


class PairObjective:
    """From scores to slope and curvature of the weighted log-likelihood."""

    def __init__(
        self,
        rows: GradesByProfile,
        task: Codes,
        curves: Gaussians,
        swaps: Swaps | EqualSwaps,
        *,
        partners: int,
        rest: float,
        seed: int,
    ) -> None:
        pairs = PairLikelihood(rows, task, curves, partners=partners, difficulty=False, seed=seed)
        given = pairs.judgments
        spread = np.sqrt(curves.variance)[given.profile]
        self.judgments = RandomJudgments(
            given.entry, given.profile, given.level, spread, given.task_start, given.task_size, given.n_partners
        )
        self.curves = pairs.curves
        self.level_mean = pairs.mean
        self.task, self.swaps, self.rest = task, swaps, rest
        self.per_task = sum_by(task[rows.entry], np.ones(len(rows.entry)), int(task.max(initial=-1)) + 1)
        self.sum, self.round = RowSum(len(rows.entry), 3 * len(task), work=partners), 0

    def __call__(self, score: Floats) -> tuple[Floats, Floats]:
        """Slope and curvature at these scores; with other partners at every call."""
        turn, self.round = (self.round * TURN) % 1, self.round + 1
        _, slope, curvature, weight = self.evaluate(score, self.swaps.lists(score), turn)
        scale = scale_to(self.per_task, weight, self.task)
        return slope * scale, curvature * scale

    def evaluate(self, score: Floats, lists: ListsByScore, turn: float) -> tuple[float, Floats, Floats, Floats]:
        """Value, and by entry slope, curvature and sum of weights, with the weights that pairs have in these lists."""
        by_judgment, n = score[self.judgments.entry], len(self.task)
        scores = ScoredJudgments(by_judgment, by_judgment - self.level_mean)
        total, values = self.sum(
            lambda r, total: weighted_pairs(
                r.start, r.stop, self.judgments, self.curves, scores, lists, turn, self.rest, total.reshape(3, n)
            )
        )
        slope, curvature, weight = total.reshape(3, n)
        return float(sum(values)), slope, curvature, weight


def scale_to(wanted: Floats, weight: Floats, task: Codes) -> Floats:
    """By entry, the factor that gives each task the wanted sum of weights."""
    by_task = sum_by(task, weight, len(wanted))
    return np.divide(wanted, by_task, out=np.zeros(len(wanted)), where=by_task > 0)[task]
