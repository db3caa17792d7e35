"""From a consensus back to grades: a label for every ranked item, and the probability of each grade.

Methods that estimate the true grade of an item (`gda`, `gda-pw`, `dawid-skene`, `majority-vote`) give the probability
of each grade; the label is the most probable one. The labels of other methods come from their ranking.

In each task of such a ranking, as many items get a grade as expected from the grades given there: the judgments of each
item count as one, the shares of the grades are averaged over the items, and the task's ranking is divided into parts of
these sizes, the best grade on top. Equal scores get equal labels. A task without any grades takes the shares of the
whole study. Dividing each task by itself works for methods whose scores are only comparable within a task. Rounding the
mean grade is worse, since means are concentrated in the middle of the scale.

Where a score has an interval, the probability of a grade is that of a normal variable, of the same mean and standard
deviation, to lie between the cuts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.consensus import Consensus, frame_of
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats, Gold, Grades, JudgmentError, Vocabulary

MOST_GRADES = 20  # of a scale for labels
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class GradeLabels:
    """The grade of each ranked entry, as a number on the scale."""

    scale: Floats  # ascending
    entry: Codes
    number: Codes
    chance: Floats | None  # per label, the probability of each grade of the scale

    @property
    def grade(self) -> Floats:
        return self.scale[self.number]


def labels(consensus: Consensus) -> Any:
    """A data frame with the columns task, item, grade and p_<grade>, the probability of each grade.

    Methods that neither estimate true grades nor have intervals give no probabilities.

    >>> import crowdrank as cr
    >>> grades = {"annotator": ["ann", "bob"] * 3, "item": list("xxyyzz"), "grade": [2, 2, 0, 1, 0, 0]}
    >>> cr.labels(cr.fit("mean", cr.judgments(grades)))["grade"].to_list()
    [2.0, 0.0, 0.0]
    """
    found = label(consensus)
    vocabulary = consensus.vocabulary
    columns = {
        "task": vocabulary.tasks[vocabulary.entry_task[found.entry]],
        "item": vocabulary.items[vocabulary.entry_item[found.entry]],
        "grade": found.grade,
    }
    if found.chance is not None:
        columns |= {f"p_{grade:g}": found.chance[:, number] for number, grade in enumerate(found.scale)}
    return frame_of(columns, vocabulary.frame).to_native()


def as_gold(consensus: Consensus) -> Gold:
    """The labels as gold, to use them as the truth."""
    found = label(consensus)
    value = np.full(consensus.vocabulary.n_entries, np.nan)
    value[found.entry] = found.grade
    return Gold(consensus.vocabulary, value, "grade")


def label(consensus: Consensus) -> GradeLabels:
    """The most probable grade of each ranked entry, or the ranking of each task divided into grades."""
    vocabulary, given = consensus.vocabulary, consensus.grades
    if given is None:
        raise JudgmentError("labels need a study with grades, because they use its scale; this one has none")
    scale = np.unique(given.grade)
    if len(scale) > MOST_GRADES:
        raise JudgmentError(
            f"the grades given take {len(scale):,} values; labels need a scale of at most {MOST_GRADES}"
        )
    entry = consensus.best_first[consensus.rank[consensus.best_first] > 0].astype(np.int32)
    if consensus.label_chances is not None:
        own = consensus.label_chances[entry]
        return GradeLabels(scale, entry, own.argmax(axis=1).astype(np.int32), own)
    task = vocabulary.entry_task[entry]
    # Per task: the share of items below each grade but the lowest.
    below = np.cumsum(_shares(given, scale, vocabulary), axis=1)[:, :-1]
    middle = _share_below(consensus.rank[entry], task)
    number = (middle[:, None] > below[task] + ROUNDING).sum(axis=1).astype(np.int32)
    chance = None
    if consensus.low is not None and consensus.high is not None:
        chance = _chances(consensus, entry, _cuts(consensus.score[entry], middle, task, below))
    return GradeLabels(scale, entry, number, chance)


def _shares(given: Grades, scale: Floats, vocabulary: Vocabulary) -> Floats:
    """Per task, the share of each grade; the judgments of each item count as one."""
    n_tasks, task = len(vocabulary.tasks), vocabulary.entry_task[given.entry]
    weight = 1 / np.bincount(given.entry, minlength=vocabulary.n_entries)[given.entry]
    cell = task.astype(np.int64) * len(scale) + np.searchsorted(scale, given.grade)
    count = sum_by(cell, weight, n_tasks * len(scale)).reshape(n_tasks, len(scale))
    total = count.sum(axis=1, keepdims=True)
    return np.asarray(
        np.where(total > 0, count, count.sum(axis=0)) / np.where(total > 0, total, total.sum()), dtype=np.float64
    )


def _share_below(rank: Codes, task: Codes) -> Floats:
    """Per ranked entry, the share of its task below the middle of its place; rows are task by task, best first."""
    size = np.bincount(task)[task]
    _, place, count = np.unique(task.astype(np.int64) * (len(rank) + 1) + rank, return_inverse=True, return_counts=True)
    return np.asarray((size - rank + 1 - count[place] / 2) / size, dtype=np.float64)


def _cuts(score: Floats, middle: Floats, task: Codes, below: Floats) -> Floats:
    """The score below which each share of a task lies, by linear interpolation of scores and places, or extrapolation.

    The cut is −∞ where no item has a lower grade, ∞ where no item has this grade or a higher one; where all scores are
    equal, one of the two.
    """
    if not len(score):
        return np.full(below.shape, np.nan)
    # Worst first, one row for each place: tied items are one point of the line.
    task, middle, score = task[::-1], middle[::-1], score[::-1]
    order = np.argsort(task, kind="stable")
    new = np.r_[True, (np.diff(task[order]) != 0) | (np.diff(middle[order]) > 0)][: len(order)]
    task, middle, score = task[order][new], middle[order][new], score[order][new]
    wanted = np.arange(len(below))[:, None] * 2.0 + np.clip(below, 0, 1)
    start, end = (np.searchsorted(task, np.arange(len(below)), side=side)[:, None] for side in ("left", "right"))
    low = np.clip(np.searchsorted(task * 2.0 + middle, wanted) - 1, start, np.maximum(end - 2, start))
    low = np.minimum(low, len(task) - 1)  # for tasks without ranked entries
    high = np.where(end - start > 1, low + 1, low)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (score[high] - score[low]) / (middle[high] - middle[low])
        cut = score[low] + (below - middle[low]) * np.where(high > low, slope, np.inf)
    cut[(below <= ROUNDING) | (below < middle[low] - ROUNDING) & (high == low)] = -np.inf
    cut[(below >= 1 - ROUNDING) | (below >= middle[low] - ROUNDING) & (high == low)] = np.inf
    return np.asarray(cut, dtype=np.float64)


def _chances(consensus: Consensus, entry: Codes, cut: Floats) -> Floats:
    """The probability of each grade, for each label.

    `cut` has a row for each task and a column for each grade but the lowest: the score above which the grade begins.
    """
    from scipy.special import ndtr  # here, not above: importing it takes time, and only labels need it

    assert consensus.low is not None
    assert consensus.high is not None
    spread = np.maximum((consensus.high[entry] - consensus.low[entry]) / (2 * NORMAL_95_ROUNDED), np.finfo(float).tiny)
    cut = cut[consensus.vocabulary.entry_task[entry]]
    with np.errstate(over="ignore"):  # an exact score is infinitely far from any cut
        above = ndtr((consensus.score[entry][:, None] - cut) / spread[:, None])
    at_least = np.c_[np.ones(len(entry)), above, np.zeros(len(entry))]
    return np.asarray(at_least[:, :-1] - at_least[:, 1:], dtype=np.float64)
