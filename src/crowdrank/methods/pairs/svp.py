"""SVP: singular value projection, which fills in the preferences that nobody gave.

If items had scores and annotators told their differences, the matrix of preferences would be Y = s eᵀ − e sᵀ (e all
ones): skew- symmetric, of rank two, and its row means would be the scores, up to a shift. Y holds the mean preference
of each two items that were compared (1 if i always won, −1 if always j; a tie is half a win for each side), and has
gaps. The start is X⁰, the differences of the scores that fit Y best (least squares). Then gradient steps on

    ½ Σ_known (Y − X)² + ½ (prior / n) Σ_all (X − X⁰)²

each followed by the projection of X to its rank-two part, are repeated until they settle. The pull to X⁰ is not the
paper's: of the many ways to fill in a few contests it prefers those that scores can explain; without it, a chain of
items comes out in disorder. The score of an item is its row mean of X: how far it is preferred to all others, the
unseen contests filled in. Parts of a task that were never compared are completed on their own. All annotators count the
same; their quality is how often they agree with it.

Gleich and Lim: Rank aggregation via nuclear norm minimization, KDD 2011.

>>> import crowdrank as cr
>>> votes = {"left": ["a", "b", "c"], "right": ["b", "c", "d"], "winner": ["a", "b", "c"]}
>>> cr.SVP().fit(cr.judgments(votes)).ranking["item"].to_list()
['a', 'b', 'c', 'd']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numba as nb
import numpy as np

from crowdrank.consensus import Consensus, Fit
from crowdrank.convert import links
from crowdrank.methods.pairs.votes.contests import Contests, contests
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.numerics.graph import components
from crowdrank.numerics.newton import minimise
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check_fit
from crowdrank.study import KINDS, Floats, Judgments

SHIFT = 1e-9  # weight of the squares of the scores: makes their shift unique
NOTHING = 1e-10  # a vector shorter than this, against the length of Y, is rounding


@dataclass(frozen=True, slots=True)
class SVP:
    """Settings of singular value projection."""

    description: ClassVar[Description] = Description(
        name="svp",
        family="pairs",
        summary="Completes the matrix of contests with a matrix of rank two.",
        takes=KINDS,
        expands_to_pairs=True,
    )

    prior: float = 2.0  # contests per item that say what least squares say
    max_iter: int = 2000
    tol: float = 1e-6  # a step that moves no score further than this ends the fit

    def __post_init__(self) -> None:
        check_fit(self.prior, self.max_iter, self.tol)

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by the row means of the completed preferences."""
        check_kinds(self.description, judgments)
        counted, n = contests(judgments), judgments.vocabulary.n_entries
        compared = links(judgments)
        part = components(n, compared.left, compared.right)
        members = np.argsort(part, kind="stable")
        part_starts = np.searchsorted(part[members], np.arange(part.max(initial=-1) + 2))
        score = minimise(Differences(counted, n), np.zeros(n), max_iter=self.max_iter, tol=self.tol).x
        steps, converged, objective = _complete(
            part_starts,
            members,
            counted.starts,
            counted.other,
            counted.preference,
            float(self.prior),
            self.max_iter,
            self.tol,
            score,
        )
        return make_consensus(
            self.description,
            judgments,
            score,
            fit=Fit(int(steps), bool(converged), -float(objective)),
            compared=compared,
        )


class Differences:
    """¼ Σ (Y − s_i + s_j)² over both sides of each contest: quadratic, so that Newton's method solves it in a step."""

    def __init__(self, counted: Contests, n_entries: int) -> None:
        self.counted, self.preference = counted, counted.preference
        self.entry = np.repeat(np.arange(n_entries, dtype=np.int32), np.diff(counted.starts))

    def evaluate(self, score: Floats) -> tuple[float, Floats]:
        gap = score[self.entry] - score[self.counted.other] - self.preference
        value = (gap**2).sum() / 4 + SHIFT * (score**2).sum() / 2
        return float(value), sum_by(self.entry, gap, len(score)) + SHIFT * score

    def hessian_product(self, v: Floats) -> Floats:
        return sum_by(self.entry, v[self.entry] - v[self.counted.other], len(v)) + SHIFT * v

    def diagonal(self) -> Floats:
        return np.diff(self.counted.starts) + SHIFT


