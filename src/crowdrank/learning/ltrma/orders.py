"""The E-step: true orders sampled given scores and expertise, all tasks in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from crowdrank.learning.ltrma.crowd_lists import CrowdLists, Whole
from crowdrank.learning.ltrma.order_kernels import Chains, Posterior, Sampled, TaskLists, sample_orders
from crowdrank.numerics.groups import run_starts
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import parallel_map
from crowdrank.study import Codes, Floats, Rankings, Vocabulary

JOBS = 16  # parts that the tasks are divided into, with about the same work each
HIGHEST = 300.0  # scores are clipped to this, so that sums of their exponentials are finite


class SampledOrders:
    """A chain of orders for each task, continued from one E-step to the next. Results do not depend on the threads.

    `start` is where the chains begin (`order_by_votes`). With `below`, the items of a task that are no candidates rank
    below all candidates; without, they are not part of the order.
    """

    def __init__(self, lists: CrowdLists, vocabulary: Vocabulary, start: Whole, seed: int, *, below: bool) -> None:
        self.lists, self.vocabulary, self.order, self.below = lists, vocabulary, start, below
        self.state = np.random.default_rng(seed).integers(0, 2**63, len(lists.task)).astype(np.uint64)
        self.sample_starts: Whole = np.r_[0, np.cumsum(lists.places)]
        self.reach: Whole = np.maximum(lists.places - 1, 1)  # how far an item may move in one step
        self.parts = _parts(lists)

    def distances(self) -> Floats:
        """The distance of every list from the current order."""
        return self.sample(np.zeros(self.vocabulary.n_entries), np.zeros(len(self.lists)), 0, 1)[1]

    def sample(self, score: Floats, theta: Floats, samples: int, sweeps: int) -> tuple[Codes, Floats]:
        """Sampled orders, and the mean distance of every list from all orders that the chains passed through.

        A row has one order of each task, with `sweeps` between two rows. `score` is by entry, `theta` by list.
        """
        lists = self.lists
        worth = np.exp(np.clip(score, -HIGHEST, HIGHEST))
        drawn = np.empty((samples, self.sample_starts[-1]), np.int64)
        distance = np.zeros(len(lists))
        own_lists = TaskLists(
            lists.places, lists.candidate_starts, lists.list_starts, lists.row_starts, lists.row, lists.level
        )
        posterior = Posterior(theta, worth[lists.candidate], self._rest(worth))
        chains, sampled = Chains(self.order, self.state, self.reach), Sampled(self.sample_starts, drawn, distance)

        def work(tasks: tuple[int, int]) -> None:
            sample_orders(own_lists, posterior, chains, *tasks, sweeps, sampled)

        for _ in parallel_map(work, pairwise(self.parts)):
            pass
        return lists.candidate[drawn + np.repeat(lists.candidate_starts[:-1], lists.places)], distance

    def _rest(self, worth: Floats) -> Floats:
        """The sum of e^score of the items below the candidates of each task."""
        if not self.below:
            return np.zeros(len(self.lists.task))
        other = worth.copy()
        other[self.lists.candidate] = 0.0
        return np.asarray(sum_by(self.vocabulary.entry_task, other, len(self.vocabulary.tasks))[self.lists.task])

    def as_rankings(self, samples: Codes) -> Rankings:
        """The orders of some samples as lists, sample by sample."""
        count = len(samples) * len(self.lists.task)
        lengths = np.tile(self.lists.places, len(samples))
        starts = np.cumsum(lengths) - lengths
        return Rankings(
            list_annotator=np.zeros(count, np.int32),
            list_task=np.tile(self.lists.task, len(samples)),
            unlisted_below=np.full(count, self.below),
            row_list=np.repeat(np.arange(count, dtype=np.int32), lengths),
            entry=samples.ravel(),
            position=np.arange(samples.size, dtype=np.float64) - np.repeat(starts, lengths),
        )


def order_by_votes(lists: CrowdLists, weight: Floats) -> Whole:
    """The candidates of each task by their number, those with most votes first.

    The votes of an item: how many more items it stands before than behind, summed over lists by their weight.
    """
    number = np.repeat(np.arange(len(lists)), np.diff(lists.row_starts))
    task_of_list = np.repeat(np.arange(len(lists.task)), np.diff(lists.list_starts))
    same = run_starts(number, lists.level)
    group = np.cumsum(same) - 1
    first = np.flatnonzero(same)
    after = np.r_[first[1:], len(number)]
    behind = lists.row_starts[1:][number] - after[group]
    ahead = first[group] - lists.row_starts[:-1][number]
    where = lists.candidate_starts[:-1][task_of_list[number]] + lists.row
    votes = sum_by(where, weight[number] * (behind - ahead), len(lists.candidate))
    task = np.repeat(np.arange(len(lists.task)), np.diff(lists.candidate_starts))
    return np.lexsort((-votes, task)) - lists.candidate_starts[:-1][task]


def _parts(lists: CrowdLists) -> Sequence[int]:
    """Where to divide the tasks: preparing costs as much as there are pairs in the lists, sampling as many places."""
    rows = np.add.reduceat(np.diff(lists.row_starts) ** 2, lists.list_starts[:-1])
    work = np.cumsum(rows + np.diff(lists.candidate_starts) ** 2 + 1000 * lists.places)
    cuts = np.searchsorted(work, np.linspace(0, work[-1], JOBS + 1)[1:-1], side="right")
    return [int(cut) for cut in np.unique(np.r_[0, cuts, len(work)])]
