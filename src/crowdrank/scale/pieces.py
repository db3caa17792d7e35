"""Files read in pieces: Parquet as it is, CSV and JSON lines after they are converted to Parquet in the working folder.

One column is read at a time, and of that some rows at a time, so that ids as texts never need more memory than a piece.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.formats.compressed import Content
from crowdrank.formats.files import JSON_LINES, PARQUET, SEPARATORS, File
from crowdrank.formats.json_files import block_table, is_list, line_blocks
from crowdrank.formats.source import Source, as_text, part_of, struct_paths
from crowdrank.formats.table import check_width
from crowdrank.numerics.progress import report
from crowdrank.scale.memory import check_names, working_folder
from crowdrank.settings import SettingError
from crowdrank.study import JudgmentError

ROWS = 1 << 20  # of a piece
BLOCK = 1 << 24  # bytes of text that are converted at a time


def read_in_pieces(file: File) -> Source | None:
    """A source that is read in pieces; None for files of other kinds, which are read as a whole."""
    if not file.path.is_file():
        return None
    if file.kind in PARQUET and file.on_disk:
        columns = Columns(file.path, [file.path])
        return columns.source(lambda row: f"{file.path}:{row + 1}")
    if file.kind in SEPARATORS:
        return _of_separated(file.path, file.content, SEPARATORS[file.kind])
    if file.kind in JSON_LINES and not is_list(file.content):
        return _of_json_lines(file.path, file.content)
    return None


class Columns:
    """The columns of one or several Parquet files, loaded as a whole or in pieces."""

    def __init__(self, path: Path, parts: Sequence[Path]) -> None:
        self.path, self.parts = path, parts
        self.before = _state(path)
        schemas = [_schema(path, part) for part in parts]
        self.types = {name: _common([schema.get(name) for schema in schemas]) for schema in schemas for name in schema}
        self.nested = {path: names for path, names in struct_paths(self.types).items() if path not in self.types}
        check_width(path, len(self.types))

    def source(self, place: Any) -> Source:
        """As a table."""
        return Source(str(self.path), list(self.types), self, place, paths=tuple(self.nested))

    def __call__(self, name: str) -> pl.Series:
        return pl.concat(list(self.pieces(name)))

    def pieces(self, name: str) -> Iterator[pl.Series]:
        """A column, some rows at a time."""
        top, *inner = self.nested.get(name, (name,))
        empty, rows = True, 0
        for part in self.parts:
            file = _file(self.path, part)
            if top not in file.schema_arrow.names:
                yield pl.Series(top, [None] * file.metadata.num_rows, dtype=self.types[top])
                empty = False
                continue
            for values in self._batches(file, top):
                same = values if values.dtype == self.types[top] else as_text(values)
                check_names()
                rows += len(same)
                report(f"reading {name}", rows, max(file.metadata.num_rows, rows))
                yield part_of(same, inner)
                empty = False
        if empty:
            yield part_of(pl.Series(top, [], dtype=self.types[top]), inner)
        if _state(self.path) != self.before:
            raise JudgmentError(f"{self.path}: changed while it was read; start again when nothing writes to it")

    def _batches(self, file: Any, column: str) -> Iterator[pl.Series]:
        import pyarrow

        left = file.metadata.num_rows
        try:
            for batch in file.iter_batches(batch_size=ROWS, columns=[column], use_threads=False):
                values = batch.column(0)
                left -= len(values)
                values.validate(full=True)  # damaged text would end the process
                yield pl.Series(column, pl.from_arrow(values))
        except (pyarrow.ArrowException, OSError) as error:
            raise JudgmentError(_damaged(self.path)) from error
        if left:
            raise JudgmentError(_damaged(self.path))


def _file(path: Path, part: Path) -> Any:
    """An opened Parquet file."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise SettingError("a limit of memory needs pyarrow: pip install 'crowdrank[scale]'") from None
    try:
        return parquet.ParquetFile(part, pre_buffer=False)
    except FileNotFoundError:
        raise JudgmentError(f"{path}: is gone; it must stay where it is until the ranking is written") from None
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise JudgmentError(_damaged(path)) from error


