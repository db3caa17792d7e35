"""SVP: singular value projection, which completes the matrix of preferences.

If items had scores and annotators reported their differences, the matrix of preferences would be Y = s eᵀ − e sᵀ (e all
ones): skew-symmetric, of rank two, and its row means would be the scores, up to a shift. Y has the mean preference of
each two items that were compared (1 if i always won, −1 if always j; a tie is half a win for each side); the others are
missing. The start is X⁰, the differences of the scores that fit Y best (least squares). Then gradient steps on

    ½ Σ_known (Y − X)² + ½ (penalty / n) Σ_all (X − X⁰)²

each followed by the projection of X to its rank-two part, are repeated until they converge. The penalty is not in the
paper: of the many ways to complete a few contests it prefers those that scores can explain; without it, a chain of
items comes out in the wrong order. The score of an item is its row mean of X: its mean preference over all others,
including the completed ones. Parts of a task that were never compared are completed separately. All annotators count
the same; their quality is how often they agree with the ranking found.

Gleich and Lim: Rank aggregation via nuclear norm minimization, KDD 2011.

>>> import crowdrank as cr
>>> votes = {"left": ["a", "b", "c"], "right": ["b", "c", "d"], "winner": ["a", "b", "c"]}
>>> cr.SVP().fit(cr.judgments(votes)).ranking["item"].to_list()
['a', 'b', 'c', 'd']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdrank.consensus import Consensus, Fit
from crowdrank.convert import links
from crowdrank.methods.pairs.votes.contest_blocks import contest_blocks
from crowdrank.methods.pairs.votes.contests import Contests, contests
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.graph import components
from crowdrank.numerics.groups import run_starts
from crowdrank.numerics.newton import minimise
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check_fit, check_not_negative
from crowdrank.study import KINDS, Codes, Floats, Judgments

SHIFT = 1e-9  # weight of the squares of the scores: makes their shift unique
ROUNDING = 1e-10  # a vector shorter than this share of the length of Y is rounding


@dataclass(frozen=True, slots=True)
class SVP:
    """Settings of singular value projection."""

    description: ClassVar[Description] = Description(
        name="svp",
        family="pairs",
        summary="Completes the matrix of contests with a matrix of rank two.",
        takes=KINDS,
    )

    penalty: float = 2.0  # weight of the distance from the least-squares solution, in contests per item
    max_iter: int = 2000
    tol: float = 1e-6  # the fit ends when a step changes no score by more than this

    def __post_init__(self) -> None:
        check_fit(None, self.max_iter, self.tol)
        check_not_negative("penalty", self.penalty)

    @one_blas_thread
    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by the row means of the completed preferences."""
        check_kinds(self.description, judgments)
        vocabulary, compared = judgments.vocabulary, links(judgments)
        part = components(vocabulary.n_entries, compared.left, compared.right)
        score, fits = np.zeros(vocabulary.n_entries), []
        for block in contest_blocks(contests(judgments), vocabulary.task_starts, "completing preferences"):
            score[block.entries], *fit = _completed(block.contests, part[block.entries], self)
            fits.append(fit)
        steps, converged, objective = np.array(fits, dtype=np.float64).reshape(-1, 3).T
        return make_consensus(
            self.description,
            judgments,
            score,
            fit=Fit(int(steps.max(initial=0)), bool(converged.all()), float(objective.sum())),
            compared=compared,
        )


def _completed(counted: Contests, part: Codes, settings: SVP) -> tuple[Floats, int, bool, float]:
    """The scores of some tasks, the steps taken, whether they converged, and minus the objective."""
    members = np.argsort(part, kind="stable")
    part_starts = np.r_[np.flatnonzero(run_starts(part[members])), len(part)]
    preference = counted.preference
    model = Differences(counted, preference, len(part))
    score = minimise(model, np.zeros(len(part)), max_iter=settings.max_iter, tol=settings.tol).x
    steps, converged, objective = _complete(
        part_starts,
        members,
        counted.starts,
        counted.other,
        preference,
        float(settings.penalty),
        settings.max_iter,
        settings.tol,
        score,
    )
    return score, steps, converged, -objective


class Differences:
    """¼ Σ (Y − s_i + s_j)² over both sides of each contest: quadratic, so that Newton's method solves it in a step."""

    def __init__(self, counted: Contests, preference: Floats, n_entries: int) -> None:
        self.counted, self.preference = counted, preference
        self.entry = np.repeat(np.arange(n_entries, dtype=np.int32), np.diff(counted.starts))

    def evaluate(self, score: Floats) -> tuple[float, Floats]:
        gap = score[self.entry] - score[self.counted.other] - self.preference
        value = (gap**2).sum() / 4 + SHIFT * (score**2).sum() / 2
        return float(value), sum_by(self.entry, gap, len(score)) + SHIFT * score

    def hessian_product(self, v: Floats) -> Floats:
        return sum_by(self.entry, v[self.entry] - v[self.counted.other], len(v)) + SHIFT * v

    def diagonal(self) -> Floats:
        return np.diff(self.counted.starts) + SHIFT


