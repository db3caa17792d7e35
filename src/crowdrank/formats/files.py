"""Reading and writing files. The name shows the compression and the kind; without a known kind, the content does."""

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
TREC_LETOR = (".txt", ".run", ".qrels")  # columns separated by blanks, without a header
COMPRESSED = (".gz", ".zst")
KNOWN = ".csv, .tsv, .jsonl or .parquet, or for TREC .run, .qrels or .txt, each also with .gz or .zst"


def of_file(path: str | os.PathLike[str], wanted: Wanted = "judgments") -> Source:
    """A file as a source of columns; `wanted` chooses among what a LETOR file holds."""
    if not isinstance(path, str | os.PathLike):
        several = "give several files as cr.read('a.csv', 'b.csv') or cr.read(*names)"
        raise JudgmentError(
            f"expected the name of a file, not {type(path).__name__}; "
            + (several if isinstance(path, list | tuple | set) else "cr.judgments(frame) reads data frames")
        )
    path = Path(path)
    kind, compression = _suffixes(path)
    try:
        if path.is_dir():
            raise JudgmentError(f"{path}: is a folder; give the names of the files in it")
        if not path.exists():
            raise JudgmentError(f"{path}: no such file")
        if kind in PARQUET:
            return of_parquet(path, io.BytesIO(decompressed(path, compression)) if compression else path)
        data = decompressed(path, compression)
    except OSError as error:
        raise JudgmentError(f"{path}: {error.strerror or error}") from None
    if kind in JSON_LINES:
        return of_json_lines(path, data)
    if kind in SEPARATORS:
        return of_separated(path, data, SEPARATORS[kind])
    # TREC files have all kinds of names (input.bm25, qrels.robust2004): their content decides.
    return read_trec_letor(path, data, wanted=wanted, otherwise=None if kind in TREC_LETOR else _unknown(path, kind))


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


def decompressed(path: Path, compression: str) -> bytes:
    """The content of a file, decompressed."""
    data = path.read_bytes()
    try:
        if compression == ".gz":
            return gzip.decompress(data)
        if compression == ".zst":
            return _zst_frames(data)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError):
        raise JudgmentError(
            f"{path}: is not a valid {compression} file; it is damaged, incomplete, or not compressed"
        ) from None
    return data


def _zst_frames(data: bytes) -> bytes:
    """All frames of a .zst file. The library's own reader does not notice that a file was cut off."""
    parts = []
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        parts.append(frame.decompress(data))
        if not frame.eof:
            raise EOFError
        data = frame.unused_data
    return b"".join(parts)


def write_all(frames: Mapping[Path, pl.DataFrame | bytes]) -> None:
    """Write every file, or none: all are written under temporary names first, then renamed."""
    temporary = {path: path.with_name(f".{path.name}.{os.getpid()}.part") for path in frames}
    try:
        for path, frame in frames.items():
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
            temporary[path].write_bytes(frame if isinstance(frame, bytes) else file_bytes(frame, *kind_of(path)))
        for path, part in temporary.items():
            part.replace(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise JudgmentError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None
    finally:
        for part in temporary.values():
            with suppress(OSError):
                part.unlink()


def file_bytes(frame: pl.DataFrame, kind: str, compression: str) -> bytes:
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
    if compression == ".gz":
        return gzip.compress(data, mtime=0)  # no time stamp: the same ranking is the same file
    return zstandard.ZstdCompressor().compress(data) if compression == ".zst" else data
