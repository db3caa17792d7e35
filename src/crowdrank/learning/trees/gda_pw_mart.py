"""GDA-PW-MART: boosted trees that explain what every annotator said of pairs of items; no labels in between.

The curves of the annotators, what each grade means to each of them, are found as in `gda`, and the trees are grown by
the likelihood of `gda-pw`, with the sum of the trees in place of relevance:

    P(g | g', d, d', a, a') ∝ α_g N(F(x_d) − F(x_d'); μ_g − μ'_g', √(w w') + rest)

Labels throw away how sure they are: an item that three spammers graded is learned from as much as one that three
experts did. Here it is not.

`rest` is the variance of a difference of relevance that no function of the features explains. The paper has none;
nearly perfect annotators then tear the scores apart where items look the same and are not (three folds of MQ2008, all
annotators right, weighted by NDCG: NDCG@10 .689 without `rest`, .691 with it, .692 by LambdaMART on the labels).

With a `measure` each pair of judgments is weighted by how much it would change if the two items traded places
(`learning.swaps`), as in the paper. For that, relevance is cut into grades as frequent as those the crowd gives, at
most five; what an item is expected to gain, and how uncertain that is, come from `gda`'s posterior of its relevance.

Metrikov, Pavlu, Aslam: Aggregation of crowdsourced ordinal assessments and integration with learning to rank, CIKM
2015.

>>> import crowdrank as cr
>>> cr.GDAPWMART(measure="map", rounds=50).measure
'map'
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Fit
from crowdrank.learning.features import Features
from crowdrank.learning.labels import TrainingData, judgments_over
from crowdrank.learning.ranker import Model, Ranker
from crowdrank.learning.trees.model import Trees, check_trees, grow
from crowdrank.learning.trees.pair_objective import PairObjective
from crowdrank.learning.trees.swaps import Equal, Swaps, steps
from crowdrank.methods.grades.curves.curves import CurveFit, Curves
from crowdrank.methods.grades.curves.relevance import Graded, graded_consensus, summarise_posterior, prepare
from crowdrank.methods.protocols import Description
from crowdrank.methods.supervised.cells.target_measure import Target, target
from crowdrank.settings import check, check_fit, check_whole_number, is_number
from crowdrank.study import Codes, Floats, JudgmentError, Judgments


@dataclass(frozen=True, slots=True)
class GDAPWMART:
    """Settings of GDA-PW-MART."""

    description: ClassVar[Description] = Description(
        name="gda-pw-mart",
        family="trees",
        summary="Boosted trees (LightGBM) that explain what every annotator said about pairs of items.",
        takes=("grades",),
    )
    model: ClassVar[type[Model]] = Trees

    measure: str | None = (
        None  # what to weigh pairs by: ndcg, err and map, also ndcg@k and err@k, or p@k; none: all alike
    )
    rest: float = 1.0  # variance of a difference of relevance that features do not explain
    partners: int = 4  # judgments of the same task that each is paired with in a round
    rounds: int = 100  # trees
    rate: float = 0.05  # share of what a tree says that is added to the scores
    leaves: int = 15  # of a tree
    prior: float = 1.0  # how strongly annotators are drawn to the crowd
    max_iter: int = 200  # of the fit of the annotators' curves
    tol: float = 1e-3  # a step that moves no relevance further than this ends that fit
    seed: int = 0

    def __post_init__(self) -> None:
        check_fit(self.prior, self.max_iter, self.tol)
        check_trees(self)
        if self.measure is not None:
            target(self.measure)
        check(is_number(self.rest) and 0 <= self.rest < float("inf"), "rest", self.rest, "a number of at least 0")
        check_whole_number("partners", self.partners)

    def learn(self, features: Features, data: TrainingData) -> Ranker:
        """A ranker from the grades of many annotators."""
        judged, judgments = _judged(judgments_over(features, data, self.description))
        study, task = prepare(judgments, "study"), judgments.vocabulary.entry_task
        curves = CurveFit(study.rows, study.scales, self.prior, ordered=False, difficulty=False).run(
            self.max_iter, self.tol
        )
        trees = grow(features.value[judged], self._objective(study, curves, task), self)
        relevance = summarise_posterior(curves.posterior, curves.nodes)
        told = graded_consensus(self.description, judgments, study, relevance, curves, curves.fit, ())
        fit = Fit(self.rounds, curves.fit.converged)
        return Ranker(self, features.columns, trees, told.annotator_columns, fit, told.notes, features.vocabulary.frame)

    def _objective(self, study: Graded, curves: Curves, task: Codes) -> PairObjective:
        swaps: Swaps | Equal = Equal(len(task))
        if self.measure is not None:
            wanted = target(self.measure)
            swaps = Swaps(wanted, *_gains(wanted, curves, study), task)
        rows, curve = study.rows, curves.gaussians
        return PairObjective(rows, task, curve, swaps, partners=self.partners, rest=self.rest, seed=self.seed)


def _judged(judgments: Judgments) -> tuple[NDArray[np.int64], Judgments]:
    """The entries that have grades, and the study of them alone."""
    judgments = judgments.only("grades")
    vocabulary, grades = judgments.vocabulary, judgments.grades
    judged, entry = np.unique(grades.entry, return_inverse=True)
    task = vocabulary.entry_task[judged]
    if not (np.diff(task) == 0).any() or grades.grade.min() == grades.grade.max():
        missing = (
            "all grades are the same" if len(np.unique(grades.grade)) == 1 else "no task has two items with grades"
        )
        raise JudgmentError(f"there is nothing to learn: {missing}")
    part = replace(vocabulary, entry_task=task, entry_item=vocabulary.entry_item[judged])
    return judged.astype(np.int64), replace(
        judgments, vocabulary=part, grades=replace(grades, entry=entry.astype(np.int32))
    )


def _gains(wanted: Target, curves: Curves, study: Graded) -> tuple[Floats, Floats]:
    """The expected gain of each entry, and its variance: of relevance cut into grades as frequent as those of the most used scale."""
    rows = study.rows
    scale = rows.scale[rows.profile]
    usual = np.bincount(scale).argmax()
    share = np.bincount(rows.level[scale == usual]) / (scale == usual).sum()
    edges = [NormalDist().inv_cdf(below) for below in np.cumsum(share)[:-1]]
    grade = steps(len(share))[np.searchsorted(edges, curves.nodes.x)]
    gain = wanted.gain(grade, float(grade.max()))
    mean = curves.posterior @ gain
    return mean, np.maximum(curves.posterior @ gain**2 - mean**2, 0.0)
