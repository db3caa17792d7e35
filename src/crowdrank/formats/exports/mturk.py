"""Mechanical Turk's batch results: `Input.*` is what was shown, `Answer.*` what was answered.

Rejected assignments are left out. The parts of `Answer.taskAnswers`, where crowd forms put their JSON, have names as
Answer.taskAnswers.rating.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from crowdrank.formats.exports.tables import crowd_roles, exported, filled, mapped, with_columns, without
from crowdrank.formats.json_files import flat
from crowdrank.formats.source import Source, as_text
from crowdrank.formats.trec_letor import Wanted
from crowdrank.study import JudgmentError

TOOL = "Mechanical Turk"
KEYS = {"HITId", "WorkerId"}
INPUT, ANSWER = "Input.", "Answer."
ANSWERS = "Answer.taskAnswers"


def read(source: Source, given: Mapping[str, str], wanted: Wanted) -> list[Source]:
    """The judgments of a batch."""
    if wanted == "truth":
        return [source]
    source, notes = without(source, "AssignmentStatus", ["Rejected"], "rejected assignments")
    if ANSWERS in source.columns:
        source = with_columns(source, _parts(source))
    source = _with_buttons(source)
    inputs = [column for column in source.columns if column.startswith(INPUT)]
    answers = [column for column in source.columns if column.startswith(ANSWER)]
    outputs = [column for column in answers if not any(other.startswith(f"{column}.") for other in answers)]
    roles = {"annotator": "WorkerId", **_times(source), **mapped(source, given, (INPUT, ANSWER, ANSWERS + "."))}
    judged = crowd_roles(source, TOOL, {role: roles[role] for role in roles if role in given}, inputs, outputs)
    roles |= judged
    source, empty = filled(
        source, roles.get("winner") or roles.get("grade") or roles["rank"], "assignments without an answer"
    )
    return [exported(source, TOOL, roles, [*notes, *empty])]


def _times(source: Source) -> dict[str, str]:
    names = {"time": "SubmitTime", "seconds": "WorkTimeInSeconds"}
    return {role: column for role, column in names.items() if column in source.columns}


def _with_buttons(source: Source) -> Source:
    """Columns of true and false, one for each button (Answer.rating.1, Answer.rating.2), as one column."""
    groups: dict[str, list[str]] = {}
    for column in source.columns:
        if column.startswith(ANSWER) and not column.startswith(ANSWERS):
            groups.setdefault(column.rpartition(".")[0], []).append(column)
    for name, columns in groups.items():
        texts = [as_text(source.load(column)).str.strip_chars().str.to_lowercase() for column in columns]
        if name == ANSWER[:-1] or not all(set(text.drop_nulls().unique()) <= {"true", "false", ""} for text in texts):
            continue
        buttons = [column.rpartition(".")[2] for column in columns]
        pressed = [
            next((button for button, cell in zip(buttons, cells, strict=True) if cell == "true"), None)
            for cells in zip(*texts, strict=True)
        ]
        kept = [column for column in source.columns if column not in columns]
        source = replace(with_columns(source, {name: pl.Series(pressed, dtype=pl.String)}), columns=[*kept, name])
    return source


def _parts(source: Source) -> dict[str, pl.Series]:
    """The answers in a column of JSON, each as a column of its own."""
    texts = as_text(source.load(ANSWERS))
    rows = [_answers(source.place(row), text) for row, text in enumerate(texts)]
    names = dict.fromkeys(name for row in rows for name in row)
    return {f"{ANSWERS}.{name}": pl.Series([row.get(name) for row in rows], dtype=pl.String) for name in names}


def _answers(place: str, text: str | None) -> dict[str, str | None]:
    """The answers of an assignment: a list with one object; of buttons, the name of the one that is true."""
    if text is None or not text.strip():
        return {}
    try:
        parsed: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise JudgmentError(f"{place}: {ANSWERS} is not valid JSON") from None
    parsed = parsed[0] if isinstance(parsed, list) and parsed else parsed
    if not isinstance(parsed, dict):
        raise JudgmentError(f"{place}: {ANSWERS} must be a list with an object of answers")
    return dict(flat({name: _pressed(value) for name, value in parsed.items()}))


def _pressed(value: Any) -> Any:
    if isinstance(value, dict) and value and all(isinstance(state, bool) for state in value.values()):
        return next((name for name, state in value.items() if state), None)
    return value
