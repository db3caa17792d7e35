"""Connections and transactions, and what can go wrong with them.

SQLite: write-ahead log; `synchronous=FULL`, so that a commit is on the disk before it is acknowledged. What reads and
then writes begins with `BEGIN IMMEDIATE`, and waits for its turn at a lock of this process rather than at SQLite's,
which would let it sleep. PostgreSQL: such a transaction locks the row of its study.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from crowdrank.settings import InputError
from crowdrank.store.tables import REVISION, metadata

WAIT = 10  # seconds for a lock or a connection


class StoreError(Exception):
    """The database cannot be read or written now; nothing of the transaction was stored."""


class RefusalError(Exception):
    """Somebody may not do this; `code` tells programs why. Raised before anything is written."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class Database:
    """One database of studies; any number of threads may use it."""

    def __init__(self, url: str) -> None:
        self.url = _url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._turn = threading.Lock()
        self._engine = _sqlite(self.url, "FULL") if self.is_sqlite else _postgresql(self.url)
        # Leases need not survive a power failure, only a killed process: no wait for the disk.
        quick = _sqlite(self.url, "NORMAL") if self.is_sqlite else self._engine
        self._durable, self._quick = (each.execution_options(writes=True) for each in (self._engine, quick))

    def prepare(self) -> None:
        """Create the tables, or bring those of an older version to the newest schema."""
        try:
            with self._engine.connect() as connection, connection.begin():
                known = inspect(connection)
                if not known.has_table("study"):
                    metadata.create_all(connection)
                    connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
                    connection.execute(text("INSERT INTO alembic_version VALUES (:r)"), {"r": REVISION})
                    return
                if not known.has_table("alembic_version"):
                    raise InputError(f"the database {self} holds tables of another program; name another database")
                found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
            if found != REVISION:
                from crowdrank.store.upgrade import upgrade

                upgrade(self._engine, str(found))
        except DBAPIError as error:
            raise InputError(f"cannot use the database {self}: {_reason(error)}") from None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with self._explained(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is durable when the block has ended."""
        with self._writing(self._durable) as connection:
            yield connection

    @contextmanager
    def write_quickly(self) -> Iterator[Connection]:
        """A transaction that a power failure may undo, but not the end of this process."""
        with self._writing(self._quick) as connection:
            yield connection

    @contextmanager
    def _writing(self, engine: Engine) -> Iterator[Connection]:
        turn = self._turn if self.is_sqlite else nullcontext()
        with self._explained(), turn, engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Every error of the database as one that says what to do; errors of our own pass."""
        try:
            yield
        except (DBAPIError, self._engine.dialect.loaded_dbapi.Error) as error:
            raise StoreError(f"the database cannot be used now ({_reason(error)})") from error
        except PoolTimeoutError as error:
            raise StoreError("the database is busy") from error

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()
        self._quick.dispose()

    def __str__(self) -> str:
        return self.url.render_as_string(hide_password=True)


def _url(text: str) -> URL:
    try:
        url = make_url(text)
        if url.get_backend_name() not in ("sqlite", "postgresql"):
            raise ArgumentError
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise InputError(
            "the database must be sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME, "
            f"not {text.partition(':')[0]}:…"
        ) from None
    return url if url.get_backend_name() == "sqlite" else url.set(drivername="postgresql+psycopg")


def _sqlite(url: URL, synchronous: str) -> Engine:
    if url.database:
        folder = Path(url.database).absolute().parent
        if not folder.is_dir():
            raise InputError(f"the folder of the database does not exist: {folder}")
    engine = create_engine(url, connect_args={"timeout": WAIT}, pool_size=20, max_overflow=40, pool_timeout=WAIT)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # `begin` below decides how transactions begin
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute(f"PRAGMA synchronous={synchronous}")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.connection.cursor().execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgresql(url: URL) -> Engine:
    options = f"-c synchronous_commit=on -c lock_timeout={WAIT}s -c statement_timeout={3 * WAIT}s"
    return create_engine(
        url,
        pool_pre_ping=True,  # finds connections that a restart of the database has closed
        pool_size=10,
        max_overflow=20,
        pool_timeout=WAIT,
        connect_args={"connect_timeout": 5, "options": options},
    )


def _reason(error: Exception) -> str:
    """What the driver says, in one line; it holds neither values nor the password."""
    return str(getattr(error, "orig", error)).strip().splitlines()[0][:200]
