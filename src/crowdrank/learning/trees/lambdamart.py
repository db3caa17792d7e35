"""LambdaMART: boosted trees that rank items with higher labels first, with more weight on the first places (NDCG).

LightGBM's lambdarank on one label per item (two-stage learning): the grades of gold or of a consensus fitted before, or
those that the method `labels` gives for the judgments; with `labels="random"`, one of the grades of each item. Scores
of methods are cut into grades as frequent as those that the annotators gave (`crowdrank.labels`), or into five steps
where nobody gave grades.

With `soft`, labels are uncertain. For two items the target is the probability that one has the higher grade, from the
probabilities of the grades that `dawid-skene` gives for each; the weight of a pair comes from their expected gains
(EM-smoothed preferences).

Burges: From RankNet to LambdaRank to LambdaMART, Microsoft Research 2010. Ke et al.: LightGBM, NeurIPS 2017. Metrikov,
Wu, Anderton, Pavlu, Aslam: A modification of LambdaMART to handle noisy crowdsourced assessments, ICTIR 2013.

>>> import crowdrank as cr
>>> cr.LambdaMART(labels="mean").rounds
100
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from crowdrank.consensus import Consensus, Fit
from crowdrank.learning.features import Features
from crowdrank.learning.labels import ItemLabels, TrainingData, judgments_over, labels_over
from crowdrank.learning.ranker import Model, Ranker
from crowdrank.learning.trees.model import Trees, check_trees, grow, grow_for_grades
from crowdrank.learning.trees.soft_preferences import SoftPreferences
from crowdrank.learning.trees.swaps import Swaps, steps
from crowdrank.methods.catalogue import fit
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import agreement, annotator_columns
from crowdrank.methods.supervised.cells.target_measure import target
from crowdrank.settings import SettingError, check, check_flag
from crowdrank.study import KINDS, Floats, JudgmentError, Judgments, entries_in


@dataclass(frozen=True, slots=True)
class LambdaMART:
    """Settings of LambdaMART."""

    description: ClassVar[Description] = Description(
        name="lambdamart",
        family="trees",
        summary="Boosted trees (LightGBM) on labels of any method, gold, random grades, or probabilities of grades.",
        takes=KINDS,
        other_names=("lambdarank", "gbdt"),
    )
    model: ClassVar[type[Model]] = Trees

    labels: str | None = None  # the method that gives the labels, or random; none: crowd-bt, borda or gda, by the kind
    soft: bool = False  # learn from the probabilities of grades that dawid-skene gives
    rounds: int = 100  # number of trees
    rate: float = 0.05  # learning rate: the share of each tree's output that is added to the scores
    leaves: int = 15  # of a tree
    seed: int = 0

    def __post_init__(self) -> None:
        check_trees(self)
        check_flag("soft", self.soft)
        check(
            not self.soft or self.labels in (None, "dawid-skene"),
            "labels",
            self.labels,
            "dawid-skene where soft is true",
        )

    def learn(self, features: Features, data: TrainingData) -> Ranker:
        """A ranker from one label per item, or (`soft`) from the probabilities of its grades."""
        if self.soft:
            trees, labels = self._from_chances(features, data)
        else:
            if self.labels == "random" and isinstance(data, Judgments):
                labels = _random(features, data, self)
            else:
                labels = labels_over(features, data, self.description, self.labels)
            trees = self._from_grades(features, labels.grade)
        fit = Fit(self.rounds)
        return Ranker(
            self, features.columns, trees, labels.annotator_columns, fit, labels.notes, features.vocabulary.frame
        )

    def _from_grades(self, features: Features, grade: Floats) -> Trees:
        """Trees from one grade per entry, NaN for entries without."""
        known = np.flatnonzero(~np.isnan(grade))
        task = features.vocabulary.entry_task[known]
        if not ((np.diff(task) == 0) & (np.diff(grade[known]) != 0)).any():
            raise JudgmentError("there is nothing to learn: no task has items of different labels; give other labels")
        return grow_for_grades(features.value[known], grade[known], task, self)

    def _from_chances(self, features: Features, data: TrainingData) -> tuple[Trees, ItemLabels]:
        """Trees from the probabilities of the grades of each entry, and its labels."""
        if isinstance(data, Judgments):
            data = fit("dawid-skene", judgments_over(features, data, replace(self.description, takes=("grades",))))
        if not isinstance(data, Consensus) or data.grade_chances is None:
            raise SettingError(
                "soft learns from grades, or from a consensus with probabilities of grades (cr.fit('dawid-skene', …))"
            )
        at = entries_in(features.vocabulary, data.vocabulary)
        chance = np.where(at[:, None] >= 0, data.grade_chances[at], np.nan)
        labels = labels_over(features, data, self.description, None)
        known = np.flatnonzero(~np.isnan(chance[:, 0]))
        task, chance, wanted = features.vocabulary.entry_task[known], chance[known], target("ndcg")
        if chance.shape[1] < 2 or not (np.diff(task) == 0).any():
            raise JudgmentError(
                "there is nothing to learn: all grades are the same, or no task has two items with grades"
            )
        grade = steps(chance.shape[1])
        gain = wanted.gain(grade, float(grade[-1]))
        mean = np.einsum("eg,g->e", chance, gain)
        variance = np.maximum(np.einsum("eg,g->e", chance, gain**2) - mean**2, 0.0)
        objective = SoftPreferences(chance, task, Swaps(wanted, mean, variance, task))
        return grow(features.value[known], objective, self), labels


def _random(features: Features, judgments: Judgments, settings: LambdaMART) -> ItemLabels:
    """One of the grades of each entry, drawn with equal probabilities."""
    kept = judgments_over(features, judgments, replace(settings.description, takes=("grades",)))
    grades, n = kept.grades, kept.vocabulary.n_entries
    order = np.lexsort(
        (grades.grade, grades.annotator, grades.entry)
    )  # so that the order of the judgments does not matter
    starts = np.searchsorted(grades.entry[order], np.arange(n + 1))
    count = np.diff(starts)
    drawn = starts[:-1] + (np.random.default_rng(settings.seed).random(n) * count).astype(np.int64)
    label = np.full(n, np.nan)
    label[count > 0] = grades.grade[order[drawn[count > 0]]]
    return ItemLabels(label, label, annotator_columns(kept, *agreement(kept, label)), kept.notes)
