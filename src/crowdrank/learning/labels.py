"""What a ranker learns from, over the entries that have features: judgments themselves, or one label for each entry.

Labels are the scores of any aggregation method (the two-stage way), a consensus found before, or gold; so every
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
    entries_in,
)

TrainingData = Judgments | Consensus | Gold


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """One label for each entry of the features, NaN for entries that have none."""

    value: Floats  # higher is better
    grade: Floats  # the same in a few steps from 0 or 1 upwards, for rankers that want grades
    annotator_columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def judgments_over(features: Features, data: TrainingData, description: Description) -> Judgments:
    """The judgments in the codes of the features' entries; those about other entries are not used."""
    if not isinstance(data, Judgments):
        kind = type(data).__name__
        raise SettingError(
            f"{description.name} learns from judgments and weighs annotators; it cannot learn from a {kind} (listmle can)"
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
        raise JudgmentError(f"features and judgments share no item{_example(features.vocabulary, data.vocabulary)}")
    return replace(kept, notes=(*features.notes, *data.notes, *notes, *_told(data, kept)))


def _grades(grades: Grades, entry: NDArray[np.int64]) -> Grades:
    kept = entry[grades.entry] >= 0
    return Grades(grades.annotator[kept], entry[grades.entry[kept]].astype(np.int32), grades.grade[kept])


def _pairs(pairs: Pairs, entry: NDArray[np.int64]) -> Pairs:
    kept = (entry[pairs.left] >= 0) & (entry[pairs.right] >= 0)
    left, right = (entry[side[kept]].astype(np.int32) for side in (pairs.left, pairs.right))
    weight, strength = (None if column is None else column[kept] for column in (pairs.weight, pairs.strength))
    return Pairs(pairs.annotator[kept], left, right, pairs.outcome[kept], weight, strength)


def _rankings(lists: Rankings, entry: NDArray[np.int64], vocabulary: Vocabulary) -> Rankings:
    """Lists without what has no features; those of nothing else are gone."""
    rows = np.flatnonzero(entry[lists.entry] >= 0)
    there, row_list = np.unique(lists.row_list[rows], return_inverse=True)
    recoded = entry[lists.entry[rows]].astype(np.int32)
    task = np.zeros(len(there), np.int32)
    task[row_list] = vocabulary.entry_task[recoded]
    order = np.lexsort((recoded, lists.position[rows], row_list))
    return Rankings(
        list_annotator=lists.list_annotator[there],
        list_task=task,
        unlisted_below=lists.unlisted_below[there],
        row_list=row_list[order].astype(np.int32),
        entry=recoded[order],
        position=lists.position[rows][order],
    )


def _told(given: Judgments, kept: Judgments) -> list[str]:
    notes = []
    if gone := len(given) - len(kept):
        notes.append(f"{gone:,} judgments are of items without features: left aside")
    judged = np.unique(kept.annotator_and_task()[1])
    if idle := len(kept.vocabulary.tasks) - len(judged):
        notes.append(f"{idle:,} tasks have features and no judgments: nothing is learned from them")
    return notes


def _example(has: Vocabulary, wants: Vocabulary) -> str:
    """What both call a task and an item: most often the ids are written differently."""
    if not (len(has.entry_task) and len(wants.entry_task)):
        return ""
    names = [
        f"task {str(vocabulary.tasks[0])!r}, item {str(vocabulary.items[vocabulary.entry_item[0]])!r}"
        for vocabulary in (has, wants)
    ]
    return f": {names[0]} there, {names[1]} here"


def labels_over(features: Features, data: TrainingData, description: Description, method: str | None) -> Labels:
    """Labels of the features' entries: gold, a consensus, or what `method` finds in the judgments."""
    if isinstance(data, Judgments):
        judgments = judgments_over(features, data, description)
        data = fit(method or usual_method(judgments), judgments)
    found = _of_gold(features, data) if isinstance(data, Gold) else _of_consensus(features, data)
    if np.isnan(found.value).all():
        raise JudgmentError(f"features and labels share no item{_example(features.vocabulary, data.vocabulary)}")
    return found


def _of_gold(features: Features, gold: Gold) -> Labels:
    return Labels(gold.align(features.vocabulary), grades_of(gold, features.vocabulary), notes=features.notes)


def _of_consensus(features: Features, consensus: Consensus) -> Labels:
    scores = Gold(consensus.vocabulary, consensus.score, "score")
    graded = consensus.grades is not None and len(np.unique(consensus.grades.grade)) <= MOST_GRADES
    grade = grades_of(as_gold(consensus) if graded else scores, features.vocabulary)
    notes = (*(note for note in features.notes if note not in consensus.notes), *consensus.notes)
    return Labels(scores.align(features.vocabulary), grade, consensus.annotator_columns, notes)
