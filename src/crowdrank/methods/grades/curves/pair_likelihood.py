"""The likelihood of pairs of grades: each grade of an entry explained by how far the entry lies from another one,
graded too.

    P(g | g', d, d', a, a') ∝ α_g N(r_d − r_d'; μ_g − μ'_g', √(w w' ε_d ε_d'))

summed over the pairs of judgments of a task that concern different entries, and divided by the number of partners of a
judgment, so that it weighs like one likelihood per judgment against the priors. Pairs are never stored: a kernel
streams over them. Beyond `partners` a judgment meets a sample, itself and the others standing in a random circle: those
at evenly spread distances.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from crowdrank.methods.grades.curves.curves import Gaussians, Rows
from crowdrank.numerics.blocks import Layout
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import RowSum
from crowdrank.study import Codes, Floats

DIFFICULTY_SPREAD = 0.5  # of log ε


class PairLikelihood:
    """Minus the log-posterior of relevance (and log-difficulty) given the curves, for `numerics.newton.minimise`.

    Without difficulty it is convex. Every judgment meets partners from all over its task, so that an entry hangs on the
    others as on their mean: the Hessian is taken to be a diagonal less one such mean per task. That is exact in what
    matters most, that a common shift of all relevances changes nothing but the prior, and costs nothing.
    """

    def __init__(
        self, rows: Rows, entry_task: Codes, curves: Gaussians, *, partners: int, difficulty: bool, seed: int
    ) -> None:
        task = entry_task[rows.entry]
        order = np.lexsort((np.random.default_rng(seed).random(len(task)), task))
        self.entry, self.profile, self.level = rows.entry[order], rows.profile[order], rows.level[order]
        starts = np.searchsorted(task[order], np.arange(int(entry_task.max(initial=-1)) + 2))
        size = np.diff(starts)[task[order]]
        self.first, self.size = starts[task[order]], size
        self.met = np.minimum(size - 1, partners)
        others = size - np.diff(rows.entry_starts)[self.entry]  # judgments of the task on other entries
        self.weight = (size - 1) / np.maximum(self.met * others, 1)
        self.task, self.n, self.curves = entry_task, len(entry_task), curves
        self.log_spread = np.log(curves.variance)[self.profile]
        self.mean = curves.mean[self.profile, self.level]
        with np.errstate(divide="ignore"):
            self.log_weight = np.log(curves.weight)
        self.difficulty = difficulty
        self.layout = Layout(relevance=self.n, difficulty=self.n if difficulty else 0)
        self.sum = RowSum(len(task), 4 * self.n, work=partners)

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient at x; remembers the curvature there."""
        relevance, difficulty = x[: self.n], x[self.n :]
        hardness = difficulty[self.entry] if self.difficulty else 0.0
        sharp = np.exp(-(self.log_spread + hardness) / 2)
        at = relevance[self.entry]
        total, values = self.sum(
            lambda r, total: pair_terms(
                r.start, r.stop, self.first, self.size, self.met, self.weight, self.entry, self.profile, self.level, at,
                at - self.mean, sharp, self.curves.mean, self.log_weight, self.curves.n_levels, self.difficulty, total.reshape(4, self.n),
            )
        )  # fmt: skip
        slope, curvature, hard_slope, hard_curvature = total.reshape(4, self.n)
        self.curvature, self.hard_curvature = curvature, hard_curvature
        value = float(x[: self.n] @ x[: self.n]) / 2 - sum(values)
        gradient = relevance - slope
        if self.difficulty:
            value += float(difficulty @ difficulty) / (2 * DIFFICULTY_SPREAD**2)
            gradient = np.concatenate([gradient, difficulty / DIFFICULTY_SPREAD**2 - hard_slope])
        return value, gradient

    def hessian_product(self, v: Floats) -> Floats:
        """The Hessian at the last evaluated point, as described above, times v."""
        product = self.diagonal() * v
        product[: self.n] -= self.curvature * self._mean(v[: self.n])
        return product

    def _mean(self, values: Floats) -> Floats:
        """The mean of each task, entries weighted by what ties them to the others."""
        n_tasks = int(self.task.max(initial=-1)) + 1
        total = sum_by(self.task, self.curvature, n_tasks)
        return (sum_by(self.task, self.curvature * values, n_tasks) / np.maximum(total, 1e-300))[self.task]

    def diagonal(self) -> Floats:
        """The diagonal of the Hessian, what entries have in common left aside."""
        diagonal = 1 + self.curvature
        return (
            np.concatenate([diagonal, 1 / DIFFICULTY_SPREAD**2 + self.hard_curvature]) if self.difficulty else diagonal
        )


@nb.njit(cache=True, nogil=True)
def pair_terms(
    begin, end, first, size, met, weight, entry, profile, level, relevance, residual, sharp, mean, log_weight, n_levels, hard, total
):  # fmt: skip
    """The log-likelihood of the pairs of judgments `begin` to `end`; adds slopes and bends by relevance and (`hard`) log-difficulty."""
    slope, curvature, hard_slope, hard_curvature = total[0], total[1], total[2], total[3]
    value = 0.0
    lean, chance = np.empty(mean.shape[1]), np.empty(mean.shape[1])
    for i in range(begin, end):
        centre, n, d, g = mean[profile[i]], n_levels[profile[i]], entry[i], level[i]
        for partner in range(met[i]):
            # Evenly spread over the circle; all of it, if as many are met as there are others.
            j = i + 1 + partner * (size[i] - 1) // met[i]
            if j >= first[i] + size[i]:
                j -= size[i]
            other = entry[j]
            if other == d:
                continue
            precision, gap = sharp[i] * sharp[j], relevance[i] - residual[j]
            log_mass = chances(gap, precision, centre, log_weight[profile[i]], n, lean, chance)
            value += weight[i] * (log_weight[profile[i], g] + lean[g] - log_mass)
            expected, squares = moments(centre, chance, n)
            push = weight[i] * (centre[g] - expected) * precision
            stiff = weight[i] * (squares - expected * expected) * precision * precision
            slope[d] += push
            slope[other] -= push
            curvature[d] += stiff
            curvature[other] += stiff
            if hard:
                expected, squares = moments(lean, chance, n)
                push = -weight[i] * (lean[g] - expected) / 2
                stiff = weight[i] * (squares - expected * expected) / 4
                hard_slope[d] += push
                hard_slope[other] += push
                hard_curvature[d] += stiff
                hard_curvature[other] += stiff
    return value


@nb.njit(cache=True, nogil=True)
def chances(gap, precision, centre, log_weight, n, lean, chance):
    """The chance of each level at this gap, and how it leans on the gap; returns the logarithm of what they were divided by."""
    top = -np.inf
    for k in range(n):
        lean[k] = (gap - centre[k] / 2) * centre[k] * precision
        chance[k] = log_weight[k] + lean[k]
        top = max(top, chance[k])
    mass = 0.0
    for k in range(n):
        chance[k] = math.exp(chance[k] - top)
        mass += chance[k]
    for k in range(n):
        chance[k] /= mass
    return top + math.log(mass)


@nb.njit(cache=True, nogil=True)
def moments(values, chance, n):
    """The mean of the values, and of their squares."""
    mean, squares = 0.0, 0.0
    for k in range(n):
        mean += chance[k] * values[k]
        squares += chance[k] * values[k] * values[k]
    return mean, squares
