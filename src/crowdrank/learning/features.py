"""Features: a row of numbers for each item that a ranker learns from or ranks.

They come from tables (.csv, .parquet and the others) with the column item, optionally task, and otherwise only columns
of numbers; from LETOR's and SVMlight's files (`grade qid:task 1:number 2:number … #docid = item`); or from data frames.
A column that says how good an item is (grade, label, relevance) is the target of learning, not a feature.

>>> features({"item": ["x", "y"], "length": [3, 5], "age": [0.5, 2]})
Features(2 columns; 1 tasks, 2 items)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crowdrank.formats.builder import Part, StudyBuilder
from crowdrank.formats.columns import roles
from crowdrank.formats.files import of_file
from crowdrank.formats.source import Source, of_frame, shorten
from crowdrank.study import UNNAMED_TASK, Floats, Frame, Ids, JudgmentError, Vocabulary, ids, recode

COLUMNS_SHOWN = 5


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """A row of numbers for each entry of a vocabulary (which has no annotators)."""

    vocabulary: Vocabulary
    columns: tuple[str, ...]
    value: Floats  # entries × columns
    notes: tuple[str, ...] = ()

    def named(self, columns: Sequence[str]) -> Floats:
        """These columns, in this order; an error where the features lack one, or have others."""
        missing = [name for name in columns if name not in self.columns]
        more = [name for name in self.columns if name not in columns]
        if _numbered(columns) and _numbered(self.columns) and not more:
            missing = []  # such files omit features that are 0 for all items
        if missing or more:
            differ = [f"lack {_some(missing)}"] * bool(missing) + [f"have {_some(more)} in addition"] * bool(more)
            raise JudgmentError(
                f"the ranker was trained on other columns: these features {' and '.join(differ)}; "
                "give it the columns that it was trained on"
            )
        place = {name: number for number, name in enumerate(self.columns)}
        with_zeros = np.hstack([self.value, np.zeros((len(self), 1))])
        return with_zeros[:, [place.get(name, -1) for name in columns]]

    def only(self, tasks: Iterable[Any]) -> Features:
        """The features of these tasks only, for example to train on some and test on others."""
        wanted: Ids = ids(list(tasks))
        code = recode(wanted, self.vocabulary.tasks)
        if (code < 0).any():
            raise JudgmentError(f"the features have no task {shorten(wanted[code < 0][0])!r}; name tasks they have")
        kept = np.zeros(len(self.vocabulary.tasks), dtype=bool)
        kept[code] = True
        rows = np.flatnonzero(kept[self.vocabulary.entry_task])
        vocabulary = self.vocabulary
        task = (np.cumsum(kept) - 1).astype(np.int32)[vocabulary.entry_task[rows]]
        items, item = np.unique(vocabulary.entry_item[rows], return_inverse=True)
        part = replace(
            vocabulary,
            tasks=vocabulary.tasks[kept],
            items=vocabulary.items[items],
            entry_task=task,
            entry_item=item.astype(np.int32),
        )
        return replace(self, vocabulary=part, value=self.value[rows])

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        vocabulary = self.vocabulary
        return (
            f"Features({len(self.columns):,} columns; {len(vocabulary.tasks):,} tasks, {len(vocabulary.items):,} items)"
        )


def read_features(
    *paths: str | os.PathLike[str], columns: Mapping[str, str] | None = None, leave_out: Sequence[str] = ()
) -> Features:
    """Features from files with the same columns.

    `columns={"task": "query"}` names columns that are called otherwise; `leave_out` names those that are no features.
    """
    if not paths:
        raise JudgmentError("no file to read")
    return _features_of([of_file(path, "features") for path in paths], columns or {}, leave_out, "polars")


def features(*frames: Any, columns: Mapping[str, str] | None = None, leave_out: Sequence[str] = ()) -> Features:
    """Features from data frames, with the options of `read_features`; results are frames of the first one's kind."""
    if not frames:
        raise JudgmentError("no data frame to read")
    numbered = [of_frame(frame, number if len(frames) > 1 else None) for number, frame in enumerate(frames, 1)]
    return _features_of([source for source, _ in numbered], columns or {}, leave_out, numbered[0][1])


