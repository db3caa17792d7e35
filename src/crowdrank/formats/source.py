"""A file or a data frame as named columns, which are loaded one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from typing import Any, cast

import narwhals as nw
import numpy as np
import polars as pl
from narwhals.exceptions import NarwhalsError
from numpy.typing import NDArray

from crowdrank.forking import check_polars
from crowdrank.study import Frame, JudgmentError

ROWS_SHOWN = 10
DECIMAL_COMMA = r"^(\s*[+-]?\d+),(\d+\s*)$"
TEXT_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Source:
    """A table to read: its columns, and where its rows are."""

    name: str
    columns: list[str]
    load: Callable[[str], pl.Series]
    place: Callable[[int], str]  # where a row is, for messages: 'votes.csv:17'
    decimal_comma: bool = False  # is 1,5 a number?
    top_k: bool = False  # do items that a ranking does not list rank below those it lists?
    paths: tuple[str, ...] = ()  # what can be loaded beside the columns: the parts of nested ones, as data.text
    by: str = ""  # the column of categories, where a ranking for each is wanted
    tool: str = ""  # what wrote the file, if its own reader has given the columns our names
    meaning: Mapping[str, str] = field(default_factory=dict)  # of an export: our names → where the file says it
    notes: tuple[str, ...] = ()  # what was left out, and why

    @property
    def known_roles(self) -> dict[str, str]:
        """The columns whose meaning the reader of an export has found."""
        return {role: column for role, column in self.meaning.items() if column in self.columns}

    def rows_where(self, keep: NDArray[np.bool_]) -> Source:
        """The same table with some of its rows."""
        if keep.all():
            return self
        rows = np.flatnonzero(keep)
        return replace(
            self, load=lambda name: self.load(name).gather(rows), place=lambda row: self.place(int(rows[row]))
        )

    def pieces(self, column: str) -> Iterator[Source]:
        """The rows, some at a time, each piece with this column; all at once unless the file is read in pieces."""
        in_pieces = getattr(self.load, "pieces", None)
        if in_pieces is None:
            yield self
            return
        start = 0
        for values in in_pieces(column):
            yield replace(self, load=partial(_loaded, values), place=partial(_later_place, self.place, start))
            start += len(values)

    def refuse(self, wrong: NDArray[np.bool_] | pl.Series, message: Callable[[int], str], advice: str = "") -> None:
        """Raise an error that names the first wrong rows, if there are any, and ends with what to do."""
        rows = np.flatnonzero(np.asarray(wrong)).tolist()
        if not rows:
            return
        lines = [f"{self.place(row)}: {message(row)}" for row in rows[:ROWS_SHOWN]]
        if len(rows) > ROWS_SHOWN:
            lines.append(f"… and {len(rows) - ROWS_SHOWN:,} more rows like these")
        if advice:
            lines[-1] += f"; {advice}"
        raise JudgmentError("\n".join(lines))

    def require(self, *columns: str) -> None:
        """Refuse a table without these columns."""
        for column in columns:
            if column not in self.columns:
                needed, present = " and ".join(columns), ", ".join(self.columns)
                raise JudgmentError(f"{self.name}: has no column {column!r}; it needs {needed}, but has {present}")

    def ids(self, column: str) -> pl.Series:
        """A column of ids as they are; every row must have one."""
        values = self.load(column)
        text = as_text(values)
        self.refuse((text.is_null() | (text == "")).fill_null(True), lambda _: f"{column} is missing")
        return values

    def names(self, column: str) -> list[Any]:
        """A column of ids as a list, without blanks around texts."""
        return [value.strip() if isinstance(value, str) else value for value in self.ids(column).to_list()]

    def numbers(self, column: str, *, missing: bool = False, flags: bool = False) -> NDArray[np.float64]:
        """A column of finite numbers; empty cells are an error, or NaN if they may be `missing`.

        With `flags`, true is 1 and false is 0.
        """
        return joined([piece._numbers(column, missing, flags) for piece in self.pieces(column)])

    def _numbers(self, column: str, missing: bool, flags: bool) -> NDArray[np.float64]:
        values = self.load(column)
        if flags and values.dtype == pl.String:
            values = values.str.replace("(?i)^ *true *$", "1").str.replace("(?i)^ *false *$", "0")
        if self.decimal_comma:
            values = as_text(values).str.replace(DECIMAL_COMMA, "$1.$2")
        numbers = _as_numbers(values)
        wrong = ~np.isfinite(numbers)
        if wrong.any():
            text = as_text(values).str.strip_chars().fill_null("")
            if missing:
                wrong &= (text != "").to_numpy()
            self.refuse(wrong, lambda row: f"{column} {_quoted(text[row])}")
        return numbers


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The parts of a column as one."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _loaded(values: pl.Series, _: str) -> pl.Series:
    return values


def _later_place(place: Callable[[int], str], start: int, row: int) -> str:
    return place(start + row)


def struct_paths(schema: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The parts of nested columns: the path, such as data.text, and its names, one by one."""
    found = dict[str, tuple[str, ...]]()
    open_ends: list[tuple[tuple[str, ...], Any]] = [((name,), dtype) for name, dtype in schema.items()]
    while open_ends:
        names, dtype = open_ends.pop()
        if isinstance(dtype, pl.Struct):
            inner = [((*names, part.name), part.dtype) for part in dtype.fields]
            found.update({".".join(names): names for names, _ in inner})
            open_ends += inner
    return found


