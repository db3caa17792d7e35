"""How fast annotators answer, and how often the left item wins: kept up to date from the store, for the dashboard."""

from __future__ import annotations

import threading
from array import array
from dataclasses import dataclass, field
from statistics import median

from sqlalchemy import Connection

from crowdrank.store import judgments, studies


@dataclass(slots=True)
class Habit:
    """How one annotator answers."""

    seconds: array[float] = field(default_factory=lambda: array("f"))
    left: int = 0
    decided: int = 0  # pairs that are no ties
    last: float = 0.0  # when they last answered

    @property
    def usual_seconds(self) -> float | None:
        """The median."""
        return round(median(self.seconds), 3) if self.seconds else None

    @property
    def left_share(self) -> float | None:
        """Of the pairs that are no ties."""
        return self.left / self.decided if self.decided else None


class Habits:
    """Those of all annotators of a study; only new judgments are read, unless earlier ones were changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sequence = -1
        self._of: dict[int, Habit] = {}

    def read(self, connection: Connection, study_id: int) -> dict[int, Habit]:
        """By the id of the annotator, as the store is now."""
        with self._lock:
            row = studies.read_study(connection, study_id)
            if row.sequence <= self._sequence:  # another request has read more meanwhile
                return self._of
            if row.rebuild > self._sequence:
                self._sequence, self._of = -1, {}
            for each in judgments.answers_between(connection, study_id, self._sequence, row.sequence):
                self._add(each)
            self._sequence = row.sequence
            return self._of

    def _add(self, each: judgments.GivenAnswer) -> None:
        habit = self._of.setdefault(each.annotator_id, Habit())
        habit.last = max(habit.last, each.created)
        if each.seconds is not None:
            habit.seconds.append(each.seconds)
        if each.left_won is not None:
            habit.decided += 1
            habit.left += each.left_won
