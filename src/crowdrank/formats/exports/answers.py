"""What the readers of nested exports collect: answers to questions, which become tables with our column names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from crowdrank.formats.json_files import Record, at
from crowdrank.formats.source import Source, shorten
from crowdrank.settings import did_you_mean
from crowdrank.study import JudgmentError, Kind

VALUES: dict[Kind, str] = {"grades": "grade", "pairs": "winner", "rankings": "rank"}  # the column of the answer
LIMIT_SHOWN = 8


class Answers:
    """The answers of an export by kind. A file may ask several questions; each answer knows its own."""

    def __init__(self, name: str, tool: str, given: Mapping[str, str], takes: Sequence[str]) -> None:
        self.name, self.tool, self.given = name, tool, given
        self.left_out = Counter[str]()  # why → how many
        self.columns: dict[Kind, dict[str, list[Any]]] = {}
        self.places: dict[Kind, list[str]] = {}
        paths = {path for role, path in given.items() if role not in VALUES.values()}  # those name questions
        self.seen = dict.fromkeys(paths, False)  # which of the user's paths lead to something
        for role in given:
            if role not in takes:
                hint = did_you_mean(role, takes)
                raise JudgmentError(f"{name}: in {tool} files, --column names {', '.join(takes)}, not {role!r}{hint}")

    def value(self, record: Record, role: str) -> str | None:
        """What the user says stands for a role in this record."""
        path = self.given.get(role)
        if path is None:
            return None
        found = name_of(at(record, path))
        if found is not None:
            self.seen[path] = True
        return found

    def add(self, kind: Kind, place: str, question: str, record: Record, **values: Any) -> None:
        """Add an answer. An item, or a side of a pair, that is missing is an error."""
        for role in ("item", "left", "right"):
            if role in values and values[role] is None:
                where = self.given.get(role, role)
                raise JudgmentError(f"{place}: has no {where}, which names the {role}{self._paths(record)}")
        row = {"question": question, "task": self.value(record, "task"), "by": self.value(record, "by"), **values}
        table = self.columns.setdefault(kind, {})
        places = self.places.setdefault(kind, [])
        for column, value in row.items():
            cells = table.setdefault(column, [])
            cells.extend([None] * (len(places) - len(cells)))
            cells.append(value)
        places.append(place)

    def _paths(self, record: Record) -> str:
        paths = [path for path in paths_in(record) if path not in self.given.values()]
        return f"; it has {', '.join(map(shorten, paths[:LIMIT_SHOWN]))}" if paths else ""

    def sources(self, meaning: Mapping[str, str], gold: bool = False) -> list[Source]:
        """The answers as tables, one for each kind."""
        for path, found in self.seen.items():
            if not found and self.places:
                raise JudgmentError(f"{self.name}: nothing stands at {path!r} in any object")
        return [self._source(kind, meaning, gold) for kind in self.columns if self._keeps(kind)]

    def _questions(self) -> list[str]:
        return list(dict.fromkeys(question for table in self.columns.values() for question in table["question"]))

    def _keeps(self, kind: Kind) -> bool:
        """Whether the user chose a question of this kind, or none."""
        chosen = [other for other in self.columns if VALUES[other] in self.given]
        return not chosen or kind in chosen

    def _source(self, kind: Kind, meaning: Mapping[str, str], gold: bool) -> Source:
        value, places, questions = VALUES[kind], self.places[kind], self._questions()
        frame = pl.DataFrame({name: _series([*cells, *[None] * (len(places) - len(cells))])
                              for name, cells in self.columns[kind].items()}).with_row_index("row")  # fmt: skip
        notes = list[str]()
        if wanted := self.given.get(value):
            own = frame["question"].unique(maintain_order=True).to_list()
            if wanted not in own:
                raise JudgmentError(
                    f"{self.name}: there is no question {wanted!r}{did_you_mean(wanted, own)}; "
                    f"the questions with {kind} are {', '.join(map(shorten, own))}"
                )
            frame = frame.filter(pl.col("question") == wanted)
        elif len(questions) > 1 and "task" in self.given:
            raise JudgmentError(
                f"{self.name}: asks {len(questions)} questions ({', '.join(map(shorten, questions[:LIMIT_SHOWN]))}); "
                f"choose one with --column {value}={shorten(frame['question'][0])}"
            )
        elif len(questions) > 1:
            frame = frame.with_columns(task="question")
            notes.append(
                f"{self.name}: asks {len(questions)} questions ({', '.join(map(shorten, questions[:LIMIT_SHOWN]))}): "
                f"each is a task of its own; choose one with --column {value}={shorten(frame['question'][0])}"
            )
        frame = frame.drop("question")
        frame = frame.drop(name for name in frame.columns if name != "by" and frame[name].null_count() == len(frame))
        if "task" in frame.columns and frame["task"].null_count():
            row = int(frame["task"].is_null().arg_max() or 0)
            raise JudgmentError(f"{places[frame['row'][row]]}: has no {self.given['task']}, which names the task")
        rows = frame["row"].to_numpy()
        columns = [
            name
            for name in frame.columns
            if name != "row" and not (gold and name in ("annotator", "list", "time", "seconds"))
        ]
        options = {"item": "options"} if kind == "rankings" else {}
        used = {role: {**meaning, **options}.get(role, self.given.get(role, role)) for role in columns if role != "by"}
        return Source(
            self.name,
            [name for name in columns if name != "by"],
            frame.get_column,
            lambda row: places[int(rows[row])],
            by="by" if "by" in self.given else "",
            tool=self.tool,
            meaning=used,
            notes=(*notes, *self.notes()) if not gold else (),
        )

    def notes(self) -> tuple[str, ...]:
        """What was left out, and how many; once, however many tables there are."""
        notes = tuple(left_out(self.name, why, count) for why, count in self.left_out.items())
        self.left_out = Counter()
        return notes

    def refuse_nothing(self) -> None:
        """Refuse an export without an answer."""
        if not self.columns:
            why = ", ".join(f"{why} ({count:,})" for why, count in self.left_out.items())
            raise JudgmentError(f"{self.name}: no judgments in this {self.tool} file{f'; left out: {why}' * bool(why)}")


def left_out(name: str, what: str, count: int) -> str:
    """The note on what was not read."""
    return f"{name}: left out: {what} ({count:,})"


def _series(cells: list[Any]) -> pl.Series:
    """Texts as texts; ranks, counts and numbers as numbers."""
    if all(cell is None or (not isinstance(cell, str) and number_of(cell) is not None) for cell in cells):
        return pl.Series([None if cell is None else float(cell) for cell in cells], dtype=pl.Float64)
    return pl.Series([None if cell is None else str(cell) for cell in cells], dtype=pl.String)


def name_of(value: Any) -> str | None:
    """A value that names something, as text; None for nothing, and for lists and objects."""
    if value is None or isinstance(value, bool | dict | list) or value == "":
        return None
    return str(value)


def number_of(value: Any) -> float | None:
    """A number, or a text that is one; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None


