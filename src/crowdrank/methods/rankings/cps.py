"""CPS, the coset-permutation distance based stagewise model: an order is chosen item by item from the top.

    P(j is next | R left) ∝ exp(− Σ_k θ_k · number of items of R that annotator k puts before j)

This is the model of Qin et al. with Kendall's distance: stages as in Plackett-Luce, Mallows' distance within a stage.
Pairs that a list ties, or does not have, count half (Fagin et al.: Comparing top k lists, 2003); otherwise items on few
lists would come first. Top-k lists put the items they leave out below their own. The order is found as in the paper:
each stage takes the most likely item. Equally likely ones are ordered by their votes over the whole task; if these are
equal too, they are tied. The score is the number of items placed below.

θ_k is the weight of annotator k. Without gold all weights are equal. With gold, θ is learned from the tasks that have
it, by maximum likelihood, which is concave: each item of a grade is chosen among itself and the items of lower grades.
`penalty` shrinks each annotator's θ towards the best θ that all share: the objective loses ½ `penalty` times the
squared distance. All tasks are ranked, those of the gold too: to evaluate, give gold for other tasks.

Qin, Geng, Liu: A new probabilistic model for rank aggregation, NIPS 2010.

>>> import crowdrank as cr
>>> lists = {"annotator": ["ann"] * 3 + ["bob"] * 3 + ["cy"] * 3, "item": list("xyzyxzxzy"), "rank": [1, 2, 3] * 3}
>>> cr.CPS().fit(cr.judgments(lists)).ranking["item"].to_list()
['x', 'y', 'z']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit
from crowdrank.convert import as_lists, links
from crowdrank.methods.protocols import Description
from crowdrank.methods.rankings.lists.kemeny import by_task, list_arrays, preferences, refuse_large_tasks, taking_part
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.groups import run_starts
from crowdrank.numerics.newton import Minimum, minimise
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check_fit, check_not_negative
from crowdrank.study import Codes, Floats, Gold, JudgmentError, Judgments, Rankings, Vocabulary

MOST_CELLS = 100_000_000  # items to choose among, times annotators: 800 MB


@dataclass(frozen=True, slots=True)
class CPS:
    """Settings of the CPS model; they have an effect only where gold is given."""

    description: ClassVar[Description] = Description(
        name="cps",
        family="rankings",
        summary="At each stage, the item that loses to the fewest remaining ones; can learn weights from gold.",
        takes=("rankings", "grades"),
        starts_from_gold=True,
    )

    penalty: float = 10.0  # on squared distances of the annotators' θ from the θ that all share
    tol: float = 1e-8  # the step of θ at which learning has converged

    def __post_init__(self) -> None:
        check_not_negative("penalty", self.penalty)
        check_fit(None, 1, self.tol)

    @one_blas_thread
    def fit(self, judgments: Judgments, gold: Gold | None = None) -> Consensus:
        """Rank the items of each task, one after the other."""
        notes = check_kinds(self.description, judgments)
        vocabulary, lists = judgments.vocabulary, by_task(as_lists(judgments))
        refuse_large_tasks(self.description.name, vocabulary)
        theta, fit = np.ones(len(vocabulary.annotators)), Fit()
        if gold is not None:
            found = _learn(lists, vocabulary, gold, self.penalty, self.tol)
            theta, fit = found.x, found.fit
        score = np.full(vocabulary.n_entries, np.nan)
        _choose(list_arrays(lists, vocabulary, theta), vocabulary.task_starts, taking_part(lists, vocabulary), score)
        columns = None if gold is None else {"theta": theta}
        compared = links(judgments.only(*self.description.takes))
        return make_consensus(
            self.description, judgments, score, fit=fit, extra_columns=columns, compared=compared, notes=notes
        )


@kernel
def _choose(rows, task_starts, takes_part, score):
    """Score the entries of every task by how many are below them."""
    for task in range(len(task_starts) - 1):
        first, size = task_starts[task], task_starts[task + 1] - task_starts[task]
        against, votes = preferences(rows, task, task_starts)
        cost, left, chosen = -votes, np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.int64)
        count = 0
        for i in range(size):
            left[i] = takes_part[first + i]
            count += left[i]
        while count:
            best = -1
            for i in range(size):
                if left[i] and (best < 0 or cost[i] < cost[best] or (cost[i] == cost[best] and votes[i] > votes[best])):
                    best = i
            # Items of equal cost and votes are taken together, before the costs of the others change.
            taken, same_cost, same_votes = count, cost[best], votes[best]
            for i in range(size):
                if left[i] and cost[i] == same_cost and votes[i] == same_votes:
                    left[i] = False
                    chosen[count - taken] = i
                    taken -= 1
            for number in range(count - taken):
                score[first + chosen[number]] = taken
                for j in range(size):
                    cost[j] -= against[chosen[number], j] - against[j, chosen[number]]
            count = taken


def _learn(lists: Rankings, vocabulary: Vocabulary, gold: Gold, penalty: float, tol: float) -> Minimum:
    """θ of every annotator, from the tasks with gold."""
    stages = Stages.of(lists, vocabulary, gold.align(vocabulary))
    if not stages.good.any():
        raise JudgmentError(
            "cps learns from tasks whose gold has two different grades; this gold has none for the study's items"
        )
    pooled = StageModel(stages.pooled(), 0.0, np.zeros(1))
    shared = minimise(pooled, np.zeros(1), max_iter=100, tol=tol, what="shared θ").x
    n = stages.before.shape[1]
    return minimise(
        StageModel(stages, penalty, np.full(n, shared[0])), np.full(n, shared[0]), max_iter=100, tol=tol, what="θ"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """The items that are chosen among at each stage. There is a stage for every grade of a task but the lowest."""

    stage: Codes  # of each row, ascending
    good: NDArray[np.bool_]  # whether the row's item has the grade of the stage, not a lower one
    before: Floats  # per row and annotator: how many items of the stage they put before it, up to a constant

    @staticmethod
    def of(lists: Rankings, vocabulary: Vocabulary, truth: Floats) -> Stages:
        """The stages of the entries whose truth is known."""
        known = np.flatnonzero(~np.isnan(truth))
        task, value = vocabulary.entry_task[known], truth[known]
        # One row for each entry and each grade of its task that is no lower than its own.
        levels = np.unique(np.stack([task.astype(np.float64), value]), axis=1)
        level_task, level = levels[0].astype(np.int64), levels[1]
        lowest = run_starts(level_task)
        level_task, level = level_task[~lowest], level[~lowest]
        starts, sizes = (
            np.searchsorted(task, level_task),
            np.bincount(task, minlength=len(vocabulary.tasks))[level_task],
        )
        stage = np.repeat(np.arange(len(level)), sizes)
        row = np.arange(len(stage)) - np.repeat(np.cumsum(sizes) - sizes - starts, sizes)
        kept = value[row] <= level[stage]
        stage, row = stage[kept], row[kept]
        if len(stage) * len(vocabulary.annotators) > MOST_CELLS:
            raise JudgmentError(
                "gold of so many items, ranked by so many annotators, does not fit in memory: give gold for fewer tasks"
            )
        before = np.zeros((len(stage), len(vocabulary.annotators)))
        begin = np.searchsorted(stage, np.arange(len(level) + 1))
        task_lists = np.searchsorted(lists.list_task, np.arange(len(vocabulary.tasks) + 1))
        columns = lists.list_annotator, lists.list_starts, lists.entry, lists.position, lists.unlisted_below
        _count_before(begin, level_task, known[row], task_lists, *columns, vocabulary.n_entries, before)
        return Stages(stage.astype(np.int32), value[row] == level[stage], before)

    def pooled(self) -> Stages:
        """The same, with all annotators as one."""
        return Stages(self.stage, self.good, self.before.sum(axis=1, keepdims=True))


@kernel
def _count_before(
    begin, stage_task, entry_of, task_lists, annotator, starts, entry, position, below, n_entries, before
):
    row_of = np.full(n_entries, -1)
    for stage in range(len(begin) - 1):
        first, end = begin[stage], begin[stage + 1]
        for row in range(first, end):
            row_of[entry_of[row]] = row
        for number in range(task_lists[stage_task[stage]], task_lists[stage_task[stage] + 1]):
            rows = (starts[number], starts[number + 1])
            _count_in_list(rows, entry, position, below[number], row_of, first, end, annotator[number], before)
        for row in range(first, end):
            row_of[entry_of[row]] = -1


@kernel
def _count_in_list(rows, entry, position, below, row_of, first, end, annotator, before):
    """Add, per row: half of the items of the stage put before it, less half of those put after it.

    This is the number of items put before it, up to a constant.
    """
    listed, passed, group = 0, 0, rows[0]
    for at in range(rows[0], rows[1]):
        listed += row_of[entry[at]] >= 0
    unlisted = end - first - listed if below else 0
    while group < rows[1]:
        after, tied = group, 0
        while after < rows[1] and position[after] == position[group]:
            tied += row_of[entry[after]] >= 0
            after += 1
        for at in range(group, after):
            row = row_of[entry[at]]
            if row >= 0:
                # The last term cancels that of the unlisted items, which all rows get at the end.
                before[row, annotator] += (2 * passed + tied - listed - unlisted) / 2 - (listed / 2 if below else 0.0)
        passed += tied
        group = after
    if below:
        for row in range(first, end):
            before[row, annotator] += listed / 2


class StageModel:
    """Minus the log-posterior of θ, its gradient and Hessian, for `numerics.newton.minimise`."""

    def __init__(self, stages: Stages, penalty: float, centre: Floats) -> None:
        self.stages, self.penalty, self.centre = stages, penalty, centre
        self.n_stages = int(stages.stage.max(initial=-1)) + 1

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient at x; remembers the Hessian."""
        stage, good, before = self.stages.stage, self.stages.good, self.stages.before
        bad_stage, bad = stage[~good], before[~good]
        utility = -before @ x
        top = np.full(self.n_stages, -np.inf)
        np.maximum.at(top, bad_stage, utility[~good])
        weight = np.exp(utility[~good] - top[bad_stage])
        total = sum_by(bad_stage, weight, self.n_stages)
        share = weight / total[bad_stage]
        mean = np.stack([sum_by(bad_stage, share * column, self.n_stages) for column in bad.T], axis=1)
        behind = top[stage[good]] + np.log(total)[stage[good]] - utility[good]  # log-odds that a worse item is chosen
        chance = np.exp(-np.logaddexp(0.0, -behind))
        difference = before[good] - mean[stage[good]]
        penalty_slope = self.penalty * (x - self.centre)
        value = np.logaddexp(0.0, behind).sum() + penalty_slope @ (x - self.centre) / 2
        chosen = sum_by(stage[good], chance, self.n_stages)
        spread = bad - mean[bad_stage]
        self.hessian = (difference * (chance * (1 - chance))[:, None]).T @ difference
        self.hessian += (spread * (share * chosen[bad_stage])[:, None]).T @ spread + self.penalty * np.eye(len(x))
        return float(value), np.asarray(chance @ difference + penalty_slope)

    def hessian_product(self, v: Floats) -> Floats:
        """The Hessian at the last evaluated point times v."""
        return np.asarray(self.hessian @ v)

    def diagonal(self) -> Floats:
        """The diagonal of the Hessian at the last evaluated point."""
        return np.diag(self.hessian).copy()