def _schema(path: Path, part: Path) -> pl.Schema:
    """The columns of a Parquet file."""
    schema = _file(path, part).schema_arrow
    try:
        _ = schema.names  # where names are no text, polars would print more than an error
        return pl.Schema(schema)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeDecodeError) as error:
        raise JudgmentError(_damaged(path)) from error


def _damaged(path: Path) -> str:
    return f"{path}: is not a valid Parquet file; it is damaged, incomplete, or of another kind"


def _state(path: Path) -> tuple[int, int]:
    """What changes when a file is written to."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def _common(types: Sequence[Any]) -> Any:
    """The type of a column in all parts; text where they differ."""
    found = {each for each in types if each is not None and each != pl.Null}
    return found.pop() if len(found) == 1 else pl.String() if found else pl.Null()


def _new_file() -> Path:
    folder = working_folder()
    return folder / f"{len(list(folder.iterdir()))}.parquet"


class _Blocks(io.RawIOBase):
    """The content of a file as pyarrow reads it."""

    def __init__(self, content: Content) -> None:
        self.blocks, self.rest = content(), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.rest:
            block = next(self.blocks, None)
            if block is None:
                return 0
            self.rest = block
        size = min(len(buffer), len(self.rest))
        buffer[:size], self.rest = self.rest[:size], self.rest[size:]
        return size


def _of_separated(path: Path, content: Content, separator: str) -> Source | None:
    """A CSV file, all cells as texts; None for files that only the usual reader understands."""
    import pyarrow
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    header = _csv_header(content, separator)
    if header is None:
        return None
    converted = _new_file()
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(header, pyarrow.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
        null_values=[""],
    )
    try:
        reader = arrow_csv.open_csv(
            pyarrow.PythonFile(_Blocks(content), "r"),
            arrow_csv.ReadOptions(block_size=BLOCK, use_threads=False),
            arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert,
        )
        with parquet.ParquetWriter(converted, reader.schema, compression="zstd", compression_level=1) as writer:
            for batch in reader:
                writer.write_batch(batch)
    except (pyarrow.ArrowInvalid, UnicodeDecodeError):
        return None  # the usual reader says which line is wrong, or understands it after all
    return Columns(path, [converted]).source(_CsvPlaces(path, content, separator))


def _csv_header(content: Content, separator: str) -> list[str] | None:
    """The names of the columns; None where something is unusual about the first line."""
    first = next(content(), b"").partition(b"\n")[0].removeprefix(b"\xef\xbb\xbf").strip(b"\r")
    try:
        names = next(csv.reader([first.decode()], delimiter=separator), [])
    except (UnicodeDecodeError, csv.Error):
        return None
    usual = len(names) > 1 and all(name.strip() for name in names) and len(set(names)) == len(names)
    return names if usual and not first.lower().startswith(b"sep=") else None


class _CsvPlaces:
    """Where the rows of a CSV file are; found only when there is something to say about a row."""

    def __init__(self, path: Path, content: Content, separator: str) -> None:
        self.path, self.content, self.separator = path, content, separator
        self.reader: Any = None
        self.row, self.line = -2, 0

    def __call__(self, row: int) -> str:
        if self.reader is None or row < self.row:
            text = io.TextIOWrapper(io.BufferedReader(_Blocks(self.content)), "utf-8", newline="")
            self.reader, self.row = csv.reader(text, delimiter=self.separator), -2
        while self.row < row:
            begin = self.reader.line_num + 1
            if next(self.reader):  # blank lines are not rows
                self.row, self.line = self.row + 1, begin
        return f"{self.path}:{self.line}"


def _of_json_lines(path: Path, content: Content) -> Source:
    """A JSON object on every line."""
    parts, lines = [], []
    for first, block in line_blocks(path, content):
        frame, numbers = block_table(path, first, block)
        parts.append(_new_file())
        frame.write_parquet(parts[-1], compression="zstd", compression_level=1)
        lines.append(numbers)
    line = np.concatenate(lines)
    return Columns(path, parts).source(lambda row: f"{path}:{line[row]}")
