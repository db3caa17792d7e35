"""JSON: a list of objects, or an object on every line; read block by block."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.formats.compressed import Content
from crowdrank.formats.source import Source, as_text, part_of, struct_paths
from crowdrank.formats.table import BYTE_ORDER_MARK, check_text, check_width
from crowdrank.study import JudgmentError

BLOCK = 1 << 25  # bytes of lines that are parsed at a time
LONG = 500  # bytes: in files of several blocks, columns of longer texts are loaded only when they are asked for
PEEKED = 50  # objects by which a file is recognised
DEEPEST = 20  # levels of nested objects that have a name as data.answer.text
BLANK = " \t\r\n"
LIST = re.compile(rb"\[\s*[{\]]")  # how a list of objects begins
# An escape of half a surrogate pair: the first half without the second, or the second without the first.
LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]"
)
SURROGATE = "contains half of a surrogate pair, which is no letter; write it anew"

Record = dict[str, Any]


def is_list(content: Content) -> bool:
    """Whether a document is a list of objects, and not an object on every line."""
    for block in content():
        if text := block.removeprefix(BYTE_ORDER_MARK).lstrip():
            return LIST.match(text) is not None
    return False


def has_lone_surrogate(text: bytes) -> bool:
    """Whether a text has half of an escaped letter."""
    return (b"\\ud" in text or b"\\uD" in text) and LONE_SURROGATE.search(text) is not None


def objects(path: Path, content: Content) -> Iterator[tuple[str, Record]]:
    """Every object of a list, or of the lines of a file, with its place."""
    if is_list(content):
        yield from _of_list(path, content)
        return
    for first, block in line_blocks(path, content):
        for number, line in _numbered(first, block):
            yield f"{path}:{number}", parsed_line(path, number, line)


def first_keys(path: Path, content: Content) -> set[str]:
    """The names in the first objects."""
    return {key for _, record in islice(objects(path, content), PEEKED) for key in record}


def line_blocks(path: Path, content: Content) -> Iterator[tuple[int, bytes]]:
    """Whole lines, some at a time, and the number of the first of them."""
    rest, line = b"", 1
    for part in content():
        rest = (rest or part.removeprefix(BYTE_ORDER_MARK)) if line == 1 and not rest else rest + part
        if len(rest) >= BLOCK and (end := rest.rfind(b"\n") + 1):
            check_text(path, rest[:end], line, may_be_blank=True)
            yield line, rest[:end]
            line += rest.count(b"\n", 0, end)
            rest = rest[end:]
    check_text(path, rest, line, may_be_blank=line > 1)
    yield line, rest


def _numbered(first: int, block: bytes) -> list[tuple[int, bytes]]:
    return [(number, line) for number, line in enumerate(block.splitlines(), first) if line.strip()]


def parsed_line(path: Path, number: int, line: bytes) -> Record:
    """The object on a line."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise JudgmentError(f"{path}:{number}: is not valid JSON: {error.msg} at character {error.colno}") from None
    except (ValueError, RecursionError):
        raise JudgmentError(
            f"{path}:{number}: is not valid JSON: a number is too long, or the nesting too deep"
        ) from None
    return _checked(f"{path}:{number}", record, line, "write one object on each line")


def _checked(place: str, record: Any, text: bytes, advice: str) -> Record:
    """What `text` says, if it is an object without half of a letter."""
    if not isinstance(record, dict):
        raise JudgmentError(f"{place}: is not a JSON object; {advice}")
    if has_lone_surrogate(text):
        try:
            json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise JudgmentError(f"{place}: {SURROGATE}") from None
    return record


