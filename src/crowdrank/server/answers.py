"""Whether an answer fits its question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crowdrank.server.study_file import StudyFile
from crowdrank.settings import is_number
from crowdrank.store.judgments import AnswerError, Check


def check_for(study: StudyFile) -> Check:
    """The check of answers to this study's questions; it returns the answer in one form."""
    checks: dict[str, Callable[[Sequence[str], Mapping[str, Any]], dict[str, Any]]] = {
        "pairs": lambda items, answer: _pair(items, answer, study.ties),
        "grades": lambda _, answer: _grade(answer, [grade for grade, _ in study.scale]),
        "rankings": lambda items, answer: _ranking(items, answer, study.ties),
    }
    return lambda kind, items, answer: checks[kind](items, answer)


def _pair(items: Sequence[str], answer: Mapping[str, Any], ties: bool) -> dict[str, Any]:
    if answer.get("tie") and answer.get("winner") is None:
        if not ties:
            raise AnswerError("this study has no ties; choose one of the two items")
        return {"tie": True}
    winner = answer.get("winner")
    if winner is None or answer.get("tie"):
        raise AnswerError('answer with "winner", the id of an item, or "tie": true')
    if winner not in items:
        raise AnswerError(f"winner {str(winner)[:100]!r} is neither {items[0]!r} nor {items[1]!r}")
    return {"winner": winner}


def _grade(answer: Mapping[str, Any], scale: Sequence[float]) -> dict[str, Any]:
    grade = answer.get("grade")
    if not is_number(grade) or grade not in scale:
        raise AnswerError(f"grade {str(grade)[:100]} is not on the scale: {', '.join(f'{each:g}' for each in scale)}")
    return {"grade": float(grade)}  # type: ignore[arg-type]


def _ranking(items: Sequence[str], answer: Mapping[str, Any], ties: bool) -> dict[str, Any]:
    given = answer.get("ranking")
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise AnswerError('answer with "ranking": the ids, best first, tied ones in a list of their own')
    groups = [list(each) if isinstance(each, Sequence) and not isinstance(each, str) else [each] for each in given]
    if not ties and any(len(group) > 1 for group in groups):
        raise AnswerError("this study has no ties; put one item in each place")
    names = [name for group in groups for name in group]
    if sorted(map(str, names)) != sorted(items):
        raise AnswerError(f"the ranking must name each of {', '.join(items)} once")
    return {"ranking": [group for group in groups if group]}
