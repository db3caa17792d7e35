"""Cross-validation of supervised methods: each task is ranked by a method trained on the gold of the other folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.methods.protocols import Supervised
from crowdrank.numerics.seeds import generator
from crowdrank.settings import check
from crowdrank.study import Gold, JudgmentError, Judgments, recode_tasks

Folds = NDArray[np.int64]  # of each task; -1 for those in none
FEWEST = 2


def folds_of(folds: int | Mapping[Any, Any], judgments: Judgments, gold: Gold, seed: int) -> Folds:
    """The fold of each task: as given, or a number of random folds of equal size; tasks without gold may be in none."""
    tasks = judgments.vocabulary.tasks
    known = np.unique(judgments.vocabulary.entry_task[~np.isnan(gold.align(judgments.vocabulary))])
    fold = np.full(len(tasks), -1)
    if isinstance(folds, int):
        check(
            FEWEST <= folds <= len(known),
            "folds",
            folds,
            f"from {FEWEST} to the number of tasks with gold, {len(known):,}",
        )
        fold[generator(seed).permutation(known)] = np.arange(len(known)) % folds
        return fold
    by_name = {str(task): str(name) for task, name in folds.items()}
    names = [by_name.get(str(task)) for task in tasks]
    without = [tasks[task] for task in known if names[task] is None]
    if without:
        raise JudgmentError(
            f"{len(without):,} tasks with gold are in no fold, for example {str(without[0])!r}; give each a fold"
        )
    number = {name: at for at, name in enumerate(sorted({name for name in names if name is not None}))}
    check(len(number) >= FEWEST, "folds", ", ".join(number), f"at least {FEWEST} different ones")
    return np.array([-1 if name is None else number[name] for name in names])


def cross_fitted(method: Supervised, judgments: Judgments, gold: Gold, fold: Folds) -> Consensus:
    """Each task ranked by the method trained on the gold of all other folds."""
    vocabulary = judgments.vocabulary
    score, notes = np.full(vocabulary.n_entries, np.nan), list[str]()
    for number in range(fold.max() + 1):
        consensus = method.train(judgments, outside(gold, judgments, fold == number)).fit(judgments)
        inside = (fold == number)[vocabulary.entry_task]
        score[inside] = consensus.score[inside]
        notes += consensus.notes
    return Consensus(
        vocabulary=vocabulary,
        method=method.description.name,
        score=score,
        annotator_columns={},
        notes=tuple(dict.fromkeys(notes)),
    )


def outside(gold: Gold, judgments: Judgments, tasks: NDArray[np.bool_]) -> Gold:
    """Gold without that of some tasks of the study."""
    code = recode_tasks(gold.vocabulary.tasks, judgments.vocabulary.tasks)
    hidden = (code >= 0) & tasks[code]
    return replace(gold, value=np.where(hidden[gold.vocabulary.entry_task], np.nan, gold.value))
