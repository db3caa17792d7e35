"""What to ask next. The only module of the server that uses `crowdrank.collect`.

A thread follows the judgments of the store by their sequence numbers, keeps the `State` of the collection, and plans
the next questions with the policy of the study. Requests take questions from the plan, which takes no time, and others
(of items with nearly the same score) while there is no plan. Nothing here decides what may be asked: the store
does, in its transaction. So several processes, each with an engine of its own, never contradict each other.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from crowdrank.server.study_file import StudyFile
from crowdrank.store import judgments, studies
from crowdrank.store.database import Database, StoreError
from crowdrank.store.questions import Candidate, entries_key

if TYPE_CHECKING:
    from crowdrank.collect.state import State
    from crowdrank.study import Judgments

LOG = logging.getLogger("crowdrank.server")
ENDING = 10.0  # seconds that the end of a server waits for its threads
START = 2.0  # seconds until the first plan: the first requests have the processor for themselves
POLL = 1.0  # seconds between two looks at the store, without a hint that there is something new
PLAN_SECONDS = 1.0  # that one plan may take
SPARE_SECONDS = 1.0  # in which the questions beside the plan stay the same
SPARES = 500
REST = 4.0  # times the time of a plan, in which requests have the processor
SOMEBODY = "\x00somebody"  # a new annotator, for whom questions are planned
REFIT_GROWTH = 1.2  # online updates drift from the fit: fit again after this growth


@dataclass(frozen=True, slots=True)
class Vote:
    """A judgment that counts, as the engine keeps it."""

    annotator: str
    task: str
    items: tuple[str, ...]
    answer: Any
    time: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All judgments that count, at some sequence number of the store."""

    sequence: int
    votes: tuple[Vote, ...]
    entries: tuple[tuple[str, str], ...]  # task and item of all items, also withdrawn ones
    active: frozenset[tuple[str, str]]


