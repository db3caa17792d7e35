"""Judgments from files: those that this server exported, and all that `crowdrank` reads."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdrank.server.answers import check_for
from crowdrank.server.item_table import ONE_TASK
from crowdrank.server.study_file import StudyFile
from crowdrank.settings import InputError
from crowdrank.store.judgments import AnswerError, Imported

if TYPE_CHECKING:
    from crowdrank.study import Judgments

LONGEST = 1e9  # seconds for an answer


def imported(study: StudyFile, body: bytes, name: str) -> tuple[list[Imported], list[str]]:
    """The judgments of a file, checked against the study; and notes on what was left out."""
    if body.lstrip()[:1] == b"{" and (records := _records(body)) is not None:
        return _from_records(study, records), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _safe(name)
        path.write_bytes(body)
        from crowdrank import formats

        try:
            found = formats.read(path)
        except InputError as error:
            raise InputError(str(error).replace(f"{folder}/", "")) from None
    if found.kinds != (study.kind,):
        raise InputError(f"the file has {' and '.join(found.kinds) or 'no judgments'}; this is a study of {study.kind}")
    return _numbered(study, list(_of(found))), list(found.notes)


def _safe(name: str) -> str:
    """A name for the file: its ending says what kind of file it is."""
    safe = "".join(letter for letter in name if letter.isalnum() or letter in "._-").lstrip(".")
    return safe.encode()[-100:].decode(errors="ignore") or "judgments"


def _records(body: bytes) -> list[Any] | None:
    """The judgments of what `export.json` wrote; None for anything else."""
    try:
        whole = json.loads(body)
    except ValueError:
        return None
    found = whole.get("judgments") if isinstance(whole, dict) else None
    return found if isinstance(found, list) else None


def _from_records(study: StudyFile, records: Sequence[Any]) -> list[Imported]:
    """Records of `export.json`; those that did not count there are left out."""
    check, found = check_for(study), []
    for number, record in enumerate(records, 1):
        place = f"judgment {number}"
        if not isinstance(record, Mapping):
            raise InputError(f"{place}: is not an object")
        if record.get("status", "counted") != "counted":
            continue
        items, key, who = record.get("items"), record.get("key"), record.get("annotator")
        if not isinstance(items, list) or not items or not all(isinstance(each, str) for each in items):
            raise InputError(f"{place}: items must be a list of ids")
        if not isinstance(key, str) or not isinstance(who, str) or not 0 < len(key) <= 200 or not 0 < len(who) <= 100:
            raise InputError(f"{place}: key and annotator must be texts")
        if len(items) != {"pairs": 2, "grades": 1}.get(study.kind, len(items)):
            raise InputError(f"{place}: a judgment of {study.kind} does not have {len(items)} items")
        try:
            answer = check(study.kind, items, record)
        except AnswerError as error:
            raise InputError(f"{place}: {error}") from None
        seconds, details = record.get("seconds"), record.get("details")
        found.append(
            Imported(
                key=key,
                annotator=who,
                task=str(record.get("task") or ONE_TASK),
                items=tuple(items),
                answer=answer,
                created=_time(record.get("time")),
                seconds=float(seconds) if isinstance(seconds, int | float) and 0 <= seconds < LONGEST else None,
                details=details if isinstance(details, dict) else None,
            )
        )
    return found


def _time(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError):
        return None


def _of(found: Judgments) -> Iterator[tuple[str, str, tuple[str, ...], dict[str, Any], float | None]]:
    """Annotator, task, items, answer and time of each judgment."""
    from crowdrank.study import LEFT, TIE

    words = found.vocabulary
    task = [str(words.tasks[code]) for code in words.entry_task]
    item = [str(words.items[code]) for code in words.entry_item]
    people = [str(name) for name in words.annotators]
    for row, (who, entry, grade) in enumerate(
        zip(found.grades.annotator, found.grades.entry, found.grades.grade, strict=True)
    ):
        yield people[who], task[entry], (item[entry],), {"grade": float(grade)}, _at(found.grades.time, row)
    pairs = found.pairs
    for row, (who, left, right, outcome) in enumerate(
        zip(pairs.annotator, pairs.left, pairs.right, pairs.outcome, strict=True)
    ):
        winner = {"tie": True} if outcome == TIE else {"winner": item[left if outcome == LEFT else right]}
        yield people[who], task[left], (item[left], item[right]), winner, _at(pairs.time, row)
    lists, starts = found.rankings, found.rankings.list_starts
    for number, who in enumerate(lists.list_annotator):
        rows = range(starts[number], starts[number + 1])
        groups: dict[float, list[str]] = {}
        for row in rows:
            groups.setdefault(float(lists.position[row]), []).append(item[lists.entry[row]])
        names = tuple(name for group in groups.values() for name in group)
        for _ in range(int(lists.counts[number])):
            of = task[lists.entry[rows[0]]]
            yield people[who], of, names, {"ranking": list(groups.values())}, _at(lists.list_time, number)


def _at(times: Any, row: int) -> float | None:
    value = None if times is None else float(times[row])
    return None if value is None or value != value else value


def _numbered(
    study: StudyFile, rows: Sequence[tuple[str, str, tuple[str, ...], dict[str, Any], float | None]]
) -> list[Imported]:
    """Judgments with keys made of what they say: the same file imported twice is stored once."""
    check, seen, found = check_for(study), Counter[str](), []
    for number, (who, task, items, answer, created) in enumerate(rows, 1):
        try:
            answer = dict(check(study.kind, items, answer))
        except AnswerError as error:
            raise InputError(f"judgment {number} of the file: {error}") from None
        text = json.dumps([who, task, items, answer, created])
        seen[text] += 1
        key = hashlib.sha256(f"{text}{seen[text]}".encode()).hexdigest()[:32]
        found.append(Imported(f"import-{key}", who, task, items, answer, created))
    return found
