"""Judgments: stored once for each key, withdrawn, edited, imported, read. Nothing is ever deleted.

An edit is a new version of a judgment; the one before stays, as `replaced`. What is undone stays as `withdrawn`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, bindparam, func, insert, select, update

from crowdrank.store.access import add_annotator, find_annotator
from crowdrank.store.questions import Caps, Person, count, open_questions
from crowdrank.store.statements import Statement
from crowdrank.store.studies import advance, count_again, item_counts, locked
from crowdrank.store.tables import Record, annotator, judgment, question

Check = Callable[[str, Sequence[str], Mapping[str, Any]], Mapping[str, Any]]  # kind, items, answer → the answer, tidied


_KNOWN = Statement(
    lambda keys: select(judgment.c.key).where(judgment.c.annotator_id == bindparam("who"), judgment.c.key.in_(keys)),
    lists=["keys"],
)
_OWN = Statement(
    lambda numbers: select(question).where(question.c.annotator_id == bindparam("who"), question.c.id.in_(numbers)),
    lists=["numbers"],
)
_INSERT = Statement(insert(judgment), columns=judgment.c.keys()[1:])
_SET_STATE = Statement(
    update(question).where(question.c.id == bindparam("of_question")).values(state=bindparam("then"))
)
_COUNT_ANNOTATOR = Statement(
    update(annotator)
    .where(annotator.c.id == bindparam("of_annotator"))
    .values(judgments=annotator.c.judgments + bindparam("more"))
)


class AnswerError(Exception):
    """An answer that does not fit its question."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as a client sends it."""

    key: str
    question: str
    answer: Mapping[str, Any]  # winner, tie, grade, ranking or skip
    seconds: float | None = None
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """A judgment from elsewhere."""

    key: str
    annotator: str
    task: str
    items: tuple[str, ...]
    answer: Mapping[str, Any]
    created: float | None = None
    seconds: float | None = None
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """The keys that are stored, and why others are refused."""

    stored: list[str]
    refused: list[tuple[str, str]]


def submit(
    connection: Connection, of_study: Record, who: Person, answers: Sequence[Answer], check: Check, caps: Caps
) -> Submitted:
    """Store answers of an annotator; one whose key is stored already is not stored again. The study is locked."""
    keys = [each.key for each in answers]
    stored = dict.fromkeys(row.key for row in _KNOWN.all(connection, who=who.id, keys=keys))
    numbers = [int(each.question) for each in answers if each.question.isascii() and each.question.isdigit()]
    own = _OWN.all(connection, who=who.id, numbers=[number for number in numbers if number < 1 << 31])
    asked = {str(row.id): row for row in own}
    refused: list[tuple[str, str]] = []
    batch = _Batch(connection, of_study.id, who, caps)
    for each in answers:
        if each.key in stored:
            continue
        try:
            if who.state != "active":
                raise AnswerError("the owner of the study does not take your judgments any more")
            batch.add(each, asked.get(each.question), check)
            stored[each.key] = None
        except AnswerError as error:
            refused.append((each.key, str(error)))
    batch.store(of_study.sequence)
    return Submitted([key for key in dict.fromkeys(keys) if key in stored], refused)


class _Batch:
    """Answers of one annotator that are stored together."""

    def __init__(self, connection: Connection, study_id: int, who: Person, caps: Caps) -> None:
        self.connection, self.study_id, self.who, self.caps = connection, study_id, who, caps
        self.rows: list[dict[str, Any]] = []
        self.asked: list[tuple[Record, int, int]] = []  # for the counts
        self.states: dict[int, str] = {}  # of the questions, afterwards

    def add(self, given: Answer, row: Record | None, check: Check) -> None:
        """Take an answer, or refuse it."""
        if row is None:
            raise AnswerError("you were not asked this question")
        if row.state in ("answered", "skipped") or row.id in self.states:
            raise AnswerError("this question is answered already; edit the answer with PUT /judgments/KEY")
        skips = bool(given.answer.get("skip"))
        answer = {} if skips else check(row.kind, row.items, given.answer)
        if row.state == "expired" and not skips and row.expected is None:
            self._check_room(row)
        self.rows.append(_row(self.study_id, self.who.id, given, row, answer, "skipped" if skips else "counted"))
        self.asked.append((row, -1 if row.state == "open" else 0, 0 if skips else 1))
        self.states[row.id] = "skipped" if skips else "answered"

    def _check_room(self, row: Record) -> None:
        """Refuse a late answer if the caps are meanwhile used up."""
        count(self.connection, self.study_id, self.asked)  # what is counted so far is what is checked
        self.asked = []
        of_study, caps = locked(self.connection, self.study_id), self.caps
        if caps.budget is not None and of_study.judgments + of_study.open >= caps.budget:
            raise AnswerError("the time for this question is over, and the budget of the study is used up")
        have = len(open_questions(self.connection, self.who.id))
        if caps.annotator is not None and self.who.judgments + self._counted() + have >= caps.annotator:
            raise AnswerError("the time for this question is over, and you have others instead")
        for each in item_counts(self.connection, self.study_id, ((row.task, name) for name in row.items)).values():
            if caps.item is not None and each.judgments + each.open >= caps.item:
                raise AnswerError("the time for this question is over, and others have answered it")

    def _counted(self) -> int:
        return sum(row["status"] == "counted" for row in self.rows)

    def store(self, sequence: int) -> None:
        """Write everything."""
        if not self.rows:
            return
        count(self.connection, self.study_id, self.asked, len(self.rows))
        numbered = [{**row, "sequence": sequence + number} for number, row in enumerate(self.rows, 1)]
        _INSERT.run(self.connection, numbered)
        states = [{"of_question": number, "then": state} for number, state in self.states.items()]
        _SET_STATE.run(self.connection, states)
        _COUNT_ANNOTATOR.run(self.connection, [{"of_annotator": self.who.id, "more": self._counted()}])