def _of_list(path: Path, content: Content) -> Iterator[tuple[str, Record]]:
    """The objects of a list, without holding the whole list."""
    decoder, document, number = json.JSONDecoder(), _Text(path, content), 0
    document.skip(BLANK + "[", most=1)
    while document.next_mark() not in ("]", ""):
        number += 1
        place = f"{path}: object {number}"
        record = document.decode(decoder, place)
        yield place, _checked(place, record, document.decoded.encode(), "the list must hold objects")
        if document.next_mark() == ",":
            document.skip(",", most=1)
            if document.next_mark() == "]":
                raise JudgmentError(f"{place}: is followed by a comma, but by no other object")
        elif document.next_mark() not in ("]", ""):
            raise JudgmentError(f"{place}: is not followed by a comma or the end of the list")
    if document.next_mark() == "":
        raise JudgmentError(f"{path}: ends within its list, after {number:,} objects; it is incomplete")
    document.skip("]", most=1)
    if document.next_mark():
        raise JudgmentError(f"{path}: has text after the end of its list")
    if not number:
        raise JudgmentError(f"{path}: holds an empty list")


class _Text:
    """The text of a document, of which only the part in use is held."""

    def __init__(self, path: Path, content: Content) -> None:
        self.path, self.blocks, self.rest, self.at = path, content(), "", 0
        self.decoded = ""  # the text of the last value, where it has escaped letters
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.ended = False

    def more(self) -> bool:
        """Read another block; False at the end."""
        if self.ended:
            return False
        block = next(self.blocks, None)
        self.ended = block is None
        try:
            text = self.decoder.decode(block or b"", final=self.ended)
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise JudgmentError(f"{self.path}: byte {byte:#04x} is not UTF-8; save the file as UTF-8") from None
        self.rest, self.at = self.rest[self.at :] + text, 0
        return not self.ended

    def next_mark(self) -> str:
        """The next character that is not blank, '' at the end."""
        while True:
            while self.at < len(self.rest) and self.rest[self.at] in BLANK:
                self.at += 1
            if self.at < len(self.rest):
                return self.rest[self.at]
            if not self.more():
                return ""

    def skip(self, marks: str, most: int) -> None:
        while most and self.next_mark() and self.next_mark() in marks:
            self.at, most = self.at + 1, most - 1

    def decode(self, decoder: json.JSONDecoder, place: str) -> Any:
        """The next value."""
        while True:
            try:
                value, end = decoder.raw_decode(self.rest, self.at)
                if end < len(self.rest) or not self.more():  # a number may go on in the next block
                    text = self.rest[self.at : end]
                    self.decoded, self.at = (text if "\\u" in text else ""), end
                    return value
            except json.JSONDecodeError as error:
                near_end = error.pos >= len(self.rest) - 20 or error.msg.startswith("Unterminated")
                if not near_end or not self.more():
                    raise JudgmentError(f"{place}: is not valid JSON: {error.msg}") from None
            except (ValueError, RecursionError):
                raise JudgmentError(
                    f"{place}: is not valid JSON: a number is too long, or the nesting too deep"
                ) from None


def at(record: Mapping[str, Any], path: str) -> Any:
    """What stands at a path as data.answer_a; None where there is nothing."""
    if path in record:
        return record[path]
    first, dot, rest = path.partition(".")
    inner = record.get(first)
    return at(inner, rest) if dot and isinstance(inner, dict) else None


def flat(record: Mapping[str, Any], above: str = "", level: int = 0) -> Iterator[tuple[str, str | None]]:
    """The values of an object as texts, those of nested objects by their paths; lists of objects are left out."""
    for key, value in record.items():
        name = f"{above}{key}"
        if isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
            continue
        yield name, value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict) and level < DEEPEST:
            yield from flat(value, f"{name}.", level + 1)


def of_json(path: Path, content: Content) -> Source:
    """A JSON document as a table."""
    return _of_objects(path, content) if is_list(content) else of_json_lines(path, content)


def _of_objects(path: Path, content: Content) -> Source:
    places, columns = list[str](), dict[str, list[str | None]]()
    for place, record in objects(path, content):
        for name, value in flat(record):
            column = columns.setdefault(name, [])
            column.extend([None] * (len(places) - len(column)))
            column.append(value)
        places.append(place)
        check_width(path, len(columns))
    frame = pl.DataFrame(
        {
            name: pl.Series([*column, *[None] * (len(places) - len(column))], dtype=pl.String)
            for name, column in columns.items()
        }
    )
    return _source(path, frame, places.__getitem__)


