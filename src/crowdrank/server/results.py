"""The live results of a study: computed in the background, often while somebody looks, else seldom."""

from __future__ import annotations

import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crowdrank.server.following import Snapshot, judgments_of
from crowdrank.server.study_file import StudyFile
from crowdrank.server.times import as_date
from crowdrank.settings import InputError

if TYPE_CHECKING:
    from crowdrank.consensus import Consensus
    from crowdrank.study import Judgments

ASK_AGAIN = 0.5  # seconds after which the background is told again that somebody looks


@dataclass(frozen=True, slots=True)
class Results:
    """What was computed from the judgments up to a sequence number."""

    sequence: int = -1
    computed: float = 0.0
    judgments: int = 0
    method: str | None = None
    ranking: list[dict[str, Any]] = field(default_factory=list)
    annotators: dict[str, dict[str, Any]] = field(default_factory=dict)
    stopping: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    components: int = 0
    largest: int = 0
    unjudged: int = 0
    fitted: bytes | None = None  # the consensus and its judgments: few requests need them

    def load(self) -> tuple[Consensus, Judgments] | None:
        """The consensus and its judgments, if there are any."""
        return None if self.fitted is None else pickle.loads(self.fitted)


class LiveResults:
    """The newest results of a study."""

    def __init__(self, ask: Callable[[], None]) -> None:
        self.latest = Results()
        self._ask, self._asked = ask, -ASK_AGAIN
        self._changed = threading.Condition()

    def look(self) -> None:
        """Somebody looks: keep the results fresh for a while."""
        now = time.monotonic()
        if now - self._asked >= ASK_AGAIN:
            self._asked = now
            self._ask()

    def wait(self, sequence: int, seconds: float) -> Results:
        """The results of at least this sequence number, or the latest ones if that takes too long."""
        end = time.monotonic() + seconds
        with self._changed:
            while self.latest.sequence < sequence:
                self.look()
                left = end - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(min(left, ASK_AGAIN))
        return self.latest

    def publish(self, results: Results) -> None:
        """Show new results to whoever waits for them."""
        with self._changed:
            self.latest = results
            self._changed.notify_all()


def compute(study: StudyFile, snapshot: Snapshot) -> Results:
    """Fit the usual method of the study's kind, with intervals and tiers, and forecast when to stop."""
    count = Counter((vote.task, name) for vote in snapshot.votes for name in vote.items)
    if not snapshot.votes:
        return _nothing(snapshot, count)
    data = judgments_of(study.kind, snapshot.votes)
    consensus = _fitted(data)
    largest, parts = _components(consensus)
    unjudged = sum(1 for entry in snapshot.active if not count[entry])
    return Results(
        sequence=snapshot.sequence,
        computed=time.time(),
        judgments=len(snapshot.votes),
        method=consensus.method,
        ranking=_ranking(consensus, snapshot, count),
        annotators={str(row["annotator"]): _finite(row) for row in consensus.annotators.to_dicts()},
        stopping=_stopping(study, consensus, data, len(snapshot.votes)),
        notes=list(consensus.notes),
        components=parts + unjudged,
        largest=largest,
        unjudged=unjudged,
        fitted=pickle.dumps((consensus, data)),
    )


def _fitted(data: Judgments) -> Consensus:
    """The consensus of the method that the judgments choose."""
    from crowdrank.methods.catalogue import fit
    from crowdrank.methods.choice import RESAMPLED, ROUNDS, choose_method

    name, _ = choose_method(data)
    if name not in RESAMPLED:
        return fit(name, data)
    from crowdrank.evaluation.bootstrap import bootstrap  # here, not above: other kinds start sooner without it

    return bootstrap(name, data, rounds=ROUNDS)


def _nothing(snapshot: Snapshot, count: Counter[tuple[str, str]]) -> Results:
    """Before the first judgment: all items, unranked."""
    items = len(snapshot.active)
    notes = ["there are no judgments yet"]
    rows = _unranked(snapshot, count)
    return Results(
        snapshot.sequence, time.time(), ranking=rows, notes=notes, components=items, largest=1, unjudged=items
    )


def _ranking(consensus: Consensus, snapshot: Snapshot, count: Counter[tuple[str, str]]) -> list[dict[str, Any]]:
    """A row for every item: ranked ones best first, then those without judgments."""
    from crowdrank.statistics.tiers import tiers

    tier = tiers(consensus) if consensus.low is not None else None
    rows, known = [], set()
    for place, row in zip(consensus.best_first, consensus.ranking.to_dicts(), strict=True):
        entry = str(row["task"]), str(row["item"])
        known.add(entry)
        number = None if tier is None or not tier[place] else int(tier[place])
        rows.append(_finite({**row, "task": entry[0], "item": entry[1], "judgments": count[entry], "tier": number}))
    rows.sort(key=lambda row: (row["task"], row["rank"] is None, row["rank"] or 0))
    return rows + [row for row in _unranked(snapshot, count) if (row["task"], row["item"]) not in known]


def _unranked(snapshot: Snapshot, count: Counter[tuple[str, str]]) -> list[dict[str, Any]]:
    names = ("rank", "score", "low", "high", "rank_low", "rank_high", "tier")
    return [
        {"task": task, "item": item, **dict.fromkeys(names), "judgments": count[task, item]}
        for task, item in snapshot.entries
        if (task, item) in snapshot.active
    ]


def _components(consensus: Consensus) -> tuple[int, int]:
    """Items of the largest part whose comparisons connect them, and how many parts there are."""
    if consensus.component is None or not len(consensus.component):
        return len(consensus.score), 1
    sizes = Counter(consensus.component.tolist())
    tasks = len(set(consensus.vocabulary.entry_task.tolist()))  # items of different tasks are never compared
    return max(sizes.values()), len(sizes) - tasks + 1


def _stopping(study: StudyFile, consensus: Consensus, data: Judgments, count: int) -> list[dict[str, Any]]:
    """Each rule of the study: whether it holds, and how many more judgments it will take."""
    rows: list[dict[str, Any]] = []
    budget, rules = study.collection.caps.budget, study.collection.stopping
    if budget is not None:
        left = max(budget - count, 0)
        row = {"rule": "budget", "wanted": budget, "now": count, "reached": left == 0}
        rows.append({**row, "more": left, "more_low": left, "more_high": left})
    if not {"width", "top_k"} & set(rules):
        return rows
    if study.kind == "grades":
        return rows + _width_now(consensus, rules.get("width"))
    from crowdrank.collect.state import State
    from crowdrank.collect.stopping import stopping

    try:
        found = stopping(State.start().refit(data), **rules)
    except InputError:
        return rows
    return rows + [_finite(row) for row in found.to_dicts()]


def _width_now(consensus: Consensus, width: float | None) -> list[dict[str, Any]]:
    """Grades: the widest interval, without a forecast."""
    if width is None or consensus.low is None or consensus.high is None:
        return []
    widths = (consensus.high - consensus.low)[consensus.rank > 0]
    now = float(widths.max(initial=0.0))
    row = {"rule": "width", "wanted": width, "now": now, "reached": now <= width}
    return [{**row, "more": None, "more_low": None, "more_high": None}]


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """The row with None for numbers that are not known."""
    return {key: None if isinstance(value, float) and value - value != 0 else value for key, value in row.items()}


def computed_at(results: Results) -> str | None:
    """When the results were computed."""
    return as_date(results.computed) if results.computed else None
