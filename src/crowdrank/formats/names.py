"""Names to codes: the tasks, items, annotators and entries of a study, gathered from many columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.formats.source import as_text
from crowdrank.study import Codes, Ids, ids


class Coded(NamedTuple):
    """A column of ids: its distinct texts, sorted, and the number of each row's among them."""

    distinct: pl.Series
    number: Codes

    def name(self, row: int) -> str:
        return str(self.distinct[int(self.number[row])])


class Names:
    """The names of one kind of thing. Their codes follow the sorted texts, so that no order of rows can change them."""

    def __init__(self) -> None:
        self.originals: dict[str, Any] = {}  # text → the id as it came, which may be a number
        self._code: dict[str, int] = {}

    def add(self, values: pl.Series) -> Coded:
        """Take up the names of a column."""
        text = as_text(values)
        distinct = text.unique().sort()
        if values.dtype == pl.String:
            self.originals.update(zip(distinct, distinct, strict=True))
        else:
            firsts = text.arg_unique()
            self.originals.update(zip(text.gather(firsts), values.gather(firsts), strict=True))
        return Coded(distinct, text.cast(pl.Enum(distinct)).to_physical().to_numpy().astype(np.int32))

    def finish(self) -> Ids:
        """All names, sorted by their text; from here on `codes` can be asked."""
        self._code = {text: code for code, text in enumerate(sorted(self.originals))}
        return ids([self.originals[text] for text in self._code])

    def codes(self, column: Coded) -> Codes:
        """A column in the codes of all names."""
        table = np.fromiter((self._code[text] for text in column.distinct), np.int32, len(column.distinct))
        return table[column.number] if len(table) else column.number


class Entries:
    """Every item within a task that some judgment names; codes follow task, then item."""

    def __init__(self, keys: Iterable[NDArray[np.int64]], n_tasks: int, n_items: int) -> None:
        self.n_items = max(n_items, 1)
        distinct = [_distinct(part, n_tasks * self.n_items) for part in keys]
        self.keys = np.unique(np.concatenate([np.zeros(0, np.int64), *distinct]))
        self.task, self.item = (half.astype(np.int32) for half in np.divmod(self.keys, self.n_items))

    def codes(self, keys: NDArray[np.int64]) -> Codes:
        """The entry of each `task * items + item`."""
        if len(self.keys) and self.keys[-1] == len(self.keys) - 1:  # one task, or every item in every task
            return keys.astype(np.int32)
        return np.searchsorted(self.keys, keys).astype(np.int32)


def _distinct(keys: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The distinct keys, by marking them where few are possible, by sorting where many are."""
    if size > 16 * len(keys) + 1_000_000:
        return np.unique(keys)
    seen = np.zeros(size, dtype=bool)
    seen[keys] = True
    return np.flatnonzero(seen)
