"""What every simulated crowd has: the judgments, the truth behind them, and the names of everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.settings import check
from crowdrank.study import Codes, Floats, Gold, Grades, Ids, Judgments, Pairs, Rankings, Vocabulary, ids


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """What a simulated crowd said, and the truth behind it."""

    judgments: Judgments
    gold: Gold  # the truth about every entry
    quality: Floats  # of each annotator of the vocabulary: 1 good, ½ random, 0 reversed
    parameters: Mapping[str, Any]  # how it was made: the same function called with them makes it again
    annotators: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # what else is true of each annotator
    difficulty: Floats | None = None  # of each entry


def make_vocabulary(tasks: int, items: int, annotators: int) -> Vocabulary:
    """All items in every task."""
    return Vocabulary(
        tasks=_names("task", tasks),
        items=_names("item", items),
        annotators=_names("annotator", annotators),
        entry_task=np.repeat(np.arange(tasks, dtype=np.int32), items),
        entry_item=np.tile(np.arange(items, dtype=np.int32), tasks),
    )


def _names(word: str, count: int) -> Ids:
    """As many names, zero-padded so that they sort."""
    width = len(str(count))
    return ids([f"{word}{number:0{width}}" for number in range(1, count + 1)])


def judgments_of(
    vocabulary: Vocabulary,
    *,
    grades: Grades | None = None,
    pairs: Pairs | None = None,
    rankings: Rankings | None = None,
) -> Judgments:
    """Judgments of one kind."""
    code, number = np.zeros(0, np.int32), np.zeros(0)
    return Judgments(
        vocabulary,
        grades or Grades(code, code, number),
        pairs or Pairs(code, code, code, np.zeros(0, np.int8)),
        rankings or Rankings(code, code, np.zeros(0, bool), code, code, number),
    )


def distinct(rng: np.random.Generator, rows: int, each: int, among: int) -> Codes:
    """Rows of `each` different codes below `among`, every set as likely as any other (Floyd's algorithm, all rows at once)."""
    drawn = np.empty((rows, each), dtype=np.int32)
    for column in range(each):
        newest = among - each + column
        code = rng.integers(0, newest + 1, rows, dtype=np.int32)
        taken = (drawn[:, :column] == code[:, None]).any(axis=1)
        drawn[:, column] = np.where(taken, newest, code)
    return drawn


def check_whole(given: Mapping[str, Any], **least: int) -> None:
    """Refuse what is not a whole number, or below its least value."""
    for name, smallest in least.items():
        whole = isinstance(given[name], int | np.integer) and given[name] >= smallest
        check(whole, name, given[name], f"a whole number of at least {smallest}")


def check_shares(given: Mapping[str, Any], *names: str) -> None:
    """Refuse what is not a share."""
    for name in names:
        check(0 <= given[name] <= 1, name, given[name], "a share between 0 and 1")