@kernel
def _complete(part_starts, members, starts, other, preference, penalty, max_iter, tol, score):
    """Writes the scores, part by part; returns the most steps of any part, whether all converged, and the objective."""
    place = np.empty(len(members), dtype=np.int64)
    most_steps, all_converged, objective = 0, True, 0.0
    for part in range(len(part_starts) - 1):
        own = members[part_starts[part] : part_starts[part + 1]]
        for at in range(len(own)):
            place[own[at]] = at
        step, converged, value = _complete_part(
            own, place, starts, other, preference, penalty / len(own), max_iter, tol, score
        )
        most_steps, all_converged, objective = max(most_steps, step), all_converged and converged, objective + value
    return most_steps, all_converged, objective


@kernel
def _complete_part(own, place, starts, other, preference, weight, max_iter, tol, score):
    """The same for one part. X = x (basis₁ basis₂ᵀ − basis₂ basis₁ᵀ) with an orthonormal `basis`."""
    n = len(own)
    s, ones, basis, gradient = np.empty(n), np.ones(n), np.ones((2, n)), np.zeros((2, n))
    size = _known_part(own, place, starts, other, preference, basis, 0.0, basis, gradient)
    least = ROUNDING * np.sqrt(size)
    for i in range(n):
        s[i] = basis[1, i] = score[own[i]]
        score[own[i]] = 0.0
    if not _orthonormal(basis, least):
        return 0, True, 0.5 * size  # every item won as much as it lost: all are equal
    x = -np.sqrt(n) * _dot(basis[1], s)  # X = s eᵀ − e sᵀ
    first, first_x, best, best_x, value, length = basis, x, basis, x, np.inf, 1.0
    for step in range(max_iter):
        misfit = _known_part(own, place, starts, other, preference, basis, x, basis, gradient)
        new_value = 0.5 * misfit + weight * (x * x + first_x * first_x - 2 * x * first_x * _overlap(basis, first))
        if new_value > value and length > 1.0:  # too long: take it back; a step of length 1 always decreases the value
            basis, x, length = best, best_x, length / 3
            continue
        decrease, best, best_x, value = value - new_value, basis, x, new_value
        length *= 1.2  # where few contests are known, much longer steps decrease the value faster
        new_basis = _step(basis, x, first, first_x, basis, gradient, weight, length)
        new_basis = new_basis if _orthonormal(new_basis, least) else basis
        _known_part(own, place, starts, other, preference, basis, x, new_basis, gradient)
        x = _dot(new_basis[0], _step(basis, x, first, first_x, new_basis, gradient, weight, length)[1])
        basis = new_basis
        sums, change = (_dot(basis[0], ones), _dot(basis[1], ones)), 0.0
        for i in range(n):
            now = x / n * (basis[0, i] * sums[1] - basis[1, i] * sums[0])
            change = max(change, abs(now - score[own[i]]))
            score[own[i]] = now
        if change <= tol and decrease <= tol * value:  # the scores alone may stay the same for a step
            return step + 1, True, value
    return max_iter, False, value


@kernel
def _known_part(own, place, starts, other, preference, basis, x, q, result):
    """Y − X, where Y is known, times the two rows of q; returns the sum of its squares."""
    misfit = 0.0
    for i in range(len(own)):
        result[0, i] = result[1, i] = 0.0
        for r in range(starts[own[i]], starts[own[i] + 1]):
            j = place[other[r]]
            gap = preference[r] - x * (basis[0, i] * basis[1, j] - basis[1, i] * basis[0, j])
            result[0, i] += gap * q[0, j]
            result[1, i] += gap * q[1, j]
            misfit += gap * gap
    return misfit


@kernel
def _step(basis, x, first, first_x, q, gradient, weight, length):
    """X after a step of this length, before its projection, times the two rows of q."""
    result = np.empty_like(q)
    keep, back = x * (1.0 - length * weight), first_x * length * weight
    for a in range(2):
        one, two = keep * _dot(basis[1], q[a]), keep * _dot(basis[0], q[a])
        three, four = back * _dot(first[1], q[a]), back * _dot(first[0], q[a])
        for i in range(q.shape[1]):
            low_rank = basis[0, i] * one - basis[1, i] * two + first[0, i] * three - first[1, i] * four
            result[a, i] = low_rank + length * gradient[a, i]
    return result


@kernel
def _overlap(one, two):
    """The inner product of two matrices X with x = 1, halved: 1 where they are the same."""
    return _dot(one[0], two[0]) * _dot(one[1], two[1]) - _dot(one[0], two[1]) * _dot(one[1], two[0])


@kernel
def _orthonormal(q, least):
    """Makes the two rows orthonormal; false if they are (nearly) parallel or zero."""
    for a in range(2):
        for _ in range(2 * a):  # twice is enough to be orthogonal to the last digit
            along = _dot(q[0], q[1])
            for i in range(q.shape[1]):
                q[1, i] -= along * q[0, i]
        length = np.sqrt(_dot(q[a], q[a]))
        if length <= least or length == 0.0:
            return False
        for i in range(q.shape[1]):
            q[a, i] /= length
    return True


@kernel
def _dot(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total
