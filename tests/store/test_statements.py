"""Statements that the driver runs by itself: the same values as SQLAlchemy's way of running them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from sqlalchemy import bindparam, select, update

from crowdrank.store import access, studies
from crowdrank.store.database import Database, RefusalError, StoreError
from crowdrank.store.statements import Statement
from crowdrank.store.studies import NewItem
from crowdrank.store.tables import item, token

NAMES = ["a", "b", "ö 'x'", '%s ?"', "e"]


@pytest.fixture
def database(database_url):
    made = Database(database_url)
    made.prepare()
    yield made
    made.close()


@pytest.fixture
def study_id(database):
    with database.write() as connection:
        items = [NewItem(name, name.upper(), "t", {"text": [name, 1.5, None]}) for name in NAMES]
        return studies.open_study(connection, "s", items)


def test_rows_are_those_of_sqlalchemy(database, study_id):
    """Text, JSON, truth values and numbers; whatever stands in the names."""
    with database.read() as connection:
        statement = Statement(select(item).where(item.c.study_id == bindparam("study")).order_by(item.c.id))
        found = statement.all(connection, study=study_id)
        usual = connection.execute(select(item).order_by(item.c.id)).all()
        assert [row._asdict() for row in found] == [dict(row._mapping) for row in usual]
        assert len(found) == len(NAMES)


def test_bytes_and_empty_values(database, study_id):
    with database.write() as connection:
        secret = access.new_token(connection, study_id, None, 1.0)
        (row,) = Statement(select(token)).all(connection)
        assert (bytes(row.hash), row.annotator_id) == (access.hash_of(secret), None)
        assert access.holder_of(connection, study_id, secret).is_owner


@pytest.mark.parametrize("count", range(len(NAMES) + 1))
def test_lists_of_any_length(database, study_id, count):
    statement = Statement(lambda names: select(item.c.name).where(item.c.name.in_(names)), lists=["names"])
    with database.read() as connection:
        found = statement.all(connection, names=NAMES[:count])
    assert sorted(row.name for row in found) == sorted(NAMES[:count])


def test_errors_of_the_driver_are_explained(database, study_id):
    with pytest.raises(StoreError, match="cannot be used now"), database.write() as connection:
        Statement(select(item).where(item.c.id == bindparam("number"))).all(connection, number={})


def test_statements_end_with_their_transaction(database, study_id):
    """What both ways of running statements have written is undone together."""
    more = Statement(update(item).values(open=item.c.open + bindparam("more")))
    with suppress(RefusalError), database.write() as connection:
        more.run(connection, [{"more": 1}, {"more": 2}])
        studies.set_state(connection, study_id, "paused")
        assert {row.open for row in studies.count_items(connection, study_id)} == {3}
        raise RefusalError("no", "no")
    with database.read() as connection:
        assert {row.open for row in studies.count_items(connection, study_id)} == {0}
        assert studies.read_study(connection, study_id).state == "open"