def part_of(values: pl.Series, names: Sequence[str]) -> pl.Series:
    """A part of a nested column."""
    for name in names:
        values = values.struct.field(name)
    return values


def of_frame(frame: Any, number: int | None = None) -> tuple[Source, Frame]:
    """A data frame of any library (or a dict of columns), and which library it is of."""
    check_polars()
    name, which = ("the data frame", "") if number is None else (f"frame {number}", f"frame {number}, ")
    try:
        wrapped = nw.from_native(pl.DataFrame(frame, strict=False) if isinstance(frame, dict) else frame)
        table = wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped
        own = {str(column): column for column in table.columns}  # pandas takes anything for a name
    except TypeError:
        hint = "; cr.read(...) reads files" * isinstance(frame, str | PathLike)
        raise JudgmentError(f"expected a data frame or a dict of columns, not {type(frame).__name__}{hint}") from None
    except UnicodeEncodeError:
        raise JudgmentError(f"{name}: contains half of a surrogate pair, which is no letter") from None
    except (pl.exceptions.PolarsError, NarwhalsError) as error:
        raise JudgmentError(f"{name}: {' '.join(str(error).split())}") from None
    source = Source(
        name, list(own), lambda column: _to_polars(table.get_column(own[column])), lambda row: f"{which}row {row}"
    )
    return source, cast(Frame, table.implementation.value)


def _to_polars(series: nw.Series[Any]) -> pl.Series:
    with suppress(Exception):  # columns of mixed Python objects, which each library refuses in its own way
        if series.dtype != nw.Unknown:
            return series.to_polars()
    return pl.Series(str(series.name), series.to_list(), dtype=pl.Object)


def as_text(values: pl.Series) -> pl.Series:
    """Any column as text; numbers as they are written, missing values as null."""
    if values.dtype == pl.String:
        return values
    if values.dtype.is_float():
        values = values.fill_nan(None)
    with suppress(pl.exceptions.PolarsError):
        if not values.dtype.is_nested():
            return values.cast(pl.String)
    # polars cannot turn objects, lists, durations and bytes into text, but Python can.
    return pl.Series(
        values.name, [None if _is_missing(value) else str(value) for value in values.to_list()], dtype=pl.String
    )


def _is_missing(value: Any) -> bool:
    """None, NaN (the one value that is not itself) and pandas' NA (whose comparison is an error)."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _as_numbers(values: pl.Series) -> NDArray[np.float64]:
    if not (values.dtype.is_numeric() or values.dtype == pl.Boolean):
        values = as_text(values)
    if values.dtype == pl.String:
        values = values.str.strip_chars()
    return values.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()


def _quoted(text: str) -> str:
    """What is wrong with a text that is not a finite number."""
    return f"{shorten(text)!r} is not a finite number" if text else "is missing"


def shorten(value: object) -> str:
    """A value as it can be shown in a message."""
    text = str(value)
    return text if len(text) <= TEXT_SHOWN else f"{text[:TEXT_SHOWN]}… ({len(text):,} characters)"
