"""Rankings and grades as PrefLib's files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from crowdrank.formats.source import shorten
from crowdrank.study import JudgmentError, Judgments

Vote = tuple[tuple[int, ...], ...]  # groups of alternatives, by their numbers
ENDINGS = {(False, True): ".soc", (False, False): ".soi", (True, True): ".toc", (True, False): ".toi"}


def preflib_text(table: Any, path: Path, kind: str) -> str:
    """The judgments of one task. The ending must say what they are: complete or not, with ties or without."""
    wanted = "grades" if kind == ".cat" else "rankings"
    if not isinstance(table, Judgments) or table.kinds != (wanted,):
        raise JudgmentError(f"{path}: a PrefLib {kind} file holds {wanted}, not this table")
    tasks = table.vocabulary.tasks
    if len(tasks) > 1:
        raise JudgmentError(
            f"{path}: a PrefLib file holds one election, but there are {len(tasks):,} tasks; name the file .csv"
        )
    names = [str(name) for name in table.vocabulary.items[table.vocabulary.entry_item]]
    for name in names:
        if "\n" in name or "\r" in name:
            raise JudgmentError(f"{path}: item {shorten(name)!r} has a line break; name the file .csv")
    categories = list[str]()
    if kind == ".cat":
        votes, categories = _graded(table, path)
    else:
        votes = _ranked(table)
        _check_ending(votes, len(names), path, kind)
    return _written(votes, names, categories, path, kind)


def _ranked(judgments: Judgments) -> Counter[Vote]:
    lists, votes = judgments.rankings, Counter[Vote]()
    starts = lists.list_starts
    for number, count in enumerate(lists.counts.tolist()):
        rows = slice(starts[number], starts[number + 1])
        position, entry = lists.position[rows], lists.entry[rows] + 1
        votes[tuple(tuple(entry[position == place].tolist()) for place in np.unique(position))] += count
    return votes


def _graded(judgments: Judgments, path: Path) -> tuple[Counter[Vote], list[str]]:
    grades, votes = judgments.grades, Counter[Vote]()
    scale = np.unique(grades.grade)[::-1]
    keys = grades.annotator.astype(np.int64) * (judgments.vocabulary.n_entries + 1) + grades.entry
    if len(np.unique(keys)) < len(keys):
        raise JudgmentError(f"{path}: in a .cat file a voter grades an item once; name the file .csv")
    for annotator in np.unique(grades.annotator):
        own = grades.annotator == annotator
        entry, grade = grades.entry[own] + 1, grades.grade[own]
        votes[tuple(tuple(sorted(entry[grade == value].tolist())) for value in scale)] += 1
    return votes, [f"{value:g}" for value in scale]


def _check_ending(votes: Counter[Vote], size: int, path: Path, kind: str) -> None:
    tied = any(len(group) > 1 for vote in votes for group in vote)
    whole = all(sum(map(len, vote)) == size for vote in votes)
    right = ENDINGS[tied, whole]
    fits = {".soc": not tied and whole, ".soi": not tied, ".toc": whole, ".toi": True}[kind]
    if not fits:
        what = f"{'ties' if tied else 'no ties'}, and {'all' if whole else 'not all'} items in every ranking"
        raise JudgmentError(f"{path}: these rankings have {what}; name the file {path.with_suffix(right).name}")


def _written(votes: Counter[Vote], names: list[str], categories: list[str], path: Path, kind: str) -> str:
    facts = {
        "FILE NAME": path.name,
        "DATA TYPE": kind[1:],
        "NUMBER ALTERNATIVES": len(names),
        "NUMBER VOTERS": votes.total(),
        "NUMBER UNIQUE ORDERS": len(votes),
        **({"NUMBER CATEGORIES": len(categories)} if categories else {}),
        **{f"CATEGORY NAME {number}": name for number, name in enumerate(categories, 1)},
        **{f"ALTERNATIVE NAME {number}": name for number, name in enumerate(names, 1)},
    }
    lines = [f"# {key}: {value}" for key, value in facts.items()]
    for vote, count in sorted(votes.items(), key=lambda each: (-each[1], each[0])):
        lines.append(f"{count}: {', '.join(_group(group) for group in vote)}")
    return "\n".join(lines) + "\n"


def _group(group: tuple[int, ...]) -> str:
    text = ",".join(map(str, group))
    return text if len(group) == 1 else f"{{{text}}}"
