"""Reading and writing files. The name shows the compression and the kind; without a known kind, the content does."""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import signal
import stat
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl
import zstandard

from crowdrank.forking import check_polars
from crowdrank.formats.source import Source
from crowdrank.formats.table import BYTE_ORDER_MARK, of_json_lines, of_parquet, of_separated
from crowdrank.formats.trec_letor import FIRST_LINE, Wanted, read_trec_letor
from crowdrank.settings import check
from crowdrank.study import JudgmentError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
TABLES = (*SEPARATORS, *JSON_LINES, *PARQUET)
TREC_LETOR = (".txt", ".run", ".qrels")  # columns separated by blanks, without a header
COMPRESSED = (".gz", ".zst")
MARKS = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}  # how compressed files begin
PART = 1 << 24  # bytes that are decompressed at a time
ZST_PART = 1 << 13  # compressed ones: a few bytes may become very many
STANDARD_INPUT = "-"
FORMULA = r"^[=+\-@\t\r]"  # how a text begins that a spreadsheet computes
KNOWN = ".csv, .tsv, .jsonl or .parquet, or for TREC .run, .qrels or .txt, each also with .gz or .zst"


def of_file(path: str | os.PathLike[str], wanted: Wanted = "judgments") -> Source:
    """A file as a source of columns; `wanted` chooses among what a LETOR file holds."""
    if not isinstance(path, str | os.PathLike):
        several = "give several files as cr.read('a.csv', 'b.csv') or cr.read(*names)"
        raise JudgmentError(
            f"expected the name of a file, not {type(path).__name__}; "
            + (several if isinstance(path, list | tuple | set) else "cr.judgments(frame) reads data frames")
        )
    check_polars()
    path = Path(path)
    try:
        if str(path) == STANDARD_INPUT:
            return _of_content(Path("standard input"), decompressed(path, sys.stdin.buffer.read()), wanted)
        if path.is_dir():
            raise JudgmentError(f"{path}: is a folder; give the names of the files in it")
        if not path.exists():
            raise JudgmentError(f"{path}: no such file")
        kind, compression = _suffixes(path)
        if kind in PARQUET and not compression:
            return of_parquet(path, path)
        data = decompressed(path, path.read_bytes(), compression)
    except OSError as error:
        raise JudgmentError(f"{path}: {error.strerror or error}") from None
    return _of_kind(path, kind, data, wanted)


def _of_kind(path: Path, kind: str, data: bytes, wanted: Wanted) -> Source:
    if kind in PARQUET:
        return of_parquet(path, io.BytesIO(data))
    if kind in JSON_LINES:
        return of_json_lines(path, data)
    if kind in SEPARATORS:
        return of_separated(path, data, SEPARATORS[kind])
    # TREC files have all kinds of names (input.bm25, qrels.robust2004): their content decides.
    return read_trec_letor(path, data, wanted=wanted, otherwise=None if kind in TREC_LETOR else _unknown(path, kind))


def _of_content(path: Path, data: bytes, wanted: Wanted) -> Source:
    """A source without a name that shows its kind."""
    first = data.removeprefix(BYTE_ORDER_MARK).lstrip()[:FIRST_LINE].partition(b"\n")[0]
    if data.startswith(b"PAR1"):
        kind = ".parquet"
    elif first.startswith(b"{"):
        kind = ".jsonl"
    else:
        separated = any(mark in first for mark in (b",", b";", b"|")) or (b"\t" in first and b" " not in first)
        trec = b"qid:" in first or not separated
        kind = ".txt" if trec and len(first.split()) > 1 else ".csv"
    return _of_kind(path, kind, data, wanted)


def refuse_same_files(paths: Sequence[str | os.PathLike[str]]) -> None:
    """Refuse a file that is named twice, also through a link: its judgments would count double."""
    seen: dict[Any, str | os.PathLike[str]] = {}
    for path in paths:
        try:
            found = Path(path).stat()
            file: Any = found.st_dev, found.st_ino
        except (OSError, TypeError, ValueError):  # whoever reads it says what is wrong
            file = str(path)
        if file in seen:
            same = str(seen[file]) == str(path)
            both = f"{path} is given twice" if same else f"{seen[file]} and {path} are the same file"
            raise JudgmentError(f"{both}: its judgments would count double; give it once")
        seen[file] = path


def kind_of(path: Path) -> tuple[str, str]:
    """The kind of file by its suffix, and its compression ('' if none)."""
    kind, compression = _suffixes(path)
    if kind not in (*TABLES, *TREC_LETOR):
        raise JudgmentError(_unknown(path, kind))
    return kind, compression


def _suffixes(path: Path) -> tuple[str, str]:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSED else ""
    return suffixes[-1] if suffixes else "", compression


def _unknown(path: Path, kind: str) -> str:
    return f"{path}: unknown kind of file {kind or path.name!r}; it must be {KNOWN}"


