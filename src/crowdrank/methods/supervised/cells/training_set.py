"""Training data of supervised methods: the tasks whose gold has different grades, some of them kept for validation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.protocols import Description
from crowdrank.methods.supervised.cells.target_measure import Target, worth_of_list
from crowdrank.numerics.groups import ranges, run_starts
from crowdrank.numerics.permutations import MOST_ITEMS
from crowdrank.study import Floats, Gold, Ids, JudgmentError, Judgments, Vocabulary, ids, recode

LEVELS = 5  # grades that gold without grades (scores, ranks) is divided into, task by task
ENOUGH_FOR_VALIDATION = 20  # with fewer tasks, keeping some for validation costs more than choosing settings gains
VALIDATION_SHARE = 5  # one task in so many is kept for validation

Entries = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSet:
    """The gold of a study, divided into training and validation tasks."""

    grade: Floats  # per entry, NaN where there is none
    top: float  # the largest grade
    tasks: tuple[Entries, ...]  # for training: the entries with gold of each task that has two different grades
    validation: tuple[Entries, ...]  # for choosing settings, in the same form; empty where there are too few tasks
    refit: bool = False  # train again on all tasks once settings are chosen

    @property
    def whole(self) -> TrainingSet:
        """The same with the validation tasks as training tasks too, unless the user named them for validation."""
        return replace(self, tasks=(*self.tasks, *self.validation)) if self.refit else self

    def worth(self, wanted: Target, score: Floats) -> Floats:
        """The measure of the order by these scores in each validation task; entries without a score come last."""
        gain, score = wanted.gain(self.grade, self.top), np.nan_to_num(score, nan=-np.inf)
        return np.array(
            [
                worth_of_list(wanted, gain[entries[np.argsort(-score[entries], kind="stable")]])
                for entries in self.validation
            ]
        )


class TrainedMethod:
    """Base of trained methods: name and description are those of the method."""

    __slots__ = ()
    method: Any

    @property
    def description(self) -> Description:
        """The description of the method."""
        description: Description = self.method.description
        return description

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.description.name


def training_set(judgments: Judgments, gold: Gold, validation: Iterable[Any] | None, seed: int) -> TrainingSet:
    """The training data; `validation` names the tasks for choosing settings, by default one in five."""
    vocabulary = judgments.vocabulary
    grade = grades_of(gold, vocabulary)
    known = np.flatnonzero(~np.isnan(grade))
    tasks = np.split(known, np.flatnonzero(np.diff(vocabulary.entry_task[known])) + 1)
    useful = [entries for entries in tasks if len(entries) and grade[entries].min() < grade[entries].max()]
    if not useful:
        missing = "gold and judgments share no item" if not len(known) else "no task has items of different gold"
        raise JudgmentError(f"there is nothing to learn: {missing}")
    if validation is not None:
        in_validation = _named(validation, vocabulary)
    elif len(useful) < ENOUGH_FOR_VALIDATION:
        in_validation = np.zeros(len(vocabulary.tasks), dtype=bool)
    else:
        drawn = np.random.default_rng(seed).permutation(len(useful))[::VALIDATION_SHARE]
        in_validation = np.isin(
            np.arange(len(vocabulary.tasks)), [vocabulary.entry_task[useful[number][0]] for number in drawn]
        )
    validation_tasks = tuple(entries for entries in useful if in_validation[vocabulary.entry_task[entries[0]]])
    training_tasks = tuple(entries for entries in useful if not in_validation[vocabulary.entry_task[entries[0]]])
    if not training_tasks:
        raise JudgmentError(
            "there is nothing to learn: every task with items of different gold is named for validation"
        )
    return TrainingSet(grade, float(np.nanmax(grade)), training_tasks, validation_tasks, refit=validation is None)


def _named(validation: Iterable[Any], vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Which tasks are named for validation."""
    names: Ids = ids(list(validation))
    codes = recode(names, vocabulary.tasks)
    if (codes < 0).any():
        raise JudgmentError(f"validation names {str(names[codes < 0][0])!r}, which is not a task of the judgments")
    named = np.zeros(len(vocabulary.tasks), dtype=bool)
    named[codes] = True
    return named


def grades_of(gold: Gold, vocabulary: Vocabulary) -> Floats:
    """The gold grade of each entry of a study, NaN where there is none.

    Scores and ranks are divided into LEVELS grades, task by task.
    """
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
    """Up to six entries of each task at random, one of every grade first; and how many there are."""
    entries = np.concatenate(tasks)
    task = np.repeat(np.arange(len(tasks)), [len(each) for each in tasks])
    draw = rng.random(len(entries)) / 2  # below ½: entries that are not the first of their grade get ½ more
    order = np.argsort(task + draw)
    levels, level = np.unique(grade[entries[order]], return_inverse=True)
    firsts = np.unique(task[order] * len(levels) + level, return_index=True)[1]
    later = np.ones(len(entries), dtype=bool)
    later[order[firsts]] = False
    order = np.argsort(task + draw + later / 2)
    sizes = np.bincount(task, minlength=len(tasks))
    place = ranges(np.zeros_like(sizes), sizes)
    drawn = place < MOST_ITEMS
    rows = np.zeros((len(tasks), MOST_ITEMS), np.int64)
    rows[task[drawn], place[drawn]] = entries[order[drawn]]
    return rows, np.minimum(sizes, MOST_ITEMS)
