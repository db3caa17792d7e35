"""What has been judged, when and how fast: kept up to date from the store, for the dashboard."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left, insort
from collections import Counter
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
    checks: int = 0  # gold checks answered
    right: int = 0  # of these
    last: float = 0.0  # when they last answered

    @property
    def usual_seconds(self) -> float | None:
        """The median."""
        return round(median(self.seconds), 3) if self.seconds else None

    @property
    def left_share(self) -> float | None:
        """Of the pairs that are no ties."""
        return self.left / self.decided if self.decided else None

    def add(self, each: judgments.GivenAnswer) -> None:
        """One more judgment that counts."""
        self.last = max(self.last, each.created)
        if each.seconds is not None:
            self.seconds.append(each.seconds)
        if each.left_won is not None:
            self.decided += 1
            self.left += each.left_won
        if each.passed is not None:
            self.checks += 1
            self.right += each.passed


@dataclass(slots=True)
class Activity:
    """The judgments of a study in numbers."""

    sequence: int = -1  # up to which judgments are counted
    habits: dict[int, Habit] = field(default_factory=dict)  # by the id of the annotator, also of voided ones
    counts: Counter[str] = field(default_factory=Counter)  # by status; all judgments of a voided annotator are void
    times: list[float] = field(default_factory=list)  # of the judgments that count, in order

    def add(self, each: judgments.GivenAnswer) -> None:
        """One more judgment."""
        self.counts["void" if each.void else each.status] += 1
        if each.status == "counted":
            self.habits.setdefault(each.annotator_id, Habit()).add(each)
            if not each.void:
                insort(self.times, each.created)

    def since(self, start: float) -> int:
        """How many judgments were stored since then."""
        return len(self.times) - bisect_left(self.times, start)

    def over_time(self, now: float, stretches: int) -> list[tuple[float, int]]:
        """When each of so many equal stretches of time began, and its judgments; from the first judgment until now."""
        times = list(self.times)
        if not times:
            return []
        width = max((max(now, times[-1]) - times[0]) / stretches, 1.0)
        starts = [times[0] + number * width for number in range(stretches)]
        places = [*(bisect_left(times, start) for start in starts), len(times)]
        return [(start, after - before) for start, before, after in zip(starts, places, places[1:], strict=False)]


class LiveActivity:
    """Kept as the store is: only new judgments are read, unless earlier ones were changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = Activity()

    def read(self, connection: Connection, study_id: int) -> Activity:
        """As the store is now."""
        with self._lock:
            row = studies.read_study(connection, study_id)
            found = Activity() if row.rebuild > self._known.sequence else self._known
            if row.sequence > found.sequence:  # else another request has read more meanwhile
                for each in list(judgments.answers_between(connection, study_id, found.sequence, row.sequence)):
                    found.add(each)
                found.sequence = row.sequence
            self._known = found
            return found
