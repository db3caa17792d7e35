"""UltraFeedback: instructions with the completions of several models, each graded in several aspects.

The items are the models. Each aspect is a task of its own, or one is chosen with `--column grade=helpfulness`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crowdrank.formats.exports.answers import Answers, name_of, needs, number_of
from crowdrank.formats.json_files import Record
from crowdrank.formats.source import Source
from crowdrank.formats.trec_letor import Wanted
from crowdrank.study import JudgmentError

TOOL = "UltraFeedback"
KEYS = {"completions", "instruction"}
OVERALL = "overall_score"
TAKES = ("task", "grade", "annotator", "by")


def read(name: str, objects: Iterator[tuple[str, Record]], given: Mapping[str, str], wanted: Wanted) -> list[Source]:
    """The grades of every completion."""
    if wanted == "truth":
        raise JudgmentError(f"{name}: an UltraFeedback file holds no gold")
    answers = Answers(name, TOOL, given, TAKES)
    for place, record in objects:
        completions = needs(place, record.get("completions"), list, "completions")
        if not completions:
            answers.left_out["instructions without completions"] += 1
        for completion in completions:
            needs(place, completion, dict, "a completion")
            annotations = needs(place, completion.get("annotations") or {}, dict, "annotations")
            if given.get("grade") == OVERALL:
                annotations = {OVERALL: completion.get(OVERALL)}
            for aspect, annotation in annotations.items():
                _add(answers, place, record, completion, aspect, annotation)
    answers.refuse_nothing()
    return answers.sources({"item": "completions.model", "grade": given.get("grade", "annotations.….Rating")})


def _add(answers: Answers, place: str, record: Record, completion: Record, aspect: str, annotation: Any) -> None:
    grade = number_of(annotation.get("Rating") if isinstance(annotation, dict) else annotation)
    if grade is None:
        answers.left_out[f"ratings of {aspect} that are no number"] += 1
        return
    who = answers.value(record, "annotator")
    answers.add("grades", place, aspect, record, item=name_of(completion.get("model")), grade=grade, annotator=who)