class Engine:
    """The questions of one study; started once in each process."""

    def __init__(self, database: Database, study_id: int, study: StudyFile) -> None:
        self.database, self.study_id, self.study = database, study_id, study
        self.snapshot = Snapshot(-1, (), (), frozenset())
        self.used: Counter[tuple[str, str]] = Counter()  # judgments of each entry, and questions asked since
        self._by_task: dict[str, list[str]] = {}  # the items that may be asked about
        self._beliefs: dict[tuple[str, str], tuple[float, float]] = {}  # mean and standard deviation of scores
        self.rng = random.Random(study.collection.seed)
        self._gold = frozenset(each.entries for each in study.collection.gold)  # these are asked as checks only
        self._plan: tuple[Candidate, ...] = ()
        self._spares: tuple[Candidate, ...] = ()
        self._spare_made = -SPARE_SECONDS
        self._asked: set[str] = set()  # questions of the plan that were asked since it was made
        self._state: State | None = None
        self._fitted_votes, self._planned_votes, self._per_second = 0, -1, 50.0
        self._news, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"engine of {study.name}", daemon=True)
        self._reading = threading.Lock()  # the results read too
        self._read_items()

    def start(self) -> None:
        """Follow the store in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; a plan that is being made is waited for, for a while."""
        self._stopped.set()
        self._news.set()
        if self._thread.is_alive():
            self._thread.join(ENDING)

    def notice(self) -> None:
        """Say that something was stored."""
        self._news.set()

    # Requests: these return at once.

    def candidates(self, wanted: Sequence[Any] = ()) -> Iterator[Candidate]:
        """Questions, the best first: those about wanted items, the plan, then pairs of neighbours."""
        asked = self._asked
        about = (each for row in wanted for each in self._about((row.task, row.name)))
        planned = (each for each in chain(self._plan, self._spare()) if each.entries not in asked)
        for each in chain(about, planned, self._nearest()):
            if each.entries not in self._gold:
                yield self._shuffled(each)

    def checks(self) -> Iterator[Candidate]:
        """Gold checks in random order."""
        gold = self.study.collection.gold
        for each in self.rng.sample(gold, len(gold)):
            yield self._shuffled(each)

    def took(self, asked: Sequence[Any]) -> None:
        """These questions were asked: the plan counts on their answers."""
        for each in asked:
            if each.entries not in self._asked:
                self._asked.add(each.entries)
                self.used.update((each.task, name) for name in each.items)

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

    def _spare(self) -> Iterator[Candidate]:
        """The first of `_nearest`, which are looked for again only now and then: that takes milliseconds."""
        if time.monotonic() - self._spare_made > SPARE_SECONDS:
            self._spare_made = time.monotonic()
            self._spares = tuple(islice(self._nearest(), SPARES))
        yield from self._spares

    def _nearest(self) -> Iterator[Candidate]:
        """All questions: little judged tasks first, in each of them items with nearly the same score.

        Scores are drawn from what is believed about them, so that uncertain items meet many others.
        """
        used, rng = self.used, self.rng
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
        lists.sort(key=lambda each: (sum(self.used[task, name] for name in each), self.rng.random()))
        yield from (Candidate(task, each) for each in lists)
        for _ in range(0 if size == len(names) else 200):
            yield Candidate(task, tuple(self.rng.sample(names, size)))

    def _drawn(self, entry: tuple[str, str]) -> float:
        """A score that the item may have."""
        mean, error = self._beliefs.get(entry, (0.0, 1.0))
        return self.rng.gauss(mean, error)

    # The thread.

    def _follow(self) -> None:
        self._stopped.wait(START)
        while not self._stopped.is_set():
            self._news.wait(POLL)
            self._news.clear()
            started = time.monotonic()
            try:
                changed = self.read()
                if changed or not self._plan:
                    self._make_plan()
            except StoreError:
                self._stopped.wait(POLL)
            except Exception:  # a policy that fails must not end the study: there are other questions
                LOG.exception("planning of questions for %s failed; the least judged items are asked", self.study.name)
                self._stopped.wait(5 * POLL)
            self._stopped.wait(REST * (time.monotonic() - started))

    def _read_items(self) -> None:
        with self.database.read() as connection:
            rows = studies.read_items(connection, self.study_id)
        entries = tuple((row.task, row.name) for row in rows)
        active = frozenset((row.task, row.name) for row in rows if row.state == "active")
        self.used = Counter({(row.task, row.name): row.judgments for row in rows})
        self._show(Snapshot(-1, (), entries, active))

    def _show(self, snapshot: Snapshot) -> None:
        by_task: dict[str, list[str]] = {}
        for task, name in snapshot.entries:
            if (task, name) in snapshot.active:
                by_task.setdefault(task, []).append(name)
        self.snapshot, self._by_task = snapshot, by_task

    def read(self) -> bool:
        """Take in what the store has that this engine has not seen; whether there is anything."""
        with self._reading:
            return self._read()

    def _read(self) -> bool:
        with self.database.read() as connection:
            row = studies.read_study(connection, self.study_id)
            before = self.snapshot
            if row.sequence == before.sequence:
                return False
            whole = before.sequence < 0 or row.rebuild > before.sequence
            after = -1 if whole else before.sequence
            rows = judgments.counted_between(connection, self.study_id, after, row.sequence)
            items = studies.read_items(connection, self.study_id) if whole else []
        new = tuple(Vote(each.annotator, each.task, tuple(each.items), each.answer, each.created) for each in rows)
        if whole:
            entries = tuple((each.task, each.name) for each in items)
            active = frozenset((each.task, each.name) for each in items if each.state == "active")
            self._state, self.used = None, Counter()
            self._show(Snapshot(row.sequence, new, entries, active))
        else:
            self.snapshot = Snapshot(row.sequence, before.votes + new, before.entries, before.active)
            self._update(new)
        for vote in new:
            entries_of = entries_key(vote.task, vote.items)
            if whole or entries_of not in self._asked:  # what this process asked is counted already
                self._asked.add(entries_of)
                self.used.update((vote.task, name) for name in vote.items)
        return True

    def _update(self, new: tuple[Vote, ...]) -> None:
        if self._state is not None and new and self.study.kind != "grades":
            self._state = self._state.update(judgments_of(self.study.kind, new))
            self._believe()

    def _believe(self) -> None:
        """Keep what the state says about scores where requests find it."""
        assert self._state is not None
        words, error = self._state.vocabulary, self._state.variance**0.5
        self._beliefs = {
            (str(words.tasks[task]), str(words.items[item])): (float(mean), float(width))
            for task, item, mean, width in zip(words.entry_task, words.entry_item, self._state.mean, error, strict=True)
        }

    def _make_plan(self) -> None:
        votes, entries = self.snapshot.votes, self.snapshot.active
        if (len(votes) == self._planned_votes and self._plan) or not entries or not votes:
            return  # before the first judgment, all questions are worth the same
        from crowdrank.collect.questions import next_questions

        kind, collection = self.study.kind, self.study.collection
        if kind == "grades" and collection.policy != "grades":
            return  # the least judged items are asked about
        known = judgments_of(kind, votes)
        settings: dict[str, Any] = dict(collection.settings)
        if kind != "grades":
            self._refit(known, len(votes))
            settings["state"] = self._state
        tasks, names = zip(*sorted(entries), strict=True)
        count = max(20, min(1000, int(self._per_second * PLAN_SECONDS)))
        started = time.perf_counter()
        found = next_questions(
            known,
            [SOMEBODY],
            count,
            policy=collection.policy,
            items={"task": list(tasks), "item": list(names)},
            seed=collection.seed,
            **settings,
        )
        self._per_second = len(found) / max(time.perf_counter() - started, 1e-3) or self._per_second
        self._plan, self._asked, self._planned_votes = tuple(self._questions(found)), set(), len(votes)

    def _refit(self, known: Judgments, count: int) -> None:
        from crowdrank.collect.state import State

        if self._state is None or count > REFIT_GROWTH * self._fitted_votes:
            start = State.start()
            self._state = start.refit(known) if count else start
            self._fitted_votes = count
            self._believe()

    def _questions(self, found: Any) -> Iterator[Candidate]:
        """The planned questions; for rankings, the items of the best pairs of a task together."""
        rows = found.to_dicts()
        if self.study.kind == "grades":
            yield from (Candidate(str(row["task"]), (str(row["item"]),)) for row in rows)
        elif self.study.kind == "pairs":
            yield from (Candidate(str(row["task"]), (str(row["left"]), str(row["right"]))) for row in rows)
        else:
            together: dict[str, dict[str, None]] = {}
            for row in rows:
                names = together.setdefault(str(row["task"]), {})
                names.update({str(row["left"]): None, str(row["right"]): None})
                if len(names) >= self.study.list_size:
                    yield Candidate(str(row["task"]), tuple(names)[: self.study.list_size])
                    together[str(row["task"])] = {}

    @property
    def state(self) -> State | None:
        """The beliefs of the collection so far."""
        return self._state


