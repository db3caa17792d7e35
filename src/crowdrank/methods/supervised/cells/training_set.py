"""What a supervised method learns from: the tasks whose gold tells items apart, some of them held back to choose
settings on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.protocols import Description
from crowdrank.methods.supervised.cells.target_measure import Target, worth_of_list
from crowdrank.numerics.groups import run_starts
from crowdrank.numerics.permutations import MOST_ITEMS
from crowdrank.study import Floats, Gold, Ids, JudgmentError, Judgments, Vocabulary, ids, recode

LEVELS = 5  # grades that gold without grades (scores, ranks) is cut into, task by task
ENOUGH_TO_CHOOSE = 20  # with fewer tasks, holding some back costs more than choosing settings gains
HELD_BACK = 5  # one task in so many

Entries = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSet:
    """The gold of a study as a supervised method needs it."""

    grade: Floats  # per entry, NaN where there is none
    top: float  # the largest grade
    tasks: tuple[Entries, ...]  # to learn from: the entries with gold of each task that has two different grades
    validation: tuple[Entries, ...]  # to choose settings on, in the same form; none, where there are too few to choose
    refit: bool = False  # learn again from all tasks once settings are chosen

    @property
    def whole(self) -> TrainingSet:
        """The same, with what was held back for choosing among what to learn from; what was named for it stays apart."""
        return replace(self, tasks=(*self.tasks, *self.validation)) if self.refit else self

    def worth(self, wanted: Target, score: Floats) -> Floats:
        """The measure in each task that was held back, of the order by these scores; entries without a score come last."""
        gain, score = wanted.gain(self.grade, self.top), np.nan_to_num(score, nan=-np.inf)
        return np.array(
            [
                worth_of_list(wanted, gain[entries[np.argsort(-score[entries], kind="stable")]])
                for entries in self.validation
            ]
        )


class TrainedMethod:
    """What was learned, called and fed as the method that learned it."""

    __slots__ = ()
    method: Any

    @property
    def description(self) -> Description:
        """That of the method."""
        description: Description = self.method.description
        return description

    @property
    def name(self) -> str:
        """That of the method."""
        return self.description.name


def training_set(judgments: Judgments, gold: Gold, validation: Iterable[Any] | None, seed: int) -> TrainingSet:
    """What gold teaches; `validation` names the tasks to choose settings on, else one in five is held back for that."""
    vocabulary = judgments.vocabulary
    grade = grades_of(gold, vocabulary)
    known = np.flatnonzero(~np.isnan(grade))
    tasks = np.split(known, np.flatnonzero(np.diff(vocabulary.entry_task[known])) + 1)
    telling = [entries for entries in tasks if len(entries) and grade[entries].min() < grade[entries].max()]
    if not telling:
        missing = "gold and judgments share no item" if not len(known) else "no task has items of different gold"
        raise JudgmentError(f"there is nothing to learn: {missing}")
    if validation is not None:
        apart = _named(validation, vocabulary)
    elif len(telling) < ENOUGH_TO_CHOOSE:
        apart = np.zeros(len(vocabulary.tasks), dtype=bool)
    else:
        drawn = np.random.default_rng(seed).permutation(len(telling))[::HELD_BACK]
        apart = np.isin(
            np.arange(len(vocabulary.tasks)), [vocabulary.entry_task[telling[number][0]] for number in drawn]
        )
    chosen_on = tuple(entries for entries in telling if apart[vocabulary.entry_task[entries[0]]])
    learned = tuple(entries for entries in telling if not apart[vocabulary.entry_task[entries[0]]])
    if not learned:
        raise JudgmentError(
            "there is nothing to learn: every task with items of different gold is named for validation"
        )
    return TrainingSet(grade, float(np.nanmax(grade)), learned, chosen_on, refit=validation is None)


def _named(validation: Iterable[Any], vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Which tasks are named."""
    names: Ids = ids(list(validation))
    codes = recode(names, vocabulary.tasks)
    if (codes < 0).any():
        raise JudgmentError(f"validation names {str(names[codes < 0][0])!r}, which is no task of the judgments")
    named = np.zeros(len(vocabulary.tasks), dtype=bool)
    named[codes] = True
    return named


def grades_of(gold: Gold, vocabulary: Vocabulary) -> Floats:
    """The gold grade of each entry of a study, NaN where there is none; scores and ranks are cut into levels, task by task."""
    value = gold.align(vocabulary)
    if gold.kind == "grade":
        return value
    known = np.flatnonzero(~np.isnan(value))
    task = vocabulary.entry_task[known]
    starts = np.searchsorted(task, task)
    order = np.lexsort((value[known], task))
    below = np.empty(len(known))
    same = run_starts(task[order], value[known][order])
    below[order] = np.maximum.accumulate(np.where(same, np.arange(len(known)), 0))
    share = (below - starts) / np.maximum(np.bincount(task)[task] - 1, 1) if len(known) else below
    grade = np.full(len(value), np.nan)
    grade[known] = np.rint(share * (LEVELS - 1))
    return grade


def sampled(
    grade: Floats, tasks: Sequence[Entries], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Up to six entries of each task, at random, every grade among them where there is room; and how many they are."""
    entries = np.concatenate(tasks)
    task = np.repeat(np.arange(len(tasks)), [len(each) for each in tasks])
    draw = rng.random(len(entries)) / 2  # below ½, to leave the upper half for what may wait
    order = np.argsort(task + draw)
    levels, level = np.unique(grade[entries[order]], return_inverse=True)
    firsts = np.unique(task[order] * len(levels) + level, return_index=True)[1]
    waits = np.ones(len(entries), dtype=bool)
    waits[order[firsts]] = False
    order = np.argsort(task + draw + waits / 2)
    sizes = np.bincount(task, minlength=len(tasks))
    place = np.arange(len(entries)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    drawn = place < MOST_ITEMS
    rows = np.zeros((len(tasks), MOST_ITEMS), np.int64)
    rows[task[drawn], place[drawn]] = entries[order[drawn]]
    return rows, np.minimum(sizes, MOST_ITEMS)
