"""Median rank: an item's score is the median of its places in the lists.

The place of an item in a list is measured as the share of the list's other items that it beats, as in the Borda count,
so that places in long and short lists are comparable; the score is the median of these shares over the lists that have
the item (of two middle ones, their mean). Where everybody ranks all items this is the order of the median ranks. A few
lists that are far off cannot change it, which they can with Borda; in return many items are tied. Tied items share the
average of their places. In a list that puts unlisted items below its own (a top-k list) those share the last places. A
list of one item does not count. `weights` gives annotators a weight other than 1.

Fagin, Kumar, Sivakumar: Efficient similarity search and classification via rank aggregation, SIGMOD 2003.

>>> import crowdrank as cr
>>> lists = {"annotator": ["ann"] * 3 + ["bob"] * 3 + ["cy"] * 3, "item": list("xyzxyzzyx"), "rank": [1, 2, 3] * 3}
>>> cr.MedianRank().fit(cr.judgments(lists)).ranking["score"].to_list()
[1.0, 0.5, 0.0]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.convert import as_rankings, links
from crowdrank.methods.protocols import Description
from crowdrank.methods.rankings.borda import shares
from crowdrank.methods.rankings.lists.annotator_weights import annotator_weights, check_weights
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.study import Codes, Floats, Judgments, Rankings, Vocabulary


@dataclass(frozen=True, slots=True)
class MedianRank:
    """Settings of the median rank."""

    description: ClassVar[Description] = Description(
        name="median-rank",
        family="rankings",
        summary="The median of an item's places in the lists.",
        takes=("rankings", "grades"),
        other_names=("median",),
    )

    weights: tuple[tuple[str, float], ...] | None = None  # annotators whose weight is not 1, as in bm25:2,dense:0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", check_weights(self.weights))

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by the median of their places."""
        notes = check_kinds(self.description, judgments)
        vocabulary, lists = judgments.vocabulary, as_rankings(judgments, counted=True)
        share, unlisted_share, counted = shares(lists, vocabulary)
        weight = annotator_weights(self.weights, vocabulary)[lists.list_annotator] * lists.counts
        weight = np.where(counted, weight, 0.0)
        out_list, out_entry = _left_out(lists, vocabulary)
        score = _medians(
            np.concatenate([lists.entry, out_entry]),
            np.concatenate([share, unlisted_share[out_list]]),
            np.concatenate([weight[lists.row_list], weight[out_list]]),
            vocabulary.n_entries,
        )
        return make_consensus(
            self.description, judgments, score, compared=links(judgments.only(*self.description.takes)), notes=notes
        )


def _left_out(lists: Rankings, vocabulary: Vocabulary) -> tuple[Codes, Codes]:
    """The entries that top-k lists leave out: for each the number of the list, and the entry."""
    starts, n = vocabulary.task_starts, vocabulary.n_entries
    numbers = np.flatnonzero(lists.unlisted_below)
    first, sizes = starts[lists.list_task[numbers]], np.diff(starts)[lists.list_task[numbers]]
    number = np.repeat(numbers, sizes)
    entry = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes - first, sizes)
    own = np.flatnonzero(lists.unlisted_below[lists.row_list])
    listed = lists.row_list[own].astype(np.int64) * n + lists.entry[own]
    out = ~np.isin(number * n + entry, listed)
    return number[out].astype(np.int32), entry[out].astype(np.int32)


def _medians(entry: Codes, value: Floats, weight: Floats, n: int) -> Floats:
    """The weighted median of each entry's values, NaN where it has none."""
    entry, value, weight = entry[weight > 0], value[weight > 0], weight[weight > 0]
    order = np.lexsort((value, entry))
    entry, value, weight = entry[order], value[order], weight[order]
    starts = np.searchsorted(entry, np.arange(n + 1))
    upto = np.concatenate([[0.0], np.cumsum(weight)])
    half = (upto[starts[1:]] + upto[starts[:-1]]) / 2
    known = np.flatnonzero(np.diff(starts))
    # The value at which half of the weight is reached, and the next value where half is reached exactly.
    slack = 1e-12 * upto[-1]
    lower = np.searchsorted(upto[1:], half[known] - slack)
    upper = np.searchsorted(upto[1:], half[known] + slack)
    median = np.full(n, np.nan)
    median[known] = (value[lower] + value[upper]) / 2
    return median
