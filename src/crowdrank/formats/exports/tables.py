"""What the readers of exported tables share: which rows and columns of a table are used, and by what names."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from crowdrank.formats.columns import NAMES
from crowdrank.formats.exports.answers import left_out, sides
from crowdrank.formats.source import Source, as_text, shorten
from crowdrank.settings import did_you_mean
from crowdrank.study import JudgmentError

ROLES = (*NAMES, "by")
JUDGED = ("item", "grade", "rank", "left", "right", "winner", "loser")  # what a judgment is about, and what it says
SHOWN = 12


def exported(source: Source, tool: str, roles: Mapping[str, str], notes: Sequence[str] = ()) -> Source:
    """A table of which only the columns in `roles` are used."""
    used = {role: column for role, column in roles.items() if role != "by"}
    return replace(
        source,
        columns=list(dict.fromkeys(used.values())),
        by=roles.get("by", ""),
        tool=tool,
        meaning=used,
        notes=(*source.notes, *notes),
    )


def with_columns(source: Source, added: Mapping[str, pl.Series]) -> Source:
    """A table with more columns."""
    return replace(
        source,
        columns=[*source.columns, *(name for name in added if name not in source.columns)],
        load=lambda name: added[name] if name in added else source.load(name),
    )


def without(source: Source, column: str, values: Sequence[str], what: str) -> tuple[Source, list[str]]:
    """A table without the rows that have one of these values in a column, and a note on how many they were."""
    if column not in source.columns:
        return source, []
    text = as_text(source.load(column)).str.strip_chars().str.to_lowercase()
    drop = text.is_in([value.lower() for value in values]).fill_null(False).to_numpy()
    note = [left_out(source.name, what, int(drop.sum()))] if drop.any() else []
    return source.rows_where(~drop), note


def filled(source: Source, column: str, what: str) -> tuple[Source, list[str]]:
    """The rows that have something in a column, and a note on the others."""
    text = as_text(source.load(column))
    empty = (text.is_null() | (text.str.strip_chars() == "")).fill_null(True).to_numpy()
    note = [left_out(source.name, what, int(empty.sum()))] if empty.any() else []
    return source.rows_where(~empty), note


def mapped(source: Source, given: Mapping[str, str], prefixes: Sequence[str] = ()) -> dict[str, str]:
    """The columns that the user names, which may be written without a prefix such as INPUT:."""
    known = [*source.columns, *source.paths]
    found = dict[str, str]()
    for role, column in given.items():
        if role not in ROLES:
            raise JudgmentError(
                f"there is no role {role!r} for a column{did_you_mean(role, ROLES)}; the roles are {', '.join(ROLES)}"
            )
        options = [name for name in (column, *(prefix + column for prefix in prefixes)) if name in known]
        if not options:
            raise JudgmentError(
                f"{source.name}: there is no column {column!r}{did_you_mean(column, known)}; "
                f"the columns are {listed(source.columns)}"
            )
        found[role] = options[0]
    return found


def listed(columns: Sequence[str]) -> str:
    """The first columns by name, and how many more there are."""
    more = f", … and {len(columns) - SHOWN:,} more" if len(columns) > SHOWN else ""
    return ", ".join(map(shorten, columns[:SHOWN])) + more


def is_judgment(roles: Mapping[str, str]) -> bool:
    """Whether these roles are enough for judgments of some kind."""
    sets = ({"left", "right", "winner"}, {"winner", "loser"}, {"item", "grade"}, {"item", "rank"})
    return any(needed <= roles.keys() for needed in sets)


def crowd_roles(
    source: Source, tool: str, given: Mapping[str, str], inputs: Sequence[str], outputs: Sequence[str]
) -> dict[str, str]:
    """The roles of a crowdsourcing table: what the user says, or the only possible meaning of its columns."""
    if is_judgment(given):
        return dict(given)
    pairs = sides(list(inputs))
    if len(outputs) == 1 and given.keys().isdisjoint(JUDGED):
        if len(inputs) == 1:
            return {**given, "item": inputs[0], "grade": outputs[0]}
        if len(inputs) == 2 and len(pairs) == 1:
            return {**given, "left": pairs[0][0], "right": pairs[0][1], "winner": outputs[0]}
    raise JudgmentError(f"{source.name}: {_which_columns(tool, inputs, outputs, pairs)}")


def _which_columns(tool: str, inputs: Sequence[str], outputs: Sequence[str], pairs: Sequence[tuple[str, str]]) -> str:
    """What to say where it is not clear which columns hold the judgments."""
    answer = outputs[0] if outputs else "ANSWER"
    if pairs:
        roles = {"left": pairs[0][0], "right": pairs[0][1], "winner": answer}
    else:
        roles = {"item": inputs[0] if inputs else "ITEM", "grade": answer}
    example = " ".join(f"--column {shlex.quote(f'{role}={shorten(column)}')}" for role, column in roles.items())
    return (
        f"this {tool} file has the inputs {listed(inputs) or '(none)'} and the answers {listed(outputs) or '(none)'}; "
        f"say what they mean, for example {example}"
    )
