"""Training data over the entries that have features: judgments, or one label for each entry.

Labels are the scores of any aggregation method (two-stage learning), a consensus fitted before, or gold; so every
aggregator can be combined with every ranker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.grading import MOST_GRADES, as_gold
from crowdrank.learning.features import Features
from crowdrank.methods.catalogue import fit, usual_method
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds
from crowdrank.methods.supervised.cells.training_set import grades_of
from crowdrank.settings import SettingError
from crowdrank.study import (
    Floats,
    Gold,
    Grades,
    JudgmentError,
    Judgments,
    Pairs,
    Rankings,
    Vocabulary,
    check_judgments,
    entries_in,
)

TrainingData = Judgments | Consensus | Gold


@dataclass(frozen=True, slots=True, eq=False)
class ItemLabels:
    """One label for each entry of the features, NaN for entries without a label."""

    value: Floats  # higher is better
    grade: Floats  # the same labels as a few grades, from 0 or 1 upwards
    annotator_columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def judgments_over(features: Features, data: TrainingData, description: Description) -> Judgments:
    """The judgments in the codes of the features' entries; those about other entries are not used."""
    if not isinstance(data, Judgments):
        kind = type(data).__name__
        raise SettingError(
            f"{description.name} learns from the judgments of annotators, not from a {kind}; "
            "give it judgments, or use listmle or lambdamart"
        )
    notes = check_kinds(description, data)
    vocabulary = replace(features.vocabulary, annotators=data.vocabulary.annotators)
    entry = entries_in(data.vocabulary, vocabulary)
    kept = Judgments(
        vocabulary=vocabulary,
        grades=_grades(data.grades, entry),
        pairs=_pairs(data.pairs, entry),
        rankings=_rankings(data.rankings, entry, vocabulary),
    )
    if not len(kept):
        raise JudgmentError(f"features and judgments share no item{_example(features, data.vocabulary)}")
    return replace(kept, notes=(*features.notes, *data.notes, *notes, *_notes(data, kept)))


def _grades(grades: Grades, entry: NDArray[np.int64]) -> Grades:
    kept = entry[grades.entry] >= 0
    return Grades(grades.annotator[kept], entry[grades.entry[kept]].astype(np.int32), grades.grade[kept])


def _pairs(pairs: Pairs, entry: NDArray[np.int64]) -> Pairs:
    kept = (entry[pairs.left] >= 0) & (entry[pairs.right] >= 0)
    left, right = (entry[side[kept]].astype(np.int32) for side in (pairs.left, pairs.right))
    weight, strength = (None if column is None else column[kept] for column in (pairs.weight, pairs.strength))
    return Pairs(pairs.annotator[kept], left, right, pairs.outcome[kept], weight, strength)


def _rankings(lists: Rankings, entry: NDArray[np.int64], vocabulary: Vocabulary) -> Rankings:
    """The lists without items that have no features; lists that become empty are dropped."""
    rows = np.flatnonzero(entry[lists.entry] >= 0)
    kept, row_list = np.unique(lists.row_list[rows], return_inverse=True)
    recoded = entry[lists.entry[rows]].astype(np.int32)
    task = np.zeros(len(kept), np.int32)
    task[row_list] = vocabulary.entry_task[recoded]
    order = np.lexsort((recoded, lists.position[rows], row_list))
    return Rankings(
        list_annotator=lists.list_annotator[kept],
        list_task=task,
        unlisted_below=lists.unlisted_below[kept],
        row_list=row_list[order].astype(np.int32),
        entry=recoded[order],
        position=lists.position[rows][order],
        list_count=None if lists.list_count is None else lists.list_count[kept],
        list_time=None if lists.list_time is None else lists.list_time[kept],
    )


def _notes(given: Judgments, kept: Judgments) -> list[str]:
    """What was not used: judgments without features, and tasks without judgments."""
    notes = []
    if unused := len(given) - len(kept):
        notes.append(f"{unused:,} judgments are of items without features: not used")
    judged = np.unique(kept.annotator_and_task()[1])
    if without := len(kept.vocabulary.tasks) - len(judged):
        notes.append(f"{without:,} tasks have features and no judgments: nothing is learned from them")
    return notes


def _example(features: Features, other: Vocabulary) -> str:
    """A task and an item of either: most often the ids are written differently."""
    if not (len(features.vocabulary.entry_task) and len(other.entry_task)):
        return ""
    has, wants = (
        f"task {str(vocabulary.tasks[0])!r}, item {str(vocabulary.items[vocabulary.entry_item[0]])!r}"
        for vocabulary in (features.vocabulary, other)
    )
    return f": the features have {has}, the others {wants}; write the ids the same way"


def labels_over(features: Features, data: TrainingData, description: Description, method: str | None) -> ItemLabels:
    """Labels of the features' entries: gold, a consensus, or the scores of `method` for the judgments."""
    if not isinstance(data, Gold | Consensus):
        check_judgments(data)
        judgments = judgments_over(features, data, description)
        data = fit(method or usual_method(judgments), judgments)
    found = _of_gold(features, data) if isinstance(data, Gold) else _of_consensus(features, data)
    if np.isnan(found.value).all():
        raise JudgmentError(f"features and labels share no item{_example(features, data.vocabulary)}")
    return found


def _of_gold(features: Features, gold: Gold) -> ItemLabels:
    return ItemLabels(gold.align(features.vocabulary), grades_of(gold, features.vocabulary), notes=features.notes)


def _of_consensus(features: Features, consensus: Consensus) -> ItemLabels:
    scores = Gold(consensus.vocabulary, consensus.score, "score")
    graded = consensus.grades is not None and len(np.unique(consensus.grades.grade)) <= MOST_GRADES
    grade = grades_of(as_gold(consensus) if graded else scores, features.vocabulary)
    notes = (*(note for note in features.notes if note not in consensus.notes), *consensus.notes)
    return ItemLabels(scores.align(features.vocabulary), grade, consensus.annotator_columns, notes)
