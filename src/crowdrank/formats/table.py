"""CSV, TSV, JSON lines and Parquet, from bytes to columns."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import polars as pl

from crowdrank.formats.source import Source, shorten
from crowdrank.study import JudgmentError

SEPARATORS = ";\t,|"  # tried in this order if the header does not contain the separator of the file name
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MOST_COLUMNS = 20_000
# An escape of half a surrogate pair: the first half without the second, or the second without the first.
LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]"
)
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


def check_text(path: Path, data: bytes) -> None:
    """Refuse an empty file, and text that is not UTF-8."""
    if not data.removeprefix(BYTE_ORDER_MARK).strip():
        raise JudgmentError(f"{path}: is empty")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise JudgmentError(f"{path}: is UTF-16; save it as UTF-8")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise JudgmentError(
            f"{path}:{line}: byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8"
        ) from None
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise JudgmentError(f"{path}:{line}: contains a NUL byte; this is not a text file") from None


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


def of_json_lines(path: Path, data: bytes) -> Source:
    """A JSON object on every line."""
    check_text(path, data)
    lines = enumerate(data.removeprefix(BYTE_ORDER_MARK).splitlines(), 1)
    numbered = [(number, line) for number, line in lines if line.strip()]
    try:
        if LONE_SURROGATE.search(data):
            raise pl.exceptions.ComputeError("which polars replaces by a question mark")
        frame = pl.read_ndjson(b"\n".join(line for _, line in numbered), infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        frame = pl.DataFrame(_parsed(path, numbered), strict=False, infer_schema_length=None)
    check_width(path, frame.width)
    return Source(str(path), frame.columns, frame.get_column, lambda row: f"{path}:{numbered[row][0]}")


def _parsed(path: Path, numbered: list[tuple[int, bytes]]) -> list[dict[str, str | None]]:
    """JSON lines one by one: slow, but it finds the wrong line, and it reads ids of mixed types as text."""
    records = []
    for number, line in numbered:
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise JudgmentError(f"{path}:{number}: is not valid JSON: {error.msg} at character {error.colno}") from None
        except (ValueError, RecursionError):
            raise JudgmentError(
                f"{path}:{number}: is not valid JSON: a number is too long, or the nesting too deep"
            ) from None
        if not isinstance(record, dict):
            raise JudgmentError(f"{path}:{number}: is not a JSON object; write one object on each line")
        try:
            "".join(text for item in record.items() for text in map(str, item)).encode()
        except UnicodeEncodeError:
            raise JudgmentError(
                f"{path}:{number}: contains half of a surrogate pair, which is no letter; write it anew"
            ) from None
        records.append({key: _json_text(value) for key, value in record.items()})
    return records


def _json_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


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
        return cast(pl.Series, collected(lambda: scan.select(pl.col(name)).collect().get_column(name)))

    scan: pl.LazyFrame = collected(lambda: pl.scan_parquet(where, glob=False))
    names: list[str] = collected(lambda: scan.collect_schema().names())
    check_width(path, len(names))
    return Source(str(path), names, load, lambda row: f"{path}:{row + 1}")
