"""What takes long, beside the server in a process of its own: plans of questions, and results.

The process reads the store by itself and sends what it computed. So requests wait neither for a fit nor for the lock of
the interpreter, and the process has a low priority. If it ends, another one is started.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection

from crowdrank.server.engine import Engine
from crowdrank.server.following import Follower, Snapshot, Vote
from crowdrank.server.planning import Plan, Planner
from crowdrank.server.results import LiveResults, Results, compute
from crowdrank.server.study_file import StudyFile
from crowdrank.store.database import Database, StoreError

LOG = logging.getLogger("crowdrank.server")
AGAIN = 5.0  # seconds after which a process that ended, or work that failed, is begun again
START = 5.0  # seconds in which requests have the processor, unless somebody looks
ENDING = 10.0  # seconds that the end of a server waits for a thread
POLL = 1.0  # seconds between two looks at the store
REST = 3.0  # times the time of some work, in which others have the processor
LONGEST_REST = 30.0  # seconds
LOOKING = 60.0  # seconds after a request in which results are kept fresh
SELDOM = 30.0  # seconds between two results while nobody looks
LOW = 5  # priority (nice): requests come first


@dataclass(frozen=True, slots=True)
class Job:
    """A study to compute for."""

    study_id: int
    file: StudyFile


class Background:
    """Has plans and results computed, and hands them to the studies of this server.

    `own_process=False`: in a thread, for tests, which start many servers.
    """

    def __init__(self, database: str, *, own_process: bool) -> None:
        self._database, self._own_process = database, own_process
        self._jobs: list[Job] = []
        self._receivers: dict[int, tuple[Engine, LiveResults]] = {}
        self._pipe: Connection | None = None
        self._sending, self._stopped, self._wanted = threading.Lock(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="background", daemon=True)

    def add(self, job: Job, engine: Engine) -> LiveResults:
        """Compute for this study too; where its results will be."""
        results = LiveResults(partial(self._look, job.study_id))
        self._jobs.append(job)
        self._receivers[job.study_id] = engine, results
        return results

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; work in a thread of this process is waited for, for a while."""
        self._stopped.set()
        self._wanted.set()
        self._send(None)
        if self._thread.is_alive():
            self._thread.join(ENDING)

    def _look(self, study_id: int) -> None:
        """Somebody looks at the results of a study."""
        self._wanted.set()
        self._send(study_id)

    def _send(self, message: int | None) -> None:
        """A study that somebody looks at, or None: the end. One that does not arrive is not missed."""
        with self._sending:
            if self._pipe is not None:
                try:
                    self._pipe.send(message)
                except OSError:
                    self._pipe = None

    def _run(self) -> None:
        self._wanted.wait(START)
        while not self._stopped.is_set():
            ours, theirs = Pipe()
            begin = get_context("spawn").Process if self._own_process else threading.Thread
            begin(target=work, args=(theirs, self._database, self._jobs, self._own_process), daemon=True).start()
            if self._own_process:
                theirs.close()  # so that its end is noticed here
            with self._sending:
                self._pipe = ours
            self._receive(ours)
            if not self._stopped.is_set():
                LOG.error("the process that computes rankings has ended; another one is started")
                self._stopped.wait(AGAIN)

    def _receive(self, pipe: Connection) -> None:
        try:
            while True:
                study_id, computed = pipe.recv()
                engine, results = self._receivers[study_id]
                if isinstance(computed, Plan):
                    engine.take(computed)
                else:
                    results.publish(computed)
        except (EOFError, OSError):
            with self._sending:
                self._pipe = None
            pipe.close()


# The other side.


def work(pipe: Connection, database: str, jobs: list[Job], own_process: bool) -> None:
    """Compute for the studies until the server ends."""
    if own_process:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, which ends this
        os.nice(LOW)
        os.environ.setdefault("CROWDRANK_THREADS", str(max((os.cpu_count() or 1) - 1, 1)))  # a core is for requests
    wishes = Wishes(pipe, own_process)
    store = Database(database)
    rooms = [Room(Follower(store, job.study_id), Planner(job.file), job.file) for job in jobs]
    if own_process:
        warm_up(job.file for job in jobs)
    while not wishes.ended.is_set():
        for room in sorted(rooms, key=wishes.last_look, reverse=True):
            worked = False
            for computed in room.compute(wishes.last_look(room)):
                pipe.send((room.follower.study_id, computed))
                worked = True
            if worked and wishes.waiting:
                break  # results that somebody looks at come before plans of other studies
        wishes.wait(POLL)
    store.close()
    pipe.close()


class Wishes:
    """What the server asks for: which results somebody looks at, and the end."""

    def __init__(self, pipe: Connection, own_process: bool) -> None:
        self._looked: dict[int, float] = {}
        self.ended, self._news = threading.Event(), threading.Event()
        self._pipe, self._own_process = pipe, own_process
        threading.Thread(target=self._listen, name="wishes", daemon=True).start()

    def last_look(self, room: Room) -> float:
        """When somebody last asked for the results of a study."""
        return self._looked.get(room.follower.study_id, -LOOKING)

    @property
    def waiting(self) -> bool:
        """Whether there is a wish since the last `wait`."""
        return self._news.is_set()

    def wait(self, seconds: float) -> None:
        """Wait for the next wish."""
        self._news.wait(seconds)
        self._news.clear()

    def _listen(self) -> None:
        try:
            while (study_id := self._pipe.recv()) is not None:
                self._looked[study_id] = time.monotonic()
                self._news.set()
        except (EOFError, OSError):
            pass
        if self._own_process:
            os._exit(0)  # the server has ended: also in the middle of a fit
        self.ended.set()
        self._news.set()


class Room:
    """One study: its judgments, its plan and its results."""

    def __init__(self, follower: Follower, planner: Planner, file: StudyFile) -> None:
        self.follower, self.planner, self.file = follower, planner, file
        self._sequence, self._computed, self._rest_until = -1, time.monotonic(), 0.0

    def compute(self, looked: float) -> Iterator[Plan | Results]:
        """What is due; `looked`: when somebody last asked for results."""
        started = time.monotonic()
        if started < self._rest_until:
            return
        rest = 0.0
        try:
            yield from self._due(started, looked)
        except StoreError:
            rest = POLL
        except Exception:  # must not end the study: there are other questions, and the results before
            LOG.exception("questions and results of %s could not be computed", self.file.name)
            rest = AGAIN
        ended = time.monotonic()
        self._rest_until = ended + max(rest, min(REST * (ended - started), LONGEST_REST))

    def _due(self, now: float, looked: float) -> Iterator[Plan | Results]:
        snapshot = self.follower.read()
        if snapshot.sequence != self._sequence and (now - looked < LOOKING or now - self._computed > SELDOM):
            self._sequence, self._computed = snapshot.sequence, now
            yield compute(self.file, snapshot)
        plan = self.planner.plan(snapshot)
        if plan is not None:
            yield plan


def warm_up(files: Iterable[StudyFile]) -> None:
    """Load what plans and results need, before anybody waits for it: compute both for an example of each kind."""
    for kind, file in {file.kind: file for file in files}.items():
        entries = tuple(("t", item) for item in (("a",) if kind == "grades" else ("a", "b")))
        items = tuple(item for _, item in entries)
        answer = {"winner": "a", "grade": 1.0, "ranking": [[item] for item in items]}
        snapshot = Snapshot(0, 0, (Vote("x", "t", items, answer, 0.0),), entries, frozenset(entries))
        compute(file, snapshot)
        Planner(file).plan(snapshot)
