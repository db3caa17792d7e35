"""How a weighted sum uses each annotator: how much they move the scores, and in which direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.supervised.cells.cells import Cells
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats, Vocabulary

NEGLIGIBLE = 0.25  # share of the average influence (a 16th of the variance) below which an annotator is ignored


def influence(cells: Cells, weight: Floats, first: int, vocabulary: Vocabulary) -> tuple[Floats, NDArray[np.object_]]:
    """Per annotator: the standard deviation of what they add to scores within a task; and used, ignored or inverted.

    `weight` is that of each cell; features from column `first` on are preferences, those before say only that the entry
    is listed.
    """
    n = len(vocabulary.annotators)
    part = cells.value * weight
    moved, by_preference = (
        _spread(cells, part[:, columns].sum(axis=1), vocabulary) for columns in (slice(None), slice(first, None))
    )
    along = sum_by(cells.annotator, part[:, first:].sum(axis=1) * cells.value[:, first:].sum(axis=1), n)
    use = np.where(_not_negligible(moved), "used", "ignored").astype(object)
    use[_not_negligible(moved) & _not_negligible(by_preference) & (along < 0)] = "inverted"
    return moved, use


def _not_negligible(moved: Floats) -> NDArray[np.bool_]:
    """Compared with the average: compared with the largest, one dominant annotator would make all others negligible."""
    average = np.sqrt(np.mean(moved**2)) if len(moved) else 0.0
    return np.asarray(moved >= max(NEGLIGIBLE * average, np.finfo(float).tiny))


def _spread(cells: Cells, part: Floats, vocabulary: Vocabulary) -> Floats:
    """The root of the mean variance of each annotator's parts within tasks; entries they did not judge count 0."""
    task, n_tasks = vocabulary.entry_task[cells.entry], max(len(vocabulary.tasks), 1)
    group, number = np.unique(cells.annotator.astype(np.int64) * n_tasks + task, return_inverse=True)
    size = np.diff(vocabulary.task_starts)[group % n_tasks]
    mean, square = (sum_by(number, values, len(group)) / size for values in (part, part**2))
    annotator, n = group // n_tasks, len(vocabulary.annotators)
    total = sum_by(annotator, np.maximum(square - mean**2, 0.0), n)
    return np.asarray(np.sqrt(total / np.maximum(np.bincount(annotator, minlength=n), 1)))
