"""The judgments of a study that count, kept up to date from the store by their sequence numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from sys import intern
from typing import TYPE_CHECKING, Any

from crowdrank.store import judgments, studies
from crowdrank.store.database import Database
from crowdrank.store.tables import Record

if TYPE_CHECKING:
    from crowdrank.study import Judgments


MOST_ANSWERS = 10_000  # different ones that are kept once; rankings have more


@dataclass(frozen=True, slots=True)
class Vote:
    """A judgment that counts."""

    annotator: str
    task: str
    items: tuple[str, ...]
    answer: Any
    time: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All judgments that count, at some sequence number of the store."""

    sequence: int = -1
    rebuilt: int = -1  # sequence number at which all of them were read; since then only new ones
    votes: tuple[Vote, ...] = ()
    entries: tuple[tuple[str, str], ...] = ()  # task and item of all items, also withdrawn ones
    active: frozenset[tuple[str, str]] = frozenset()


class Follower:
    """Reads what the store has that was not seen yet."""

    def __init__(self, database: Database, study_id: int) -> None:
        self.database, self.study_id = database, study_id
        self.snapshot = Snapshot()
        self._answers: dict[str, Any] = {}

    def read(self) -> Snapshot:
        """The judgments as they are now."""
        with self.database.read() as connection:
            row = studies.read_study(connection, self.study_id)
            before = self.snapshot
            if row.sequence == before.sequence:
                return before
            whole = before.sequence < 0 or row.rebuild > before.sequence
            after = -1 if whole else before.sequence
            rows = judgments.counted_between(connection, self.study_id, after, row.sequence)
            items = studies.read_items(connection, self.study_id) if whole else []
        new = tuple(self._vote(each) for each in rows)
        if whole:
            entries = tuple((each.task, each.name) for each in items)
            active = frozenset((each.task, each.name) for each in items if each.state == "active")
            self.snapshot = Snapshot(row.sequence, row.sequence, new, entries, active)
        else:
            self.snapshot = Snapshot(row.sequence, before.rebuilt, before.votes + new, before.entries, before.active)
        return self.snapshot

    def _vote(self, row: Record) -> Vote:
        """A row as a vote. Names and answers are many, different ones are few: each is kept once."""
        answer = row.answer
        if len(self._answers) < MOST_ANSWERS:
            answer = self._answers.setdefault(repr(answer), answer)
        return Vote(intern(row.annotator), intern(row.task), tuple(map(intern, row.items)), answer, row.created)


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