def _row(
    study_id: int, annotator_id: int, given: Answer, of: Record, answer: Mapping[str, Any], status: str
) -> dict[str, Any]:
    passed = None if of.expected is None or status == "skipped" else dict(answer) == dict(of.expected)
    return {
        "study_id": study_id,
        "annotator_id": annotator_id,
        "key": given.key,
        "version": 1,
        "question_id": of.id,
        "kind": of.kind,
        "task": of.task,
        "items": list(of.items),
        "answer": dict(answer),
        "seconds": given.seconds,
        "status": status,
        "passed": passed,
        "created": time.time(),
        "details": None if given.details is None else dict(given.details),
    }


def current(connection: Connection, annotator_id: int, key: str) -> Record | None:
    """The newest version of a judgment."""
    where = and_(judgment.c.annotator_id == annotator_id, judgment.c.key == key)
    return connection.execute(select(judgment).where(where).order_by(judgment.c.version.desc()).limit(1)).one_or_none()


def withdraw(connection: Connection, study_id: int, annotator_id: int, key: str, seconds: float) -> bool:
    """Undo a judgment; its question is open again. Whether there is such a judgment; undoing twice changes nothing."""
    locked(connection, study_id)
    row = current(connection, annotator_id, key)
    if row is None or row.question_id is None:
        return False
    if row.status in ("counted", "skipped"):
        connection.execute(update(judgment).where(judgment.c.id == row.id).values(status="withdrawn"))
        asked = connection.execute(select(question).where(question.c.id == row.question_id)).one()
        again = {"state": "open", "expires": time.time() + seconds}
        connection.execute(update(question).where(question.c.id == asked.id).values(**again))
        judged = int(row.status == "counted")
        count(connection, study_id, [(asked, 1, -judged)])
        fewer = {"judgments": annotator.c.judgments - judged}
        connection.execute(update(annotator).where(annotator.c.id == annotator_id).values(fewer))
        advance(connection, study_id, rebuild=True)
    return True


def edit(
    connection: Connection, study_id: int, annotator_id: int, key: str, changed: Answer, check: Check
) -> Record | None:
    """Give another answer to the same question; the new version, or None if there is no such judgment."""
    locked(connection, study_id)
    row = current(connection, annotator_id, key)
    if row is None or row.question_id is None:
        return None
    if row.status != "counted":
        raise AnswerError(f"this judgment is {row.status}; answer the question again instead")
    answer = check(row.kind, row.items, changed.answer)
    if dict(answer) == dict(row.answer):
        return row
    asked = connection.execute(select(question).where(question.c.id == row.question_id)).one()
    new = _row(study_id, annotator_id, changed, asked, answer, "counted")
    connection.execute(update(judgment).where(judgment.c.id == row.id).values(status="replaced"))
    sequence = advance(connection, study_id, rebuild=True) + 1
    connection.execute(insert(judgment).values({**new, "version": row.version + 1, "sequence": sequence}))
    return current(connection, annotator_id, key)


def history(connection: Connection, annotator_id: int, limit: int, before: int | None) -> Sequence[Record]:
    """The newest judgments of an annotator that count or were skipped, newest first."""
    where = [judgment.c.annotator_id == annotator_id, judgment.c.status.in_(("counted", "skipped"))]
    if before is not None:
        where.append(judgment.c.id < before)
    return connection.execute(select(judgment).where(*where).order_by(judgment.c.id.desc()).limit(limit)).all()


