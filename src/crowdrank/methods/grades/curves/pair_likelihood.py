"""The likelihood of pairs of grades: each grade of an entry given how far the entry lies from another graded entry.

    P(g | g', d, d', a, a') ∝ α_g N(r_d − r_d'; μ_g − μ'_g', √(w w' ε_d ε_d'))

Summed over the pairs of judgments of a task that concern different entries, and divided by the number of partners of a
judgment: relative to the priors, every judgment has the weight of one likelihood term. Pairs are never stored: a kernel
streams over them. A judgment with more than `partners` others in its task is paired with a sample of them: the
judgments of the task stand in a circle, and the partners are those at evenly spaced distances. The order of the circle
is as good as random, but follows from the grades, so that names do not matter.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.grades.curves.content import content_keys
from crowdrank.methods.grades.curves.curves import Gaussians, GradesByProfile
from crowdrank.numerics.blocks import Layout
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import RowSum
from crowdrank.study import Codes, Floats

DIFFICULTY_SPREAD = 0.5  # of log ε


class PairedJudgments(NamedTuple):
    """The judgments in random order within each task, and how many partners each has."""

    entry: Codes
    profile: Codes
    level: Codes
    task_start: NDArray[np.int64]  # where the judgments of its task begin
    task_size: NDArray[np.int64]  # how many judgments its task has
    n_partners: NDArray[np.int64]
    weight: Floats  # of each of its pairs


class LogCurves(NamedTuple):
    """Means and logarithms of the weights of each profile's levels."""

    mean: Floats
    log_weight: Floats
    n_levels: NDArray[np.int64]


class JudgmentState(NamedTuple):
    """What the current parameters give for each judgment."""

    relevance: Floats  # of its entry
    residual: Floats  # relevance less the mean of the given level
    root_precision: Floats  # 1 / √(w ε); the precision of a pair is the product of two of them


def _sets_of_entries(task: Codes, content: NDArray[Any]) -> tuple[NDArray[np.int64], Codes]:
    """The first entry of each set of entries of a task with the same content, and the set of each entry."""
    order = np.lexsort((content, task))
    new = np.r_[True, (task[order][1:] != task[order][:-1]) | (content[order][1:] != content[order][:-1])][: len(task)]
    alike = np.empty(len(task), np.int32)
    alike[order] = np.cumsum(new) - 1
    return order[new], alike


