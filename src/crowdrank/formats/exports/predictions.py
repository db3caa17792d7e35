"""A consensus back to the tool that asked for the judgments: Label Studio's predictions, Argilla's suggestions."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crowdrank.consensus import Consensus
from crowdrank.formats.exports import argilla, label_studio
from crowdrank.formats.exports.answers import Answers, name_of, number_of
from crowdrank.formats.files import JSON, open_file
from crowdrank.formats.json_files import Record, first_keys, objects
from crowdrank.grading import label
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.study import UNNAMED_TASK, JudgmentError


@dataclass(frozen=True, slots=True)
class KnownItems:
    """What a consensus says about items and pairs."""

    agent: str
    grades: Mapping[tuple[str, str], tuple[float, float | None]]  # task and item → grade and its probability
    scores: Mapping[tuple[str, str], tuple[float, float | None]]  # task and item → score and its standard deviation
    scale: Sequence[str] | None

    def grade(self, question: str, item: str | None) -> tuple[Any, float | None] | None:
        """The grade of an item, as the tool writes it, and its probability."""
        found = self._of(self.grades, question, item)
        if found is None:
            return None
        grade, chance = found
        whole = int(grade) if grade == int(grade) else grade
        return (self.scale[int(grade)] if self.scale else whole), chance

    def winner(self, question: str, left: str | None, right: str | None) -> tuple[str, float | None] | None:
        """The better side of a pair, and how probable it is that it is better."""
        sides = self._of(self.scores, question, left), self._of(self.scores, question, right)
        if sides[0] is None or sides[1] is None:
            return None
        gap, spreads = sides[0][0] - sides[1][0], (sides[0][1], sides[1][1])
        chance = None
        if spreads[0] is not None and spreads[1] is not None and any(spreads):
            chance = 0.5 + math.erf(abs(gap) / math.hypot(*spreads) / math.sqrt(2)) / 2
        return ("left" if gap >= 0 else "right"), chance

    def _of(self, table: Mapping[tuple[str, str], Any], question: str, item: str | None) -> Any:
        return table.get((question, str(item)), table.get((UNNAMED_TASK, str(item))))


def predictions(
    path: str | os.PathLike[str],
    consensus: Consensus,
    columns: Mapping[str, str] | None = None,
    scale: Sequence[str] | None = None,
) -> bytes:
    """The records of an export with what the consensus says about them, as JSON that the same tool imports.

    `columns` and `scale` are those with which the export was read.
    """
    file = open_file(path)
    keys = first_keys(file.path, file.content) if file.kind in JSON else set[str]()
    known, given = _known(consensus, scale), columns or {}
    if keys >= label_studio.KEYS:
        written = [
            _task(task, number, known, given) for number, (_, task) in enumerate(objects(file.path, file.content), 1)
        ]
    elif keys >= argilla.KEYS:
        written = [_record(record, known, given) for _, record in objects(file.path, file.content)]
    else:
        raise JudgmentError(f"{path}: predictions can be written for JSON exports of Label Studio and Argilla only")
    return (json.dumps(written, ensure_ascii=False, indent=1) + "\n").encode()


def _known(consensus: Consensus, scale: Sequence[str] | None) -> KnownItems:
    vocabulary = consensus.vocabulary
    names = [
        (str(vocabulary.tasks[task]), str(vocabulary.items[item]))
        for task, item in zip(vocabulary.entry_task, vocabulary.entry_item, strict=True)
    ]
    grades = dict[tuple[str, str], tuple[float, float | None]]()
    if consensus.grades is not None:
        found = label(consensus)
        for row, entry in enumerate(found.entry):
            chance = None if found.chance is None else round(float(found.chance[row, found.number[row]]), 6)
            grades[names[entry]] = float(found.grade[row]), chance
    low, high = consensus.low, consensus.high
    scores = {
        name: (float(consensus.score[entry]), _deviation(low, high, entry))
        for entry, name in enumerate(names)
        if not math.isnan(consensus.score[entry])
    }
    return KnownItems(f"crowdrank {consensus.method}", grades, scores, scale)


def _deviation(low: Any, high: Any, entry: int) -> float | None:
    if low is None or high is None or math.isnan(high[entry] - low[entry]):
        return None
    return float(high[entry] - low[entry]) / (2 * NORMAL_95_ROUNDED)


def _task(task: Record, number: int, known: KnownItems, given: Mapping[str, str]) -> Record:
    """A Label Studio task with a prediction for each of its questions."""
    item = label_studio.item_of(task, number, given)
    found = [_result(each, task, item, known, given) for each in _questions(task)]
    predictions = [
        {"model_version": known.agent, **({} if chance is None else {"score": round(chance, 6)}), "result": [result]}
        for result, chance in [each for each in found if each is not None]
    ]
    return {**{key: task[key] for key in ("id", "data") if key in task}, "predictions": predictions}


def _questions(task: Record) -> list[Record]:
    """One result of each question of a task, which says how its answers are written."""
    given = [*(task.get("annotations") or []), *(task.get("predictions") or [])]
    results = [result for each in given for result in each.get("result") or []]
    return list({str(result.get("from_name")): result for result in results}.values())


def _result(
    like: Record, task: Record, item: str | None, known: KnownItems, given: Mapping[str, str]
) -> tuple[Record, float | None] | None:
    kind, question = like.get("type"), name_of(like.get("from_name")) or str(like.get("type"))
    if kind in ("rating", "number", "choices") and given.get("grade", question) == question:
        answer = known.grade(question, item)
        value = {kind: [str(answer[0])] if kind == "choices" else answer[0]} if answer else None
    elif kind == "pairwise":
        sides = label_studio.pair_of(Answers("", "", given, label_studio.TAKES), "", task, task["data"], {})
        answer = known.winner(question, sides["left"], sides["right"])
        value = {"selected": answer[0]} if answer else None
    else:
        return None
    if answer is None:
        return None
    return {**{key: like[key] for key in ("from_name", "to_name", "type") if key in like}, "value": value}, answer[1]


def _are_grades(responses: Any, known: KnownItems) -> bool:
    """Whether the answers to a question are grades, and not texts or rankings."""
    values = [response.get("value") for response in responses or []]
    return all(number_of(value) is not None or (known.scale is not None and value in known.scale) for value in values)


def _record(record: Record, known: KnownItems, given: Mapping[str, str]) -> Record:
    """An Argilla record with a suggestion for each question that has a grade."""
    suggestions = dict(record.get("suggestions") or {})
    item = argilla.item_of(record, given)
    for question, responses in (record.get("responses") or {}).items():
        answer = known.grade(question, item)
        if answer is not None and given.get("grade", question) == question and _are_grades(responses, known):
            suggestions[question] = {"value": answer[0], "score": answer[1], "agent": known.agent}
    return {**record, "suggestions": suggestions}
