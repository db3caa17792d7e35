"""CSV, TSV, JSON lines and Parquet files, each also .gz or .zst, in and out."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import polars as pl
import zstandard

from crowdrank.formats.source import Source
from crowdrank.study import JudgmentError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
PACKED = (".gz", ".zst")
HEADER_BYTES = 1 << 16
KNOWN = ".csv, .tsv, .jsonl or .parquet, each also with .gz or .zst"


def of_file(path: str | os.PathLike[str]) -> Source:
    """A file as a source of columns."""
    path = Path(path)
    kind, packing = kind_of(path)
    if not path.exists():
        raise JudgmentError(f"{path}: no such file")
    if path.is_dir():
        raise JudgmentError(f"{path}: is a folder; name the files in it")
    try:
        if kind in PARQUET:
            return _of_parquet(path, packing)
        data = unpacked(path, packing)
        return _of_json_lines(path, data) if kind in JSON_LINES else _of_separated(path, data, SEPARATORS[kind])
    except OSError as error:
        raise JudgmentError(f"{path}: {error.strerror or error}") from None


def kind_of(path: Path) -> tuple[str, str]:
    """The kind of file by its suffix, and how it is packed ('' if not)."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packing = suffixes.pop() if suffixes and suffixes[-1] in PACKED else ""
    kind = suffixes[-1] if suffixes else ""
    if kind not in (*SEPARATORS, *JSON_LINES, *PARQUET):
        raise JudgmentError(f"{path}: unknown kind of file {kind or path.name!r}; it must be {KNOWN}")
    return kind, packing


def unpacked(path: Path, packing: str) -> bytes:
    """The content of a file, decompressed."""
    data = path.read_bytes()
    try:
        if packing == ".gz":
            return gzip.decompress(data)
        if packing == ".zst":
            return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()
    except (OSError, EOFError, zstandard.ZstdError):
        raise JudgmentError(f"{path}: is not a whole {packing} file") from None
    return data


def _of_separated(path: Path, data: bytes, separator: str) -> Source:
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise JudgmentError(f"{path}: is empty")
    _check_text(path, data)
    try:
        frame = pl.read_csv(data, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        _explain(path, data, separator)
        raise JudgmentError(f"{path}: cannot be read as a table: {str(error).splitlines()[0]}") from None
    header = next(_records(data[:HEADER_BYTES], separator))
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise JudgmentError(f"{path}: two columns are called {repeated[0]!r}")
    if frame.width == 1 and (other := next((mark for mark in ";\t,|" if mark in header[0]), None)):
        raise JudgmentError(f"{path}: one column only, but the header has {other!r} in it; separate the columns by {separator!r}")
    filled = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series().arg_true()  # blank lines are no rows
    kept = frame if len(filled) == frame.height else frame[filled]
    lines: list[int] = []

    def place(row: int) -> str:
        if not lines:
            lines.extend(_line_numbers(data, separator))
        return f"{path}:{lines[filled[row] + 1]}"

    return Source(str(path), kept.columns, kept.get_column, place)


def _check_text(path: Path, data: bytes) -> None:
    """Text must be UTF-8; say where it is not."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise JudgmentError(f"{path}: is UTF-16; save it as UTF-8")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise JudgmentError(f"{path}:{line}: byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8") from None
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise JudgmentError(f"{path}:{line}: holds a NUL byte; this is not a text file") from None


def _explain(path: Path, data: bytes, separator: str) -> None:
    """Find the line that keeps a table from being read."""
    reader = _records(data, separator)
    width = len(next(reader, []))
    for record in reader:
        if len(record) > width:
            raise JudgmentError(f"{path}:{reader.line_num}: {len(record)} fields where the header has {width}")
    if data.count(b'"') % 2:
        raise JudgmentError(f"{path}:{reader.line_num}: a quotation mark that opens is never closed")


def _records(data: bytes, separator: str):  # type: ignore[no-untyped-def]  # csv.reader has no public type
    csv.field_size_limit(sys.maxsize)
    return csv.reader(io.StringIO(data.decode(errors="replace"), newline=""), delimiter=separator)


def _line_numbers(data: bytes, separator: str) -> list[int]:
    """The line on which each record begins, the header's first: a quoted field may hold line breaks."""
    reader, starts, begin = _records(data, separator), [], 1
    for _ in reader:
        starts.append(begin)
        begin = reader.line_num + 1
    return starts


def _of_json_lines(path: Path, data: bytes) -> Source:
    if not data.strip():
        raise JudgmentError(f"{path}: is empty")
    _check_text(path, data)
    numbered = [(number, line) for number, line in enumerate(data.splitlines(), 1) if line.strip()]
    try:
        frame = pl.read_ndjson(b"\n".join(line for _, line in numbered), infer_schema_length=None)
    except pl.exceptions.PolarsError:
        frame = pl.DataFrame(_parsed(path, numbered), strict=False, infer_schema_length=None)
    return Source(str(path), frame.columns, frame.get_column, lambda row: f"{path}:{numbered[row][0]}")


def _parsed(path: Path, numbered: list[tuple[int, bytes]]) -> list[dict[str, str | None]]:
    """JSON lines one by one: slow, but it says which line is wrong, and takes ids of mixed types as text."""
    records = []
    for number, line in numbered:
        try:
            record = json.loads(line)
        except ValueError as error:
            raise JudgmentError(f"{path}:{number}: is not JSON: {error}") from None
        if not isinstance(record, dict):
            raise JudgmentError(f"{path}:{number}: is not a JSON object")
        records.append({key: value if value is None else str(value) for key, value in record.items()})
    return records


def _of_parquet(path: Path, packing: str) -> Source:
    where = io.BytesIO(unpacked(path, packing)) if packing else path
    if path.stat().st_size == 0:
        raise JudgmentError(f"{path}: is empty")
    try:
        scan = pl.scan_parquet(where)
        names = scan.collect_schema().names()
    except pl.exceptions.PolarsError:
        raise JudgmentError(f"{path}: is not a whole Parquet file") from None

    def load(name: str) -> pl.Series:
        # One column at a time: ten million votes as text would take many times the memory of their codes.
        return scan.select(name).collect().get_column(name)

    return Source(str(path), names, load, lambda row: f"{path}:{row + 1}")


def write_all(frames: Mapping[Path, pl.DataFrame]) -> None:
    """Write every file, or none: all are written aside first, then renamed."""
    aside = {path: path.with_name(f".{path.name}.{os.getpid()}.part") for path in frames}
    try:
        for path, frame in frames.items():
            aside[path].write_bytes(packed(frame, *kind_of(path)))
        for path, part in aside.items():
            part.replace(path)
    except OSError as error:
        raise JudgmentError(f"{error.filename}: cannot be written: {error.strerror}") from None
    finally:
        for part in aside.values():
            with suppress(OSError):
                part.unlink()


def packed(frame: pl.DataFrame, kind: str, packing: str) -> bytes:
    """A frame as the bytes of a file."""
    buffer = io.BytesIO()
    if kind in SEPARATORS:
        frame.write_csv(buffer, separator=SEPARATORS[kind])
    elif kind in JSON_LINES:
        frame.write_ndjson(buffer)
    else:
        frame.write_parquet(buffer)
    data = buffer.getvalue()
    if packing == ".gz":
        return gzip.compress(data, mtime=0)  # no time stamp: the same ranking is the same file
    return zstandard.ZstdCompressor().compress(data) if packing == ".zst" else data