class PairLikelihood:
    """Minus the log-posterior of relevance (and log-difficulty) given the curves, for `numerics.newton.minimise`.

    Without difficulty it is convex. The partners of a judgment are spread over its whole task, so an entry depends on
    the others nearly as on their mean: the Hessian is approximated by a diagonal less one such mean per task. This is
    cheap, and exact for a common shift of all relevances of a task, which changes only the prior. With
    `merge_alike` there is one parameter for all entries of a task with the same grades from the same annotators, which
    a sample of partners would tell apart.
    """

    def __init__(
        self,
        rows: GradesByProfile,
        entry_task: Codes,
        curves: Gaussians,
        *,
        partners: int,
        difficulty: bool,
        seed: int,
        merge_alike: bool = False,
    ) -> None:
        of_entry, of_row = content_keys(rows, seed)
        first, self.alike = _sets_of_entries(entry_task, of_entry if merge_alike else np.arange(len(entry_task)))
        self.copies = np.bincount(self.alike).astype(np.float64)
        task = entry_task[rows.entry]
        order = np.lexsort((of_row, task))
        entry, profile, level = self.alike[rows.entry[order]], rows.profile[order], rows.level[order]
        starts = np.searchsorted(task[order], np.arange(int(entry_task.max(initial=-1)) + 2))
        size = np.diff(starts)[task[order]]
        n_partners = np.minimum(size - 1, partners)
        others = size - np.bincount(entry, minlength=len(first))[entry]  # judgments of the task on other entries
        weight = (size - 1) / np.maximum(n_partners * others, 1)
        self.judgments = PairedJudgments(entry, profile, level, starts[task[order]], size, n_partners, weight)
        self.task, self.n = entry_task[first], len(first)
        self.log_variance = np.log(curves.variance)[profile]
        self.mean = curves.mean[profile, level]
        with np.errstate(divide="ignore"):
            self.curves = LogCurves(curves.mean, np.log(curves.weight), curves.n_levels)
        self.difficulty = difficulty
        self.layout = Layout(relevance=self.n, difficulty=self.n if difficulty else 0)
        self.sum = RowSum(len(task), 4 * self.n, work=partners)

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient at x; remembers the curvature there."""
        relevance, difficulty = x[: self.n], x[self.n :]
        log_difficulty = difficulty[self.judgments.entry] if self.difficulty else 0.0
        at = relevance[self.judgments.entry]
        state = JudgmentState(at, at - self.mean, np.exp(-(self.log_variance + log_difficulty) / 2))
        total, values = self.sum(
            lambda r, total: pair_terms(
                r.start, r.stop, self.judgments, state, self.curves, self.difficulty, total.reshape(4, self.n)
            )
        )
        slope, self.curvature, difficulty_slope, self.difficulty_curvature = total.reshape(4, self.n)
        value = float(self.copies @ relevance**2) / 2 - sum(values)
        gradient = self.copies * relevance - slope
        if self.difficulty:
            precision = self.copies / DIFFICULTY_SPREAD**2
            value += float(precision @ difficulty**2) / 2
            gradient = np.concatenate([gradient, precision * difficulty - difficulty_slope])
        return value, gradient

    def hessian_product(self, v: Floats) -> Floats:
        """The approximate Hessian at the last evaluated point times v."""
        product = self.diagonal() * v
        product[: self.n] -= self.curvature * self._mean(v[: self.n])
        return product

    def _mean(self, values: Floats) -> Floats:
        """The mean of each task, entries weighted by their curvature."""
        n_tasks = int(self.task.max(initial=-1)) + 1
        total = sum_by(self.task, self.curvature, n_tasks)
        return (sum_by(self.task, self.curvature * values, n_tasks) / np.maximum(total, 1e-300))[self.task]

    def diagonal(self) -> Floats:
        """The diagonal part of the approximate Hessian."""
        diagonal = self.copies + self.curvature
        if not self.difficulty:
            return diagonal
        return np.concatenate([diagonal, self.copies / DIFFICULTY_SPREAD**2 + self.difficulty_curvature])


@kernel
def pair_terms(begin, end, judgments, state, curves, with_difficulty, total):
    """The log-likelihood of the pairs of judgments `begin` to `end`.

    Adds to `total` its slopes and curvatures by relevance and, `with_difficulty`, by log-difficulty.
    """
    slope, curvature, difficulty_slope, difficulty_curvature = total[0], total[1], total[2], total[3]
    entry, profile, size, n_partners = judgments.entry, judgments.profile, judgments.task_size, judgments.n_partners
    value = 0.0
    log_ratio, chance = np.empty(curves.mean.shape[1]), np.empty(curves.mean.shape[1])
    for i in range(begin, end):
        d, g, weight = entry[i], judgments.level[i], judgments.weight[i]
        mean, log_weight, n = curves.mean[profile[i]], curves.log_weight[profile[i]], curves.n_levels[profile[i]]
        for partner in range(n_partners[i]):
            # Evenly spaced around the circle; with as many partners as others, all of it.
            j = i + 1 + partner * (size[i] - 1) // n_partners[i]
            if j >= judgments.task_start[i] + size[i]:
                j -= size[i]
            other = entry[j]
            if other == d:
                continue
            precision = state.root_precision[i] * state.root_precision[j]
            gap = state.relevance[i] - state.residual[j]
            log_total = chances(gap, precision, mean, log_weight, n, log_ratio, chance)
            value += weight * (log_weight[g] + log_ratio[g] - log_total)
            expected, squares = moments(mean, chance, n)
            gradient = weight * (mean[g] - expected) * precision
            information = weight * (squares - expected * expected) * precision * precision
            slope[d] += gradient
            slope[other] -= gradient
            curvature[d] += information
            curvature[other] += information
            if with_difficulty:
                expected, squares = moments(log_ratio, chance, n)
                gradient = -weight * (log_ratio[g] - expected) / 2
                information = weight * (squares - expected * expected) / 4
                difficulty_slope[d] += gradient
                difficulty_slope[other] += gradient
                difficulty_curvature[d] += information
                difficulty_curvature[other] += information
    return value


@kernel
def chances(gap, precision, mean, log_weight, n, log_ratio, chance):
    """Write the probability of each level at this gap to `chance`; return the logarithm of their normalising constant.

    `log_ratio` is log N(gap; mean) − log N(gap; 0) of each level, with this precision.
    """
    top = -np.inf
    for k in range(n):
        log_ratio[k] = (gap - mean[k] / 2) * mean[k] * precision
        chance[k] = log_weight[k] + log_ratio[k]
        top = max(top, chance[k])
    total = 0.0
    for k in range(n):
        chance[k] = math.exp(chance[k] - top)
        total += chance[k]
    for k in range(n):
        chance[k] /= total
    return top + math.log(total)


@kernel
def moments(values, chance, n):
    """The expectation of the values, and of their squares."""
    mean, squares = 0.0, 0.0
    for k in range(n):
        mean += chance[k] * values[k]
        squares += chance[k] * values[k] * values[k]
    return mean, squares
