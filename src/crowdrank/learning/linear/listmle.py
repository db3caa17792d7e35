"""ListMLE: a linear ranker under whose scores the training lists are most likely.

The score of an item is a weighted sum of its features. In the Plackett-Luce model a list is chosen from the top, each
item among those left with a probability in proportion to e^score; the weights maximise the log-likelihood of all lists
less ½ `penalty` Σ weight². This has one maximum, found by Newton's method. There is one list for each task: the order
of its labels, which are gold, a consensus, or the scores of the method `labels` for the judgments. Equal labels are a
tie, chosen one after the other as in `plackett-luce`; with `top`, only the order of that many of the best is used, and
all others rank below them.

Xia, Liu, Wang, Zhang, Li: Listwise approach to learning to rank, ICML 2008. The paper's gradient descent stops early
instead of having a penalty.

>>> import crowdrank as cr
>>> features = cr.features({"item": ["x", "y", "z"], "age": [3, 1, 2]})
>>> ranker = cr.learn("listmle", features, cr.gold({"item": ["x", "y"], "grade": [0, 1]}))
>>> ranker.rank(features).ranking["item"].to_list()
['y', 'z', 'x']
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from crowdrank.learning.features import Features
from crowdrank.learning.labels import TrainingData, labels_over
from crowdrank.learning.linear.model import Linear, LinearLists, Scaled, scaled
from crowdrank.learning.ranker import Model, Ranker
from crowdrank.methods.protocols import Description
from crowdrank.numerics.groups import run_starts
from crowdrank.numerics.newton import Minimum
from crowdrank.settings import check_fit, check_not_negative, check_whole_number
from crowdrank.study import KINDS, Floats, JudgmentError, Rankings, Vocabulary


@dataclass(frozen=True, slots=True)
class ListMLE:
    """Settings of ListMLE."""

    description: ClassVar[Description] = Description(
        name="listmle",
        family="linear",
        summary="A linear ranker that makes the order of the labels most likely; labels from any method, or gold.",
        takes=KINDS,
        other_names=("ranknet",),
    )
    model: ClassVar[type[Model]] = Linear

    labels: str | None = None  # the method whose scores are the labels; none: crowd-bt, borda or gda, by the judgments
    top: int | None = None  # learn the order of only so many of the best items of each task; the others are below
    penalty: float = 1.0  # weight of the penalty on squared weights
    max_iter: int = 100
    tol: float = 1e-6  # the step of a weight at which the fit has converged

    def __post_init__(self) -> None:
        check_weights_fit(self)

    def learn(self, features: Features, data: TrainingData) -> Ranker:
        """A ranker from labels."""
        labels = labels_over(features, data, self.description, self.labels)
        inputs, found = fitted(features, labels.value, self)
        columns, notes = labels.annotator_columns, (*labels.notes, *inputs.notes)
        return Ranker(
            self, features.columns, inputs.model(found.x), columns, found.fit, notes, features.vocabulary.frame
        )


class WeightsFit(Protocol):
    """The settings of a fit of weights to lists."""

    @property
    def top(self) -> int | None: ...
    @property
    def penalty(self) -> float: ...
    @property
    def max_iter(self) -> int: ...
    @property
    def tol(self) -> float: ...


def fitted(features: Features, label: Floats, settings: WeightsFit) -> tuple[Scaled, Minimum]:
    """The scaled features of the entries that have labels, and the weights under which their order is most likely."""
    known = np.flatnonzero(~np.isnan(label))
    vocabulary = features.vocabulary
    vocabulary = replace(vocabulary, entry_task=vocabulary.entry_task[known], entry_item=vocabulary.entry_item[known])
    lists = lists_of(label[known], vocabulary, settings.top)
    data = scaled(features, known)
    model = LinearLists(data.value, lists, np.ones(len(lists.list_task)), vocabulary, settings.penalty)
    return data, model.fit(np.zeros(len(features.columns)), settings.max_iter, settings.tol)


def check_weights_fit(settings: WeightsFit) -> None:
    """Refuse settings that no fit of weights can have."""
    check_fit(None, settings.max_iter, settings.tol)
    check_not_negative("penalty", settings.penalty)
    if settings.top is not None:
        check_whole_number("top", settings.top)


def lists_of(label: Floats, vocabulary: Vocabulary, top: int | None) -> Rankings:
    """One list for each task with different labels, the best first.

    Entries with the lowest label, or after the first `top`, have the position infinity: their order, which the labels
    do not give, has no part in the likelihood.
    """
    entry = np.lexsort((-label, vocabulary.entry_task))
    task, ordered = vocabulary.entry_task[entry], label[entry]
    rows = np.arange(len(entry))
    new_task = run_starts(task)
    new_group = new_task | run_starts(ordered)
    start = np.maximum.accumulate(np.where(new_task, rows, 0))
    group_start = np.maximum.accumulate(np.where(new_group, rows, 0))
    listed = ordered > np.minimum.reduceat(ordered, np.flatnonzero(new_task))[np.cumsum(new_task) - 1]
    if top is not None:
        listed &= group_start - start < top
    used = listed[start]  # entries of tasks with more than one label
    if not used.any():
        raise JudgmentError("there is nothing to learn: no task has items of different labels; give other labels")
    tasks, row_list = np.unique(task[used], return_inverse=True)
    return Rankings(
        list_annotator=np.zeros(len(tasks), np.int32),
        list_task=tasks.astype(np.int32),
        unlisted_below=np.zeros(len(tasks), dtype=bool),
        row_list=row_list.astype(np.int32),
        entry=entry[used].astype(np.int32),
        position=np.where(listed, -ordered, np.inf)[used],
    )
