"""Argilla's records: as `to_json` writes them, or as a table with the columns `q.responses` (Hub, Parquet).

Numbers are grades, lists are rankings (best first), texts are grades whose order `--scale` says, or the winners of
pairs where the user says which fields are left and right. Suggestions are annotators of their own, by their agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from crowdrank.formats.exports.answers import Answers, name_of, needs, number_of
from crowdrank.formats.json_files import Record, at
from crowdrank.formats.source import Source, shorten
from crowdrank.formats.trec_letor import Wanted
from crowdrank.study import JudgmentError

TOOL = "Argilla"
KEYS = {"fields", "responses"}
TAKES = ("task", "item", "left", "right", "grade", "winner", "rank", "by")
RESPONSES, USERS, STATUS = ".responses", ".responses.users", ".responses.status"
SUGGESTION, AGENT = ".suggestion", ".suggestion.agent"
SUBMITTED = "submitted"
NO_STATUS = "this file does not say which responses were submitted: drafts count too"


def recognises(columns: set[str]) -> bool:
    """Whether a table is an Argilla data set."""
    return any(column.endswith(RESPONSES) and column.removesuffix(RESPONSES) + USERS in columns for column in columns)


def read(name: str, objects: Iterator[tuple[str, Record]], given: Mapping[str, str], wanted: Wanted) -> list[Source]:
    """The judgments of a list of records."""
    _refuse_gold(name, wanted)
    answers, has_status = Answers(name, TOOL, given, TAKES), False
    for place, record in objects:
        responses, suggestions = by_question(place, record)
        for question, given_answers in responses.items():
            for response in needs(place, given_answers or [], list, f"responses to {question}"):
                needs(place, response, dict, f"a response to {question}")
                has_status |= "status" in response
                _add_submitted(answers, place, record, question, response.get("status", SUBMITTED), response)
        for question, suggestion in suggestions.items():
            if suggestion:
                needs(place, suggestion, dict, f"the suggestion for {question}")
                agent = name_of(suggestion.get("agent")) or "suggestion"
                _add(answers, place, record, question, suggestion.get("value"), agent)
    sources = _sources(answers)
    return sources if has_status else [_with_note(sources[0], f"{name}: {NO_STATUS}"), *sources[1:]]


def by_question(place: str, record: Record) -> tuple[dict[str, Any], dict[str, Any]]:
    """The responses and the suggestions of a record by question. Versions 1 write lists, in the order of users."""
    responses, suggestions = record.get("responses") or {}, record.get("suggestions") or {}
    if isinstance(responses, list):
        of_users, responses = responses, {}
        for response in of_users:
            needs(place, response, dict, "a response")
            who = {"user_id": response.get("user_id"), "status": response.get("status", SUBMITTED)}
            for question, answer in needs(place, response.get("values") or {}, dict, "values").items():
                needs(place, answer, dict, f"the answer to {question}")
                responses.setdefault(question, []).append({"value": answer.get("value"), **who})
    if isinstance(suggestions, list):
        named = [needs(place, each, dict, "a suggestion") for each in suggestions]
        suggestions = {str(each.get("question_name")): each for each in named}
    return needs(place, responses, dict, "responses"), needs(place, suggestions, dict, "suggestions")


def _add_submitted(
    answers: Answers, place: str, record: Record, question: str, state: Any, response: Mapping[str, Any]
) -> None:
    """Add a response if it was submitted."""
    if state == SUBMITTED:
        _add(answers, place, record, question, response.get("value"), name_of(response.get("user_id")))
    else:
        answers.left_out[f"responses with status {shorten(str(state))}"] += 1


def read_table(source: Source, given: Mapping[str, str], wanted: Wanted) -> list[Source]:
    """The judgments of a table, a row for each record."""
    _refuse_gold(source.name, wanted)
    answers = Answers(source.name, TOOL, given, TAKES)
    questions = [column.removesuffix(RESPONSES) for column in source.columns if column.endswith(RESPONSES)]
    needed = {path.partition(".")[0] if path not in source.columns else path for path in given.values()}
    needed |= {question + part for question in questions for part in (RESPONSES, USERS, STATUS, SUGGESTION, AGENT)}
    needed = {column for column in (*needed, "id", "_server_id") if column in source.columns}
    table = {column: source.load(column).to_list() for column in sorted(needed)}
    for row in range(len(next(iter(table.values())))):
        record, place = {column: cells[row] for column, cells in table.items()}, source.place(row)
        for question in questions:
            _add_row(answers, place, record, question)
    return _sources(answers)


def read_rows(
    name: str, objects: Iterator[tuple[str, Record]], given: Mapping[str, str], wanted: Wanted
) -> list[Source]:
    """The same as JSON, an object for each row."""
    _refuse_gold(name, wanted)
    answers = Answers(name, TOOL, given, TAKES)
    for place, record in objects:
        for column in record:
            if column.endswith(RESPONSES):
                _add_row(answers, place, record, column.removesuffix(RESPONSES))
    return _sources(answers)


def _add_row(answers: Answers, place: str, record: Record, question: str) -> None:
    values = _as_list(place, record.get(question + RESPONSES), question)
    users = _as_list(place, record.get(question + USERS), question)
    status = _as_list(place, record.get(question + STATUS), question) or [SUBMITTED] * len(values)
    if not len(values) == len(users) == len(status):
        raise JudgmentError(f"{place}: {question} has {len(values)} responses by {len(users)} users")
    for value, user, state in zip(values, users, status, strict=True):
        _add_submitted(answers, place, record, question, state, {"value": value, "user_id": user})
    if record.get(question + SUGGESTION) is not None:
        agent = name_of(record.get(question + AGENT)) or "suggestion"
        _add(answers, place, record, question, record[question + SUGGESTION], agent)


def _as_list(place: str, value: Any, question: str) -> list[Any]:
    return [] if value is None else list(needs(place, value, list, f"responses to {question}"))


def _add(answers: Answers, place: str, record: Record, question: str, value: Any, who: str | None) -> None:
    """Add a response or a suggestion, by the type of its value."""
    common = {"annotator": who or "unknown"}
    if value is None or value == "" or value == []:
        answers.left_out[f"empty answers to {shorten(question)}"] += 1
    elif is_spans(value):
        answers.left_out[f"parts of texts that answer {shorten(question)}"] += 1
    elif isinstance(value, list):
        number = f"{place} {who} {question}"
        for rank, each in ranked(place, question, value):
            answers.add("rankings", place, question, record, item=each, rank=rank, list=number, **common)
    elif {"left", "right"} <= answers.given.keys():
        shown = {side: answers.value(record, side) for side in ("left", "right")}
        answers.add("pairs", place, question, record, **shown, winner=name_of(value), **common)
    elif isinstance(value, dict | bool):
        raise JudgmentError(f"{place}: the answer to {question} is neither a number, a text nor a list")
    else:
        item = answers.value(record, "item") if "item" in answers.given else item_of(record, {})
        answers.add("grades", place, question, record, item=item, grade=_grade(value), **common)


def is_spans(value: Any) -> bool:
    """Whether an answer marks parts of a text."""
    return isinstance(value, list) and all(isinstance(part, dict) and {"start", "end"} <= part.keys() for part in value)


def _grade(value: Any) -> Any:
    return value if number_of(value) is None else number_of(value)


def item_of(record: Record, given: Mapping[str, str]) -> str | None:
    """The item that a grade is about: what the user says, or the record itself."""
    if "item" in given:
        return name_of(at(record, given["item"]))
    return name_of(record.get("id")) or name_of(record.get("_server_id"))


def ranked(place: str, question: str, value: list[Any]) -> list[tuple[float, str]]:
    """Rank and item of a ranking: a list of items, best first, or of objects with value and rank."""
    found = list[tuple[float, str]]()
    for number, part in enumerate(value, 1):
        item = name_of(part.get("value") if isinstance(part, dict) else part)
        rank = number_of(part.get("rank", number)) if isinstance(part, dict) else number
        if item is None or rank is None:
            raise JudgmentError(f"{place}: the answer to {question} is no ranking: {shorten(str(part))}")
        found.append((rank, item))
    return found


def _sources(answers: Answers) -> list[Source]:
    _drop_texts(answers)
    answers.refuse_nothing()
    meaning = {"annotator": "user_id", "item": answers.given.get("item", "id")}
    return answers.sources(meaning)


def _drop_texts(answers: Answers) -> None:
    """Leave out the questions that were answered in words, where others were answered in numbers."""
    table = answers.columns.get("grades")
    if table is None or "grade" in answers.given:
        return
    in_words = {q for q, grade in zip(table["question"], table["grade"], strict=True) if isinstance(grade, str)}
    if in_words == set(table["question"]) and len(answers.columns) == 1:
        return  # `--scale` gives them an order
    kept = [row for row, question in enumerate(table["question"]) if question not in in_words]
    for question in sorted(in_words):
        count = table["question"].count(question)
        answers.left_out[f"answers in words to {shorten(question)} (choose them with --column grade={question})"] += (
            count
        )
    if not kept:
        del answers.columns["grades"], answers.places["grades"]
        return
    answers.columns["grades"] = {name: [cells[row] for row in kept] for name, cells in table.items()}
    answers.places["grades"] = [answers.places["grades"][row] for row in kept]


def _with_note(source: Source, note: str) -> Source:
    return replace(source, notes=(*source.notes, note))


def _refuse_gold(name: str, wanted: Wanted) -> None:
    if wanted == "truth":
        raise JudgmentError(f"{name}: an Argilla file holds no gold")