@nb.njit(cache=True, nogil=True)
def _complete(part_starts, members, starts, other, preference, prior, max_iter, tol, score):
    """Write the scores, part by part; the most steps any took, whether all settled, and the sum of the objectives."""
    place = np.empty(len(members), dtype=np.int64)
    most_steps, all_settled, objective = 0, True, 0.0
    for part in range(len(part_starts) - 1):
        own = members[part_starts[part] : part_starts[part + 1]]
        for at in range(len(own)):
            place[own[at]] = at
        step, settled, value = _complete_part(
            own, place, starts, other, preference, prior / len(own), max_iter, tol, score
        )
        most_steps, all_settled, objective = max(most_steps, step), all_settled and settled, objective + value
    return most_steps, all_settled, objective


@nb.njit(cache=True, nogil=True)
def _complete_part(own, place, starts, other, preference, ridge, max_iter, tol, score):
    """The same of one part. X = x (known₁ known₂ᵀ − known₂ known₁ᵀ) with orthonormal `known`."""
    n = len(own)
    s, ones, known, gradient = np.empty(n), np.ones(n), np.ones((2, n)), np.zeros((2, n))
    size = _known_part(own, place, starts, other, preference, known, 0.0, known, gradient)
    nothing = NOTHING * np.sqrt(size)
    for i in range(n):
        s[i] = known[1, i] = score[own[i]]
        score[own[i]] = 0.0
    if not _orthonormal(known, nothing):
        return 0, True, 0.5 * size  # every item won as much as it lost: all are equal
    x = -np.sqrt(n) * _dot(known[1], s)  # X = s eᵀ − e sᵀ
    first, first_x, best, best_x, value, length = known, x, known, x, np.inf, 1.0
    for step in range(max_iter):
        misfit = _known_part(own, place, starts, other, preference, known, x, known, gradient)
        new_value = 0.5 * misfit + ridge * (x * x + first_x * first_x - 2 * x * first_x * _overlap(known, first))
        if (
            new_value > value and length > 1.0
        ):  # too long a step: take it back; of length 1 it leads down up to rounding
            known, x, length = best, best_x, length / 3
            continue
        gained, best, best_x, value = value - new_value, known, x, new_value
        length *= 1.2  # where few contests are known, steps much longer than 1 lead down
        turned = _step(known, x, first, first_x, known, gradient, ridge, length)
        turned = turned if _orthonormal(turned, nothing) else known
        _known_part(own, place, starts, other, preference, known, x, turned, gradient)
        x = _dot(turned[0], _step(known, x, first, first_x, turned, gradient, ridge, length)[1])
        known = turned
        sums, moved = (_dot(known[0], ones), _dot(known[1], ones)), 0.0
        for i in range(n):
            now = x / n * (known[0, i] * sums[1] - known[1, i] * sums[0])
            moved = max(moved, abs(now - score[own[i]]))
            score[own[i]] = now
        if moved <= tol and gained <= tol * value:  # the scores alone may stand still for a step
            return step + 1, True, value
    return max_iter, False, value


@nb.njit(cache=True, nogil=True)
def _known_part(own, place, starts, other, preference, known, x, q, result):
    """Y − X, where Y is known, times the two rows of q; and the sum of its squares."""
    misfit = 0.0
    for i in range(len(own)):
        result[0, i] = result[1, i] = 0.0
        for r in range(starts[own[i]], starts[own[i] + 1]):
            j = place[other[r]]
            gap = preference[r] - x * (known[0, i] * known[1, j] - known[1, i] * known[0, j])
            result[0, i] += gap * q[0, j]
            result[1, i] += gap * q[1, j]
            misfit += gap * gap
    return misfit


@nb.njit(cache=True, nogil=True)
def _step(known, x, first, first_x, q, gradient, ridge, length):
    """X after a step of this length, before its projection, times the two rows of q."""
    result = np.empty_like(q)
    keep, back = x * (1.0 - length * ridge), first_x * length * ridge
    for a in range(2):
        one, two = keep * _dot(known[1], q[a]), keep * _dot(known[0], q[a])
        three, four = back * _dot(first[1], q[a]), back * _dot(first[0], q[a])
        for i in range(q.shape[1]):
            low_rank = known[0, i] * one - known[1, i] * two + first[0, i] * three - first[1, i] * four
            result[a, i] = low_rank + length * gradient[a, i]
    return result


@nb.njit(cache=True, nogil=True)
def _overlap(one, two):
    """The inner product of two matrices X with x = 1, halved: 1 where they are the same."""
    return _dot(one[0], two[0]) * _dot(one[1], two[1]) - _dot(one[0], two[1]) * _dot(one[1], two[0])


@nb.njit(cache=True, nogil=True)
def _orthonormal(q, least):
    """Make the two rows orthonormal; false if they are (nearly) parallel or nothing."""
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


@nb.njit(cache=True, nogil=True)
def _dot(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total