def paths_in(record: Record, above: str = "", level: int = 0) -> list[str]:
    """The paths of an object that lead to a text or a number."""
    found = list[str]()
    for key, value in record.items():
        if isinstance(value, dict) and level < 3:
            found += paths_in(value, f"{above}{key}.", level + 1)
        elif name_of(value) is not None:
            found.append(f"{above}{key}")
    return found


def needs(place: str, value: Any, kind: type, what: str) -> Any:
    """A part of a record that must be a list, or an object."""
    if not isinstance(value, kind):
        wanted = "a list" if kind is list else "an object"
        raise JudgmentError(f"{place}: {what} is {_called(value)}; it must be {wanted}")
    return value


def _called(value: Any) -> str:
    if value is None:
        return "missing"
    names = {
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), type(value).__name__)


def sides(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Two paths whose names differ only as a and b, 1 and 2, or left and right."""
    marks = (
        ("a", "b"),
        ("A", "B"),
        ("1", "2"),
        ("left", "right"),
        ("Left", "Right"),
        ("one", "two"),
        ("first", "second"),
    )
    found = []
    for path in paths:
        head, dot, last = path.rpartition(".")
        for one, other in marks:
            options = [last.removesuffix(one) + other] if last.endswith(one) else []
            options += [other + last.removeprefix(one)] if last.startswith(one) else []
            found += [(path, head + dot + option) for option in options if head + dot + option in paths]
    return list(dict.fromkeys(found))
