"""The lists of a crowd as the E-step needs them: by task, each item as its number among the candidates of the task.

The candidates of a task are the items whose order is estimated: those that somebody judged, or, where only the first
places count (`top`), those that somebody put there. A list cut at `top` ends with one group of ties that has all later
items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.groups import run_starts
from crowdrank.study import Codes, Floats, Rankings, Vocabulary

Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CrowdLists:
    """Lists sorted by task.

    List l has `group[shape_starts[l]:shape_starts[l + 1]]` items at its levels, whether they are candidates or not.
    """

    task: Codes  # tasks with lists that order items; everything below is by their number here
    places: Whole  # per task: how many places of its order count
    candidate_starts: Whole
    candidate: Codes  # entries
    list_starts: Whole  # lists of task t are list_starts[t]:list_starts[t + 1]
    annotator: Codes  # of each list
    row_starts: Whole  # rows of each list
    row: Whole  # candidates by their number within the task
    level: Whole  # ascending within a list; equal is tied
    list_places: Whole  # per list: how many of its items have different places in the order
    shape_starts: Whole
    group: Whole

    def __len__(self) -> int:
        return len(self.annotator)


def crowd_lists(lists: Rankings, vocabulary: Vocabulary, top: int | None) -> CrowdLists:
    """All lists that put one item before another; the others are not used."""
    starts, sizes = lists.list_starts, np.diff(vocabulary.task_starts)
    by_task: dict[int, list[_CutList]] = {}
    for number, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        task = int(lists.list_task[number])
        unlisted = int(sizes[task]) - (end - start) if lists.unlisted_below[number] else 0
        found = _cut(
            int(lists.list_annotator[number]), lists.entry[start:end], lists.position[start:end], unlisted, top
        )
        if len(found.group) > 1:
            by_task.setdefault(task, []).append(found)
    return _packed([(task, sorted(by_task[task], key=_by_content)) for task in sorted(by_task)], vocabulary, top)


@dataclass(frozen=True, slots=True, eq=False)
class _CutList:
    """One list, cut at `top`."""

    annotator: int
    entry: Codes
    level: Whole
    group: Whole  # how many items there are at each level, with unlisted ones
    unlisted: int
    cut: int | None  # the level of all later items; None without `top`


def _by_content(each: _CutList) -> tuple[int, bytes, bytes]:
    """A sort key, so that the order of the rows does not matter."""
    return each.annotator, each.entry.tobytes(), each.level.tobytes()


def _cut(annotator: int, entry: Codes, position: Floats, unlisted: int, top: int | None) -> _CutList:
    """Groups that begin within the first `top` places are kept; the others become one, with the unlisted items."""
    first = np.flatnonzero(run_starts(position))
    last = len(first) if top is None else int(np.searchsorted(first, top))
    level = np.minimum(np.searchsorted(first, np.arange(len(entry)), side="right") - 1, last)
    group = np.bincount(level, minlength=last + 1)
    group[last] += unlisted
    return _CutList(annotator, entry, level, group[group > 0], unlisted, None if top is None else last)


def _packed(tasks: Sequence[tuple[int, list[_CutList]]], vocabulary: Vocabulary, top: int | None) -> CrowdLists:
    """The lists of all tasks in flat arrays."""
    candidates = [_candidates(task, of_task, vocabulary, top) for task, of_task in tasks]
    places = [len(found) if top is None else min(top, len(found)) for found in candidates]
    rows, levels, shapes, list_places, annotators = [], [], [], [], []
    for (_, of_task), found, count in zip(tasks, candidates, places, strict=True):
        for each in of_task:
            row, level = _rows(each, found)
            rows.append(row)
            levels.append(level)
            shapes.append(each.group)
            list_places.append(int(each.group.sum()) if top is None else count)
            annotators.append(each.annotator)
    return CrowdLists(
        task=np.array([task for task, _ in tasks], np.int32),
        places=np.array(places, np.int64),
        candidate_starts=_starts([len(found) for found in candidates]),
        candidate=np.concatenate([np.zeros(0, np.int32), *candidates]),
        list_starts=_starts([len(of_task) for _, of_task in tasks]),
        annotator=np.array(annotators, np.int32),
        row_starts=_starts([len(row) for row in rows]),
        row=np.concatenate([np.zeros(0, np.int64), *rows]),
        level=np.concatenate([np.zeros(0, np.int64), *levels]),
        list_places=np.array(list_places, np.int64),
        shape_starts=_starts([len(shape) for shape in shapes]),
        group=np.concatenate([np.zeros(0, np.int64), *shapes]),
    )


def _candidates(task: int, lists: Sequence[_CutList], vocabulary: Vocabulary, top: int | None) -> Codes:
    """The entries whose order is estimated."""
    if top is None and any(each.unlisted for each in lists):
        return np.arange(*vocabulary.task_starts[task : task + 2], dtype=np.int32)
    return np.unique(
        np.concatenate([each.entry[each.level < each.cut] if each.cut is not None else each.entry for each in lists])
    )


def _rows(each: _CutList, candidates: Codes) -> tuple[Whole, Whole]:
    """The candidates in a list, and their levels."""
    number = np.searchsorted(candidates, each.entry)
    found = candidates[np.minimum(number, len(candidates) - 1)] == each.entry
    row, level = number[found], each.level[found]
    if each.unlisted:
        below = np.setdiff1d(np.arange(len(candidates)), row)
        row, level = np.concatenate([row, below]), np.concatenate([level, np.full(len(below), len(each.group) - 1)])
    return row, level


def _starts(lengths: Sequence[int]) -> Whole:
    """Where parts of these lengths begin, and the end of the last."""
    return np.concatenate([[0], np.cumsum(np.array(lengths, np.int64))])
