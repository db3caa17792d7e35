"""Migrations with Alembic. Imported only when a database is older than the program: it takes half a second."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Engine

from crowdrank.settings import InputError


def upgrade(engine: Engine, found: str) -> None:
    """Bring a database of an older version to the newest schema, in one transaction."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError:
            raise InputError(
                f"the database was written by a newer version of crowdrank (schema {found!r}); install that version"
            ) from None
