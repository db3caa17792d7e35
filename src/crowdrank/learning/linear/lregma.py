"""LRegMA: linear regression from many annotators, each with a noise of their own, on positions of items in lists.

    y_ja ~ N(w · x_j, 1/λ_a)        y the position of item j in the list of annotator a, from −½ (last) to ½ (first)

The weights w are those of least squares in which each row of annotator a has the weight λ_a; 1/λ_a is the mean squared
residual of annotator a. Both are estimated in turn until they converge: Raykar's regression from crowds. Grades are
lists with ties, whose items share the middle of their positions. `prior` is a number of virtual rows with the mean
squared residual of all annotators, added to each annotator; `penalty` is the weight of the penalty on squared weights.

Raykar et al.: Learning from crowds, JMLR 2010; on ranks: Wu, You, Xia, Ma, Hu: Listwise learning to rank from
crowds, TKDD 2016.

>>> import crowdrank as cr
>>> features = cr.features({"item": ["x", "y", "z"], "age": [3, 1, 2]})
>>> lists = cr.judgments({"annotator": ["ann"] * 3 + ["bob"] * 3, "item": list("xyzxyz"), "rank": [3, 1, 2, 3, 2, 1]})
>>> cr.learn("lregma", features, lists).rank(features).ranking["item"].to_list()
['y', 'z', 'x']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdrank.consensus import Fit
from crowdrank.convert import as_lists, middle_places
from crowdrank.learning.features import Features
from crowdrank.learning.labels import TrainingData, judgments_over
from crowdrank.learning.linear.model import Linear, scaled, times
from crowdrank.learning.ranker import Model, Ranker
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import agreement, annotator_columns
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check_fit, check_not_negative
from crowdrank.study import Codes, Floats, JudgmentError, Rankings

SMALLEST = 1e-12  # mean squared residual: keeps the weight of an annotator without errors finite


@dataclass(frozen=True, slots=True)
class LRegMA:
    """Settings of LRegMA."""

    description: ClassVar[Description] = Description(
        name="lregma",
        family="linear",
        summary="Linear regression on positions in lists, with a noise for every annotator.",
        takes=("grades", "rankings"),
    )
    model: ClassVar[type[Model]] = Linear

    prior: float = 1.0  # virtual rows with the noise of all annotators, added to each annotator
    penalty: float = 1.0  # weight of the penalty on squared weights
    max_iter: int = 200
    tol: float = 1e-6  # a step that moves no weight further than this ends the fit

    def __post_init__(self) -> None:
        check_not_negative("prior", self.prior)
        check_not_negative("penalty", self.penalty)
        check_fit(None, self.max_iter, self.tol)

    def learn(self, features: Features, data: TrainingData) -> Ranker:
        """A ranker from lists or grades."""
        judgments = judgments_over(features, data, self.description)
        entry, position, who = _positions(as_lists(judgments))
        entries, row = np.unique(entry, return_inverse=True)
        inputs, n = scaled(features, entries.astype(np.intp)), len(judgments.vocabulary.annotators)
        weight, noise, fit = self._alternate(inputs.value, row.astype(np.int32), position, who, n)
        model = inputs.model(weight)
        columns = annotator_columns(judgments, *agreement(judgments, model.score(features.value)))
        notes, frame = (*judgments.notes, *inputs.notes), features.vocabulary.frame
        return Ranker(self, features.columns, model, {**columns, "noise": np.sqrt(noise)}, fit, notes, frame)

    def _alternate(self, x: Floats, row: Codes, y: Floats, who: Codes, n: int) -> tuple[Floats, Floats, Fit]:
        """Weights and mean squared residuals in turn; `row` is the row of x of each position."""
        weight, noise, count = np.zeros(x.shape[1]), np.ones(n), np.bincount(who, minlength=n)
        for step in range(1, self.max_iter + 1):
            precision = 1 / noise[who]
            precision /= precision.mean()  # so that the penalty is in units of rows
            counts, sums = sum_by(row, precision, len(x)), sum_by(row, precision * y, len(x))
            matrix = np.einsum("ri,rj->ij", x * counts[:, None], x) + max(self.penalty, SMALLEST) * np.eye(x.shape[1])
            before, weight = weight, np.linalg.solve(matrix, np.einsum("ri,r->i", x, sums))
            squares = (y - times(x, weight)[row]) ** 2
            total = sum_by(who, squares, n) + self.prior * float(squares.mean())
            noise = np.maximum(total / np.maximum(count + self.prior, SMALLEST), SMALLEST)
            if float(np.abs(weight - before).max(initial=0.0)) <= self.tol:
                return weight, noise, Fit(step)
        return weight, noise, Fit(self.max_iter, False)


def _positions(lists: Rankings) -> tuple[Codes, Floats, Codes]:
    """Entry, position from −½ for the last of a list to ½ for the first, and annotator; lists of one are not used."""
    size = np.diff(lists.list_starts)[lists.row_list]
    used = size > 1
    if not used.any():
        raise JudgmentError("there is nothing to learn: nobody ranked or graded two items of a task")
    position = 0.5 - (middle_places(lists)[used] - 1) / (size[used] - 1)
    return lists.entry[used], position, lists.list_annotator[lists.row_list[used]]
