"""Where judgments come from: a file or a data frame, seen as named columns that are loaded one at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.study import Frame, JudgmentError

ROWS_SHOWN = 10
TEXT_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Source:
    """A table at the door."""

    name: str
    columns: list[str]
    load: Callable[[str], pl.Series]
    place: Callable[[int], str]  # where a row stands, for messages: 'votes.csv:17'

    def refuse(self, wrong: NDArray[np.bool_] | pl.Series, message: Callable[[int], str]) -> None:
        """Raise an error that names the first wrong rows, if there are any."""
        rows = np.flatnonzero(np.asarray(wrong)).tolist()
        if not rows:
            return
        lines = [f"{self.place(row)}: {message(row)}" for row in rows[:ROWS_SHOWN]]
        if len(rows) > ROWS_SHOWN:
            lines.append(f"… and {len(rows) - ROWS_SHOWN:,} more rows like these")
        raise JudgmentError("\n".join(lines))

    def ids(self, column: str) -> pl.Series:
        """A column of ids as they are; every row must have one."""
        values = self.load(column)
        text = as_text(values)
        self.refuse((text.is_null() | (text == "")).fill_null(True), lambda _: f"{column} is missing")
        return values

    def numbers(self, column: str, *, missing: bool = False) -> NDArray[np.float64]:
        """A column of finite numbers; empty cells are refused, or NaN where they may be `missing`."""
        values = self.load(column)
        numbers = _as_numbers(values)
        empty = as_text(values).is_null() | (as_text(values) == "")
        wrong = ~np.isfinite(numbers)
        if missing:
            wrong &= ~empty.to_numpy()
        self.refuse(wrong, lambda row: f"{column} {_quoted(values[row])}")
        return numbers


def of_frame(frame: Any, number: int | None = None) -> tuple[Source, Frame]:
    """A data frame of any kind (or a dict of columns), and what kind it is."""
    if isinstance(frame, dict):
        frame = pl.DataFrame(frame, strict=False)
    try:
        wrapped = nw.from_native(frame)
    except TypeError:
        raise JudgmentError(f"a data frame or a dict of columns is wanted, not {type(frame).__name__}") from None
    table = wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped
    which = "" if number is None else f"frame {number}, "
    source = Source(
        name="the data frame" if number is None else f"frame {number}",
        columns=[str(name) for name in table.columns],
        load=lambda name: _to_polars(table[name]),
        place=lambda row: f"{which}row {row}",
    )
    return source, cast(Frame, table.implementation.value)


def _to_polars(series: nw.Series[Any]) -> pl.Series:
    try:
        return series.to_polars()
    except Exception:  # columns of mixed Python objects, which each library refuses in its own way
        return pl.Series(series.name, series.to_list(), dtype=pl.Object)


def as_text(values: pl.Series) -> pl.Series:
    """Any column as text; numbers as they are written, missing values as null."""
    if values.dtype == pl.String:
        return values
    if values.dtype.is_float():
        values = values.fill_nan(None)
    if values.dtype == pl.Object or values.dtype.is_nested():
        return pl.Series(values.name, [None if _is_missing(v) else str(v) for v in values], dtype=pl.String)
    return values.cast(pl.String)


def _is_missing(value: object) -> bool:
    return value is None or value != value  # NaN is the one value that is not itself


def _as_numbers(values: pl.Series) -> NDArray[np.float64]:
    if values.dtype == pl.Object:
        values = as_text(values)
    if values.dtype == pl.String:
        values = values.str.strip_chars()
    return values.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()


def _quoted(value: object) -> str:
    """What is wrong with a value that is not a finite number."""
    if value is None or value == "":
        return "is missing"
    return f"{shorten(value)!r} is not a finite number"


def shorten(value: object) -> str:
    """A value as it can be shown in a message."""
    text = str(value)
    return text if len(text) <= TEXT_SHOWN else f"{text[:TEXT_SHOWN]}… ({len(text):,} characters)"
