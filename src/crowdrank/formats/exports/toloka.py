"""Toloka's results: `INPUT:x` is what was shown, `OUTPUT:y` what was answered, `GOLDEN:y` the known answer (gold)."""

from __future__ import annotations

from collections.abc import Mapping

from crowdrank.formats.exports.tables import crowd_roles, exported, filled, mapped, without
from crowdrank.formats.source import Source
from crowdrank.formats.trec_letor import Wanted
from crowdrank.study import JudgmentError

TOOL = "Toloka"
INPUT, OUTPUT, GOLDEN, ASSIGNMENT = "INPUT:", "OUTPUT:", "GOLDEN:", "ASSIGNMENT:"
ANNOTATOR, STATUS, TIMES = f"{ASSIGNMENT}worker_id", f"{ASSIGNMENT}status", ("submitted", "accepted", "started")
NOT_ANSWERS = ["REJECTED", "SKIPPED", "EXPIRED", "ACTIVE"]


def recognises(columns: set[str]) -> bool:
    """Whether a table is Toloka's."""
    return any(name.startswith(INPUT) for name in columns) and any(name.startswith(OUTPUT) for name in columns)


def read(source: Source, given: Mapping[str, str], wanted: Wanted) -> list[Source]:
    """The judgments of a pool, or its gold."""
    inputs, outputs = ([name for name in source.columns if name.startswith(prefix)] for prefix in (INPUT, OUTPUT))
    named = mapped(source, given, (INPUT, OUTPUT, ASSIGNMENT))
    roles = crowd_roles(source, TOOL, named, inputs, outputs)
    if wanted == "truth":
        return [_gold(source, roles)]
    source, notes = without(source, STATUS, NOT_ANSWERS, "assignments that were rejected, skipped or not finished")
    if ANNOTATOR in source.columns:
        roles = {"annotator": ANNOTATOR, **roles}
        source, nobody = filled(source, roles["annotator"], "rows without a worker")
        notes += nobody
    times = [ASSIGNMENT + name for name in TIMES if ASSIGNMENT + name in source.columns]
    roles = {**({"time": times[0]} if times else {}), **roles}
    source, empty = filled(source, _answer(roles), "rows without an answer")
    golden = [name for name in source.columns if name.startswith(GOLDEN) and source.load(name).count()]
    if golden and "rank" not in roles:
        count = source.load(golden[0]).count()
        notes.append(f"{source.name}: {count:,} rows have a known answer: use them with --gold {source.name}")
    return [exported(source, TOOL, roles, [*notes, *empty])]


def _answer(roles: Mapping[str, str]) -> str:
    return roles.get("winner") or roles.get("grade") or roles["rank"]


def _gold(source: Source, roles: Mapping[str, str]) -> Source:
    """The known answers."""
    answer = next((role for role in ("grade", "winner") if role in roles), None)
    if answer is None:
        raise JudgmentError(f"{source.name}: has no gold: the known answers must be grades or winners of pairs")
    golden = GOLDEN + roles[answer].removeprefix(OUTPUT)
    if golden not in source.columns or not source.load(golden).count():
        raise JudgmentError(f"{source.name}: has no gold: the column {golden} is missing or empty")
    kept = {role: roles[role] for role in ("task", "item", "left", "right") if role in roles}
    return exported(filled(source, golden, "")[0], TOOL, {**kept, answer: golden})
