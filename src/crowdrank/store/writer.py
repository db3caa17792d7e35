"""Transactions of many requests together: what waits while one is stored is stored with the next, by one commit.

So many requests wait for the disk once, and one thread, not one for each of them, uses the database.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection

from crowdrank.store.database import Database, RefusalError, StoreError

MOST = 50  # requests in one transaction
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Job:
    """What one request does in a transaction."""

    work: Callable[[Connection], Any]
    durable: bool
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]

    def run(self, connection: Connection) -> Any:
        """The result, or why it is refused: that is no reason to refuse the others."""
        try:
            return self.work(connection)
        except RefusalError as refusal:
            return refusal

    def end(self, outcome: Any) -> None:
        """Tell the request, if it still waits."""
        with suppress(RuntimeError):  # the loop has ended
            self.loop.call_soon_threadsafe(self._settle, outcome)

    def _settle(self, outcome: Any) -> None:
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class Writer:
    """Stores what requests send, in the order in which they come."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._follow, name="writer", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, after all that waits."""
        self._jobs.put(None)
        self._thread.join()

    async def run(self, work: Callable[[Connection], Result], *, durable: bool) -> Result:
        """The result of `work` once it is stored. It raises `RefusalError` only before it has written anything."""
        loop = asyncio.get_running_loop()
        job = _Job(work, durable, loop, loop.create_future())
        self._jobs.put(job)
        result: Result = await job.future
        return result

    def _follow(self) -> None:
        ended = False
        while not ended:
            batch = [self._jobs.get()]
            while len(batch) < MOST and not self._jobs.empty():
                batch.append(self._jobs.get())
            ended = None in batch
            self._store([job for job in batch if job is not None])

    def _store(self, batch: list[_Job]) -> None:
        try:
            outcomes = self._together(batch) if batch else []
        except StoreError as error:
            outcomes = [error] * len(batch)
        except Exception as error:  # a mistake of one request: the others are stored without it
            if len(batch) > 1:
                for job in batch:
                    self._store([job])
                return
            outcomes = [error]
        for job, outcome in zip(batch, outcomes, strict=True):
            job.end(outcome)

    def _together(self, batch: list[_Job]) -> list[Any]:
        writing = self._database.write if any(job.durable for job in batch) else self._database.write_quickly
        with writing() as connection:
            return [job.run(connection) for job in batch]
