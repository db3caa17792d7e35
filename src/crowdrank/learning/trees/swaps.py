"""What it changes in a measure if two items of a list trade places: the weight of a pair in learning for that measure.

Gains are not known for sure: an item has an expected gain, and a variance. Swapping items i (above, at place a) and j
(below, at b) changes

    ndcg, p    (G_j − G_i) (D_a − D_b)                                     D the discount map        (G_j − G_i) (A_a −
    A_b − (G_j − G_i) / b)                   A_p = (1 + Σ_{q<p} G_q) / p − Σ_{q≤p} G_q / q err        (G_j − G_i) (T_a /
    a − (E_{b−1} − E_a + T_b / b) / (1 − G_i))   T_p = Π_{q<p} (1 − G_q), E_p = Σ_{q≤p} T_q G_q / q

All of them need a few numbers per place, and no more work per pair. The first factor is replaced by the root of its
expected square: two items of the same expected gain are worth telling apart if the gains are uncertain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np

from crowdrank.methods.supervised.cells.target_measure import Target
from crowdrank.numerics.permutations import PRECISION, SUM
from crowdrank.study import Codes, Floats

LEAST = 1e-300
MOST_STEPS = 5  # of a scale of grades; the gain of NDCG doubles with each


def steps(levels: int) -> Floats:
    """What the levels of a scale count as: 0, 1, …; where there are more than five, as many steps from 0 to 4."""
    return np.linspace(0, min(levels, MOST_STEPS) - 1, levels)


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """The lists of tasks as the scores have them now; arrays by entry."""

    how: int  # how the measure sums up
    place: Floats  # 1 for the first of its task
    gain: Floats
    variance: Floats  # of the gain
    above: Floats  # what the formula above takes of the entry at the higher place
    below: Floats  # and of the one at the lower


class Swaps:
    """The lists of a study for a measure, given what is known of the gains."""

    def __init__(self, wanted: Target, gain: Floats, variance: Floats, task: Codes) -> None:
        self.wanted, self.gain, self.variance, self.task = wanted, gain, variance, task
        self.starts = np.searchsorted(task, task)  # of the task of each entry
        size = int(np.bincount(task).max(initial=1))
        self.discount = np.zeros(size)
        shown = wanted.discount(size)
        self.discount[: len(shown)] = shown

    def lists(self, score: Floats) -> Lists:
        """In the order of these scores; equal scores are in the order of their entries."""
        order = np.lexsort((-score, self.task))
        place = np.empty(len(score))
        place[order] = np.arange(len(score)) - self.starts + 1
        above, below = np.empty(len(score)), np.empty(len(score))
        of_lists(self.wanted.how, order, self.starts, self.gain, self.discount, above, below)
        return Lists(self.wanted.how, place, self.gain, self.variance, above, below)


class Equal:
    """Lists in which all swaps count the same."""

    def __init__(self, size: int) -> None:
        nothing, half, one = np.zeros(size), np.full(size, 0.5), np.ones(size)
        self.same = Lists(SUM, nothing, nothing, half, one, nothing)  # √(½ + ½) × |1 − 0|

    def lists(self, _: Floats) -> Lists:
        """Whatever the scores."""
        return self.same


@nb.njit(cache=True, nogil=True)
def of_lists(how, order, starts, gain, discount, above, below):
    """The numbers that `change` needs of each entry; `order` has the entries task by task, best first."""
    found, met, left, seen = 0.0, 0.0, 1.0, 0.0
    for row in range(len(order)):
        at, entry = row - starts[row], order[row]
        if at == 0:
            found, met, left, seen = 0.0, 0.0, 1.0, 0.0
        own, count = gain[entry], discount[at]
        if how == SUM:
            above[entry] = count
            below[entry] = count
        elif how == PRECISION:
            met += own * count
            above[entry] = (1.0 + found) * count - met
            below[entry] = above[entry]
            found += own
        else:
            below[entry] = seen + left * count
            seen += left * own * count
            above[entry] = left * count + seen / max(1.0 - own, LEAST)
            left *= 1.0 - own


@nb.njit(cache=True, nogil=True)
def change(how, i, j, place, gain, variance, above, below):
    """How much a swap of entries i and j is expected to change the measure (before it is divided by that of the best order)."""
    if place[i] > place[j]:
        i, j = j, i
    apart = gain[j] - gain[i]
    if how == SUM:
        by_place = above[i] - below[j]
    elif how == PRECISION:
        by_place = above[i] - below[j] - apart / place[j]
    else:
        by_place = above[i] - below[j] / max(1.0 - gain[i], LEAST)
    return np.sqrt(apart * apart + variance[i] + variance[j]) * abs(by_place)
