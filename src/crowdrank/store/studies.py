"""Studies: their state, their items, and the audit log."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, and_, bindparam, func, insert, select, update

from crowdrank.store.statements import Statement
from crowdrank.store.tables import Record, annotator, audit, item, judgment, question, study

_STUDY = select(study).where(study.c.id == bindparam("study"))
_READ, _LOCKED = Statement(_STUDY), Statement(_STUDY.with_for_update())
_COUNTED = item.c.task, item.c.name, item.c.state, item.c.judgments, item.c.open, item.c.wanted
_COUNTS = Statement(select(*_COUNTED).where(item.c.study_id == bindparam("study")))


def _among(*columns: Any) -> Statement:
    """Columns of some items."""

    def clause(tasks: Sequence[Any], names: Sequence[Any]) -> Any:
        own = item.c.study_id == bindparam("study")
        return select(*columns).where(own, item.c.task.in_(tasks), item.c.name.in_(names))

    return Statement(clause, lists=("tasks", "names"))


_ITEMS, _ITEM_COUNTS = _among(item), _among(*_COUNTED, item.c.owner)
_WANTED = Statement(
    select(item.c.task, item.c.name)
    .where(and_(item.c.study_id == bindparam("study"), item.c.wanted, item.c.state == "active"))
    .order_by(item.c.id)
)


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to be added to a study."""

    name: str
    title: str
    task: str
    content: Mapping[str, Any] = field(default_factory=dict)  # text, markdown, image, html, place
    owner: str | None = None


def open_study(connection: Connection, name: str, items: Sequence[NewItem]) -> int:
    """The id of a study; a new one is made with these items, an earlier one gets the items it does not have yet."""
    found = connection.execute(select(study.c.id).where(study.c.name == name)).scalar()
    if found is None:
        row = {"name": name, "state": "open", "sequence": 0, "rebuild": 0, "judgments": 0, "open": 0}
        made = insert(study).values(**row, created=time.time()).returning(study.c.id)
        found = connection.execute(made).scalar_one()
    locked(connection, found)
    known = {(row.task, row.name): row for row in read_items(connection, found)}
    add_items(connection, found, [each for each in items if (each.task, each.name) not in known])
    for each in items:
        old = known.get((each.task, each.name))
        if old is not None and (old.title, old.content, old.owner) != (each.title, dict(each.content), each.owner):
            texts = {"title": each.title, "content": dict(each.content), "owner": each.owner}
            connection.execute(update(item).where(item.c.id == old.id).values(**texts))
    return int(found)


def read_study(connection: Connection, study_id: int) -> Record:
    """The row of a study."""
    return _READ.first(connection, study=study_id)


def locked(connection: Connection, study_id: int) -> Record:
    """The row of a study, which no other transaction can change until this one ends."""
    return _LOCKED.first(connection, study=study_id)


def advance(connection: Connection, study_id: int, by: int = 1, *, rebuild: bool = False) -> int:
    """Count changes of a locked study; the sequence before them. `rebuild`: they are not only new judgments."""
    before = connection.execute(select(study.c.sequence).where(study.c.id == study_id)).scalar_one()
    values = {"sequence": before + by, **({"rebuild": before + by} if rebuild else {})}
    connection.execute(update(study).where(study.c.id == study_id).values(**values))
    return int(before)


def set_state(connection: Connection, study_id: int, state: str) -> str:
    """Open, pause, close or freeze a study; the state before."""
    before = locked(connection, study_id).state
    connection.execute(update(study).where(study.c.id == study_id).values(state=state))
    advance(connection, study_id)
    return str(before)


def add_items(connection: Connection, study_id: int, items: Sequence[NewItem]) -> None:
    """Add items that the study does not have."""
    rows = [
        {
            "study_id": study_id,
            "task": each.task,
            "name": each.name,
            "title": each.title,
            "content": dict(each.content),
            "owner": each.owner,
            "media": secrets.token_urlsafe(16),
            "state": "active",
            "judgments": 0,
            "open": 0,
            "wanted": False,
        }
        for each in items
    ]
    if rows:
        connection.execute(insert(item), rows)
        advance(connection, study_id, rebuild=True)


def read_items(connection: Connection, study_id: int) -> Sequence[Record]:
    """All items of a study, also withdrawn ones."""
    return connection.execute(select(item).where(item.c.study_id == study_id).order_by(item.c.id)).all()


