"""A consensus back to the tool that asked for the judgments: Label Studio's predictions, Argilla's suggestions."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crowdrank.consensus import Consensus
from crowdrank.formats.exports import argilla, label_studio
from crowdrank.formats.exports.answers import Answers, name_of, number_of
from crowdrank.formats.files import JSON, open_file
from crowdrank.formats.json_files import Record, at, first_keys, objects
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

    def grade(self, task: str, item: str | None) -> tuple[Any, float | None] | None:
        """The grade of an item, as the tool writes it, and its probability."""
        found = self._of(self.grades, task, item)
        if found is None:
            return None
        grade, chance = found
        whole = int(grade) if grade == int(grade) else grade
        return (self.scale[int(grade)] if self.scale else whole), chance

    def winner(self, task: str, left: str | None, right: str | None) -> tuple[str, float | None] | None:
        """The better side of a pair, and how probable it is that it is better."""
        sides = self._of(self.scores, task, left), self._of(self.scores, task, right)
        if sides[0] is None or sides[1] is None:
            return None
        return ("left" if sides[0][0] >= sides[1][0] else "right"), _chance(*sides)

    def order(self, task: str, items: Iterable[str]) -> tuple[list[str], float | None] | None:
        """The items, best first, and how probable it is that the first is better than the second."""
        known = [(item, self._of(self.scores, task, item)) for item in dict.fromkeys(items)]
        ranked = sorted([each for each in known if each[1] is not None], key=lambda each: -each[1][0])
        if not ranked:
            return None
        return [item for item, _ in ranked], _chance(ranked[0][1], ranked[1][1]) if len(ranked) > 1 else None

    def _of(self, table: Mapping[tuple[str, str], Any], task: str, item: str | None) -> Any:
        return table.get((task, str(item)), table.get((UNNAMED_TASK, str(item))))


def _chance(one: tuple[float, float | None], other: tuple[float, float | None]) -> float | None:
    """How probable it is that the item with the higher score is the better one."""
    spread = None if one[1] is None or other[1] is None else math.hypot(one[1], other[1])
    return 0.5 + math.erf(abs(one[0] - other[0]) / spread / math.sqrt(2)) / 2 if spread else None


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
    if keys >= label_studio.KEYS or keys >= label_studio.OLD_KEYS:
        written = [
            _task(place, task, number, known, given)
            for number, (place, task) in enumerate(objects(file.path, file.content), 1)
        ]
    elif keys >= argilla.KEYS:
        written = [_record(place, record, known, given) for place, record in objects(file.path, file.content)]
    else:
        raise JudgmentError(f"{path}: predictions can be written for JSON exports of Label Studio and Argilla only")
    if not any(record.get("predictions") or record.get("suggestions") for record in written):
        raise JudgmentError(f"{path}: the consensus answers none of its questions: there is nothing to write")
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


def _task(place: str, task: Record, number: int, known: KnownItems, given: Mapping[str, str]) -> Record:
    """A Label Studio task with a prediction for each of its questions."""
    item = label_studio.item_of(task, number, given)
    found = [_result(place, answers, task, item, known, given) for answers in _questions(task)]
    predictions = [
        {"model_version": known.agent, **({} if chance is None else {"score": round(chance, 6)}), "result": [result]}
        for result, chance in [each for each in found if each is not None]
    ]
    return {**{key: task[key] for key in ("id", "data") if key in task}, "predictions": predictions}


def _questions(task: Record) -> list[list[Record]]:
    """The results of each question of a task: how its answers are written."""
    given = [*(task.get("annotations", task.get("completions")) or []), *(task.get("predictions") or [])]
    results = dict[str, list[Record]]()
    for result in [result for each in given for result in each.get("result") or []]:
        results.setdefault(str(result.get("from_name")), []).append(result)
    return list(results.values())


def _result(
    place: str, answers: Sequence[Record], task: Record, item: str | None, known: KnownItems, given: Mapping[str, str]
) -> tuple[Record, float | None] | None:
    """The result that the consensus predicts for a question, and its probability."""
    like = answers[0]
    kind, question = like.get("type"), name_of(like.get("from_name")) or str(like.get("type"))
    where = _task_of(task, question, given)
    values = [each["value"] for each in answers if isinstance(each.get("value"), dict)]
    found: tuple[Any, float | None] | None = None
    if not _is_asked(given, _role(kind, given), question):
        return None
    if kind == "pairwise" or (kind == "choices" and {"left", "right"} <= given.keys()):
        sides = label_studio.pair_of(Answers("", "", given, label_studio.TAKES), place, task, task["data"], {})
        found = known.winner(where, sides["left"], sides["right"])
        if found and kind == "choices":
            chosen = [choice for value in values for choice in value.get("choices") or []]
            found = [_as_answered(found[0], sides, chosen)], found[1]
    elif kind in ("rating", "number", "choices"):
        found = known.grade(where, item)
        if found and kind == "choices":
            found = [str(found[0])], found[1]
    elif kind == "ranker":
        rankers = [value.get("ranker") for value in values]
        found = known.order(where, [each for ranker in rankers for each in label_studio.ranked(place, ranker) or []])
        if found:
            found = _in_buckets(found[0], rankers), found[1]
    if found is None:
        return None
    value = {"selected" if kind == "pairwise" else str(kind): found[0]}
    return {**{key: like[key] for key in ("from_name", "to_name", "type") if key in like}, "value": value}, found[1]


def _task_of(record: Record, question: str, given: Mapping[str, str]) -> str:
    """The task that a question of a record belongs to: what the user says, or the question itself."""
    return str(name_of(at(record, given["task"]))) if "task" in given else question


def _role(kind: Any, given: Mapping[str, str]) -> str:
    """The role whose column names the question of a result."""
    if kind == "pairwise" or (kind == "choices" and {"left", "right"} <= given.keys()):
        return "winner"
    return "rank" if kind == "ranker" else "grade"


def _is_asked(given: Mapping[str, str], role: str, question: str) -> bool:
    """Whether the user chose this question, or none at all."""
    chosen = {given[each] for each in ("grade", "winner", "rank") if each in given}
    return not chosen or given.get(role) == question


def _as_answered(side: str, sides: Mapping[str, str | None], answers: Sequence[Any]) -> str:
    """The winner as the answers of this question name it: by its id, or by a word for its side."""
    texts = {str(answer) for answer in answers}
    if texts & {str(item) for item in sides.values()}:
        return str(sides[side])
    words = [("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT"), ("A", "B"), ("a", "b")]
    pair = next((pair for pair in words if texts & set(pair)), words[0])
    return pair[side == "right"]


def _in_buckets(order: Sequence[str], rankers: Sequence[Any]) -> Any:
    """A ranking as Label Studio writes it: a list, or buckets with as many items as they have on average."""
    like = rankers[0]
    if not isinstance(like, dict):
        return list(order)
    names = [bucket for bucket in like if bucket != "_"]
    sizes = [[len(ranker.get(name) or []) for name in names] for ranker in rankers if isinstance(ranker, dict)]
    total = max(sum(map(sum, sizes)), 1)
    ends, filled = list[int](), 0
    for column in zip(*sizes, strict=True):
        filled += sum(column)
        ends.append(round(len(order) * filled / total))
    return {name: list(order[start:end]) for name, start, end in zip(names, [0, *ends], ends, strict=False)}


def _are_grades(responses: Any, known: KnownItems) -> bool:
    """Whether the answers to a question are grades, and not texts or rankings."""
    values = [response.get("value") for response in responses or []]
    return all(number_of(value) is not None or (known.scale is not None and value in known.scale) for value in values)


def _record(place: str, record: Record, known: KnownItems, given: Mapping[str, str]) -> Record:
    """An Argilla record with a suggestion for each question that the consensus can answer."""
    responses, before = argilla.by_question(place, record)
    suggestions = dict(before)
    for question, answers in responses.items():
        answer = _suggestion(place, record, question, answers or [], known, given)
        if answer is not None:
            suggestions[question] = {"value": answer[0], "score": answer[1], "agent": known.agent}
    if isinstance(record.get("suggestions"), list):  # as versions 1 write them
        listed = [{"question_name": question, **each} for question, each in suggestions.items()]
        return {**record, "suggestions": listed}
    return {**record, "suggestions": suggestions}


def _suggestion(
    place: str,
    record: Record,
    question: str,
    responses: Sequence[Record],
    known: KnownItems,
    given: Mapping[str, str],
) -> tuple[Any, Any] | None:
    """What the consensus answers to a question of an Argilla record, and its probability."""
    where = _task_of(record, question, given)
    values = [each.get("value") for each in responses if each.get("value") not in (None, "", [])]
    if any(map(argilla.is_spans, values)):
        return None
    if any(isinstance(value, list) for value in values):
        lists = [argilla.ranked(place, question, value) for value in values if isinstance(value, list)]
        found = known.order(where, [item for each in lists for _, item in each])
        if found is None or not _is_asked(given, "rank", question):
            return None
        objects_given = any(isinstance(part, dict) for value in values if isinstance(value, list) for part in value)
        order = [{"value": item, "rank": rank} for rank, item in enumerate(found[0], 1)] if objects_given else found[0]
        return order, None  # Argilla's score of a list would be one for each of its items
    if {"left", "right"} <= given.keys():
        sides = {side: name_of(at(record, given[side])) for side in ("left", "right")}
        winner = known.winner(where, sides["left"], sides["right"])
        asked = _is_asked(given, "winner", question)
        return (_as_answered(winner[0], sides, values), winner[1]) if winner and asked else None
    graded = _is_asked(given, "grade", question) and _are_grades(responses, known)
    return known.grade(where, argilla.item_of(record, given)) if graded else None
