"""Writing files: all of them, or none; the name decides the kind and the compression."""

from __future__ import annotations

import errno
import gzip
import io
import os
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl
import zstandard

from crowdrank.forking import check_polars
from crowdrank.formats.files import JSON_LINES, SEPARATORS, SPREADSHEETS, TREC_LETOR, kind_of
from crowdrank.formats.spreadsheets import spreadsheet_bytes
from crowdrank.study import JudgmentError

FORMULA = r"^[=+\-@\t\r]"  # how a text begins that a spreadsheet computes


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


def followed(path: Path) -> Path:
    """Where links lead to: `Path.resolve` fails if that is a circle."""
    return Path(os.path.realpath(path))


def check_writable(path: Path) -> None:
    """Refuse, before the work, a file that could not be written after it."""
    try:
        target = followed(path)
        if target.is_symlink():
            raise JudgmentError(f"{path}: cannot be written: its links lead in a circle")
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
    target = followed(path)
    if target.is_symlink():
        raise OSError(errno.ELOOP, "its links lead in a circle", str(path))
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
    elif kind in SPREADSHEETS:
        return packed(spreadsheet_bytes(frame), compression)
    else:
        frame.write_parquet(buffer)
    return packed(buffer.getvalue(), compression)


def packed(data: bytes, compression: str) -> bytes:
    """Content as its file holds it."""
    if compression == ".gz":
        return gzip.compress(data, mtime=0)  # no time stamp: the same ranking is the same file
    return zstandard.ZstdCompressor().compress(data) if compression == ".zst" else data


def _no_formula(name: str) -> pl.Expr:
    """Texts that a spreadsheet would take for a formula, with an apostrophe before them."""
    text = pl.col(name)
    return pl.when(text.str.contains(FORMULA)).then("'" + text).otherwise(text).alias(name)
