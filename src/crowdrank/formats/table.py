"""CSV, TSV and Parquet, from bytes to columns."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import polars as pl

from crowdrank.formats.source import Source, part_of, shorten, struct_paths
from crowdrank.study import JudgmentError

SEPARATORS = ";\t,|"  # tried in this order if the header does not contain the separator of the file name
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BINARY = {
    b"PK\3\4": "an Excel file or a ZIP archive: give it the ending .xlsx, or unpack it",
    b"PAR1": "a Parquet file: give it the ending .parquet",
    b"\xd0\xcf\x11\xe0": "a file of an old Excel: save it as .xlsx",
    b"BZh": "compressed: unpack it first",
    b"\xfd7zXZ\0": "compressed: unpack it first",
    b"7z\xbc\xaf": "an archive: unpack it first",
    b"SQLite format 3\0": "a database: export its table as .csv",
}
MOST_COLUMNS = 20_000
MOST_FIELD_BYTES = sys.maxsize  # the csv module stops at 128 kB


def of_separated(path: Path, data: bytes, separator: str) -> Source:
    """A table of texts whose first line names the columns. A header with another separator is understood."""
    check_text(path, data)
    data = data.removeprefix(BYTE_ORDER_MARK)
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")  # the line ends of old Macs
    content = data.lstrip(b"\r\n")
    if declared := re.match(rb"sep=([^\r\n])\r?\n", content, re.IGNORECASE):  # Excel's line that names the separator
        separator, content = declared[1].decode(), content[declared.end() :].lstrip(b"\r\n")
    blank_before = data[: len(data) - len(content)].count(b"\n")
    header = _header(path, content, separator, blank_before)
    if not declared and len(header) == 1 and (mark := next((mark for mark in SEPARATORS if mark in header[0]), None)):
        separator, header = mark, _header(path, content, mark, blank_before)
    frame = _table(path, content, separator, blank_before, header)
    filled = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series().arg_true()  # blank lines are not rows
    kept = frame if len(filled) == frame.height else frame[filled]
    lines: list[int] = []

    def place(row: int) -> str:
        if not lines:
            lines.extend(line for line, _ in _records(path, content, separator, blank_before))
        return f"{path}:{lines[filled[row] + 1]}"

    named = kept[:, : _named(header)]
    source = Source(str(path), named.columns, named.get_column, place, decimal_comma=separator == ";")
    for nameless in kept[:, named.width :]:  # Excel adds empty columns at the end
        _refuse_filled(source, nameless)
    return source


def _refuse_filled(source: Source, cells: pl.Series) -> None:
    source.refuse(
        cells.is_not_null(), lambda row: f"{shorten(cells[row])!r} is in a column without a name; name the column"
    )


def _header(path: Path, data: bytes, separator: str, blank_before: int) -> list[str]:
    return next(_records(path, data, separator, blank_before))[1]


def _named(header: list[str]) -> int:
    """The number of columns up to the last one with a name."""
    return max((number for number, name in enumerate(header, 1) if name.strip()), default=0)


def _table(path: Path, data: bytes, separator: str, blank_before: int, header: list[str]) -> pl.DataFrame:
    """A table of texts, its header checked."""
    names = header[: _named(header)]
    check_width(path, len(header))
    if repeated := sorted(name for name, times in Counter(names).items() if times > 1):
        raise JudgmentError(
            f"{path}: two columns are called {shorten(repeated[0])!r}; the first line must name the columns"
        )
    names += [f"{number} " for number in range(len(names), len(header))]
    with suppress(pl.exceptions.PolarsError):
        frame = pl.read_csv(data, separator=separator, infer_schema=False)
        frame.columns = names  # an error if other lines end differently from the header
        return frame
    # Slower, but it finds the wrong line, and it accepts a single quotation mark within a field (5" disk).
    records = _records(path, data, separator, blank_before)
    next(records)
    rows = [_filled(path, line, record, len(header)) for line, record in records]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def check_width(path: Path, columns: int) -> None:
    """Refuse tables that are wider than any that holds judgments."""
    if columns > MOST_COLUMNS:
        raise JudgmentError(
            f"{path}: has {columns:,} columns; at most {MOST_COLUMNS:,} are read: a row must be a judgment, an item or "
            "a gold value"
        )


def _filled(path: Path, line: int, record: list[str], width: int) -> list[str | None]:
    if any(record[width:]):
        raise JudgmentError(f"{path}:{line}: this line has {len(record)} fields, but the header has {width}")
    return [*(field or None for field in record[:width]), *[None] * (width - len(record))]


def check_text(path: Path, data: bytes, first_line: int = 1, *, may_be_blank: bool = False) -> None:
    """Refuse an empty file, and text that is not UTF-8; `data` may be a part of it that begins with `first_line`."""
    if not may_be_blank and not data.removeprefix(BYTE_ORDER_MARK).strip():
        raise JudgmentError(f"{path}: is empty")
    if wide := _wide_encoding(data):
        raise JudgmentError(f"{path}: is {wide}; save it as UTF-8")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        _refuse_binary(path, data)
        line = data.count(b"\n", 0, error.start) + first_line
        raise JudgmentError(
            f"{path}:{line}: byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8"
        ) from None
    if b"\0" in data:
        _refuse_binary(path, data)
        line = data.count(b"\n", 0, data.index(b"\0")) + first_line
        raise JudgmentError(f"{path}:{line}: contains a NUL byte; this is not a text file") from None


def _wide_encoding(data: bytes) -> str:
    """UTF-16 or UTF-32, by the mark at the beginning or by the zeros among the first letters; else nothing."""
    zeros = bytes(byte == 0 for byte in data[:4])
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")) or zeros in (b"\0\1\1\1", b"\1\1\1\0"):
        return "UTF-32"
    return "UTF-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) or zeros in (b"\0\1\0\1", b"\1\0\1\0") else ""


def _refuse_binary(path: Path, data: bytes) -> None:
    """Say what a file is that is no text, if its first bytes show it."""
    for beginning, what in BINARY.items():
        if data.startswith(beginning):
            raise JudgmentError(f"{path}: is not text but {what}")


def _records(path: Path, data: bytes, separator: str, blank_before: int) -> Iterator[tuple[int, list[str]]]:
    """Each record and the line on which it begins, the header first: a quoted field may contain line breaks."""
    csv.field_size_limit(MOST_FIELD_BYTES)
    text = io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="")
    reader = csv.reader(text, delimiter=separator, strict=True)
    line = blank_before + 1
    try:
        for record in reader:
            yield line, record
            line = blank_before + reader.line_num + 1
    except csv.Error as error:
        never_closed = "an opening quotation mark is never closed; add the closing one"
        closed_early = "text follows a closing quotation mark; write a quotation mark within a field twice"
        problem = never_closed if "end of data" in str(error) else closed_early
        raise JudgmentError(f"{path}:{line}: {problem}") from None


def of_parquet(path: Path, where: Path | io.BytesIO) -> Source:
    """A Parquet file, or its decompressed content."""
    if (path.stat().st_size if where is path else len(where.getbuffer())) == 0:  # type: ignore[union-attr]
        raise JudgmentError(f"{path}: is empty")

    def collected(scan: Callable[[], Any]) -> Any:
        try:
            return scan()
        except pl.exceptions.DuplicateError as error:
            raise JudgmentError(f"{path}: two columns have the same name: {str(error).splitlines()[0]}") from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            raise JudgmentError(
                f"{path}: is not a valid Parquet file; it is damaged, incomplete, or of another kind"
            ) from None

    def load(name: str) -> pl.Series:
        # One column at a time: ten million votes as text would take many times the memory of their codes.
        top, *inner = nested.get(name, (name,))
        column = cast(pl.Series, collected(lambda: scan.select(pl.col(top)).collect().get_column(top)))
        return part_of(column, inner)

    scan: pl.LazyFrame = collected(lambda: pl.scan_parquet(where, glob=False))
    schema: pl.Schema = collected(lambda: scan.collect_schema())
    check_width(path, len(schema))
    nested = {path: names for path, names in struct_paths(schema).items() if path not in schema}
    return Source(str(path), schema.names(), load, lambda row: f"{path}:{row + 1}", paths=tuple(nested))
