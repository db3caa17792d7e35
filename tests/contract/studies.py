"""Studies of any kind of judgment, small and large, for the checks that every method must pass.

A table is a dict of columns, as a file would have it; `study` reads tables as users do.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

import crowdrank as cr
from crowdrank.study import KINDS, Judgments

Table = dict[str, list[Any]]

COLUMNS = {
    "grades": ("task", "annotator", "item", "grade"),
    "pairs": ("task", "annotator", "left", "right", "winner"),
    "rankings": ("task", "annotator", "item", "rank"),
}
TOP_GRADE = 9


def study(*tables: Table) -> Judgments:
    return cr.judgments(*(pl.DataFrame(table, strict=False) for table in tables))


def table(
    kind: str, *, tasks: int = 3, items: int = 6, annotators: int = 5, noise: float = 0.6, seed: int = 0
) -> Table:
    """Everybody judges all items of every task, each with some noise around the same truth: item 1 best, then item 2, …

    Each annotator errs more than the one before.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for task, annotator in np.ndindex(tasks, annotators):
        names = [f"item{number:02}" for number in range(1, items + 1)]
        seen = -np.arange(items) + rng.normal(0, noise * (annotator + 1), items)
        rows += _rows(kind, f"task{task}", f"annotator{annotator}", names, seen)
    return _columns(kind, rows)


def _rows(kind: str, task: str, annotator: str, names: list[str], seen: np.ndarray) -> list[tuple[Any, ...]]:
    if kind == "pairs":
        return [
            (task, annotator, names[i], names[j], names[i] if seen[i] > seen[j] else names[j])
            for i, j in (pair if (pair[0] + pair[1]) % 2 else pair[::-1] for pair in combinations(range(len(names)), 2))
        ]
    places = np.argsort(np.argsort(-seen)).tolist()
    value = [TOP_GRADE - place if kind == "grades" else place + 1 for place in places]
    return [(task, annotator, *row) for row in zip(names, value, strict=True)]


def _columns(kind: str, rows: list[tuple[Any, ...]]) -> Table:
    return {name: [row[at] for row in rows] for at, name in enumerate(COLUMNS[kind])}


def mixed() -> Judgments:
    """All kinds at once."""
    return study(*(table(kind) for kind in KINDS))


def shuffled(original: Table, seed: int = 1) -> Table:
    order = np.random.default_rng(seed).permutation(len(original["task"]))
    return {name: [values[row] for row in order] for name, values in original.items()}


def repeated(original: Table) -> Table:
    return {name: values * 2 for name, values in original.items()}


def renamed(original: Table, roles: tuple[str, ...]) -> tuple[Table, dict[str, str]]:
    """The names in some columns replaced by others that sort the other way around; and old name → new."""
    old = sorted({name for role in roles if role in original for name in original[role]})
    new = {name: f"new{len(old) - number:03}" for number, name in enumerate(old)}
    return {role: [new[v] for v in values] if role in roles else values for role, values in original.items()}, new


def mirrored(kind: str, original: Table) -> Table:
    """What annotators would have said who see everything the other way around."""
    if kind == "grades":
        return {**original, "grade": [TOP_GRADE - grade for grade in original["grade"]]}
    if kind == "rankings":
        return {**original, "rank": [max(original["rank"]) + 1 - rank for rank in original["rank"]]}
    loser = [left if winner == right else right for left, right, winner in _shown(original)]
    return {**original, "winner": loser}


def _shown(pairs: Table) -> list[tuple[str, str, str]]:
    return list(zip(pairs["left"], pairs["right"], pairs["winner"], strict=True))


def tied(kind: str, original: Table, annotator: str | None = None) -> Table:
    """Every answer a tie; or only those of one annotator."""
    column, tie = {"grades": ("grade", 3), "pairs": ("winner", "tie"), "rankings": ("rank", 1)}[kind]
    who = original["annotator"]
    return {
        **original,
        column: [tie if annotator in (None, name) else v for name, v in zip(who, original[column], strict=True)],
    }


def apart(kind: str) -> Table:
    """A connected task, and task `broken`, whose two halves were judged by different people."""
    first, second = table(kind, tasks=1, items=3, annotators=2), table(kind, tasks=1, items=3, annotators=2, seed=5)
    second, _ = renamed(second, ("item", "left", "right", "winner"))
    second["annotator"] = [f"other {name}" for name in second["annotator"]]
    whole = table(kind, tasks=1, items=3, annotators=2)
    rows = len(first["task"])
    broken = {name: first[name] + second[name] for name in first} | {"task": ["broken"] * 2 * rows}
    return {name: whole[name] + broken[name] for name in whole}


def least(kind: str) -> Table:
    """One judgment."""
    return {name: values[:1] for name, values in table(kind, tasks=1, annotators=1).items()}


def nothing(kind: str) -> Judgments:
    return cr.judgments(pl.DataFrame(schema=dict.fromkeys(COLUMNS[kind], pl.String)))


def many_votes(kind: str) -> Judgments:
    """Thousands of judgments, nearly all different: two threads have work after equal ones are merged."""
    if kind == "pairs":
        return cr.simulate.pairs(items=100, annotators=50, votes=3_000, ties=0.1, seed=1).judgments
    return _many(kind, tasks=1000, items=12, judged=10)


def many_tasks(kind: str, tasks: int) -> Judgments:
    """Tasks of three items each."""
    if kind == "pairs":
        return cr.simulate.pairs(items=3, tasks=tasks, annotators=100, votes=3 * tasks, seed=1).judgments
    return _many(kind, tasks=tasks, items=3, judged=3)


def _many(kind: str, *, tasks: int, items: int, judged: int) -> Judgments:
    """One annotator of a hundred judges so many of the items of each task."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(tasks), judged)
    item = np.argsort(rng.random((tasks, items)), axis=1)[:, :judged].ravel()
    value = np.tile(np.arange(1, judged + 1), tasks)
    frame = {"task": task, "annotator": task % 100, "item": item, COLUMNS[kind][-1]: value}
    return cr.judgments(pl.DataFrame(frame).with_columns(pl.all().exclude(COLUMNS[kind][-1]).cast(pl.String)))


def arrays(part: Any) -> list[np.ndarray]:
    """All arrays of a study, however deep."""
    if isinstance(part, np.ndarray):
        return [part]
    return [array for name in getattr(part, "__slots__", ()) for array in arrays(getattr(part, name))]


def scores(consensus: cr.Consensus) -> dict[tuple[Any, Any], float]:
    """(task, item) → score."""
    words = consensus.vocabulary
    names = zip(words.tasks[words.entry_task], words.items[words.entry_item], strict=True)
    return dict(zip(names, consensus.score.tolist(), strict=True))


def ranks(consensus: cr.Consensus) -> dict[tuple[Any, Any], int]:
    """(task, item) → rank."""
    return dict(zip(scores(consensus), consensus.rank.tolist(), strict=True))


def quality(consensus: cr.Consensus) -> dict[Any, float | None]:
    """annotator → quality."""
    return dict(consensus.annotators.select("annotator", "quality").iter_rows())