def _source(path: Path, frame: pl.DataFrame, place: Callable[[int], str]) -> Source:
    names = [name for name in frame.columns if name.rpartition(".")[0] not in frame.columns]
    paths = tuple(name for name in frame.columns if name not in names)
    return Source(str(path), names, frame.get_column, place, paths=paths)


def of_json_lines(path: Path, content: Content) -> Source:
    """A JSON object on every line. In large files, long texts and lists of objects are read when they are asked for."""
    frames, numbers = list[pl.DataFrame](), list[np.ndarray[Any, Any]]()
    later = set[str]()
    blocks = line_blocks(path, content)
    ahead: tuple[int, bytes] | None = next(blocks)
    while ahead is not None:
        (first, block), ahead = ahead, next(blocks, None)
        frame, lines = block_table(path, first, block)
        if ahead is not None or frames:
            later |= {name for name in frame.columns if _is_heavy(frame[name])}
        frames.append(frame.drop(later, strict=False))
        numbers.append(lines)
    line = np.concatenate(numbers)
    names = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    known = {name: _joined(name, [(frame, len(frame)) for frame in frames]) for name in names if name not in later}
    check_width(path, len(known) + len(later))
    table = pl.DataFrame(list(known.values()))
    if len(line) == 1 and table.width > 1 and all(dtype.is_nested() for dtype in table.dtypes):
        advice = "write one object for each judgment (pandas: to_json(..., orient='records', lines=True))"
        raise JudgmentError(f"{path}: is one object with a list or object for each column; {advice}")
    nested = struct_paths(table.schema)

    def load(name: str) -> pl.Series:
        if name in nested:
            return part_of(known[nested[name][0]], nested[name][1:])
        if name in known:
            return known[name]
        parts = (block_table(path, first, block)[0] for first, block in line_blocks(path, content))
        return _joined(
            name, [(part.select(name) if name in part.columns else pl.DataFrame(), len(part)) for part in parts]
        )

    whole = _source(path, table, lambda row: f"{path}:{line[row]}")
    return replace(whole, columns=[*whole.columns, *sorted(later)], load=load, paths=(*whole.paths, *nested))


def _is_heavy(values: pl.Series) -> bool:
    if isinstance(values.dtype, pl.List):
        return bool(values.dtype.inner.is_nested())
    if values.dtype != pl.String:
        return False
    size = values.str.len_bytes().sum()
    return int(size) > LONG * max(len(values), 1)


def _joined(name: str, frames: list[tuple[pl.DataFrame, int]]) -> pl.Series:
    """A column of all blocks; as text where blocks differ in its type."""
    parts = [frame[name] if name in frame.columns else None for frame, _ in frames]
    types = {part.dtype for part in parts if part is not None and part.dtype != pl.Null}
    kind = types.pop() if len(types) == 1 else pl.String if types else pl.Null
    same = [
        pl.Series(name, [None] * rows, dtype=kind)
        if part is None
        else part.cast(kind)
        if part.dtype in (kind, pl.Null)
        else as_text(part)
        for part, (_, rows) in zip(parts, frames, strict=True)
    ]
    return pl.concat(same) if len(same) > 1 else same[0]


def block_table(path: Path, first: int, block: bytes) -> tuple[pl.DataFrame, np.ndarray[Any, Any]]:
    """The objects on some lines as a table, and their lines."""
    numbered = _numbered(first, block)
    lines = np.array([number for number, _ in numbered], dtype=np.int64)
    if not numbered:
        return pl.DataFrame(), lines
    try:
        if has_lone_surrogate(block):
            raise pl.exceptions.ComputeError("which polars replaces by a question mark")
        frame = pl.read_ndjson(b"\n".join(line for _, line in numbered), infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        # Slow, but it finds the wrong line, and it reads ids of mixed types as text.
        records = [_texts(parsed_line(path, number, line)) for number, line in numbered]
        names = dict.fromkeys(name for record in records for name in record)
        frame = pl.DataFrame({name: [record.get(name) for record in records] for name in names}, strict=False)
    check_width(path, frame.width)
    return frame, lines


def _texts(record: Record) -> dict[str, str | None]:
    own = {
        key: value if value is None or isinstance(value, str) else json.dumps(value) for key, value in record.items()
    }
    return {**dict(flat(record)), **own}
