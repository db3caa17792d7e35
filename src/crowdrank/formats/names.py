"""From names to codes: the tasks, items, annotators and entries of a study, collected from many columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.formats.source import as_text, shorten
from crowdrank.formats.text_table import TextTable
from crowdrank.study import Codes, Ids, ids

SLICE = 1 << 20  # rows worked on at a time
BITS_PER_ROW = 32  # as much as one more column of codes
LEAST_BITS = 1 << 20
UNSEEN = r"[\p{Cf}\p{Cc}]"  # byte order marks, joiners of no width, controls


class Coded(NamedTuple):
    """A column of ids: its distinct texts, sorted, and the number of each row's among them."""

    distinct: pl.Series
    number: Codes

    def name(self, row: int) -> str:
        return str(self.distinct[int(self.number[row])])


class Names:
    """The names of tasks, of items or of annotators. Codes follow the sorted names, whatever the order of the rows."""

    def __init__(self) -> None:
        self.originals: dict[str, Any] = {}  # text → the id as it was read, which may be a number
        self._code: dict[str, int] = {}

    def add(self, values: pl.Series) -> Coded:
        """Add the names of a column, without the blanks around them."""
        text = as_text(values)
        distinct = text.unique().sort()
        if (distinct != distinct.str.strip_chars()).any():  # quick to check: far fewer than rows
            values = text = text.str.strip_chars()
            distinct = text.unique().sort()
        self._keep_originals(values, text, distinct)
        return Coded(distinct, text.cast(pl.Enum(distinct)).to_physical().to_numpy().astype(np.int32))

    def _keep_originals(self, values: pl.Series, text: pl.Series, distinct: pl.Series) -> None:
        if values.dtype == pl.String or values.dtype.is_nested():
            self.originals.update(zip(distinct, distinct, strict=True))
        else:
            firsts = text.arg_unique()
            self.originals.update(zip(text.gather(firsts), values.gather(firsts).to_list(), strict=True))

    def add_pieces(self, pieces: Iterable[pl.Series]) -> Coded:
        """The same for a column that comes in pieces, of which only names that are new need memory."""
        rest = iter(pieces)
        first, second = next(rest), next(rest, None)
        if second is None:
            return self.add(first)
        table, numbers = TextTable(), []
        for values in chain((first, second), rest):
            text = as_text(values)
            number = table.numbers(text)
            if (number < 0).any():
                new = text.filter(number < 0)
                if (new != new.str.strip_chars()).any():
                    values = text = text.str.strip_chars()
                    number = table.numbers(text)
                    new = text.filter(number < 0)
                names = new.unique()
                self._keep_originals(values.filter(number < 0), new, names)
                table.add(names)
                number = table.numbers(text)
            numbers.append(number)
        order = table.texts.arg_sort().to_numpy()
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        for part in numbers:
            part[:] = place[part]
        return Coded(table.texts.gather(order), np.concatenate(numbers))

    def finish(self) -> Ids:
        """All names, sorted by their text; call it before `codes`."""
        self._code = {text: code for code, text in enumerate(sorted(self.originals))}
        return ids([self.originals[text] for text in self._code])

    def differ_by_spelling(self, kind: str) -> list[str]:
        """Notes on names that look the same, or nearly: case, é in one sign or in two, signs that nobody sees."""
        texts = pl.Series(list(self.originals), dtype=pl.String)
        composed = pl.Series([unicodedata.normalize("NFC", text) for text in texts], dtype=pl.String)
        return [
            *_twins(texts, texts.str.to_lowercase(), kind, "by case", repr),
            *_twins(texts, composed, kind, "by how accented letters are composed", ascii),
            *_twins(texts, texts.str.replace_all(UNSEEN, ""), kind, "by signs that cannot be seen", ascii),
        ]

    def codes(self, column: Coded) -> Codes:
        """A column in the codes of all names."""
        table = np.fromiter((self._code[text] for text in column.distinct), np.int32, len(column.distinct))
        return table[column.number] if len(table) else column.number


