"""From rows to rankings: which rows are a list, what unlisted items mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.convert import stacked_or_none
from crowdrank.formats.builder import Part, StudyBuilder
from crowdrank.formats.source import as_text, shorten
from crowdrank.numerics.groups import run_starts
from crowdrank.study import Floats, JudgmentError, Rankings, Vocabulary

LEAST_LISTED = 0.5  # share of its task's items that a typical list must name; below it a note says what that means
MOST_EQUAL = 500_000_000  # rankings: counts of half wins are numbers of 32 bits


def lists_of_part(study: StudyBuilder, part: Part, top_k: bool | None, notes: list[str]) -> Rankings:
    """The rows of a source as lists: one per task and annotator, or more if a column `list` separates them."""
    rank, entry = part.numbers, study.entry(part)
    part.source.refuse(
        rank < 0, lambda row: f"rank {rank[row]:g} is below 0; remove the rows of items that were not ranked"
    )
    task, annotator = study.codes(part, "task"), study.codes(part, "annotator")
    which = part.coded["list"].number if "list" in part.coded else np.zeros(len(entry), np.int32)
    order = np.lexsort((rank, entry, which, annotator, task))
    task, annotator, which, entry, rank = task[order], annotator[order], which[order], entry[order], rank[order]
    new_list = run_starts(task, annotator, which)
    again = np.r_[False, ~new_list[1:] & (np.diff(entry) == 0)][: len(order)]
    changed = again & np.r_[False, np.diff(rank) != 0][: len(order)]
    wrong = np.zeros(len(order), dtype=bool)
    wrong[order[changed]] = True
    advice = _two_ranks_advice(study, part) if changed.any() else ""
    part.source.refuse(
        wrong, lambda row: f"{shorten(part.coded['item'].name(row))!r} has another rank in the same list", advice
    )
    if again.any():
        notes.append(f"{part.source.name}: {again.sum():,} rows that repeat an item of their list were dropped")
    row_list = (np.cumsum(new_list) - 1).astype(np.int32)
    first = np.flatnonzero(new_list)
    keep = np.flatnonzero(~again)
    keep = keep[np.lexsort((entry[keep], rank[keep], row_list[keep]))]
    return Rankings(
        list_annotator=annotator[new_list],
        list_task=task[new_list],
        unlisted_below=np.full(new_list.sum(), part.source.top_k if top_k is None else top_k),
        row_list=row_list[keep],
        entry=entry[keep],
        position=rank[keep],
        list_count=_list_counts(part, order, new_list) if "weight" in part.pair_columns else None,
        list_time=None if part.time is None or not len(first) else np.fmin.reduceat(part.time[order], first),
        list_seconds=_list_seconds(part, order, first),
    )


def _list_seconds(part: Part, order: NDArray[np.int64], first: NDArray[np.int64]) -> Floats | None:
    """How long each list took: what all its rows say, or the sum where each row has its own."""
    if part.seconds is None or not len(first):
        return None
    seconds = part.seconds[order]
    shortest, longest = np.fmin.reduceat(seconds, first), np.fmax.reduceat(seconds, first)
    return np.where(shortest == longest, longest, np.add.reduceat(seconds, first))


def _list_counts(part: Part, order: NDArray[np.int64], new_list: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many equal rankings each list stands for; all rows of a list must say the same."""
    weight = part.pair_columns["weight"][order]
    wrong = np.zeros(len(order), dtype=bool)
    wrong[order] = weight != weight[new_list][np.cumsum(new_list) - 1]
    column = part.roles["weight"]
    part.source.refuse(wrong, lambda _: f"{column} differs from another row of the same list")
    counts = weight[new_list].astype(np.int64)
    if counts.sum() > MOST_EQUAL:
        raise JudgmentError(
            f"{part.source.name}: stands for {counts.sum():,} rankings; at most {MOST_EQUAL:,} are read"
        )
    return counts


def _two_ranks_advice(study: StudyBuilder, part: Part) -> str:
    """What to do about an item with two ranks in a list."""
    of = " and ".join(part.roles[role] for role in ("task", "annotator", "list") if role in part.roles) or "file"
    meaning = f"a list is the rows of one {of}"
    if "list" in part.roles:
        return meaning
    rows = pl.DataFrame({role: study.codes(part, role) for role in ("task", "annotator", "item")}).with_columns(
        rank=part.numbers
    )
    free = [column for column in part.source.columns if column not in part.roles.values()]
    found = next((column for column in free if _separates_lists(as_text(part.source.load(column)), rows)), "NAME")
    return f"{meaning}; if a column separates several lists, name it with --column list={found}"


def _separates_lists(column: pl.Series, rows: pl.DataFrame) -> bool:
    """With this column as `list`: has no item two ranks in a list, and do lists have more than one row?"""
    rows = rows.with_columns(column.alias("list"))
    lists, places = ["task", "annotator", "list"], ["task", "annotator", "list", "item"]
    return rows.n_unique(places) == rows.n_unique() and 2 * rows.n_unique(lists) <= len(rows)


def short_lists(lists: Rankings, vocabulary: Vocabulary) -> list[str]:
    """A note if a typical list names few of the items on the lists of its task."""
    whole = np.flatnonzero(~lists.unlisted_below)
    if not len(whole):
        return []
    task = vocabulary.entry_task[np.flatnonzero(np.bincount(lists.entry, minlength=vocabulary.n_entries))]
    named = np.bincount(task, minlength=len(vocabulary.tasks))[lists.list_task[whole]]
    length = np.diff(lists.list_starts)[whole]
    typical, all_named = int(np.median(length)), int(np.median(named))
    meaning = "items that a list does not name are treated as not compared with those it names"
    advice = "if they rank below, use --top-k (top_k=True); if not, --no-top-k"
    if np.median(length == 1) == 1 and all_named > 1:
        return [f"most lists name a single item, which compares nothing: {meaning}; {advice}"]
    if np.median(length / named) < LEAST_LISTED:
        together = f"{typical:,} of the {all_named:,} items on the lists of its task"
        return [f"a typical list names {together}: {meaning}; {advice}"]
    return []


def joined(parts: Sequence[Rankings]) -> Rankings:
    """Several sets of lists as one; lists of different files stay separate."""
    shift, shifted = 0, []
    lengths = [len(part.list_annotator) for part in parts]
    for part in parts:
        shifted.append(
            (
                part.list_annotator,
                part.list_task,
                part.unlisted_below,
                part.row_list + np.int32(shift),
                part.entry,
                part.position,
            )
        )
        shift += len(part.list_annotator)
    annotator, task, below, row_list, entry, position = stacked(
        shifted, (np.int32, np.int32, np.bool_, np.int32, np.int32, np.float64)
    )
    count = stacked_or_none([part.list_count for part in parts], lengths, 1)
    time = stacked_or_none([part.list_time for part in parts], lengths, np.nan)
    seconds = stacked_or_none([part.list_seconds for part in parts], lengths, np.nan)
    return Rankings(annotator, task, below, row_list, entry, position, count, time, seconds)


def stacked(parts: Sequence[tuple[NDArray[Any], ...]], dtypes: Sequence[type]) -> list[Any]:
    """Tables concatenated column by column; without parts, empty columns."""
    if len(parts) == 1:
        return list(parts[0])
    return [np.concatenate([np.zeros(0, dtype), *(part[i] for part in parts)]) for i, dtype in enumerate(dtypes)]
