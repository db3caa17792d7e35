"""What other tools export, read as it is: each file is recognised by its content, and read by its own reader."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from crowdrank.formats.exports import (
    arena,
    argilla,
    comparative,
    label_studio,
    mturk,
    preferences,
    preflib,
    toloka,
    ultrafeedback,
)
from crowdrank.formats.files import JSON, PARQUET, PREFLIB, File, as_table, open_file
from crowdrank.formats.json_files import Record, first_keys, objects
from crowdrank.formats.source import Source
from crowdrank.formats.trec_letor import Wanted

Names = set[str]
Given = Mapping[str, str]


class OfObjects(NamedTuple):
    """A reader of nested objects."""

    keys: Names  # that the objects of such a file have
    read: Callable[[str, Iterator[tuple[str, Record]], Given, Wanted], list[Source]]


class OfTables(NamedTuple):
    """A reader of tables."""

    recognises: Callable[[Names], bool]
    read: Callable[[Source, Given, Wanted], list[Source]]


OBJECTS = (
    OfObjects(label_studio.KEYS, label_studio.read),
    OfObjects(label_studio.OLD_KEYS, label_studio.read),
    OfObjects(argilla.KEYS, argilla.read),
    OfObjects(ultrafeedback.KEYS, ultrafeedback.read),
)
TABLES = (
    OfTables(mturk.KEYS.issubset, mturk.read),
    OfTables(toloka.recognises, toloka.read),
    OfTables(argilla.recognises, argilla.read_table),
    OfTables(arena.recognises, arena.read),
    OfTables(preferences.KEYS.issubset, preferences.read),
    OfTables(comparative.recognises, comparative.read),
)


def sources_of(path: str | os.PathLike[str], wanted: Wanted, given: Given) -> list[Source]:
    """A file of judgments or gold as tables of ours; `given` are the columns that the user named."""
    file = open_file(path)
    if file.kind in PREFLIB or file.kind == preflib.GRAPH:
        return [preflib.read(file.path, file.data, given, wanted)]
    if file.kind in JSON:
        keys = first_keys(file.path, file.content)
        for reader in OBJECTS:
            if reader.keys <= keys:
                return reader.read(str(file.path), objects(file.path, file.content), given, wanted)
        if argilla.recognises(keys):
            return argilla.read_rows(str(file.path), objects(file.path, file.content), given, wanted)
    return _of_table(file, wanted, given)


def _of_table(file: File, wanted: Wanted, given: Given) -> list[Source]:
    source = as_table(file, wanted)
    names = set(source.columns)
    if file.kind in PARQUET:
        for reader in OBJECTS:
            if reader.keys <= names:
                return reader.read(source.name, _rows(source, given, reader.keys), given, wanted)
    for table in TABLES:
        if table.recognises(names):
            return table.read(source, given, wanted)
    return [source]


def _rows(source: Source, given: Given, keys: Names) -> Iterator[tuple[str, Record]]:
    """The rows of a table of nested columns as objects."""
    needed = {"id", *keys, *(path.partition(".")[0] for path in given.values())}
    columns = {name: source.load(name) for name in source.columns if name in needed}
    for row, cells in enumerate(zip(*columns.values(), strict=True)):
        values = (cell.to_list() if hasattr(cell, "to_list") else cell for cell in cells)
        yield source.place(row), dict(zip(columns, values, strict=True))
