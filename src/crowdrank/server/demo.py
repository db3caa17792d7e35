"""Simulated annotators for `crowdrank serve --demo`, which one can switch on and off."""

from __future__ import annotations

import math
import random
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crowdrank.server.answers import check_for
from crowdrank.store import access, judgments, questions, studies
from crowdrank.store.database import StoreError
from crowdrank.store.judgments import Answer

if TYPE_CHECKING:
    from crowdrank.server.context import Served

PAUSE = 0.25  # seconds between two judgments
STEP = 0.3  # between the scores of an item and of the next in the table
PEOPLE = (("Ada", 0.97), ("Ben", 0.93), ("Chiyo", 0.95), ("Dana", 0.9), ("Emre", 0.96), ("Fatou", 0.92), ("bot", 0.5))


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulated annotator: how often they prefer what they take to be better."""

    id: int
    quality: float


class Demo:
    """Answers questions like seven people, one of whom answers at random."""

    def __init__(self) -> None:
        self.is_on = False
        self._rng = random.Random(0)
        self._thread: threading.Thread | None = None

    def switch(self, study: Served, on: bool) -> None:
        """Begin or end to answer."""
        self.is_on = on
        if on and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._run, args=(study,), name="demo", daemon=True)
            self._thread.start()

    def _run(self, study: Served) -> None:
        people = self._join(study)
        truth = {item.name: -STEP * place for place, item in enumerate(study.file.items)}
        while self.is_on:
            try:
                self._answer(study, self._rng.choice(people), truth)
            except StoreError:
                time.sleep(1)
            time.sleep(PAUSE)

    def _join(self, study: Served) -> list[Simulated]:
        with study.database.write() as connection:
            found = []
            for name, quality in PEOPLE:
                known = access.find_annotator(connection, study.id, name)
                row = known or access.add_annotator(connection, study.id, name, {"simulated": True})
                found.append(Simulated(row.id, quality))
        return found

    def _answer(self, study: Served, who: Simulated, truth: dict[str, float]) -> None:
        """One question to one annotator, as the routes do it."""
        caps = study.file.collection.caps
        with study.database.write() as connection:
            row = studies.locked(connection, study.id)
            me = questions.annotator_row(connection, who.id)
            if row.state != "open" or me.state != "active":
                return
            study.engine.refresh(connection, row)
            candidates = study.engine.candidates(studies.wanted_items(connection, study.id))
            checks = int(self._rng.random() < study.file.collection.gold_share)
            offer = questions.Offer(candidates, study.engine.checks(), checks)
            leased = questions.lease(connection, row, me, study.file.kind, offer, 1, caps, time.time()).questions
            if not leased:
                return
            seconds = round(self._rng.lognormvariate(1.2, 0.5) * (0.3 if who.quality < 0.6 else 1.0), 1)
            answer = Answer(f"demo-{leased[0].id}", str(leased[0].id), self._vote(leased[0], who, truth), seconds)
            judgments.submit(connection, row, me, [answer], check_for(study.file), caps)
        study.engine.took(leased)

    def _vote(self, question: Any, who: Simulated, truth: dict[str, float]) -> dict[str, Any]:
        left, right = question.items
        better = self._rng.random() < 1 / (1 + math.exp(truth.get(right, 0.0) - truth.get(left, 0.0)))
        if self._rng.random() > who.quality:
            better = not better
        return {"winner": left if better else right}
