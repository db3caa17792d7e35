"""What to ask next, for requests: this takes no time.

Questions come from the plan, which is made in the background (planning.py), and are others (of items with nearly the
same score) while there is no plan. Nothing here decides what may be asked: the store does, in its transaction. So
several processes, each with an engine of its own, never contradict each other.
"""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from sqlalchemy import Connection

from crowdrank.server.planning import Plan
from crowdrank.server.study_file import StudyFile
from crowdrank.store import questions, studies
from crowdrank.store.questions import Candidate
from crowdrank.store.tables import Record

SPARE_SECONDS = 1.0  # in which the questions beside the plan stay the same
SPARE_SHARE = 0.02  # of the time may be spent on looking for them
SPARES = 500
MOST_LATE = 1.0  # seconds after the end of a lease until others can get the question,
LATE_SHARE = 0.1  # and at most this share of its time


class Engine:
    """The questions of one study; one in each process."""

    def __init__(self, study: StudyFile) -> None:
        self.study = study
        self.rng = random.Random(study.collection.seed)
        self._gold = frozenset(each.entries for each in study.collection.gold)  # these are asked as checks only
        self._plan = Plan()
        self._planned: deque[Candidate] = deque()  # its questions, without those at the front that were asked
        self._asked: set[str] = set()  # questions that were asked since the plan was made
        self._used: Counter[tuple[str, str]] = Counter()  # judgments of each entry, and questions asked
        self._by_task: dict[str, list[str]] = {}  # the items that may be asked about
        self._spares: tuple[Candidate, ...] = ()
        self.some_wanted = False  # the owner wants the next question to be about some item
        self._rebuilt, self._refresh_at = -1, 0.0
        self._expired_at = 0.0

    def take(self, plan: Plan) -> None:
        """Use a new plan."""
        self._plan, self._planned, self._asked = plan, deque(plan.questions), set()

    def expire(self, connection: Connection, study_id: int, now: float) -> bool:
        """Give back questions that nobody answered in time; whether there are any. Not every request looks."""
        seconds = self.study.collection.caps.seconds
        if abs(now - self._expired_at) < min(LATE_SHARE * seconds, MOST_LATE):  # the clock may have been set back
            return False
        self._expired_at = now
        return questions.expire(connection, study_id, now, seconds)

    def refresh(self, connection: Connection, of_study: Record) -> None:
        """See which items there are and how often they were judged: if items changed, else now and then."""
        started = time.monotonic()
        if of_study.rebuild == self._rebuilt and started < self._refresh_at:
            return
        self._used, self._by_task, self.some_wanted = Counter(), {}, False
        for row in studies.count_items(connection, of_study.id):
            self._used[row.task, row.name] = row.judgments + row.open
            if row.state == "active":
                self._by_task.setdefault(row.task, []).append(row.name)
                self.some_wanted |= row.wanted
        self._spares = tuple(islice(self._nearest(), SPARES))
        now, self._rebuilt = time.monotonic(), of_study.rebuild
        self._refresh_at = now + max(SPARE_SECONDS, (now - started) / SPARE_SHARE)

    def candidates(self, wanted: Sequence[Any] = ()) -> Iterator[Candidate]:
        """Questions, the best first: those about wanted items, the plan, then pairs of neighbours."""
        asked = self._asked
        about = (each for row in wanted for each in self._about((row.task, row.name)))
        planned = (each for each in chain(self._planned, self._spares) if each.entries not in asked)
        for each in chain(about, planned, self._nearest()):
            if each.entries not in self._gold:
                yield self._shuffled(each)

    def checks(self) -> Iterator[Candidate]:
        """Gold checks in random order."""
        gold = self.study.collection.gold
        for each in self.rng.sample(gold, len(gold)):
            yield self._shuffled(each)

    def took(self, asked: Sequence[Any]) -> None:
        """These questions were asked: others are asked next."""
        planned = self._planned  # `take` may replace it meanwhile
        self._asked.update(each.entries for each in asked)
        while planned and planned[0].entries in self._asked:
            planned.popleft()

    def _shuffled(self, each: Candidate) -> Candidate:
        return Candidate(each.task, tuple(self.rng.sample(each.items, len(each.items))), each.expected)

    def _about(self, entry: tuple[str, str]) -> Iterator[Candidate]:
        """Questions about one item, with those of nearly the same score first."""
        task, name = entry
        if self.study.kind == "grades":
            yield Candidate(task, (name,))
            return
        more = 1 if self.study.kind == "pairs" else self.study.list_size - 1
        score = self._drawn(entry)
        others = [other for other in self._by_task.get(task, ()) if other != name]
        others.sort(key=lambda other: abs(self._drawn((task, other)) - score))
        for first in range(max(len(others) - more + 1, min(1, len(others)))):
            yield Candidate(task, (name, *others[first : first + more]))

    def _nearest(self) -> Iterator[Candidate]:
        """All questions: little judged tasks first, in each of them items with nearly the same score.

        Scores are drawn from what is believed about them, so that uncertain items meet many others.
        """
        used, rng = self._used, self.rng
        share = {task: sum(used[task, name] for name in names) / len(names) for task, names in self._by_task.items()}
        for task in sorted(share, key=lambda task: (share[task], rng.random())):
            names = sorted(self._by_task[task], key=lambda name: self._drawn((task, name)))
            if self.study.kind == "grades":
                names.sort(key=lambda name: (used[task, name], rng.random()))
                yield from (Candidate(task, (name,)) for name in names)
            elif self.study.kind == "rankings":
                yield from self._handfuls(task, names)
            else:
                for gap in range(1, len(names)):
                    pairs = list(zip(names, names[gap:], strict=False))
                    pairs.sort(key=lambda pair: (used[task, pair[0]] + used[task, pair[1]], rng.random()))
                    yield from (Candidate(task, pair) for pair in pairs)

    def _handfuls(self, task: str, names: list[str]) -> Iterator[Candidate]:
        """Lists to rank: neighbours, the least judged first, then random ones."""
        size = min(self.study.list_size, len(names))
        if size < 2:
            return
        lists = [tuple(names[first : first + size]) for first in range(len(names) - size + 1)]
        lists.sort(key=lambda each: (sum(self._used[task, name] for name in each), self.rng.random()))
        yield from (Candidate(task, each) for each in lists)
        for _ in range(0 if size == len(names) else 200):
            yield Candidate(task, tuple(self.rng.sample(names, size)))

    def _drawn(self, entry: tuple[str, str]) -> float:
        """A score that the item may have."""
        mean, error = self._plan.beliefs.get(entry, (0.0, 1.0))
        return self.rng.gauss(mean, error)
