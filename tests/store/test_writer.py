"""Requests that are stored together: one commit for many, and none suffers from the mistakes of another."""

from __future__ import annotations

import asyncio
import threading

import pytest
from sqlalchemy import text

from crowdrank.store.database import Database, RefusalError, StoreError
from crowdrank.store.writer import Writer


@pytest.fixture
def database(database_url):
    made = Database(database_url)
    with made.write() as connection:
        connection.execute(text("CREATE TABLE note (number INTEGER UNIQUE)"))
    yield made
    made.close()


def insert(number):
    def work(connection):
        connection.execute(text("INSERT INTO note VALUES (:number)"), {"number": number})
        return number

    return work


def refuse(_):
    raise RefusalError("not you", "refused")


def numbers(database):
    with database.read() as connection:
        return sorted(connection.execute(text("SELECT number FROM note")).scalars())


@pytest.fixture
def run(database, in_loop):
    """What becomes of requests that come while another one is being stored."""
    return lambda *works: in_loop(stored_together(database, works))


async def stored_together(database, works):
    writer, begun, go_on = Writer(database), threading.Event(), threading.Event()

    def first(_):
        begun.set()
        go_on.wait(10)

    writer.start()
    busy = asyncio.create_task(writer.run(first, durable=True))
    await asyncio.to_thread(begun.wait, 10)
    others = [asyncio.create_task(writer.run(work, durable=True)) for work in works]
    await asyncio.sleep(0)
    go_on.set()
    await busy
    outcomes = await asyncio.gather(*others, return_exceptions=True)
    writer.stop()
    return outcomes


def count_transactions(database, monkeypatch):
    seen = []
    write = database.write
    monkeypatch.setattr(database, "write", lambda: (seen.append(1), write())[1])
    return seen


def test_what_waits_is_stored_by_one_commit(database, run, monkeypatch):
    seen = count_transactions(database, monkeypatch)
    assert run(*map(insert, range(20))) == list(range(20))
    assert numbers(database) == list(range(20))
    assert len(seen) == 2


def test_a_refusal_leaves_the_others_alone(database, run, monkeypatch):
    seen = count_transactions(database, monkeypatch)
    one, refused, two = run(insert(1), refuse, insert(2))
    assert (one, two) == (1, 2)
    assert isinstance(refused, RefusalError)
    assert numbers(database) == [1, 2]
    assert len(seen) == 2


def test_a_mistake_of_one_request_is_its_own(database, run):
    def mistaken(connection):
        insert(3)(connection)
        raise ZeroDivisionError

    one, failed, two = run(insert(1), mistaken, insert(2))
    assert (one, two) == (1, 2)
    assert isinstance(failed, ZeroDivisionError)
    assert numbers(database) == [1, 2]


def test_nothing_is_acknowledged_that_is_not_stored(database, run):
    """The second breaks a rule of the database, so the commit of both fails; both hear of it."""
    outcomes = run(insert(1), insert(1))
    assert all(isinstance(each, StoreError) for each in outcomes)
    assert numbers(database) == []


def test_a_request_that_is_given_up_does_not_end_the_writer(database, in_loop):
    writer = Writer(database)

    async def give_up():
        task = asyncio.create_task(writer.run(insert(1), durable=False))
        await asyncio.sleep(0)
        task.cancel()
        return await writer.run(insert(2), durable=False)

    writer.start()
    assert in_loop(give_up()) == 2
    writer.stop()
    assert numbers(database) == [1, 2]
