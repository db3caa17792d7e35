"""Reading files: the name shows the compression and the kind; without a known kind, the content does."""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from crowdrank.forking import check_polars
from crowdrank.formats.compressed import Content, content_of, decompressed, of_pipe
from crowdrank.formats.json_files import of_json
from crowdrank.formats.source import Source
from crowdrank.formats.spreadsheets import of_spreadsheet
from crowdrank.formats.table import BYTE_ORDER_MARK, of_parquet, of_separated
from crowdrank.formats.trec_letor import FIRST_LINE, Wanted, read_trec_letor
from crowdrank.study import JudgmentError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
JSON = (*JSON_LINES, ".json")
PARQUET = (".parquet", ".pq")
SPREADSHEETS = (".xlsx", ".ods")
TABLES = (*SEPARATORS, *JSON_LINES, *PARQUET, ".xlsx")  # what is written
TREC_LETOR = (".txt", ".run", ".qrels")  # columns separated by blanks, without a header
PREFLIB = (".soc", ".soi", ".toc", ".toi", ".cat")
COMPRESSED = (".gz", ".zst")
PACKED = (".zip", ".tar", ".tgz", ".bz2", ".xz", ".7z", ".rar")
STANDARD_INPUT = ("-", "/dev/stdin")
BEGINS_JSON = re.compile(rb"\s*(\[\s*\{|\{\s*\")")
BEGINS_PREFLIB = re.compile(
    rb"\s*#\s*(FILE NAME|TITLE|DATA TYPE|MODIFICATION TYPE|NUMBER ALTERNATIVES)\s*:", re.IGNORECASE
)
KNOWN = ".csv, .tsv, .jsonl, .parquet or .xlsx, or for TREC .run, .qrels or .txt, each also with .gz or .zst"


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: what its name, or its content, says it is."""

    path: Path
    kind: str  # as a suffix
    content: Content
    on_disk: bool  # is it a plain file, of which parts can be read?

    @property
    def data(self) -> bytes:
        """The whole content."""
        return b"".join(self.content())


def open_file(path: str | os.PathLike[str]) -> File:
    """A file, and its kind."""
    if not isinstance(path, str | os.PathLike):
        several = "give several files as cr.read('a.csv', 'b.csv') or cr.read(*names)"
        raise JudgmentError(
            f"expected the name of a file, not {type(path).__name__}; "
            + (several if isinstance(path, list | tuple | set) else "cr.judgments(frame) reads data frames")
        )
    check_polars()
    path = Path(path)
    try:
        if str(path) in STANDARD_INPUT:
            path = Path("standard input")
            data = decompressed(path, of_pipe(path, sys.stdin.buffer))
            return File(path, _kind_of_content(data), lambda: iter([data]), False)
        if path.is_dir():
            raise JudgmentError(f"{path}: is a folder; give the names of the files in it")
        if not path.exists():
            raise JudgmentError(f"{path}: no such file")
        kind, compression = _suffixes(path)
        content = content_of(path, compression)
        if not path.is_file():  # a pipe can be read once
            with path.open("rb") as pipe:
                data = decompressed(path, of_pipe(path, pipe), compression)
            content = lambda: iter([data])  # noqa: E731
            kind = kind or _kind_of_content(data)  # <(zcat votes.gz) of a shell is /dev/fd/63
    except OSError as error:
        raise JudgmentError(f"{path}: {error.strerror or error}") from None
    if kind in PARQUET or kind in SPREADSHEETS:
        return File(path, kind, content, path.is_file() and not compression)
    first = next(content(), b"")[:FIRST_LINE]
    return File(path, _kind_by_both(kind, first), content, path.is_file())


def _kind_by_both(kind: str, first: bytes) -> str:
    """The kind by name and first bytes: what other tools export has all kinds of names."""
    first = first.removeprefix(BYTE_ORDER_MARK)
    if BEGINS_PREFLIB.match(first) and kind not in PREFLIB:
        return PREFLIB[0]
    if BEGINS_JSON.match(first) and kind not in JSON:
        return ".json"
    return kind


def of_file(path: str | os.PathLike[str], wanted: Wanted = "judgments") -> Source:
    """A file as a source of columns; `wanted` chooses among what a LETOR file holds."""
    return as_table(open_file(path), wanted)


# How to read a file in pieces, while memory is limited; None for files that are read as a whole.
in_pieces: ContextVar[Callable[[File], Source | None] | None] = ContextVar("in_pieces", default=None)


def as_table(file: File, wanted: Wanted) -> Source:
    """An opened file as a source of columns."""
    reader, path, kind = in_pieces.get(), file.path, file.kind
    if reader is not None and (source := reader(file)) is not None:
        return source
    if kind in PARQUET:
        return of_parquet(path, path if file.on_disk else io.BytesIO(file.data))
    if kind in JSON:
        return of_json(path, file.content)
    if kind in SPREADSHEETS:
        return of_spreadsheet(path, file.data)
    if kind in SEPARATORS:
        return of_separated(path, file.data, SEPARATORS[kind])
    # TREC files have all kinds of names (input.bm25, qrels.robust2004): their content decides.
    otherwise = None if kind in TREC_LETOR else _unknown(path, kind)
    return read_trec_letor(path, file.data, wanted=wanted, otherwise=otherwise)


def _kind_of_content(data: bytes) -> str:
    """The kind of a source without a name that shows it."""
    first = data.removeprefix(BYTE_ORDER_MARK).lstrip()[:FIRST_LINE].partition(b"\n")[0]
    if data.startswith(b"PAR1"):
        return ".parquet"
    if data.startswith(b"PK\x03\x04"):
        return ".xlsx"
    if first.startswith(b"{"):
        return ".jsonl"
    separated = any(mark in first for mark in (b",", b";", b"|")) or (b"\t" in first and b" " not in first)
    trec = b"qid:" in first or not separated
    return _kind_by_both(".txt" if trec and len(first.split()) > 1 else ".csv", data[:FIRST_LINE])


def matching_files(path: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    """The files that a name with * or ? stands for, sorted; other names stand for themselves."""
    if not isinstance(path, str | os.PathLike) or not has_magic(str(path)) or Path(path).exists():
        return [path]
    found = sorted(glob(str(path), recursive=True))  # noqa: PTH207 (Path.glob takes no absolute patterns)
    if not found:
        raise JudgmentError(f"{path}: no file matches")
    return [*found]


def refuse_same_files(paths: Sequence[str | os.PathLike[str]]) -> None:
    """Refuse a file that is named twice, also through a link: its judgments would count double."""
    seen: dict[Any, str | os.PathLike[str]] = {}
    for path in paths:
        try:
            found = Path("/dev/stdin" if str(path) in STANDARD_INPUT else path).stat()
            file: Any = found.st_dev, found.st_ino
        except (OSError, TypeError, ValueError):  # whoever reads it says what is wrong
            file = str(path)
        if file in seen:
            same = str(seen[file]) == str(path)
            both = f"{path} is given twice" if same else f"{seen[file]} and {path} are the same file"
            raise JudgmentError(f"{both}: its judgments would count double; give it once")
        seen[file] = path


def notes_on_copies(paths: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """What to say of files that are copies of others: they may be meant, as two people may say the same."""
    files = [path for path in map(Path, paths) if path.is_file()]  # a pipe can be read once
    sizes = Counter(path.stat().st_size for path in files)
    notes, seen = [], dict[bytes, Path]()
    for path in files:
        if sizes[path.stat().st_size] > 1 and (same := seen.setdefault(_digest(path), path)) is not path:
            both = f"{same} and {path} have the same content, so that every judgment counts twice"
            notes.append(f"{both}; leave one out if it is a copy")
    return tuple(notes)


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def kind_of(path: Path) -> tuple[str, str]:
    """The kind of file to write by its suffix, and its compression ('' if none)."""
    kind, compression = _suffixes(path)
    if kind not in (*TABLES, *TREC_LETOR, *PREFLIB):
        raise JudgmentError(_unknown(path, kind))
    return kind, compression


def _suffixes(path: Path) -> tuple[str, str]:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSED else ""
    return suffixes[-1] if suffixes else "", compression


def _unknown(path: Path, kind: str) -> str:
    first = "unpack it first: what is inside" if kind in PACKED else "it"
    return f"{path}: unknown kind of file {kind or path.name!r}; {first} must be {KNOWN}"
