"""Shared parts of the simulations: the result, names of tasks, items and annotators, and checks of settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.settings import check_share, check_whole_number
from crowdrank.study import Codes, Floats, Gold, Grades, Ids, Judgments, Pairs, Rankings, Vocabulary, ids


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedStudy:
    """The judgments of a simulated crowd, and the truth."""

    judgments: Judgments
    gold: Gold  # the true score or grade of every entry
    quality: Floats  # the true quality of each annotator of the vocabulary: 1 perfect, ½ random, 0 reversed
    parameters: Mapping[str, Any]  # of the simulation: the same function with these parameters gives the same study
    annotators: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # other true parameters of each annotator
    difficulty: Floats | None = None  # the true difficulty of each entry


def make_vocabulary(tasks: int, items: int, annotators: int) -> Vocabulary:
    """A vocabulary with all items in every task."""
    return Vocabulary(
        tasks=_names("task", tasks),
        items=_names("item", items),
        annotators=_names("annotator", annotators),
        entry_task=np.repeat(np.arange(tasks, dtype=np.int32), items),
        entry_item=np.tile(np.arange(items, dtype=np.int32), tasks),
    )


def _names(word: str, count: int) -> Ids:
    """So many names, zero-padded so that they sort."""
    width = len(str(count))
    return ids([f"{word}{number:0{width}}" for number in range(1, count + 1)])


def judgments_of(
    vocabulary: Vocabulary,
    *,
    grades: Grades | None = None,
    pairs: Pairs | None = None,
    rankings: Rankings | None = None,
) -> Judgments:
    """A study with these judgments; kinds that are not given are empty."""
    code, number = np.zeros(0, np.int32), np.zeros(0)
    return Judgments(
        vocabulary,
        grades or Grades(code, code, number),
        pairs or Pairs(code, code, code, np.zeros(0, np.int8)),
        rankings or Rankings(code, code, np.zeros(0, bool), code, code, number),
    )


def draw_distinct(rng: np.random.Generator, rows: int, each: int, among: int) -> Codes:
    """Rows of `each` different codes below `among`, all sets equally likely (Floyd's algorithm)."""
    drawn = np.empty((rows, each), dtype=np.int32)
    for column in range(each):
        newest = among - each + column
        code = rng.integers(0, newest + 1, rows, dtype=np.int32)
        taken = (drawn[:, :column] == code[:, None]).any(axis=1)
        drawn[:, column] = np.where(taken, newest, code)
    return drawn


def check_whole(given: Mapping[str, Any], **least: int) -> None:
    """Refuse parameters that are not whole numbers of at least these values."""
    for name, smallest in least.items():
        check_whole_number(name, given[name], smallest)


def check_shares(given: Mapping[str, Any], *names: str) -> None:
    """Refuse parameters that are not shares."""
    for name in names:
        check_share(name, given[name])
