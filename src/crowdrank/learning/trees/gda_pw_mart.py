"""GDA-PW-MART: boosted trees that explain the grades of every annotator for pairs of items, without labels in between.

The curves of the annotators, what each grade means to each of them, are estimated as in `gda`, and the trees maximise
the likelihood of `gda-pw`, with the sum of the trees in place of relevance:

    P(g | g', d, d', a, a') ∝ α_g N(F(x_d) − F(x_d'); μ_g − μ'_g', √(w w') + rest)

Labels lose their uncertainty: an item that three spammers graded would count as much as one that three accurate
annotators graded. Here it does not.

`rest` is the variance of a difference of relevance that no function of the features explains. The paper has none;
nearly perfect annotators then force large differences of scores between items that have similar features and are not
alike (three folds of MQ2008, all annotators right, weighted by NDCG: NDCG@10 .689 without `rest`, .691 with it, .692 by
LambdaMART on the labels).

With a `measure` each pair of judgments is weighted by how much the measure would change if the two items were swapped
(`trees/swaps.py`), as in the paper. For that, relevance is cut into grades as frequent as those that the annotators
give, at most five; the expected gain of an item and its variance come from `gda`'s posterior of its relevance.

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
from crowdrank.learning.trees.swaps import EqualSwaps, Swaps, steps
from crowdrank.methods.grades.curves.curves import CurveFit, Curves
from crowdrank.methods.grades.curves.relevance import Graded, graded_consensus, prepare, summarise_posterior
from crowdrank.methods.protocols import Description
from crowdrank.methods.supervised.cells.target_measure import Target, target
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.settings import check_fit, check_not_negative, check_whole_number
from crowdrank.study import Codes, Floats, JudgmentError, Judgments


@dataclass(frozen=True, slots=True)
class GDAPWMART:
    """Settings of GDA-PW-MART."""

    description: ClassVar[Description] = Description(
        name="gda-pw-mart",
        family="trees",
        summary="Boosted trees (LightGBM) that explain the grades of every annotator for pairs of items.",
        takes=("grades",),
    )
    model: ClassVar[type[Model]] = Trees

    measure: str | None = None  # the weight of pairs: ndcg, err, map, ndcg@k, err@k or p@k; none: all the same
    rest: float = 1.0  # variance of a difference of relevance that features do not explain
    partners: int = 4  # judgments of the same task that each is paired with in a round
    rounds: int = 100  # number of trees
    rate: float = 0.05  # learning rate: the share of each tree's output that is added to the scores
    leaves: int = 15  # of a tree
    shrinkage: float = 1.0  # how strongly annotators' curves are shrunk to the crowd's (a factor of the precision)
    max_iter: int = 200  # of the fit of the annotators' curves
    tol: float = 1e-3  # that fit has converged when no relevance moves further than this
    seed: int = 0

    def __post_init__(self) -> None:
        check_fit(None, self.max_iter, self.tol)
        check_trees(self)
        if self.measure is not None:
            target(self.measure)
        check_not_negative("rest", self.rest)
        check_not_negative("shrinkage", self.shrinkage)
        check_whole_number("partners", self.partners)

    @one_blas_thread
    def learn(self, features: Features, data: TrainingData) -> Ranker:
        """A ranker from the grades of many annotators."""
        judged, judgments = _judged(judgments_over(features, data, self.description))
        study, task = prepare(judgments, "study"), judgments.vocabulary.entry_task
        curves = CurveFit(study.rows, study.scales, self.shrinkage, ordered=False, difficulty=False).run(
            self.max_iter, self.tol
        )
        trees = grow(features.value[judged], self._objective(study, curves, task), self)
        relevance = summarise_posterior(curves.posterior, curves.nodes)
        consensus = graded_consensus(self.description, judgments, study, relevance, curves, curves.fit, ())
        fit, frame = Fit(self.rounds, curves.fit.converged), features.vocabulary.frame
        return Ranker(self, features.columns, trees, consensus.annotator_columns, fit, consensus.notes, frame)

    def _objective(self, study: Graded, curves: Curves, task: Codes) -> PairObjective:
        """The objective of the trees, given the annotators' curves."""
        swaps: Swaps | EqualSwaps = EqualSwaps(len(task))
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
    if grades.grade.min() == grades.grade.max():
        raise JudgmentError("there is nothing to learn: all grades are the same")
    if not (np.diff(task) == 0).any():
        raise JudgmentError("there is nothing to learn: no task has two items with grades")
    part = replace(vocabulary, entry_task=task, entry_item=vocabulary.entry_item[judged])
    return judged.astype(np.int64), replace(
        judgments, vocabulary=part, grades=replace(grades, entry=entry.astype(np.int32))
    )


def _gains(wanted: Target, curves: Curves, study: Graded) -> tuple[Floats, Floats]:
    """The expected gain of each entry, and its variance.

    Relevance is cut into grades as frequent as those of the most used scale.
    """
    rows = study.rows
    scale = rows.scale[rows.profile]
    usual = np.bincount(scale).argmax()
    share = np.bincount(rows.level[scale == usual]) / (scale == usual).sum()
    edges = [NormalDist().inv_cdf(below) for below in np.cumsum(share)[:-1]]
    grade = steps(len(share))[np.searchsorted(edges, curves.nodes.x)]
    gain = wanted.gain(grade, float(grade.max()))
    mean = curves.posterior @ gain
    return mean, np.maximum(curves.posterior @ gain**2 - mean**2, 0.0)