def judgments_of(kind: str, votes: Sequence[Vote]) -> Judgments:
    """Votes as the judgments that methods take."""
    from crowdrank.formats import judgments as from_columns

    return from_columns(table_of(kind, votes))


def table_of(kind: str, votes: Sequence[Vote]) -> dict[str, list[Any]]:
    """Votes as columns, which `crowdrank rank` reads."""
    if kind == "rankings":
        return _lists(votes)
    columns: dict[str, list[Any]] = {
        "task": [vote.task for vote in votes],
        "annotator": [vote.annotator for vote in votes],
    }
    if kind == "grades":
        columns["item"] = [vote.items[0] for vote in votes]
        columns["grade"] = [float(vote.answer["grade"]) for vote in votes]
    else:
        columns["left"] = [vote.items[0] for vote in votes]
        columns["right"] = [vote.items[1] for vote in votes]
        columns["winner"] = [vote.answer.get("winner", "tie") for vote in votes]
    return columns


def _lists(votes: Sequence[Vote]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in ("task", "annotator", "item", "rank", "list")}
    for number, vote in enumerate(votes):
        place = 1
        for tied in vote.answer["ranking"]:
            for name in tied:
                for column, value in zip(columns, (vote.task, vote.annotator, name, place, number), strict=True):
                    columns[column].append(value)
            place += len(tied)
    return columns
