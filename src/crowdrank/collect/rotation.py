"""The items in rotation (those that may be asked about), and who owns them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.state import joined
from crowdrank.formats.source import Source, of_frame
from crowdrank.study import UNNAMED_TASK, Ids, JudgmentError, Vocabulary, entries_in, ids, recode


def rotation(vocabulary: Vocabulary, items: Any) -> tuple[Vocabulary, NDArray[np.bool_]]:
    """The vocabulary with new items added; and which annotator may be asked about which entry.

    `items` is a table with the column item and optional columns task and owner; None puts all items in rotation.
    """
    if items is None:
        return vocabulary, np.ones((len(vocabulary.annotators), vocabulary.n_entries), bool)
    source = items if isinstance(items, Source) else of_frame(items)[0]
    if "item" not in source.columns:
        raise JudgmentError(
            f"{source.name}: has no column 'item'; it has {', '.join(source.columns)}. Rename the one with the items"
        )
    names = ids(source.names("item"))
    tasks = _tasks(source, vocabulary, len(names))
    listed = _vocabulary(tasks, names, vocabulary)
    vocabulary = joined(vocabulary, listed)
    rows = _entries(vocabulary, listed, names, tasks)
    allowed = np.zeros((len(vocabulary.annotators), vocabulary.n_entries), bool)
    allowed[:, rows] = True
    if "owner" in source.columns:
        owner = recode(ids(source.load("owner").to_list()), vocabulary.annotators)
        allowed[owner[owner >= 0], rows[owner >= 0]] = False
    return vocabulary, allowed


def _tasks(source: Source, vocabulary: Vocabulary, count: int) -> Ids:
    """The task of each row of the table; without a column, the only task of the study."""
    if "task" in source.columns:
        return ids(source.names("task"))
    if len(vocabulary.tasks) > 1:
        raise JudgmentError(
            f"{source.name}: has no column 'task', and the study has {len(vocabulary.tasks):,} tasks; "
            "add the column to say which items are in which task"
        )
    return ids([vocabulary.tasks[0] if len(vocabulary.tasks) else UNNAMED_TASK] * count)


def _vocabulary(tasks: Ids, names: Ids, vocabulary: Vocabulary) -> Vocabulary:
    """The items of the table as a vocabulary of their own."""
    task_names, item_names = ids(dict.fromkeys(tasks)), ids(dict.fromkeys(names))
    keys = np.unique(recode(tasks, task_names) * len(item_names) + recode(names, item_names))
    task, item = (keys // max(len(item_names), 1)).astype(np.int32), (keys % max(len(item_names), 1)).astype(np.int32)
    return Vocabulary(task_names, item_names, ids([]), task, item, vocabulary.frame)


def _entries(vocabulary: Vocabulary, listed: Vocabulary, names: Ids, tasks: Ids) -> NDArray[np.int64]:
    """The entry of each row of the table."""
    own = listed.entry_task.astype(np.int64) * len(listed.items) + listed.entry_item
    row = np.searchsorted(own, recode(tasks, listed.tasks) * len(listed.items) + recode(names, listed.items))
    return entries_in(listed, vocabulary)[row]