def decompressed(path: Path, data: bytes, compression: str = "") -> bytes:
    """The content of a file, decompressed. Its first bytes decide: a .csv may turn out to be compressed."""
    found = next((name for name, mark in MARKS.items() if data.startswith(mark)), compression)
    if not found:
        return data
    most, parts, size = most_bytes(), [], 0
    try:
        for part in _gzip_parts(data) if found == ".gz" else _zst_parts(data):
            parts.append(part)
            size += len(part)
            if size > most:
                raise JudgmentError(
                    f"{path}: is more than {most / 1e9:g} GB when decompressed; if that is right, allow more with "
                    "--max-size 32GB before the command, or CROWDRANK_MAX_SIZE=32GB"
                )
    except (OSError, EOFError, zlib.error, zstandard.ZstdError):
        raise JudgmentError(
            f"{path}: is not a valid {found} file; it is damaged, incomplete, or not compressed"
        ) from None
    return b"".join(parts)


def most_bytes() -> int:
    """How large a compressed file may become: CROWDRANK_MAX_SIZE, or 8 GB."""
    text = os.environ.get("CROWDRANK_MAX_SIZE", "8GB")
    size = re.fullmatch(r"(\d+)\s*([kmgt]?)b?", text.strip().lower())
    check(size is not None, "CROWDRANK_MAX_SIZE", text, "a size like 500MB or 32GB")
    assert size is not None
    size_in_bytes: int = int(size[1]) * 1000 ** (" kmgt".index(size[2] or " "))
    return size_in_bytes


def _gzip_parts(data: bytes) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while part := file.read(PART):
            yield part


def _zst_parts(data: bytes) -> Iterator[bytes]:
    """All frames of a .zst file. The library's own reader does not notice that a file was cut off."""
    frame = None
    for start in range(0, len(data), ZST_PART):
        rest = data[start : start + ZST_PART]
        while rest:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(rest)
            rest = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError


def write_all(frames: Mapping[Path, pl.DataFrame | bytes], *, csv_safe: bool = False) -> None:
    """Write every file, or none: all are written under temporary names first, then renamed."""
    check_polars()
    parts: dict[Path, Path] = {}
    with _cleaning_up(parts):
        try:
            for path, frame in frames.items():
                data = frame if isinstance(frame, bytes) else file_bytes(frame, *kind_of(path), csv_safe=csv_safe)
                _write_aside(path, data, parts)
            for path, part in parts.items():
                part.replace(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise JudgmentError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None


def check_writable(path: Path) -> None:
    """Refuse, before the work, a file that could not be written after it."""
    try:
        target = path.resolve()
        if not target.parent.is_dir():
            raise JudgmentError(f"{path}: there is no folder {target.parent if path.is_symlink() else path.parent}")
        if target.is_dir():
            raise JudgmentError(f"{path}: is a folder; give the name of a file")
        if target.exists() and not os.access(target, os.W_OK):
            raise JudgmentError(f"{path}: cannot be written: it is write-protected")
        if not target.exists() or target.is_file():
            tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        raise JudgmentError(f"{path}: cannot be written: {error.strerror or error}") from None


def _write_aside(path: Path, data: bytes, parts: dict[Path, Path]) -> None:
    """Write a file beside its place, with the permissions of the one there. Links are followed."""
    target = path.resolve()
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
    if target.exists() and not target.is_file():  # a pipe or a device
        target.write_bytes(data)
        return
    part = parts[target] = target.with_name(f".crowdrank-{os.getpid()}-{len(parts)}.part")  # names may be long
    part.write_bytes(data)
    if target.exists():
        before = target.stat()
        with suppress(OSError):  # only root may give files to others
            os.chown(part, before.st_uid, before.st_gid)
        part.chmod(stat.S_IMODE(before.st_mode))


@contextmanager
def _cleaning_up(parts: Mapping[Path, Path]) -> Iterator[None]:
    """Leave no temporary file behind, not even when the process is told to end."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    main = threading.current_thread() is threading.main_thread()  # others cannot say what a signal does
    names = [name for name in ("SIGTERM", "SIGHUP", "SIGINT") if main and hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in (getattr(signal, name) for name in names)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else end)
    try:
        yield
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink()
        for number, handler in before.items():
            signal.signal(number, handler)


def file_bytes(frame: pl.DataFrame, kind: str, compression: str, *, csv_safe: bool = False) -> bytes:
    """A frame as the bytes of a file."""
    buffer = io.BytesIO()
    if kind in SEPARATORS:
        if csv_safe:
            frame = frame.with_columns(_no_formula(name) for name in frame.columns if frame[name].dtype == pl.String)
        frame.write_csv(buffer, separator=SEPARATORS[kind])
    elif kind in TREC_LETOR:
        frame.write_csv(buffer, separator=" ", include_header=False, quote_style="never")
    elif kind in JSON_LINES:
        frame.write_ndjson(buffer)
    else:
        frame.write_parquet(buffer)
    data = buffer.getvalue()
    if compression == ".gz":
        return gzip.compress(data, mtime=0)  # no time stamp: the same ranking is the same file
    return zstandard.ZstdCompressor().compress(data) if compression == ".zst" else data


def _no_formula(name: str) -> pl.Expr:
    """Texts that a spreadsheet would take for a formula, with an apostrophe before them."""
    text = pl.col(name)
    return pl.when(text.str.contains(FORMULA)).then("'" + text).otherwise(text).alias(name)
