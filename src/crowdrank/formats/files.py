"""Files in and out: the name says how a file is packed and what kind it is; of files without header, the content."""

from __future__ import annotations

import errno
import gzip
import io
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import polars as pl
import zstandard

from crowdrank.formats.source import Source
from crowdrank.formats.table import of_json_lines, of_parquet, of_separated
from crowdrank.formats.trec_letor import Wanted, read_trec_letor
from crowdrank.study import JudgmentError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
TABLES = (*SEPARATORS, *JSON_LINES, *PARQUET)
TREC_LETOR = (".txt", ".run", ".qrels")  # TREC's and LETOR's: columns between blanks, without a header
PACKED = (".gz", ".zst")
KNOWN = ".csv, .tsv, .jsonl or .parquet, or for TREC .run, .qrels or .txt, each also with .gz or .zst"


def of_file(path: str | os.PathLike[str], wanted: Wanted = "judgments") -> Source:
    """A file as a source of columns; of a LETOR file, which holds more than one thing, what is wanted."""
    if not isinstance(path, str | os.PathLike):
        several = "name the files one by one, as in cr.read('a.csv', 'b.csv') or cr.read(*names)"
        raise JudgmentError(
            f"the name of a file is wanted, not {type(path).__name__}; "
            + (several if isinstance(path, list | tuple | set) else "cr.judgments(frame) takes data frames")
        )
    path = Path(path)
    kind, packing = _suffixes(path)
    try:
        if path.is_dir():
            raise JudgmentError(f"{path}: is a folder; name the files in it")
        if not path.exists():
            raise JudgmentError(f"{path}: no such file")
        if kind in PARQUET:
            return of_parquet(path, io.BytesIO(unpacked(path, packing)) if packing else path)
        data = unpacked(path, packing)
    except OSError as error:
        raise JudgmentError(f"{path}: {error.strerror or error}") from None
    if kind in JSON_LINES:
        return of_json_lines(path, data)
    if kind in SEPARATORS:
        return of_separated(path, data, SEPARATORS[kind])
    # TREC's files have all kinds of names (input.bm25, qrels.robust2004): what is in them counts.
    return read_trec_letor(path, data, wanted=wanted, otherwise=None if kind in TREC_LETOR else _unknown(path, kind))


def kind_of(path: Path) -> tuple[str, str]:
    """The kind of file by its suffix, and how it is packed ('' if not)."""
    kind, packing = _suffixes(path)
    if kind not in (*TABLES, *TREC_LETOR):
        raise JudgmentError(_unknown(path, kind))
    return kind, packing


def _suffixes(path: Path) -> tuple[str, str]:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packing = suffixes.pop() if suffixes and suffixes[-1] in PACKED else ""
    return suffixes[-1] if suffixes else "", packing


def _unknown(path: Path, kind: str) -> str:
    return f"{path}: unknown kind of file {kind or path.name!r}; it must be {KNOWN}"


def unpacked(path: Path, packing: str) -> bytes:
    """The content of a file, decompressed."""
    data = path.read_bytes()
    try:
        if packing == ".gz":
            return gzip.decompress(data)
        if packing == ".zst":
            return _unpacked_frames(data)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError):
        raise JudgmentError(f"{path}: is not a whole {packing} file") from None
    return data


def _unpacked_frames(data: bytes) -> bytes:
    """All frames of a .zst file. The library's own reader takes a file that was cut off for one that ends there."""
    parts = []
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        parts.append(frame.decompress(data))
        if not frame.eof:
            raise EOFError
        data = frame.unused_data
    return b"".join(parts)


def write_all(frames: Mapping[Path, pl.DataFrame | bytes]) -> None:
    """Write every file, or none: all are written aside first, then renamed."""
    aside = {path: path.with_name(f".{path.name}.{os.getpid()}.part") for path in frames}
    try:
        for path, frame in frames.items():
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
            aside[path].write_bytes(frame if isinstance(frame, bytes) else packed(frame, *kind_of(path)))
        for path, part in aside.items():
            part.replace(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise JudgmentError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None
    finally:
        for part in aside.values():
            with suppress(OSError):
                part.unlink()


def packed(frame: pl.DataFrame, kind: str, packing: str) -> bytes:
    """A frame as the bytes of a file."""
    buffer = io.BytesIO()
    if kind in SEPARATORS:
        frame.write_csv(buffer, separator=SEPARATORS[kind])
    elif kind in TREC_LETOR:
        frame.write_csv(buffer, separator=" ", include_header=False, quote_style="never")
    elif kind in JSON_LINES:
        frame.write_ndjson(buffer)
    else:
        frame.write_parquet(buffer)
    data = buffer.getvalue()
    if packing == ".gz":
        return gzip.compress(data, mtime=0)  # no time stamp: the same ranking is the same file
    return zstandard.ZstdCompressor().compress(data) if packing == ".zst" else data
