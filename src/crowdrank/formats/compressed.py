"""The content of files, block by block, unpacked where it is compressed: never more than the user allows."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from crowdrank.settings import check
from crowdrank.study import JudgmentError

MARKS = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}  # how compressed files begin
BLOCK = 1 << 24  # bytes that are read or decompressed at a time
ZST_PART = 1 << 13  # compressed ones: a few bytes may become very many

Content = Callable[[], Iterator[bytes]]  # a file that can be read several times, in blocks


def content_of(path: Path, compression: str = "") -> Content:
    """A file as blocks. Its first bytes decide: a .csv may turn out to be compressed."""

    def blocks() -> Iterator[bytes]:
        try:
            with path.open("rb") as file:
                yield from unpacked(path, file, compression)
        except OSError as error:
            raise JudgmentError(f"{path}: {error.strerror or error}") from None

    return blocks


def decompressed(path: Path, data: bytes, compression: str = "") -> bytes:
    """The same of bytes, as a whole."""
    return b"".join(unpacked(path, io.BytesIO(data), compression))


def of_pipe(path: Path, pipe: BinaryIO) -> bytes:
    """All that comes out of a pipe, which may never end."""
    parts, size, most = list[bytes](), 0, most_bytes()
    while part := pipe.read(BLOCK):
        parts.append(part)
        size += len(part)
        if size > most:
            raise JudgmentError(too_large(path, most, packed=False))
    return b"".join(parts)


def unpacked(path: Path, file: BinaryIO, compression: str) -> Iterator[bytes]:
    """The blocks of an open file."""
    first = file.read(max(map(len, MARKS.values())))
    file.seek(0)
    found = next((name for name, mark in MARKS.items() if first.startswith(mark)), compression)
    if not found:
        while block := file.read(BLOCK):
            yield block
        return
    most, size = most_bytes(), 0
    try:
        for part in _gzip_parts(file) if found == ".gz" else _zst_parts(file):
            size += len(part)
            if size > most:
                raise JudgmentError(too_large(path, most))
            yield part
    except (OSError, EOFError, zlib.error, zstandard.ZstdError):
        raise JudgmentError(
            f"{path}: is not a valid {found} file; it is damaged, incomplete, or not compressed"
        ) from None


def too_large(path: Path, most: int, packed: bool = True) -> str:
    """What to say of a file that would become larger than `most` bytes."""
    return (
        f"{path}: is more than {most / 1e9:g} GB{' when decompressed' * packed}; if that is right, allow more with "
        "--max-size 32GB before the command, or CROWDRANK_MAX_SIZE=32GB"
    )


def most_bytes() -> int:
    """How large a pipe may be and a compressed file may become: CROWDRANK_MAX_SIZE, or 8 GB."""
    text = os.environ.get("CROWDRANK_MAX_SIZE", "8GB")
    size = re.fullmatch(r"(\d+)\s*([kmgt]?)b?", text.strip().lower())
    check(size is not None, "CROWDRANK_MAX_SIZE", text, "a size like 500MB or 32GB")
    assert size is not None
    size_in_bytes: int = int(size[1]) * 1000 ** (" kmgt".index(size[2] or " "))
    return size_in_bytes


def _gzip_parts(compressed: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=compressed) as file:
        while part := file.read(BLOCK):
            yield part


def _zst_parts(compressed: BinaryIO) -> Iterator[bytes]:
    """All frames of a .zst file. The library's own reader does not notice that a file was cut off."""
    frame = None
    while rest := compressed.read(ZST_PART):
        while rest:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(rest)
            rest = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError
