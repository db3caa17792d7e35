"""What becomes of each annotator's judgments in a weighted sum: how far they move the scores, and which way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.supervised.cells.cells import Cells
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats, Vocabulary

NEGLIGIBLE = 0.25  # who moves the scores less than this share of the average (a 16th of the variance) is ignored


def influence(cells: Cells, weight: Floats, first: int, vocabulary: Vocabulary) -> tuple[Floats, NDArray[np.object_]]:
    """Per annotator: the standard deviation of what they add to the scores of a task's items, and in a word what
    becomes of them.

    `weight` is that of each cell; values from column `first` on are preferences, those before say only that the entry
    is listed.
    """
    n = len(vocabulary.annotators)
    part = cells.value * weight
    moved, by_preference = (
        _spread(cells, part[:, columns].sum(axis=1), vocabulary) for columns in (slice(None), slice(first, None))
    )
    along = sum_by(cells.annotator, part[:, first:].sum(axis=1) * cells.value[:, first:].sum(axis=1), n)
    use = np.where(_counts(moved), "used", "ignored").astype(object)
    use[_counts(moved) & _counts(by_preference) & (along < 0)] = "inverted"
    return moved, use


def _counts(moved: Floats) -> NDArray[np.bool_]:
    """Not negligible beside all: against who moves most, one annotator that all depends on would make the others look ignored."""
    average = np.sqrt(np.mean(moved**2)) if len(moved) else 0.0
    return np.asarray(moved >= max(NEGLIGIBLE * average, np.finfo(float).tiny))


def _spread(cells: Cells, part: Floats, vocabulary: Vocabulary) -> Floats:
    """The root of the mean variance of each annotator's parts within tasks; entries they did not judge get nothing."""
    task, n_tasks = vocabulary.entry_task[cells.entry], max(len(vocabulary.tasks), 1)
    group, number = np.unique(cells.annotator.astype(np.int64) * n_tasks + task, return_inverse=True)
    size = np.diff(vocabulary.task_starts)[group % n_tasks]
    mean, square = (sum_by(number, values, len(group)) / size for values in (part, part**2))
    annotator, n = group // n_tasks, len(vocabulary.annotators)
    total = sum_by(annotator, np.maximum(square - mean**2, 0.0), n)
    return np.asarray(np.sqrt(total / np.maximum(np.bincount(annotator, minlength=n), 1)))
