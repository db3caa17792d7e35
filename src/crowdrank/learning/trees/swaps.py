"""How much a measure changes if two items of a list are swapped: the weight of a pair in learning for that measure.

Gains are uncertain: an item has an expected gain, and a variance. Swapping items i (above, at place a) and j (below, at
place b) changes

    ndcg, p    (G_j − G_i) (D_a − D_b)                                  D the discount
    map        (G_j − G_i) (A_a − A_b − (G_j − G_i) / b)                A_p = (1 + Σ_{q<p} G_q) / p − Σ_{q≤p} G_q / q
    err        (G_j − G_i) (T_a / a − (E_{b−1} − E_a + T_b / b) / (1 − G_i))
               T_p = Π_{q<p} (1 − G_q), E_p = Σ_{q≤p} T_q G_q / q

All of them need a few numbers per place, and constant work per pair. The first factor is replaced by the root of its
expected square: two items of the same expected gain are worth ordering if their gains are uncertain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdrank.learning.trees.kernels import fill_lists
from crowdrank.methods.supervised.cells.target_measure import Target
from crowdrank.numerics.permutations import SUM
from crowdrank.study import Codes, Floats

MOST_STEPS = 5  # of a scale of grades; the gain of NDCG doubles with each


def steps(levels: int) -> Floats:
    """The grades of the levels of a scale: 0, 1, …; more than five levels are evenly spaced from 0 to 4."""
    return np.linspace(0, min(levels, MOST_STEPS) - 1, levels)


class ListsByScore(NamedTuple):
    """The lists of all tasks in the order of the current scores; arrays by entry. A NamedTuple, for the kernels."""

    how: int  # how the measure sums up gains (`numerics.permutations`)
    place: Floats  # 1 for the first of its task
    gain: Floats
    variance: Floats  # of the gain
    above: Floats  # the term of the formulas above for the entry at the higher place
    below: Floats  # and for the entry at the lower place


class Swaps:
    """The lists of a study for a measure, given the distribution of the gains."""

    def __init__(self, wanted: Target, gain: Floats, variance: Floats, task: Codes) -> None:
        self.wanted, self.gain, self.variance, self.task = wanted, gain, variance, task
        self.starts = np.searchsorted(task, task)  # of the task of each entry
        size = int(np.bincount(task).max(initial=1))
        self.discount = np.zeros(size)
        shown = wanted.discount(size)
        self.discount[: len(shown)] = shown

    def lists(self, score: Floats) -> ListsByScore:
        """The lists in the order of these scores; equal scores in the order of their entries."""
        order = np.lexsort((-score, self.task))
        place = np.empty(len(score))
        place[order] = np.arange(len(score)) - self.starts + 1
        above, below = np.empty(len(score)), np.empty(len(score))
        fill_lists(self.wanted.how, order, self.starts, self.gain, self.discount, above, below)
        return ListsByScore(self.wanted.how, place, self.gain, self.variance, above, below)


class EqualSwaps:
    """Lists in which all swaps have the weight 1."""

    def __init__(self, size: int) -> None:
        zero, half, one = np.zeros(size), np.full(size, 0.5), np.ones(size)
        self.same = ListsByScore(SUM, zero, zero, half, one, zero)  # √(½ + ½) × |1 − 0|

    def lists(self, _: Floats) -> ListsByScore:
        """The same lists for all scores."""
        return self.same
