"""Which column is which: our names, the names users already have, and what kind of judgment they make."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from crowdrank.formats.source import TEXT_SHOWN, shorten
from crowdrank.study import GoldKind, JudgmentError, Kind

# Role → the names it goes by, ours first.
NAMES: dict[str, tuple[str, ...]] = {
    "task": ("task", "query_id", "query", "qid", "topic"),
    "annotator": ("annotator", "worker", "judge", "rater", "assessor", "voter"),
    "item": ("item", "doc_id", "docid", "document", "candidate"),
    "grade": ("grade", "relevance", "label", "rating"),
    "left": ("left", "item_a", "model_a"),
    "right": ("right", "item_b", "model_b"),
    "winner": ("winner", "label"),
    "loser": ("loser",),
    "rank": ("rank", "position", "place"),
    "list": ("list", "ballot"),  # of rankings: tells several lists of an annotator on one task apart
    "score": ("score",),
    "weight": ("weight",),
    "strength": ("strength",),
}
OPTIONAL = ("task", "annotator")
OF_PAIRS = ("weight", "strength")  # what pairs may have besides
NEEDED = "pairs need left, right, winner (or winner, loser); grades need item, grade; rankings need item, rank"

COLUMNS_SHOWN = 20
SHORTEST_TELLING, LIKE_ENOUGH = 4, 0.8
NOT_MISSPELT = ("height",)  # words of their own, however near

Roles = dict[str, str]  # role → the column that plays it


def roles(name: str, columns: Sequence[str], given: Mapping[str, str]) -> Roles:
    """The column that plays each role, as far as there is one; `given` by the user comes first."""
    for role, column in given.items():
        if role not in NAMES:
            raise JudgmentError(f"there is no role {role!r} for a column; roles are {', '.join(NAMES)}")
        if column not in columns:
            raise JudgmentError(f"{name}: no column {column!r}{_nearest(column, columns)}; it has {_listed(columns)}")
    lowered: dict[str, str] = {}
    for column in columns:
        if column in given.values():
            continue
        if twin := lowered.get(column.strip().lower()):
            raise JudgmentError(f"{name}: {shorten(twin)!r} and {shorten(column)!r} are the same name; rename one")
        lowered[column.strip().lower()] = column
    found = dict(given)
    for role, names in NAMES.items():
        present = [lowered[alias] for alias in names if alias in lowered]
        if role not in found and present:
            found[role] = present[0]
    return found


def kind_of(name: str, columns: Sequence[str], given: Mapping[str, str]) -> tuple[Kind, Roles]:
    """The kind of judgment a table holds, and the columns that matter to it."""
    found = roles(name, columns, given)
    if "worker" in columns and "item" not in found and found.get("task") == "task":
        found["item"] = found.pop("task")  # crowd-kit's task is what is judged
    if {"left", "right", "winner"} <= found.keys():
        return "pairs", _checked(name, columns, found, ("left", "right", "winner"), (*OPTIONAL, *OF_PAIRS))
    if {"winner", "loser"} <= found.keys():
        return "pairs", _checked(name, columns, found, ("winner", "loser"), (*OPTIONAL, *OF_PAIRS))
    says = [
        role for role in ("grade", "rank") if role in found and (role in given or not {"grade", "rank"} & given.keys())
    ]
    if "item" in found and len(says) == 2:
        raise JudgmentError(
            f"{name}: {found['grade']!r} and {found['rank']!r} both say how good an item is; "
            f"choose one, for example --column grade={found['grade']}"
        )
    if "item" in found and says:
        return ("grades" if says == ["grade"] else "rankings"), _checked(name, columns, found, ("item", *says, "list"))
    raise JudgmentError(
        f"{name}: cannot tell the kind of judgment from the columns {_hints(columns)}; {NEEDED}{_to_type(columns, found)}"
    )


def unused(name: str, columns: Sequence[str], given: Mapping[str, str]) -> list[str]:
    """Of a table that does not hold pairs: what to say about columns that only pairs may have."""
    found = roles(name, columns, given)
    return [
        f"{name}: only pairs have a {role}: column {found[role]!r} is not used" for role in OF_PAIRS if role in found
    ]


def value_of(
    name: str, columns: Sequence[str], given: Mapping[str, str], kinds: Sequence[GoldKind]
) -> tuple[GoldKind, Roles]:
    """Which of some kinds of value a table gives each item, the first of `kinds` that it has, and the columns that matter."""
    found = roles(name, columns, given)
    for kind in kinds:
        if "item" in found and kind in found:
            return kind, _checked(name, columns, found, ("item", kind), optional=("task",))
    raise JudgmentError(
        f"{name}: needs item and one of {', '.join(kinds)}; the columns are {_hints(columns)}{_to_type(columns, found, kinds)}"
    )


def _checked(
    name: str, columns: Sequence[str], found: Roles, needed: tuple[str, ...], optional: tuple[str, ...] = OPTIONAL
) -> Roles:
    """The roles a kind uses. A column that looks like a misspelt optional one is an error: ignoring it would change the study."""
    used = {role: column for role, column in found.items() if role in (*needed, *optional)}
    rest = [column for column in columns if column not in used.values()]
    for role in optional:
        near = [column for column in rest if any(_misspelt(column.strip().lower(), alias) for alias in NAMES[role])]
        if role not in used and near:
            raise JudgmentError(
                f"{name}: column {near[0]!r} is not known; did you mean {role!r}? (--column {role}={near[0]})"
            )
    return used


def _misspelt(column: str, alias: str) -> bool:
    """Could someone have meant `alias`? Short names (qid) are too near to others (id) to tell."""
    if len(alias) < SHORTEST_TELLING or len(column) > 2 * len(alias) or column in NOT_MISSPELT:
        return False
    likeness = difflib.SequenceMatcher(None, column, alias).ratio()
    return column == f"{alias}_id" or sorted(column) == sorted(alias) or likeness >= LIKE_ENOUGH


def _hints(columns: Sequence[str]) -> str:
    known = [alias for names in NAMES.values() for alias in names]

    def hint(column: str) -> str:
        return "" if column.strip().lower() in known else _nearest(column, known, LIKE_ENOUGH)

    return _listed(columns, [hint(column) for column in columns[:COLUMNS_SHOWN]])


def _to_type(columns: Sequence[str], found: Roles, values: Sequence[str] = ("grade", "rank")) -> str:
    """The options that would name what is missing, with columns that have no role yet."""
    if {"left", "right", "winner"} & found.keys():
        missing = [role for role in ("left", "right", "winner") if role not in found]
    else:
        missing = ["item"] * ("item" not in found) + [values[0]] * (not set(values) & found.keys())
    free = [column for column in columns if column not in found.values()]  # what is said of an item usually stands last
    if not missing or len(free) < len(missing):
        return ""
    typed = " ".join(
        f"--column {shlex.quote(f'{role}={shorten(column)}')}"
        for role, column in zip(missing, free[-len(missing) :], strict=True)
    )
    return f"; name what has another name, as in {typed}"


def _listed(columns: Sequence[str], remarks: Sequence[str] = ()) -> str:
    shown = [
        f"{shorten(column)}{remark}" for column, remark in zip_longest(columns[:COLUMNS_SHOWN], remarks, fillvalue="")
    ]
    if len(columns) > COLUMNS_SHOWN:
        shown.append(f"… and {len(columns) - COLUMNS_SHOWN:,} more")
    return ", ".join(shown) or "(none)"


def _nearest(name: str, among: Sequence[str], cutoff: float = 0.6) -> str:
    near = difflib.get_close_matches(name.strip().lower()[:TEXT_SHOWN], among, n=1, cutoff=cutoff)
    return f" (did you mean {near[0]!r}?)" if near else ""
