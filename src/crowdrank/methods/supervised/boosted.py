"""Boosted trees over features of the annotators' judgments, learned from gold.

LightGBM does the boosting (`pip install 'crowdrank[learn]'`). The features of an item are those of `crf` (missed,
preferred, beaten) of every annotator in enough training tasks, their sums over all annotators, and the same again
standardised within the task (minus the mean, divided by the standard deviation). Several models, each grown from
samples of the items and features, are averaged: every other one learns the order of each list, the others the grades
themselves; their errors differ. Trees can learn what no weighted sum can: to trust an annotator only where another gave
no judgment. The `annotators` have a column `importance`: the share of the gain of all splits on their features.

Ke et al.: LightGBM, NeurIPS 2017. Bruch: An alternative cross entropy loss for learning-to-rank, WWW 2021.

>>> import crowdrank as cr
>>> cr.Boosted(rounds=50).rounds
50
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.formats.saved_json import saved_names
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import agreement, annotator_columns, check_kinds, make_consensus
from crowdrank.methods.supervised.cells.cells import POTENTIALS, Cells, cells_of, standardised
from crowdrank.methods.supervised.cells.linear import weight_rows
from crowdrank.methods.supervised.cells.lost import lost_share, without_lost
from crowdrank.methods.supervised.cells.training_set import TrainedMethod, training_set
from crowdrank.methods.supervised.cells.tree_text import booster, lightgbm_module
from crowdrank.numerics.progress import report
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import parallel_map
from crowdrank.settings import check_choice, check_whole_number
from crowdrank.study import KINDS, Floats, Gold, Ids, Judgments, Vocabulary, recode

MOST_ANNOTATORS = 200  # with features of their own: those in most training tasks
FEATURES_EACH = 6  # of an annotator: missed, preferred, beaten, and the same standardised
MOST_GRADES = 30  # LightGBM's limit
OBJECTIVES = ("rank_xendcg", "regression")  # models use them in turn
TREES = {
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 50,
    "lambda_l2": 1.0,
    "max_bin": 63,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbose": -1,
    "num_threads": 1,  # models are grown at the same time
}


@dataclass(frozen=True, slots=True)
class Boosted:
    """Settings of the boosted trees."""

    description: ClassVar[Description] = Description(
        name="boosted",
        family="supervised",
        summary="Boosted trees over the features of crf (LightGBM).",
        takes=KINDS,
    )

    potential: str = "log"  # log, difference or binary: the measure of preferences
    rounds: int = 150  # trees of each model
    models: int = 8  # number of models whose scores are averaged
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("potential", self.potential, POTENTIALS)
        for name in ("rounds", "models"):
            check_whole_number(name, getattr(self, name))
        check_whole_number("seed", self.seed, least=0)

    def train(self, judgments: Judgments, gold: Gold, validation: Iterable[Any] | None = None) -> BoostedAggregator:
        """Learn from the tasks with gold, except those named for validation, which it does not need."""
        lightgbm = lightgbm_module()
        check_kinds(self.description, judgments)
        known = training_set(judgments, gold, () if validation is None else validation, self.seed)
        vocabulary = judgments.vocabulary
        cells = cells_of(judgments, self.potential)
        own = weight_rows("mixed", cells, known, vocabulary, most=MOST_ANNOTATORS)
        features = _features(cells, own, int(own.max(initial=-1)) + 1, vocabulary)
        rows = np.concatenate(known.tasks)
        grade = np.minimum(np.unique(known.grade[rows], return_inverse=True)[1], MOST_GRADES)
        sizes = [len(entries) for entries in known.tasks]

        def grow(number: int) -> Any:
            settings = {
                **TREES,
                "objective": OBJECTIVES[number % len(OBJECTIVES)],
                "seed": self.seed * self.models + number,
            }
            data = lightgbm.Dataset(features[rows], grade, group=sizes, params=settings)
            return lightgbm.train(settings, data, self.rounds)

        models = []
        for model in parallel_map(grow, range(self.models)):
            models.append(model)
            report(f"learning {self.description.name}", len(models), self.models)
        return BoostedAggregator(self, vocabulary.annotators[own >= 0], tuple(models))

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> BoostedAggregator:
        """The trained aggregator from its saved state."""
        annotators = saved_names(state["annotators"])
        width = FEATURES_EACH * (len(annotators) + 1)
        models = tuple(booster(text, width) for text in state["models"])
        if not models:
            raise ValueError("there are no models")
        return BoostedAggregator(cls(**state["settings"]), annotators, models)


@dataclass(frozen=True, slots=True, eq=False)
class BoostedAggregator(TrainedMethod):
    """Trained trees, and the annotators that have features of their own."""

    method: Boosted
    annotators: Ids
    models: tuple[Any, ...]  # LightGBM boosters

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by the mean of the models' scores, each standardised within the task."""
        notes = check_kinds(self.description, judgments)
        vocabulary = judgments.vocabulary
        own = recode(vocabulary.annotators, self.annotators)
        cells = cells_of(judgments, self.method.potential)
        features = _features(cells, own, len(self.annotators), vocabulary)
        scores = np.full((vocabulary.n_entries, len(self.models)), np.nan)
        judged = np.unique(cells.entry)
        if len(judged):
            predicted = parallel_map(lambda model: model.predict(features[judged], num_threads=1), self.models)
            scores[judged] = np.stack(list(predicted), axis=1)
        importance = self._importance()
        lost = lost_share(self.annotators, importance[:-1], judgments)
        score, about_lost = without_lost(standardised(scores, vocabulary).mean(axis=1), lost, judgments)
        columns = annotator_columns(judgments, *agreement(judgments, score))
        return make_consensus(
            self.description,
            judgments,
            score,
            annotators={**columns, "importance": importance[own]},
            notes=[*notes, *about_lost],
        )

    def _importance(self) -> Floats:
        """The importance of each known annotator, then 0 for all others; sums over all annotators count for nobody."""
        gain = np.sum([model.feature_importance("gain") for model in self.models], axis=0)
        by_annotator = gain.reshape(2, len(self.annotators) + 1, -1).sum(axis=(0, 2)) / (gain.sum() or 1.0)
        return np.append(by_annotator[:-1], 0.0)

    def state(self) -> dict[str, Any]:
        """What to save: numbers and texts only."""
        return {
            "settings": asdict(self.method),
            "annotators": [str(name) for name in self.annotators],
            "models": [model.model_to_string() for model in self.models],
        }


def _features(cells: Cells, own: NDArray[np.int64], n_own: int, vocabulary: Vocabulary) -> Floats:
    """One row per entry: the cells of every known annotator, their sums over all, and the same standardised."""
    dense = np.zeros((vocabulary.n_entries, n_own + 1, cells.value.shape[1]))
    row = own[cells.annotator]
    known = row >= 0
    dense[cells.entry[known], row[known]] = cells.value[known]
    dense[:, -1] = np.stack([sum_by(cells.entry, column, vocabulary.n_entries) for column in cells.value.T], axis=1)
    plain = dense.reshape(vocabulary.n_entries, (n_own + 1) * cells.value.shape[1])
    return np.hstack([plain, standardised(plain, vocabulary)])
