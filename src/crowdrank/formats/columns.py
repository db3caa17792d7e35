"""Columns: our names, the names that other tools use, and the kind of judgment that the columns of a table show."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from crowdrank.formats.source import TEXT_SHOWN, shorten
from crowdrank.settings import did_you_mean
from crowdrank.study import GoldKind, JudgmentError, Kind

# Role of a column → its possible names, ours first; each may also end in `_id`.
NAMES: dict[str, tuple[str, ...]] = {
    "task": ("task", "query_id", "query", "qid", "topic"),
    "annotator": ("annotator", "worker", "judge", "rater", "assessor", "voter"),
    "item": ("item", "doc_id", "docid", "document", "candidate", "model", "system"),
    "grade": ("grade", "relevance", "label", "rating"),
    "left": ("left", "item_a", "model_a"),
    "right": ("right", "item_b", "model_b"),
    "winner": ("winner", "label"),
    "loser": ("loser",),
    "rank": ("rank", "position", "place"),
    "list": ("list", "ballot"),  # separates several rankings by one annotator on one task
    "score": ("score",),
    "weight": ("weight", "multiplicity"),
    "strength": ("strength",),
    "time": ("time", "timestamp", "tstamp", "created_at", "createdat"),
    "seconds": (
        "seconds", "duration", "duration_seconds", "duration_s", "time_taken", "timetaken", "time_spent", "lead_time",
        "response_time", "elapsed", "worktimeinseconds", "duration_ms", "time_taken_ms", "time_spent_ms",
        "response_time_ms", "elapsed_ms",
    ),  # how long a judgment took
}  # fmt: skip
OPTIONAL = ("task", "annotator")
PAIR_COLUMNS = ("weight", "strength")  # optional columns of pairs; rankings may have a weight too
NOT_CHECKED = ("time", "seconds")  # optional columns whose names are too common to look for misspelt ones
NEEDED = "pairs need left, right, winner (or winner, loser); grades need item, grade; rankings need item, rank"

COLUMNS_SHOWN = 20
SHORTEST_CHECKED = 4  # letters: names as short as qid are too similar to others (id) to find misspellings
SIMILAR = 0.8
SIDES = {"a": "b", "1": "2", "left": "right", "first": "second"}  # how names of the two items of a pair may end
ANSWERS = ("win", "prefer", "choice", "chosen", "answer", "better", "best")
NOT_MISSPELT = ("height",)  # similar to weight, but a word of its own

Roles = dict[str, str]  # role → the column that has it


def roles(name: str, columns: Sequence[str], given: Mapping[str, str], paths: Sequence[str] = ()) -> Roles:
    """The column of each role, as far as there is one; the user's come first, which may be `paths` too."""
    for role, column in given.items():
        if role not in NAMES:
            hint = did_you_mean(role, NAMES)
            raise JudgmentError(f"there is no role {role!r} for a column{hint}; the roles are {', '.join(NAMES)}")
        if column not in columns and column not in paths:
            hint = did_you_mean(_comparable(column), [*columns, *paths])
            raise JudgmentError(f"{name}: there is no column {column!r}{hint}; the columns are {_listed(columns)}")
    lowered: dict[str, str] = {}
    for column in columns:
        if column in given.values():
            continue
        if twin := lowered.get(column.strip().lower()):
            both = f"{shorten(twin)!r} and {shorten(column)!r}"
            raise JudgmentError(f"{name}: the column names {both} differ only by case or blanks; rename one")
        lowered[column.strip().lower()] = column
    found = dict(given)
    for role, names in NAMES.items():
        present = [lowered[alias] for alias in (*names, *(f"{name}_id" for name in names)) if alias in lowered]
        if role not in found and present:
            found[role] = present[0]
    return found


def kind_of(
    name: str, columns: Sequence[str], given: Mapping[str, str], paths: Sequence[str] = ()
) -> tuple[Kind, Roles]:
    """The kind of judgment a table holds, and the columns that matter to it."""
    found = roles(name, columns, given, paths)
    if "worker" in columns and "item" not in found and found.get("task") == "task":
        found["item"] = found.pop("task")  # in crowd-kit's files a task is what is judged
    if {"annotator", "item", "score"} <= found.keys() and not {"grade", "rank"} & found.keys():
        found["grade"] = found.pop("score")  # what an annotator gives an item
    if {"left", "right", "winner"} <= found.keys():
        return "pairs", _checked(name, columns, found, ("left", "right", "winner"), (*OPTIONAL, *PAIR_COLUMNS))
    if {"winner", "loser"} <= found.keys():
        return "pairs", _checked(name, columns, found, ("winner", "loser"), (*OPTIONAL, *PAIR_COLUMNS))
    values = [
        role for role in ("grade", "rank") if role in found and (role in given or not {"grade", "rank"} & given.keys())
    ]
    if "item" in found and len(values) == 2:
        raise JudgmentError(
            f"{name}: the columns {found['grade']!r} and {found['rank']!r} both say how good an item is; "
            f"choose one, for example --column grade={found['grade']}"
        )
    if "item" in found and values:
        if values == ["grade"]:
            return "grades", _checked(name, columns, found, ("item", "grade", "list"))
        return "rankings", _checked(name, columns, found, ("item", "rank", "list"), (*OPTIONAL, "weight"))
    raise JudgmentError(
        f"{name}: cannot tell the kind of judgment from the columns {_with_hints(columns)}; "
        f"{NEEDED}{_column_options(columns, found)}"
    )


