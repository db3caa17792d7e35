"""What would be best to ask next, by the policy of the study; runs in the background."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from crowdrank.server.following import Snapshot, judgments_of
from crowdrank.server.study_file import StudyFile
from crowdrank.store.questions import Candidate

if TYPE_CHECKING:
    from crowdrank.collect.state import State
    from crowdrank.study import Judgments

PLAN_SECONDS = 1.0  # that one plan may take
SOMEBODY = "\x00somebody"  # a new annotator, for whom questions are planned
REFIT_GROWTH = 1.2  # online updates drift from the fit: fit again after this growth


@dataclass(frozen=True, slots=True)
class Plan:
    """Questions, the best first; and mean and standard deviation of each score, by task and item."""

    questions: tuple[Candidate, ...] = ()
    beliefs: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)


class Planner:
    """The `State` of the collection of one study."""

    def __init__(self, study: StudyFile) -> None:
        self.study = study
        self._state: State | None = None
        self._seen = Snapshot()
        self._fitted_votes, self._per_second = 0, 50.0

    def plan(self, snapshot: Snapshot) -> Plan | None:
        """The next questions; None if the plan before still holds."""
        before, self._seen = self._seen, snapshot
        if snapshot.sequence == before.sequence or not snapshot.active or not snapshot.votes:
            return None  # before the first judgment, all questions are worth the same
        kind, collection = self.study.kind, self.study.collection
        if kind == "grades" and collection.policy != "grades":
            return None  # the least judged items are asked about
        known = judgments_of(kind, snapshot.votes)
        settings: dict[str, Any] = dict(collection.settings)
        if collection.policy == "rankings":
            settings.setdefault("size", self.study.list_size)
        if kind != "grades":
            self._learn(before, snapshot, known)
            settings["state"] = self._state
        return Plan(tuple(self._questions(self._chosen(known, snapshot, settings))), self._beliefs())

    def _learn(self, before: Snapshot, snapshot: Snapshot, known: Judgments) -> None:
        """Bring the state up to date."""
        from crowdrank.collect.state import State

        count = len(snapshot.votes)
        if self._state is None or snapshot.rebuilt > before.sequence or count > REFIT_GROWTH * self._fitted_votes:
            self._state, self._fitted_votes = State.start().refit(known), count
        elif new := snapshot.votes[len(before.votes) :]:
            self._state = self._state.update(judgments_of(self.study.kind, new))

    def _chosen(self, known: Judgments, snapshot: Snapshot, settings: dict[str, Any]) -> list[dict[str, Any]]:
        from crowdrank.collect.questions import next_questions

        tasks, names = zip(*sorted(snapshot.active), strict=True)
        count = max(20, min(1000, int(self._per_second * PLAN_SECONDS)))
        started, collection = time.perf_counter(), self.study.collection
        items = {"task": list(tasks), "item": list(names)}
        found: list[dict[str, Any]] = next_questions(
            known, [SOMEBODY], count, policy=collection.policy, items=items, seed=collection.seed, **settings
        ).to_dicts()
        self._per_second = len(found) / max(time.perf_counter() - started, 1e-3) or self._per_second
        return found

    def _questions(self, rows: list[dict[str, Any]]) -> Iterator[Candidate]:
        """The planned questions; for rankings by a policy of pairs, the items of the best pairs of a task together."""
        if self.study.kind == "grades":
            yield from (Candidate(str(row["task"]), (str(row["item"]),)) for row in rows)
        elif self.study.kind == "pairs":
            yield from (Candidate(str(row["task"]), (str(row["left"]), str(row["right"]))) for row in rows)
        elif self.study.collection.policy == "rankings":
            for _, handful in groupby(rows, key=lambda row: row["list"]):
                listed = list(handful)
                yield Candidate(str(listed[0]["task"]), tuple(str(row["item"]) for row in listed))
        else:
            together: dict[str, dict[str, None]] = {}
            for row in rows:
                names = together.setdefault(str(row["task"]), {})
                names.update({str(row["left"]): None, str(row["right"]): None})
                if len(names) >= self.study.list_size:
                    yield Candidate(str(row["task"]), tuple(names)[: self.study.list_size])
                    together[str(row["task"])] = {}

    def _beliefs(self) -> dict[tuple[str, str], tuple[float, float]]:
        """What the state says about scores."""
        if self._state is None:
            return {}
        words, error = self._state.vocabulary, self._state.variance**0.5
        return {
            (str(words.tasks[task]), str(words.items[item])): (float(mean), float(width))
            for task, item, mean, width in zip(words.entry_task, words.entry_item, self._state.mean, error, strict=True)
        }