def count_items(connection: Connection, study_id: int) -> Sequence[Record]:
    """State and counts of all items."""
    return _COUNTS.all(connection, study=study_id)


def active_items(connection: Connection, study_id: int) -> int:
    """How many items may be asked about."""
    where = and_(item.c.study_id == study_id, item.c.state == "active")
    return int(connection.execute(select(func.count()).where(where)).scalar_one())


def items_of(connection: Connection, study_id: int, entries: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Any]:
    """The rows of some items, by task and name."""
    return _by_entry(connection, _ITEMS, study_id, entries)


def item_counts(
    connection: Connection, study_id: int, entries: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], Any]:
    """State, owner and counts of some items, by task and name."""
    return _by_entry(connection, _ITEM_COUNTS, study_id, entries)


def _by_entry(
    connection: Connection, statement: Statement, study_id: int, entries: Iterable[tuple[str, str]]
) -> dict[Any, Any]:
    wanted = set(entries)
    tasks, names = ({entry[part] for entry in wanted} for part in (0, 1))
    rows = statement.all(connection, study=study_id, tasks=list(tasks), names=list(names))
    return {(row.task, row.name): row for row in rows if (row.task, row.name) in wanted}


def media_of(connection: Connection, study_id: int, media: str) -> Record | None:
    """The item whose image or page has this address."""
    where = and_(item.c.study_id == study_id, item.c.media == media)
    return connection.execute(select(item).where(where)).one_or_none()


def change_item(connection: Connection, study_id: int, name: str, task: str | None, **values: Any) -> int:
    """Withdraw an item, bring it back, or ask the next annotator about it; how many items have the name."""
    locked(connection, study_id)
    where = [item.c.study_id == study_id, item.c.name == name]
    if task is not None:
        where.append(item.c.task == task)
    changed = connection.execute(update(item).where(*where).values(**values)).rowcount
    advance(connection, study_id, rebuild=True)
    return int(changed)


def wanted_items(connection: Connection, study_id: int) -> Sequence[Record]:
    """Items that the next annotator is to be asked about."""
    return _WANTED.all(connection, study=study_id)


def count_again(connection: Connection, study_id: int) -> None:
    """Count the judgments of items and study again, after an annotator was voided or restored."""
    where = and_(
        judgment.c.study_id == study_id,
        judgment.c.status == "counted",
        judgment.c.passed.is_(None),
        judgment.c.annotator_id == annotator.c.id,
        annotator.c.state == "active",
    )
    rows = connection.execute(select(judgment.c.task, judgment.c["items"]).where(where)).all()
    count: dict[tuple[str, str], int] = {}
    for row in rows:
        for name in row.items:
            count[row.task, name] = count.get((row.task, name), 0) + 1
    for row in read_items(connection, study_id):
        now = count.get((row.task, row.name), 0)
        if now != row.judgments:
            connection.execute(update(item).where(item.c.id == row.id).values(judgments=now))
    connection.execute(update(study).where(study.c.id == study_id).values(judgments=len(rows)))


def note(connection: Connection, study_id: int, actor: str, action: str, **details: Any) -> None:
    """Write a line of the audit log."""
    row = {"study_id": study_id, "time": time.time(), "actor": actor, "action": action, "details": details}
    connection.execute(insert(audit).values(**row))


def read_audit(connection: Connection, study_id: int, limit: int, before: int | None) -> Sequence[Record]:
    """The newest lines of the audit log, newest first; those before a line, to read on."""
    where = [audit.c.study_id == study_id, *([audit.c.id < before] if before is not None else [])]
    return connection.execute(select(audit).where(*where).order_by(audit.c.id.desc()).limit(limit)).all()


def asked_now(connection: Connection, study_id: int, now: float) -> Sequence[Record]:
    """The questions that somebody has now."""
    columns = question.c.id, question.c.task, question.c["items"], question.c.created, question.c.expires
    where = and_(question.c.study_id == study_id, question.c.state == "open", question.c.expires > now)
    joined = select(*columns, annotator.c.name).join(annotator, annotator.c.id == question.c.annotator_id)
    return connection.execute(joined.where(where).order_by(question.c.id).limit(200)).all()