def _features_of(
    sources: Sequence[Source], given: Mapping[str, str], leave_out: Sequence[str], frame: Frame
) -> Features:
    study, notes, tables = StudyBuilder("task", "item"), list[str](), list[tuple[Source, list[str], Floats]]()
    for source in sources:
        found = roles(source.name, source.columns, given)
        if "item" not in found:
            raise JudgmentError(
                f"{source.name}: has no column item; features need the column item, optionally task, and numbers"
            )
        part = Part(None, source, found)
        study.code(part, "item")
        study.code(part, "task") if "task" in found else study.fill(part, "task", UNNAMED_TASK)
        study.parts.append(part)
        names = _feature_columns(source, found, leave_out, notes)
        tables.append((source, names, np.array([_numbers(source, name) for name in names]).T))
    return _joined(study, tables, notes, frame)


def _feature_columns(source: Source, found: Mapping[str, str], leave_out: Sequence[str], notes: list[str]) -> list[str]:
    """The columns that are features: all but item, task, the grade, and those to leave out."""
    if unknown := [name for name in leave_out if name not in source.columns]:
        raise JudgmentError(f"{source.name}: has no column {shorten(unknown[0])!r} to leave out")
    grade = found.get("grade")
    if grade is not None and grade not in leave_out:
        notes.append(f"{source.name}: the column {grade!r} says how good an item is, and is not used as a feature")
    others = {found["item"], found.get("task"), grade, *leave_out}
    names = [name for name in source.columns if name not in others]
    if not names:
        raise JudgmentError(f"{source.name}: has no features; add columns of numbers to those that name the items")
    return names


def _numbers(source: Source, name: str) -> Floats:
    """A column of finite numbers."""
    try:
        return source.numbers(name)
    except JudgmentError as error:
        raise JudgmentError(
            f"{error}\nfeatures are numbers: fill the gap, or leave the column out "
            f"wherever the ranker is trained or used (--leave-out {name})"
        ) from None


def _joined(
    study: StudyBuilder, tables: Sequence[tuple[Source, list[str], Floats]], notes: list[str], frame: Frame
) -> Features:
    """The tables stacked, in the order of the entries."""
    first, names, _ = tables[0]
    if all(_numbered(found) for _, found, _ in tables):
        names = max((found for _, found, _ in tables), key=len)
    for source, found, _ in tables:
        if set(found) != set(names) and not (_numbered(found) and _numbered(names)):
            other = _some(sorted({*found} ^ {*names}))
            raise JudgmentError(
                f"{source.name}: does not have the same columns as {first.name}; only one of them has {other}"
            )
    vocabulary = study.vocabulary(frame)
    value, seen = np.zeros((vocabulary.n_entries, len(names))), np.zeros(vocabulary.n_entries, np.int64)
    for part, (source, found, numbers) in zip(study.parts, tables, strict=True):
        entry = study.entry(part)
        again = seen[entry] > 0
        again[np.setdiff1d(np.arange(len(entry)), np.unique(entry, return_index=True)[1])] = True
        source.refuse(again, lambda row, part=part: f"{shorten(part.coded['item'].name(row))!r} already has features")  # type: ignore[misc]
        seen[entry] = 1
        value[entry[:, None], np.array([names.index(name) for name in found])] = numbers
    return Features(vocabulary, tuple(names), value, tuple(notes))


def _numbered(columns: Sequence[str]) -> bool:
    """Whether they are called 1, 2, 3, …, as in LETOR's and SVMlight's files."""
    return all(name == str(number) for number, name in enumerate(columns, 1))


def _some(names: Sequence[str]) -> str:
    """The first few of these names, and how many more there are."""
    more = len(names) - COLUMNS_SHOWN
    return ", ".join(map(shorten, names[:COLUMNS_SHOWN])) + (f" and {more:,} more" if more > 0 else "")