def holds_pairs(name: str, columns: Sequence[str], given: Mapping[str, str], paths: Sequence[str] = ()) -> bool:
    """Whether a table of gold says which of two items is better, not how good an item is."""
    found = roles(name, columns, given, paths).keys()
    return "item" not in found and ({"left", "right", "winner"} <= found or {"winner", "loser"} <= found)


def unused(name: str, columns: Sequence[str], given: Mapping[str, str], paths: Sequence[str], kind: Kind) -> list[str]:
    """Notes on columns of weights and strengths that judgments of this kind cannot have."""
    found = roles(name, columns, given, paths)
    owners = {"weight": "only pairs and rankings have", "strength": "only pairs have"}
    can_have = {"pairs": PAIR_COLUMNS, "rankings": ("weight",), "grades": ()}[kind]
    return [
        f"{name}: column {found[role]!r} is not used: {owner} a {role}"
        for role, owner in owners.items()
        if role in found and role not in can_have
    ]


def value_of(
    name: str, columns: Sequence[str], given: Mapping[str, str], kinds: Sequence[GoldKind]
) -> tuple[GoldKind, Roles]:
    """The kind of value that a table gives each item, the first of `kinds` that it has; and the columns that matter."""
    found = roles(name, columns, given)
    for kind in kinds:
        if "item" in found and kind in found:
            return kind, _checked(name, columns, found, ("item", kind), optional=("task",))
    raise JudgmentError(
        f"{name}: needs item and one of {', '.join(kinds)}{', or left, right and winner' * ('grade' in kinds)}; "
        f"the columns are {_with_hints(columns)}{_column_options(columns, found, kinds)}"
    )


def _checked(
    name: str, columns: Sequence[str], found: Roles, needed: tuple[str, ...], optional: tuple[str, ...] = OPTIONAL
) -> Roles:
    """The roles that a kind uses. A misspelt optional column is an error: to ignore it would change the study."""
    used = {role: column for role, column in found.items() if role in (*needed, *optional, *NOT_CHECKED)}
    rest = [column for column in columns if column not in used.values()]
    for role in optional:
        similar = [column for column in rest if any(_misspelt(column.strip().lower(), alias) for alias in NAMES[role])]
        if role not in used and similar:
            raise JudgmentError(
                f"{name}: unknown column {similar[0]!r}; did you mean {role!r}? "
                f"Rename it, or use --column {role}={similar[0]}"
            )
    return used


def _misspelt(column: str, alias: str) -> bool:
    """Could someone have meant `alias`?"""
    if len(alias) < SHORTEST_CHECKED or len(column) > 2 * len(alias) or column in NOT_MISSPELT:
        return False
    if sorted(column) == sorted(alias):
        return True
    match = difflib.SequenceMatcher(None, column, alias)
    return match.real_quick_ratio() >= SIMILAR and match.quick_ratio() >= SIMILAR and match.ratio() >= SIMILAR


def _with_hints(columns: Sequence[str]) -> str:
    """The columns, with the closest name that we know beside each one that we do not."""
    known = [alias for names in NAMES.values() for alias in names]

    def hint(column: str) -> str:
        name = _comparable(column)
        return "" if name in known else did_you_mean(name, known, cutoff=SIMILAR)

    return _listed(columns, [hint(column) for column in columns[:COLUMNS_SHOWN]])


def _column_options(columns: Sequence[str], found: Roles, values: Sequence[str] = ("grade", "rank")) -> str:
    """The options that would give the missing roles to columns that have none yet."""
    free = [column for column in columns if column not in found.values()]
    if {"left", "right", "winner"} & found.keys():
        missing = [role for role in ("left", "right", "winner") if role not in found]
    elif sides := _sides(free):
        missing, free = ["left", "right", "winner"], [*sides, _answer([each for each in free if each not in sides])]
    else:
        missing = ["item"] * ("item" not in found) + [values[0]] * (not set(values) & found.keys())
    # The value of an item is usually in the last column.
    if not missing or len(free) < len(missing):
        return ""
    written = " ".join(
        f"--column {shlex.quote(f'{role}={shorten(column)}')}"
        for role, column in zip(missing, free[-len(missing) :], strict=True)
    )
    return f"; if your columns have other names, say which is which, for example {written}"


def _sides(columns: Sequence[str]) -> list[str]:
    """The columns of the two items of a pair, if their names look like it: `option A` and `option B`."""
    lowered = {_comparable(column): column for column in columns}
    for column in lowered:
        for left, right in SIDES.items():
            twin = column.removesuffix(left) + right
            if column.endswith(left) and twin in lowered and len(columns) > 2:
                return [lowered[column], lowered[twin]]
    return []


def _answer(columns: Sequence[str]) -> str:
    """The column that looks like the answer; otherwise the last one."""
    named = [column for column in columns if any(word in _comparable(column) for word in ANSWERS)]
    return [*columns, *named][-1]


def _listed(columns: Sequence[str], remarks: Sequence[str] = ()) -> str:
    shown = [
        f"{shorten(column)}{remark}" for column, remark in zip_longest(columns[:COLUMNS_SHOWN], remarks, fillvalue="")
    ]
    if len(columns) > COLUMNS_SHOWN:
        shown.append(f"… and {len(columns) - COLUMNS_SHOWN:,} more")
    return ", ".join(shown) or "(none)"


def _comparable(column: str) -> str:
    """A column name as it is compared with others; long ones are cut, which keeps the comparison fast."""
    return column.strip().lower()[:TEXT_SHOWN]
