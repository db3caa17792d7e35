"""From the scores of a method to its Consensus: a verdict on every annotator, and what the data cannot tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit, parts_per_task, rank_within, verdicts
from crowdrank.convert import as_rankings
from crowdrank.methods.protocols import Description
from crowdrank.numerics.agreement import concordance, count_answers, pair_agreement, spread_of_lists
from crowdrank.numerics.graph import components
from crowdrank.numerics.sums import sum_by
from crowdrank.study import (
    LEFT,
    RIGHT,
    TIE,
    Codes,
    Floats,
    JudgmentError,
    Judgments,
    Pairs,
    Vocabulary,
    check_judgments,
)

NAMES_SHOWN = 5
NO_STEPS = Fit()


def check_kinds(description: Description, judgments: Judgments) -> tuple[str, ...]:
    """Refuse a study with nothing that the method can use; return notes about judgments that it does not use."""
    check_judgments(judgments)
    name, takes = description.name, description.takes
    if judgments.kinds and not set(judgments.kinds) & set(takes):
        raise JudgmentError(f"{name} needs {' or '.join(takes)}; this study has only {' and '.join(judgments.kinds)}")
    unused = [kind for kind in judgments.kinds if kind not in takes]
    return tuple(
        f"{name} uses only {' and '.join(takes)}: {judgments.counts[kind]:,} {kind} not used" for kind in unused
    )


def make_consensus(
    description: Description,
    judgments: Judgments,
    score: Floats,
    *,
    fit: Fit = NO_STEPS,
    annotators: dict[str, NDArray[Any]] | None = None,
    compared: Pairs | None = None,
    low: Floats | None = None,
    high: Floats | None = None,
    notes: Iterable[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> Consensus:
    """The consensus of a method, with everything worth knowing about it.

    `annotators` are the columns the method learned; without them, quality is the agreement with the scores. `compared`
    are the pairs that connect the scores of a task; `settings` are those that the method chose itself.
    """
    vocabulary = judgments.vocabulary
    tasks = int(np.count_nonzero(np.diff(vocabulary.task_starts)))
    component = (
        None if compared is None else components(vocabulary.n_entries, compared.left, compared.right, least=tasks)
    )
    if annotators is None:
        annotators = annotator_columns(judgments, *agreement(judgments, score))
    return Consensus(
        vocabulary=vocabulary,
        method=description.name,
        score=score,
        annotator_columns=annotators,
        fit=fit,
        low=low,
        high=high,
        component=component,
        notes=(
            *judgments.notes,
            *notes,
            *(() if compared is None else _unused_columns(description, judgments.pairs)),
            *_not_converged(fit),
            *_not_scored(score),
            *(() if component is None else _disconnected(vocabulary, component)),
            *_one_sided(judgments),
        ),
        settings=settings or {},
        grades=judgments.grades if len(judgments.grades) else None,
    )


def annotator_columns(
    judgments: Judgments, quality: Floats, evidence: Floats, annotator: Codes | None = None, task: Codes | None = None
) -> dict[str, NDArray[Any]]:
    """How many judgments each annotator gave, how good they are, and the verdict.

    One row per annotator; or, given `annotator` and `task` of each row (ascending), one per annotator and task.
    """
    vocabulary = judgments.vocabulary
    if annotator is None:
        annotator = np.arange(len(vocabulary.annotators), dtype=np.int32)
    if task is None:
        count = judgments.per_annotator()
    else:
        count = np.unique(np.stack(judgments.annotator_and_task()), axis=1, return_counts=True)[1]
    verdict = verdicts(quality, evidence)
    verdict[np.isin(annotator, [code for code, _ in _one_sided_annotators(judgments)])] = "one-sided"
    columns = {
        "annotator": vocabulary.annotators[annotator],
        "judgments": count,
        "quality": quality,
        "verdict": verdict,
    }
    return columns if task is None else {**columns, "task": vocabulary.tasks[task]}


def agreement(judgments: Judgments, score: Floats) -> tuple[Floats, Floats]:
    """Per annotator: the share of their preferences that the scores share, and how many votes their preferences are
    worth.

    Ties they gave are no preferences; ties of the scores count half; a vote with a weight counts as many. Those of a
    list hang together: as evidence of who guesses, they are worth as many votes as vary as much.
    """
    # Ranks know which scores are equal but for rounding; by the scores themselves, the order of sums would decide.
    rank = rank_within(score, judgments.vocabulary.entry_task)
    score = np.where(rank > 0, -rank.astype(np.float64), np.nan)
    n = len(judgments.vocabulary.annotators)
    pairs, lists = judgments.pairs, as_rankings(judgments)
    total, agree = pair_agreement(pairs, score, n)
    spread = total.copy()
    if len(lists):
        scored = ~np.isnan(score[lists.entry])
        starts = np.searchsorted(lists.row_list[scored], np.arange(len(lists.list_annotator) + 1))
        list_pairs, list_agree = concordance(starts, lists.position[scored], rank[lists.entry[scored]])
        total += sum_by(lists.list_annotator, list_pairs, n)
        agree += sum_by(lists.list_annotator, list_agree, n)
        spread += sum_by(lists.list_annotator, spread_of_lists(starts, lists.position[scored])[1], n)
    with np.errstate(invalid="ignore"):
        return agree / total, np.where(total > 0, total * total / spread, 0.0)


def worth_of_preferences(judgments: Judgments) -> Floats:
    """Per annotator: as how many votes each of their preferences counts as evidence of who guesses; 1 where they gave no lists."""
    lists, n = as_rankings(judgments), len(judgments.vocabulary.annotators)
    votes = np.bincount(judgments.pairs.annotator, minlength=n).astype(np.float64)
    told, spread = (
        votes + sum_by(lists.list_annotator, of_list, n)
        for of_list in spread_of_lists(lists.list_starts, lists.position)
    )
    return np.divide(told, spread, out=np.ones(n), where=spread > 0)


def dependent_pairs_note(judgments: Judgments) -> tuple[str, ...]:
    """What to say of intervals that take the pairs of a list for so many votes."""
    if not len(judgments.rankings) and not len(judgments.grades):
        return ()
    instead = "plackett-luce" if len(judgments.rankings) else "gda"
    return (
        f"pairs made of lists or grades hang together: intervals are too narrow; --bootstrap-over annotators, or {instead}, has wider",
    )


def _unused_columns(description: Description, pairs: Pairs) -> list[str]:
    """Notes about columns of the pairs that the method does not use."""
    notes = []
    if pairs.weight is not None and "weight" not in description.pair_columns:
        notes.append(f"{description.name} counts every vote once: it does not use the weights of the votes")
    if pairs.strength is not None and "strength" not in description.pair_columns:
        notes.append(f"{description.name} uses only who won, not the strengths of the preferences (mpm does)")
    return notes


def _not_converged(fit: Fit) -> list[str]:
    if fit.converged:
        return []
    return [f"not converged after {fit.steps} steps: scores may still move; raise max_iter or the prior"]


def _not_scored(score: Floats) -> list[str]:
    count = int(np.isnan(score).sum())
    return [f"{count:,} entries have no judgments this method can use: not ranked"] if count else []


def _disconnected(vocabulary: Vocabulary, component: NDArray[np.int32]) -> list[str]:
    """Say which tasks fall into parts that were never compared with each other."""
    tasks, parts = parts_per_task(vocabulary, component)
    if not len(tasks):
        return []
    named = [f"{vocabulary.tasks[task]} ({count} parts)" for task, count in zip(tasks, parts, strict=True)]
    unknown = "how items of different parts stand to each other is unknown, whatever their order here"
    return [
        f"comparisons do not connect in {len(tasks):,} of {len(vocabulary.tasks):,} tasks: {_some(named)}; {unknown}"
    ]


def _one_sided(judgments: Judgments) -> list[str]:
    told = [f"{judgments.vocabulary.annotators[code]} ({habit})" for code, habit in _one_sided_annotators(judgments)]
    if not told:
        return []
    return [f"one-sided votes of {len(told):,} annotator{'s' * (len(told) > 1)}: {_some(told)}"]


def _one_sided_annotators(judgments: Judgments) -> list[tuple[int, str]]:
    """Annotators who always gave the same answer, too often for chance, and which."""
    n = len(judgments.vocabulary.annotators)
    # Among n annotators who toss a coin, one in sixteen such studies has anybody answer this often the same way.
    too_often = 5 + np.log2(max(n, 1))
    pairs, grades = judgments.pairs, judgments.grades
    answers = count_answers(pairs, n)
    votes = answers.sum(axis=1)
    told = []
    for outcome, habit in ((LEFT, "always left"), (RIGHT, "always right"), (TIE, "always tie")):
        same = (answers[:, outcome + 1] == votes) & (votes >= too_often)
        told += [(int(code), f"{habit}, {votes[code]:,} votes") for code in np.flatnonzero(same)]
    if len(grades):
        lowest, highest = np.full(n, np.inf), np.full(n, -np.inf)
        np.minimum.at(lowest, grades.annotator, grades.grade)
        np.maximum.at(highest, grades.annotator, grades.grade)
        count = np.bincount(grades.annotator, minlength=n)
        varied = grades.grade.min() < grades.grade.max()
        told += [
            (int(code), f"always grade {lowest[code]:g}, {count[code]:,} items")
            for code in np.flatnonzero((lowest == highest) & (count >= too_often) & varied)
        ]
    return told


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
