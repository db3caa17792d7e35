"""Label Studio's JSON: a list of tasks with `data`, `annotations` and `predictions`.

Results of the types pairwise, rating, number, choices and ranker are judgments. Cancelled annotations are left out;
those with `ground_truth` are gold. Predictions are annotators of their own, by their `model_version`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crowdrank.formats.exports.answers import Answers, name_of, needs, number_of, paths_in, sides
from crowdrank.formats.json_files import Record, at
from crowdrank.formats.source import Source, shorten
from crowdrank.formats.trec_letor import Wanted
from crowdrank.study import JudgmentError

TOOL = "Label Studio"
KEYS, OLD_KEYS = {"annotations", "data"}, {"completions", "data"}  # the latter before version 1
TAKES = ("task", "item", "left", "right", "grade", "winner", "rank", "by")
# Fields that name what is compared; fields with other names may hold whole texts.
NAMING = ("model", "system", "item", "name", "id", "left", "right", "candidate")


def read(name: str, objects: Iterator[tuple[str, Record]], given: Mapping[str, str], wanted: Wanted) -> list[Source]:
    """The judgments, or the gold, of an export."""
    answers, gold = Answers(name, TOOL, given, TAKES), wanted == "truth"
    fields = dict[str, str]()
    for number, (place, task) in enumerate(objects, 1):
        data = needs(place, task.get("data"), dict, "data")
        annotations = task.get("annotations", task.get("completions"))
        annotations = [] if annotations is None else needs(place, annotations, list, "annotations")
        if not annotations:
            answers.left_out["tasks without annotation"] += 1
        item = answers.value(task, "item") if "item" in given else item_of(task, number, given)
        for annotation in annotations:
            needs(place, annotation, dict, "an annotation")
            if _is_left_out(annotation, gold, answers):
                continue
            _add(answers, place, task, data, annotation, _who(annotation.get("completed_by")), item, fields)
        for prediction in () if gold else needs(place, task.get("predictions") or [], list, "predictions"):
            needs(place, prediction, dict, "a prediction")
            who = name_of(prediction.get("model_version")) or "prediction"
            _add(answers, place, task, data, prediction, who, item, fields)
    if gold and not answers.columns:
        raise JudgmentError(f"{name}: has no gold: no annotation has ground_truth")
    answers.refuse_nothing()
    meaning = {
        "annotator": "completed_by",
        "item": given.get("item", "id"),
        "time": "created_at",
        "seconds": "lead_time",
        **fields,
    }
    return answers.sources(meaning, gold)


def item_of(task: Record, number: int, given: Mapping[str, str]) -> str | None:
    """The item that a grade is about: what the user says, or the task itself."""
    return name_of(at(task, given["item"])) if "item" in given else name_of(task.get("id")) or str(number)


def _is_left_out(annotation: Record, gold: bool, answers: Answers) -> bool:
    if annotation.get("was_cancelled") or annotation.get("skipped"):
        answers.left_out["cancelled annotations"] += 1
        return True
    is_gold = bool(annotation.get("ground_truth"))
    if is_gold and not gold:
        answers.left_out[f"annotations that are ground truth: use them with --gold {answers.name}"] += 1
    return is_gold != gold


def _who(user: Any) -> str | None:
    """The annotator: a number, or an object with id and email."""
    if isinstance(user, dict):
        return name_of(user.get("email")) or name_of(user.get("id")) or name_of(user.get("username"))
    return name_of(user)


def _add(
    answers: Answers, place: str, task: Record, data: Record, given: Record, who: str | None, item: str | None,
    fields: dict[str, str],
) -> None:  # fmt: skip
    """Add the results of an annotation or a prediction."""
    results, before = needs(place, given.get("result") or [], list, "result"), sum(map(len, answers.places.values()))
    taken = number_of(given.get("lead_time"))
    seconds = None if taken is None or not results else taken / len(results)  # the answers of an annotation share it
    common = {"annotator": who or "unknown", "time": name_of(given.get("created_at")), "seconds": seconds}
    for result in results:
        needs(place, result, dict, "a result")
        value, kind = result.get("value"), result.get("type")
        question = name_of(result.get("from_name")) or str(kind)
        if kind not in ("pairwise", "rating", "number", "choices", "ranker"):
            answers.left_out[f"results of type {shorten(str(kind))}"] += 1
            continue
        needs(place, value, dict, f"value of {question}")
        answer = _answer(place, kind, value)
        if answer is None:
            answers.left_out[f"empty answers to {shorten(question)}"] += 1
        elif kind == "ranker":
            number = f"{place} {given.get('id')} {question}"
            for rank, each in enumerate(answer, 1):
                answers.add("rankings", place, question, task, item=each, rank=rank, list=number, **common)
        elif kind == "pairwise" or (kind == "choices" and {"left", "right"} <= answers.given.keys()):
            shown = pair_of(answers, place, task, data, fields)
            answers.add("pairs", place, question, task, **shown, winner=answer, **common)
        else:
            answers.add("grades", place, question, task, item=item, grade=answer, **common)
    if not results and sum(map(len, answers.places.values())) == before:
        answers.left_out["annotations without an answer"] += 1


def _answer(place: str, kind: Any, value: Record) -> Any:
    """The answer of a result; None where there is none."""
    if kind == "pairwise":
        selected = value.get("selected")
        if selected not in ("left", "right", None, ""):
            raise JudgmentError(f"{place}: selected is {shorten(selected)!r}; it must be left or right")
        return selected or None
    if kind in ("rating", "number"):
        given = value.get(kind)
        if given is not None and number_of(given) is None:
            raise JudgmentError(f"{place}: {kind} is {shorten(given)!r}, which is no finite number")
        return number_of(given)
    if kind == "choices":
        choices = needs(place, value.get("choices") or [], list, "choices")
        if len(choices) > 1:
            raise JudgmentError(f"{place}: {len(choices)} choices at once; a grade is a single one")
        return name_of(choices[0]) if choices else None
    return ranked(place, value.get("ranker"))


def ranked(place: str, ranker: Any) -> list[str] | None:
    """The items of a ranker, best first; those in the bucket `_` were not sorted."""
    if isinstance(ranker, dict):
        lists = [needs(place, ranker[bucket], list, f"bucket {bucket}") for bucket in ranker if bucket != "_"]
        ranker = [item for each in lists for item in each]
    items = [name_of(item) for item in needs(place, ranker or [], list, "ranker")]
    if None in items:
        raise JudgmentError(f"{place}: an item of the ranker has no name")
    if len(set(items)) < len(items):
        raise JudgmentError(f"{place}: the ranker has an item twice")
    return [item for item in items if item is not None] or None


def pair_of(answers: Answers, place: str, task: Record, data: Record, fields: dict[str, str]) -> dict[str, str | None]:
    """The two items of a pair, by the user's paths or by fields that clearly name items."""
    if {"left", "right"} <= answers.given.keys():
        return {side: answers.value(task, side) for side in ("left", "right")}
    if not fields:
        guesses = sides(paths_in(data))
        clear = [guess for guess in guesses if any(word in guess[0].lower() for word in NAMING)]
        if len(clear) != 1:
            raise JudgmentError(f"{place}: {_which_fields(data, (clear or guesses))}")
        fields |= {"left": f"data.{clear[0][0]}", "right": f"data.{clear[0][1]}"}
    return {side: name_of(at(task, path)) for side, path in fields.items()}


def _which_fields(data: Record, guesses: Sequence[tuple[str, str]]) -> str:
    """What to say where it is not clear which fields name the items."""
    paths = paths_in(data)
    one, other = guesses[0] if guesses else (paths[0], paths[1]) if len(paths) > 1 else ("answer_a", "answer_b")
    listed = ", ".join(f"data.{shorten(path)}" for path in paths[:8]) or "nothing"
    return (
        f"which fields name the two items? There are {listed}; "
        f"say it, for example --column left=data.{shorten(one)} --column right=data.{shorten(other)}"
    )
