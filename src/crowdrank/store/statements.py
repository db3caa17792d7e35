"""Statements of every request: compiled once, then run by the driver itself.

SQLAlchemy writes them for either database and converts values by their types. Only its way of running a statement is
left out: that takes ten times as long as SQLite takes for most of them.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Dialect, bindparam

from crowdrank.store.tables import Record


class Statement:
    """A statement with named parameters.

    `columns`: those that an INSERT has values for. `lists`: parameters that are lists; then the statement is made by a
    function, which gets the parameters that stand for their values.
    """

    def __init__(self, clause: Any, *, columns: Iterable[str] | None = None, lists: Sequence[str] = ()) -> None:
        self._clause, self._columns = clause, None if columns is None else list(columns)
        self._lists = lists
        self._compiled: dict[tuple[Any, ...], _Compiled] = {}  # by the name of the dialect and the lengths of lists

    def all(self, connection: Connection, **values: Any) -> list[Record]:
        """The rows; their columns are attributes."""
        lengths = []
        for name in self._lists:
            padded = _padded(values[name])
            values.update((f"{name}{place}", value) for place, value in enumerate(padded))
            lengths.append(len(padded))
        compiled = self._for(connection.dialect, *lengths)
        cursor = connection.connection.cursor()
        try:
            cursor.execute(compiled.text, compiled.parameters(values))
            return compiled.records(cursor)
        finally:
            cursor.close()

    def first(self, connection: Connection, **values: Any) -> Record | None:
        """The first row, if there is one."""
        return next(iter(self.all(connection, **values)), None)

    def run(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run it with the values of each of the rows."""
        compiled = self._for(connection.dialect)
        cursor = connection.connection.cursor()
        try:
            cursor.executemany(compiled.text, [compiled.parameters(row) for row in rows])
        finally:
            cursor.close()

    def _for(self, dialect: Dialect, *lengths: int) -> _Compiled:
        key = dialect.name, *lengths
        found = self._compiled.get(key)
        if found is None:
            sizes = zip(self._lists, lengths, strict=True)
            lists: dict[str, list[Any]] = {
                name: [bindparam(f"{name}{place}") for place in range(size)] for name, size in sizes
            }
            clause = self._clause(**lists) if lists else self._clause
            found = self._compiled[key] = _Compiled(clause, dialect, self._columns)
        return found


def _padded(values: Sequence[Any]) -> list[Any]:
    """The values, the last one repeated until there are 1, 2, 4, 8, …: few statements serve any number of them."""
    last = values[-1] if values else None  # nothing equals NULL
    return [*values, *[last] * ((1 << max(len(values) - 1, 0).bit_length()) - len(values))]


class _Compiled:
    """A statement as one of the databases takes it."""

    def __init__(self, clause: Any, dialect: Dialect, columns: list[str] | None) -> None:
        compiled = clause.compile(dialect=dialect, column_keys=columns)
        self.text = str(compiled)
        self._in_order = compiled.positional
        self._names = list(compiled.positiontup if self._in_order else compiled.params)
        self._given = [
            (name, compiled.params[name], compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
            for name in self._names
        ]
        self._dialect, self._types = dialect, [column.type for column in clause.exported_columns]
        self._record = namedtuple("Row", [column.name for column in clause.exported_columns])  # type: ignore[misc]
        self._converted: list[tuple[int, Callable[[Any], Any]]] | None = None  # known with the first answer

    def parameters(self, values: Mapping[str, Any]) -> Any:
        """Values as the driver takes them."""
        found = [
            convert(values.get(name, usual)) if convert else values.get(name, usual)
            for name, usual, convert in self._given
        ]
        return found if self._in_order else dict(zip(self._names, found, strict=True))

    def records(self, cursor: Any) -> list[Record]:
        """The rows that the driver gives, with names."""
        if self._converted is None:
            self._converted = list(self._conversions(cursor.description))
        rows = [list(row) for row in cursor.fetchall()]
        for place, convert in self._converted:
            for row in rows:
                row[place] = convert(row[place])
        return [self._record(*row) for row in rows]

    def _conversions(self, description: Sequence[Any]) -> Iterator[tuple[int, Callable[[Any], Any]]]:
        """What is done with some columns of an answer."""
        for place, (kind, column) in enumerate(zip(self._types, description, strict=True)):
            convert = kind.dialect_impl(self._dialect).result_processor(self._dialect, column[1])
            if convert is not None:
                yield place, convert