def counted_between(connection: Connection, study_id: int, after: int, until: int) -> Sequence[Record]:
    """The judgments after one sequence number and up to another that count, in their order: what the engine learns."""
    names = judgment.c.sequence, judgment.c.task, judgment.c["items"], judgment.c.answer, judgment.c.created
    joined = select(*names, annotator.c.name.label("annotator")).join(annotator)
    where = and_(
        judgment.c.study_id == study_id,
        judgment.c.sequence > after,
        judgment.c.sequence <= until,  # PostgreSQL may show what was stored since `until` was read
        judgment.c.status == "counted",
        annotator.c.state == "active",
    )
    return connection.execute(joined.where(where).order_by(judgment.c.sequence)).all()


def read_all(connection: Connection, study_id: int, *, everything: bool = False) -> Sequence[Record]:
    """The judgments to export, with the name and state of their annotators; `everything`: all versions too."""
    joined = select(judgment, annotator.c.name.label("annotator"), annotator.c.state.label("annotator_state"))
    where = [judgment.c.study_id == study_id]
    if not everything:
        where.append(judgment.c.status == "counted")
    return connection.execute(joined.join(annotator).where(*where).order_by(judgment.c.sequence, judgment.c.id)).all()


class GivenAnswer(NamedTuple):
    """When, how fast and on which side an annotator answered, and what became of it."""

    annotator_id: int
    void: bool  # whether the annotator is left out
    status: str
    seconds: float | None
    left_won: bool | None  # of pairs that are no ties
    passed: bool | None  # of gold checks
    created: float


def answers_between(connection: Connection, study_id: int, after: int, until: int) -> Iterator[GivenAnswer]:
    """The judgments after one sequence number and up to another, whatever became of them."""
    own = ("annotator_id", "status", "seconds", "items", "answer", "passed", "created")
    columns = [annotator.c.state, *(judgment.c[name] for name in own)]
    where = and_(judgment.c.study_id == study_id, judgment.c.sequence > after, judgment.c.sequence <= until)
    for state, who, status, seconds, items, answer, passed, created in connection.execute(
        select(*columns).join_from(judgment, annotator).where(where)
    ):
        winner = answer.get("winner")
        left_won = None if winner is None else winner == items[0]
        yield GivenAnswer(int(who), state == "void", status, seconds, left_won, passed, created)


def take_in(connection: Connection, study_id: int, kind: str, given: Sequence[Imported]) -> tuple[int, int]:
    """Store judgments from elsewhere; how many are new, and how many were stored before."""
    locked(connection, study_id)
    people: dict[str, Any] = {}
    before_now = select(judgment.c.annotator_id, judgment.c.key).where(judgment.c.study_id == study_id)
    stored = {(row.annotator_id, row.key) for row in connection.execute(before_now)}
    new = known = 0
    rows = []
    for each in given:
        if each.annotator not in people:
            found = find_annotator(connection, study_id, each.annotator)
            people[each.annotator] = found or add_annotator(connection, study_id, each.annotator, {"imported": True})
        who = people[each.annotator]
        if (who.id, each.key) in stored:
            known += 1
            continue
        stored.add((who.id, each.key))
        new += 1
        rows.append(_imported_row(study_id, who.id, kind, each))
    if rows:
        before = advance(connection, study_id, len(rows), rebuild=True)
        connection.execute(insert(judgment), [{**row, "sequence": before + n} for n, row in enumerate(rows, 1)])
        _count_people(connection, study_id)
        count_again(connection, study_id)
    return new, known


def _imported_row(study_id: int, annotator_id: int, kind: str, each: Imported) -> dict[str, Any]:
    return {
        "study_id": study_id,
        "annotator_id": annotator_id,
        "key": each.key,
        "version": 1,
        "question_id": None,
        "kind": kind,
        "task": each.task,
        "items": list(each.items),
        "answer": dict(each.answer),
        "seconds": each.seconds,
        "status": "counted",
        "passed": None,
        "created": each.created or time.time(),
        "details": None if each.details is None else dict(each.details),
    }


def _count_people(connection: Connection, study_id: int) -> None:
    """Count the judgments of each annotator again."""
    where = and_(judgment.c.annotator_id == annotator.c.id, judgment.c.status == "counted")
    total = select(func.count()).where(where).scalar_subquery()
    connection.execute(update(annotator).where(annotator.c.study_id == study_id).values(judgments=total))
