"""Borda count: an item's score in a list is the share of the list's other items that it beats; scores are averaged over lists.

Lists are rankings, or the grades an annotator gave within a task. Tied items share the average of their places. In a list that
puts unlisted items below its own (a top-k list), all of the task's items take part and the unlisted ones share the last places.
Dividing by the length of the list makes long and short lists count the same. A list of one item says nothing.

de Borda: Mémoire sur les élections au scrutin, 1781.

>>> import crowdrank as cr
>>> lists = {"annotator": ["ann"] * 3 + ["bob"] * 3, "item": list("xyzyxz"), "rank": [1, 2, 3] * 2}
>>> cr.Borda().fit(cr.judgments(lists)).ranking["score"].to_list()
[0.75, 0.75, 0.0]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.convert import as_rankings
from crowdrank.methods.result import require, wrap
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats, Judgments, Kind, Rankings, Vocabulary


@dataclass(frozen=True, slots=True)
class Borda:
    """The Borda count has no settings."""

    name: ClassVar[str] = "borda"
    takes: ClassVar[tuple[Kind, ...]] = ("rankings", "grades")

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their mean share of beaten items."""
        notes = require(self.name, judgments, self.takes)
        score = _mean_share(as_rankings(judgments), judgments.vocabulary)
        return wrap(self.name, judgments, score, notes=notes)


def _mean_share(lists: Rankings, vocabulary: Vocabulary) -> Floats:
    """Per entry, the share of other items beaten, averaged over the lists that say something about it."""
    n = vocabulary.n_entries
    lengths = np.diff(lists.list_starts)
    unlisted = np.where(lists.unlisted_below, np.diff(vocabulary.task_starts)[lists.list_task] - lengths, 0)
    others = lengths + unlisted - 1
    telling = others > 0
    share = (lengths[lists.row_list] - middle_places(lists) + unlisted[lists.row_list]) / np.maximum(others, 1)[lists.row_list]
    row_tells = telling[lists.row_list]
    total = sum_by(lists.entry[row_tells], share[row_tells], n)
    count = np.bincount(lists.entry[row_tells], minlength=n)
    top_lists = lists.unlisted_below & telling
    if top_lists.any():
        share_below = np.where(top_lists, (unlisted - 1) / 2 / np.maximum(others, 1), 0.0)
        below, below_count = _given_to_unlisted(lists, vocabulary, share_below, top_lists)
        total, count = total + below, count + below_count
    with np.errstate(invalid="ignore", divide="ignore"):
        return total / count


def middle_places(lists: Rankings) -> Floats:
    """The place of each row in its list, 1 for the first; tied rows share the middle of their places."""
    rows = np.arange(len(lists))
    first = np.r_[True, (lists.row_list[1:] != lists.row_list[:-1]) | (lists.position[1:] != lists.position[:-1])][: len(rows)]
    starts = np.flatnonzero(first)
    ends = np.r_[starts[1:], len(rows)]
    middle = np.repeat((starts + ends - 1) / 2, ends - starts)
    return np.asarray(middle - lists.list_starts[:-1][lists.row_list] + 1.0)


def _given_to_unlisted(
    lists: Rankings, vocabulary: Vocabulary, share: Floats, top_lists: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.int64]]:
    """What entries get from the top-k lists of their task that leave them out: all that is given, less where they are listed."""
    n_tasks, task = len(vocabulary.tasks), vocabulary.entry_task
    in_top = top_lists[lists.row_list]
    total = sum_by(lists.list_task, share, n_tasks)[task]
    total -= sum_by(lists.entry, np.where(in_top, share[lists.row_list], 0.0), len(task))
    count = np.bincount(lists.list_task[top_lists], minlength=n_tasks)[task]
    count -= np.bincount(lists.entry[in_top], minlength=len(task))
    return total, count
