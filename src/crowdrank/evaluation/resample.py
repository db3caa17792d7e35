"""Resampled studies: judgments are repeated or removed, the vocabulary stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import as_rankings, lists_of
from crowdrank.study import Codes, Grades, Judgments, Kind, Pairs, Rankings

Rows = NDArray[np.int64]
Table = TypeVar("Table", Grades, Pairs)


def canonical(judgments: Judgments) -> Judgments:
    """The same judgments in a standard order, whatever their order was."""
    grades, pairs, lists = judgments.grades, judgments.pairs, judgments.rankings
    by_grade = np.lexsort((grades.grade, grades.entry, grades.annotator))
    extra = [column for column in (pairs.strength, pairs.weight) if column is not None]
    keys: list[NDArray[Any]] = [*extra, pairs.outcome, pairs.right, pairs.left, pairs.annotator]
    by_pair = np.lexsort(keys)
    by_place = np.lexsort((lists.entry, lists.position, lists.row_list))
    lists = replace(lists, entry=lists.entry[by_place], position=lists.position[by_place])
    return replace(
        judgments,
        grades=rows_of(grades, by_grade),
        pairs=rows_of(pairs, by_pair),
        rankings=lists_of(lists, _list_order(lists)),
    )


def _list_order(lists: Rankings) -> Rows:
    """The lists sorted by task, annotator and content."""
    starts = lists.list_starts

    def key(number: int) -> tuple[Any, ...]:
        rows = slice(starts[number], starts[number + 1])
        whose = lists.list_task[number], lists.list_annotator[number], lists.unlisted_below[number]
        return (*whose, lists.entry[rows].tobytes(), lists.position[rows].tobytes(), lists.counts[number])

    return np.array(sorted(range(len(lists.list_annotator)), key=key), dtype=np.int64)


def graded_as_lists(judgments: Judgments) -> Judgments:
    """The same study with the grades of each annotator on a task as a list."""
    no_rows = np.zeros(0, np.int64)
    return replace(judgments, grades=rows_of(judgments.grades, no_rows), rankings=as_rankings(judgments, counted=True))


def annotators_of(judgments: Judgments, kinds: Sequence[Kind]) -> Codes:
    """The annotators who gave judgments of some kinds."""
    given = {
        "grades": judgments.grades.annotator,
        "pairs": judgments.pairs.annotator,
        "rankings": judgments.rankings.list_annotator,
    }
    return np.unique(np.concatenate([given[kind] for kind in kinds]))


def drawn(judgments: Judgments, rng: np.random.Generator, crowd: Codes | None = None) -> Judgments:
    """As many pairs, grades and lists as the study has, drawn with replacement; with a `crowd`, annotators are drawn
    from it, with all their judgments.

    The judgments keep their order.
    """
    if crowd is None:
        lists = judgments.rankings
        grades, pairs = _times(rng, len(judgments.grades)), _times(rng, len(judgments.pairs))
        if lists.list_count is not None:
            rankings = _drawn_counts(lists, rng)
        else:
            rankings = lists_of(lists, _repeated(_times(rng, len(lists.list_annotator))))
    else:
        times = np.zeros(len(judgments.vocabulary.annotators), dtype=np.int64)
        times[crowd] = _times(rng, len(crowd))
        given = judgments.grades.annotator, judgments.pairs.annotator, judgments.rankings.list_annotator
        grades, pairs, repeated = (times[annotator] for annotator in given)
        rankings = lists_of(judgments.rankings, _repeated(repeated))
    return replace(
        judgments,
        grades=rows_of(judgments.grades, _repeated(grades)),
        pairs=rows_of(judgments.pairs, _repeated(pairs)),
        rankings=rankings,
    )


def _drawn_counts(lists: Rankings, rng: np.random.Generator) -> Rankings:
    """As many lists as were counted, drawn with replacement: only their counts change."""
    times = rng.multinomial(lists.counts.sum(), lists.counts / lists.counts.sum())
    return lists_of(replace(lists, list_count=times), np.flatnonzero(times))


def _times(rng: np.random.Generator, count: int) -> Rows:
    """How often each of `count` rows is drawn in `count` draws."""
    return np.bincount(rng.integers(0, count, count), minlength=count) if count else np.zeros(0, np.int64)


def _repeated(times: Rows) -> Rows:
    return np.repeat(np.arange(len(times)), times)


def rows_of(table: Table, rows: Rows) -> Table:
    """A table's rows, in the order given."""
    columns = {field.name: getattr(table, field.name) for field in fields(table)}
    taken: dict[str, Any] = {name: column if column is None else column[rows] for name, column in columns.items()}
    return type(table)(**taken)