def _twins(texts: pl.Series, alike: pl.Series, kind: str, how: str, shown: Callable[[str], str]) -> list[str]:
    """A note on names that are `alike`, with an example."""
    if alike.n_unique() == len(alike):
        return []
    again = alike.is_duplicated()
    one, other = (shown(shorten(name)) for name in texts.filter(alike == alike.filter(again).min()).sort()[:2])
    return [
        f"the names of {again.sum():,} {kind}s differ only {how}, as {one} and {other}: they are treated as different"
    ]


class Entries:
    """Every item within a task that a judgment names; codes follow task, then item."""

    def __init__(self, columns: Iterable[tuple[Codes, Codes]], rows: int, n_tasks: int, n_items: int) -> None:
        self._n_items = max(n_items, 1)
        size = n_tasks * self._n_items
        keys = (key for task, item in columns for key in self._keys(task, item))
        # One bit per possible entry if that takes little memory beside the judgments, else the sorted keys.
        self._found = BitSet(keys, size) if size <= BITS_PER_ROW * rows + LEAST_BITS else SortedKeys(keys)
        self._all = len(self._found) == size  # one task, or every item in every task: keys are codes
        self.task, self.item = np.empty(len(self._found), np.int32), np.empty(len(self._found), np.int32)
        start = 0
        for keys_found in self._found.pieces():
            end = start + len(keys_found)
            self.task[start:end], self.item[start:end] = np.divmod(keys_found, self._n_items)
            start = end

    def codes(self, task: Codes, item: Codes) -> Codes:
        """The entry of each row."""
        codes, start = np.empty(len(item), np.int32), 0
        for keys in self._keys(task, item):
            codes[start : start + len(keys)] = keys if self._all else self._found.codes(keys)
            start += len(keys)
        return codes

    def _keys(self, task: Codes, item: Codes) -> Iterator[NDArray[np.int64]]:
        """One number per row, slice by slice: whole columns of 64 bits would take more memory than the study."""
        for start in range(0, len(item), SLICE):
            keys = task[start : start + SLICE].astype(np.int64)
            keys *= self._n_items
            keys += item[start : start + SLICE]
            yield keys


class BitSet:
    """A set of keys below `size`, a bit for each; the code of a key is how many smaller ones there are."""

    def __init__(self, keys: Iterable[NDArray[np.int64]], size: int) -> None:
        self._words = np.zeros(size // 64 + 1, np.uint64)
        for part in keys:
            np.bitwise_or.at(self._words, part >> 6, _bit(part))
        count = np.bitwise_count(self._words)
        self._before = np.cumsum(count, dtype=np.int64) - count

    def __len__(self) -> int:
        return int(self._before[-1]) + int(np.bitwise_count(self._words[-1]))

    def pieces(self) -> Iterator[NDArray[np.int64]]:
        """All keys in order, in pieces."""
        for start in range(0, len(self._words), SLICE // 64):
            words = self._words[start : start + SLICE // 64].astype("<u8")
            yield np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")) + 64 * start

    def codes(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        word = keys >> 6
        smaller = self._words[word] & (_bit(keys) - np.uint64(1))
        return np.asarray(self._before[word] + np.bitwise_count(smaller))


class SortedKeys:
    """A set of keys, sorted; the code of a key is its place."""

    def __init__(self, keys: Iterable[NDArray[np.int64]]) -> None:
        self._sorted = np.unique(np.concatenate([np.zeros(0, np.int64), *(np.unique(part) for part in keys)]))

    def __len__(self) -> int:
        return len(self._sorted)

    def pieces(self) -> Iterator[NDArray[np.int64]]:
        """All keys in order, in pieces."""
        yield from (self._sorted[start : start + SLICE] for start in range(0, len(self._sorted), SLICE))

    def codes(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self._sorted, keys)


def _bit(keys: NDArray[np.int64]) -> NDArray[np.uint64]:
    return np.uint64(1) << (keys & 63).astype(np.uint64)
