"""Questions that annotators have now. They are leases: an annotator has a question until it is answered or expires.

All of this runs in a transaction that holds the lock of the study, so counts are exact: an item is never asked about
more often than its cap allows, and two people do not get the same question unless the study repeats questions.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Protocol

from sqlalchemy import Connection, and_, bindparam, insert, or_, select, update

from crowdrank.store.statements import Statement
from crowdrank.store.studies import item_counts
from crowdrank.store.tables import Record, annotator, item, question, study

FIRST_BATCH, BATCH = 2, 16  # candidates that are looked up together, for each question wanted
SKEW = 60.0  # seconds by which the clocks of several servers may differ
MOST_BATCHES = 200  # a study in which one annotator was asked nearly everything must not take forever
LONGEST_ENTRIES = 600  # characters of a question that stand in its index as they are


_LATE = Statement(
    select(question).where(
        question.c.study_id == bindparam("study"),
        question.c.state == "open",
        or_(question.c.expires <= bindparam("now"), question.c.expires > bindparam("latest")),
    )
)
_OPEN = Statement(
    select(question)
    .where(question.c.annotator_id == bindparam("who"), question.c.state == "open")
    .order_by(question.c.id)
)
_ANNOTATOR = Statement(select(annotator).where(annotator.c.id == bindparam("who")))
_ASKED = Statement(
    lambda keys: select(question.c.entries, question.c.annotator_id).where(
        question.c.study_id == bindparam("study"),
        question.c.entries.in_(keys),
        or_(
            and_(question.c.annotator_id == bindparam("who"), question.c.state != "expired"),
            question.c.state == "open",
        ),
    ),
    lists=["keys"],
)
_INSERT = Statement(insert(question).returning(question), columns=question.c.keys()[1:])
_COUNT_ITEM = Statement(
    update(item)
    .where(
        item.c.study_id == bindparam("of_study"),
        item.c.task == bindparam("of_task"),
        item.c.name == bindparam("of_name"),
    )
    .values(open=item.c.open + bindparam("opened"), judgments=item.c.judgments + bindparam("judged"))
)
_COUNT_STUDY = Statement(
    update(study)
    .where(study.c.id == bindparam("of_study"))
    .values(
        open=study.c.open + bindparam("opened"),
        judgments=study.c.judgments + bindparam("judged"),
        sequence=study.c.sequence + bindparam("changes"),
    )
)


@dataclass(frozen=True)
class Candidate:
    """A question that could be asked."""

    task: str
    items: tuple[str, ...]  # as shown
    expected: Mapping[str, Any] | None = None  # the right answer of a gold check

    @cached_property  # it is looked at with every request
    def entries(self) -> str:
        """The same for the same question in another order."""
        return entries_key(self.task, self.items)


class Person(Protocol):
    """An annotator, as they are in this transaction: a row, or the holder of a token."""

    @property
    def id(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def state(self) -> str: ...

    @property
    def judgments(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Caps:
    """How often may be asked."""

    seconds: float  # that a lease lasts
    budget: int | None = None  # judgments of the study
    annotator: int | None = None  # judgments of each annotator
    item: int | None = None  # judgments of each item
    repeat: bool = False  # several annotators may have the same question


@dataclass(frozen=True, slots=True)
class Leased:
    """The questions of an annotator, and why there are no more."""

    questions: list[Record]
    reason: str | None = None
    code: str | None = None  # of the reason


@dataclass(frozen=True, slots=True)
class Offer:
    """Questions that could be asked, the best first."""

    candidates: Iterator[Candidate]
    checks: Iterator[Candidate]  # questions with known answers
    wanted_checks: int  # how many of the questions should be checks
    some_wanted: bool = False  # whether the owner sends the next annotator to an item


def entries_key(task: str, items: Iterable[str]) -> str:
    """One text for a question in any order; a long one by its hash, since PostgreSQL's indexes hold 2,700 bytes."""
    text = json.dumps([task, *sorted(items)], ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= LONGEST_ENTRIES else hashlib.sha256(text.encode()).hexdigest()


def expire(connection: Connection, study_id: int, now: float, seconds: float) -> bool:
    """Give back the questions that nobody answered in time; whether there are any.

    Also those whose time ends later than a lease made now: they were made before the clock was set back.
    """
    rows = _LATE.all(connection, study=study_id, now=now, latest=now + seconds + SKEW)
    if rows:
        connection.execute(update(question).where(question.c.id.in_([row.id for row in rows])).values(state="expired"))
        count(connection, study_id, [(row, -1, 0) for row in rows])
    return bool(rows)


def count(connection: Connection, study_id: int, asked: Iterable[tuple[Any, int, int]], changes: int = 0) -> None:
    """Change the counts of open questions and of judgments by those of some questions; checks are not counted.

    `changes` is added to the sequence of the study.
    """
    entries: Counter[tuple[str, str, int]] = Counter()
    for row, opened, judged in asked:
        if row.expected is None:
            for task, name in (("", ""), *((row.task, name) for name in row.items)):  # the first is the study itself
                entries[task, name, 0] += opened
                entries[task, name, 1] += judged
    total = {"of_study": study_id, "opened": entries.pop(("", "", 0), 0), "judged": entries.pop(("", "", 1), 0)}
    values = [
        {
            "of_study": study_id,
            "of_task": task,
            "of_name": name,
            "opened": entries[task, name, 0],
            "judged": entries[task, name, 1],
        }
        for task, name in sorted({entry[:2] for entry in entries})
    ]
    if values:
        _COUNT_ITEM.run(connection, values)
    if values or changes:
        _COUNT_STUDY.run(connection, [{**total, "changes": changes}])


def annotator_row(connection: Connection, annotator_id: int | None) -> Record:
    """The row of an annotator, as it is in this transaction."""
    return _ANNOTATOR.first(connection, who=annotator_id)


def open_questions(connection: Connection, annotator_id: int) -> list[Record]:
    """The questions that an annotator has now, the oldest first."""
    return _OPEN.all(connection, who=annotator_id)


def lease(
    connection: Connection,
    of_study: Record,
    who: Person,
    kind: str,
    offer: Offer,
    wanted: int,
    caps: Caps,
    now: float,
) -> Leased:
    """Up to `wanted` questions for an annotator: those they have, then new ones."""
    have = open_questions(connection, who.id)
    if len(have) >= wanted:
        return Leased(have[:wanted])
    room = wanted - len(have)
    if caps.annotator is not None:
        room = min(room, caps.annotator - who.judgments - len(have))
        if room <= 0:
            return Leased(
                have, "you have answered all questions that one person may answer: thank you", "limit_reached"
            )
    checks = _take(connection, of_study.id, who, offer.checks, min(room, offer.wanted_checks), caps)
    room -= len(checks)
    left = room if caps.budget is None else max(0, min(room, caps.budget - of_study.judgments - of_study.open))
    taken = _take(connection, of_study.id, who, offer.candidates, left, caps)
    new = sorted([*taken, *checks], key=lambda each: each.entries)  # so that a check is not always the first
    rows = _insert(connection, of_study.id, who.id, kind, new, caps, now, offer.some_wanted)
    if len(taken) == room:
        return Leased(have + rows)
    if len(taken) == left:
        return Leased(have + rows, "the budget of the study is used up: thank you", "no_more")
    if of_study.open > len(have):
        return Leased(have + rows, "others are answering the last questions; there may be more later", "leased_out")
    return Leased(have + rows, "there is nothing left to ask you: thank you", "no_more")


def _take(
    connection: Connection, study_id: int, who: Person, offered: Iterator[Candidate], wanted: int, caps: Caps
) -> list[Candidate]:
    """The first of the questions offered that may be asked."""
    taken: list[Candidate] = []
    for number in range(MOST_BATCHES if wanted else 0):
        batch = list(islice(offered, (BATCH if number else FIRST_BATCH) * wanted))
        taken += islice(_allowed(connection, study_id, who, batch, caps, tuple(taken)), wanted - len(taken))
        if not batch or len(taken) == wanted:
            break
    return taken


def _allowed(
    connection: Connection,
    study_id: int,
    who: Person,
    batch: Sequence[Candidate],
    caps: Caps,
    taken: tuple[Candidate, ...],
) -> Iterator[Candidate]:
    """The candidates that may be asked besides those taken; each one yielded is taken to be asked."""
    keys, checks = [each.entries for each in batch], {each.entries for each in batch if each.expected is not None}
    asked = _ASKED.all(connection, study=study_id, who=who.id, keys=keys) if batch else ()
    seen = {each.entries for each in taken}
    # Others may have the same check, or the same question where questions are repeated.
    seen |= {row.entries for row in asked if row.annotator_id == who.id or not (caps.repeat or row.entries in checks)}
    rows = item_counts(connection, study_id, ((each.task, name) for each in batch for name in each.items))
    used = Counter({entry: row.judgments + row.open for entry, row in rows.items()})
    used.update((each.task, name) for each in taken for name in each.items)
    for each in batch:
        entries = [(each.task, name) for name in each.items]
        if each.entries in seen or any(entry not in rows for entry in entries):
            continue
        if any(rows[entry].state != "active" or rows[entry].owner == who.name for entry in entries):
            continue
        if each.expected is None:
            if caps.item is not None and any(used[entry] >= caps.item for entry in entries):
                continue
            for entry in entries:
                used[entry] += 1
        seen.add(each.entries)
        yield each


def _insert(
    connection: Connection,
    study_id: int,
    annotator_id: int,
    kind: str,
    taken: Sequence[Candidate],
    caps: Caps,
    now: float,
    some_wanted: bool,
) -> list[Record]:
    if not taken:
        return []
    made = [
        _INSERT.first(
            connection,
            study_id=study_id,
            annotator_id=annotator_id,
            kind=kind,
            task=each.task,
            items=each.items,
            entries=each.entries,
            expected=None if each.expected is None else dict(each.expected),
            state="open",
            created=now,
            expires=now + caps.seconds,
        )
        for each in taken
    ]
    count(connection, study_id, [(row, 1, 0) for row in made])
    if some_wanted:
        names = [name for each in taken for name in each.items]
        wanted = and_(item.c.study_id == study_id, item.c.wanted, item.c.name.in_(names))
        connection.execute(update(item).where(wanted).values(wanted=False))
    return made
