"""From the scores of a method to its Consensus, with a verdict on every annotator and notes about the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit, parts_per_task, rank_within
from crowdrank.convert import as_rankings
from crowdrank.methods.intervals import independent_gap_error, score_intervals
from crowdrank.methods.leave_one_out import withdraw_praise
from crowdrank.methods.protocols import Description
from crowdrank.methods.verdicts import verdicts
from crowdrank.numerics.agreement import concordance, count_answers, pair_agreement, preference_variance
from crowdrank.numerics.graph import components
from crowdrank.numerics.laplace import Spread
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
ANSWERS = {LEFT: "left", RIGHT: "right", TIE: "tie"}
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
    extra_columns: Mapping[str, NDArray[Any]] | None = None,
    compared: Pairs | None = None,
    low: Floats | None = None,
    high: Floats | None = None,
    spread: Spread | None = None,
    mean: Floats | None = None,
    error: Floats | None = None,
    extra_fields: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> Consensus:
    """The consensus of a method, with notes about the data and the fit.

    `annotators` are the columns of `annotator_columns`; by default quality is the agreement with the scores.
    `extra_columns` are added to them. `compared` are the pairs that connect the scores of a task. Intervals are `low`
    and `high`, with the standard `error` of scores whose errors are independent, or follow from the `spread` of the
    scores, and their posterior `mean` where that is not the score. `extra_fields` are further fields of the Consensus.
    `settings` are those that the method chose itself.
    """
    vocabulary = judgments.vocabulary
    rank = rank_within(score, vocabulary.entry_task)
    if annotators is None:
        quality, evidence = _agreement_with_ranks(judgments, rank)
        verdict = verdicts(quality, evidence)
        withdraw_praise(verdict, judgments)
        annotators = annotator_columns(judgments, quality, verdict=verdict)
    intervals: dict[str, Any] = {"low": low, "high": high}
    if spread is not None:
        intervals = score_intervals(score, rank, vocabulary, spread, mean)._asdict()
    elif error is not None:
        intervals |= {"score_error": error, "gap_error": independent_gap_error(error, rank, vocabulary)}
    component = None if compared is None else _components(vocabulary, compared)
    return Consensus(
        vocabulary=vocabulary,
        method=description.name,
        score=score,
        annotator_columns={**annotators, **(extra_columns or {})},
        fit=fit,
        **{**intervals, **(extra_fields or {})},
        component=component,
        notes=(
            *judgments.notes,
            *notes,
            *(() if compared is None else _unused_columns(description, judgments.pairs)),
            *_not_converged(fit),
            *_not_scored(score),
            *(() if component is None else _disconnected(vocabulary, component)),
            *_no_overlap_note(judgments),
            *_one_sided_note(judgments, annotators),
        ),
        settings=settings or {},
        grades=judgments.grades if len(judgments.grades) else None,
        known_rank=rank,
    )


def _components(vocabulary: Vocabulary, compared: Pairs) -> Codes:
    """The connected component of each entry."""
    tasks = int(np.count_nonzero(np.diff(vocabulary.task_starts)))  # there cannot be fewer components
    return components(vocabulary.n_entries, compared.left, compared.right, least=tasks)


def annotator_columns(
    judgments: Judgments,
    quality: Floats,
    evidence: Floats | None = None,
    annotator: Codes | None = None,
    task: Codes | None = None,
    verdict: NDArray[np.object_] | None = None,
) -> dict[str, NDArray[Any]]:
    """The columns annotator, judgments, quality, verdict, and task where there is one row per annotator and task.

    `evidence` is the number of independent votes that quality was estimated from; the verdict follows from it where it
    is not given. `annotator` and `task` are those of each row, ascending; by default there is one row per annotator.
    """
    vocabulary = judgments.vocabulary
    if annotator is None:
        annotator = np.arange(len(vocabulary.annotators), dtype=np.int32)
    if task is None:
        count = judgments.per_annotator()
    else:
        count = np.unique(np.stack(judgments.annotator_and_task()), axis=1, return_counts=True)[1]
    if verdict is None:
        verdict = verdicts(quality, np.zeros(len(quality)) if evidence is None else evidence)
    verdict[one_sided_annotators(judgments)[annotator]] = "one-sided"
    columns = {
        "annotator": vocabulary.annotators[annotator],
        "judgments": count,
        "quality": quality,
        "verdict": verdict,
    }
    return columns if task is None else {**columns, "task": vocabulary.tasks[task]}


def agreement(judgments: Judgments, score: Floats) -> tuple[Floats, Floats]:
    """Per annotator: the share of their preferences that the scores agree with, and the evidence for it.

    Ties they gave are not preferences; ties of the scores count half; a vote counts by its weight. The evidence is a
    number of independent votes. The preferences of a list are not independent: together they count as many votes as
    have the same variance when the annotator guesses.
    """
    return _agreement_with_ranks(judgments, rank_within(score, judgments.vocabulary.entry_task))


def _agreement_with_ranks(judgments: Judgments, rank: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """The same by ranks, which treat scores as equal that differ by rounding; the order of sums must not matter."""
    score = np.where(rank > 0, -rank.astype(np.float64), np.nan)
    n = len(judgments.vocabulary.annotators)
    pairs, lists = judgments.pairs, as_rankings(judgments, counted=True)
    total, agree = pair_agreement(pairs, score, n)
    variance = total.copy()
    if len(lists):
        shared = judged_by_several(*_entries_and_annotators(judgments), judgments.vocabulary.n_entries)
        scored = ~np.isnan(score[lists.entry]) & shared[lists.entry]
        starts = np.searchsorted(lists.row_list[scored], np.arange(len(lists.list_annotator) + 1))
        list_pairs, list_agree = concordance(starts, lists.position[scored], rank[lists.entry[scored]])
        of_lists = list_pairs, list_agree, preference_variance(starts, lists.position[scored])[1]
        for added, of_list in zip((total, agree, variance), of_lists, strict=True):
            added += sum_by(lists.list_annotator, of_list * lists.counts, n)
    with np.errstate(invalid="ignore"):
        return agree / total, np.where(total > 0, total * total / variance, 0.0)


def _entries_and_annotators(judgments: Judgments) -> tuple[Codes, Codes]:
    """Who judged which entry; an entry that a list puts below its own without naming it is not judged by it."""
    grades, pairs, lists = judgments.grades, judgments.pairs, judgments.rankings
    return (
        np.concatenate([grades.entry, pairs.left, pairs.right, lists.entry]),
        np.concatenate([grades.annotator, pairs.annotator, pairs.annotator, lists.list_annotator[lists.row_list]]),
    )


def judged_by_several(entry: Codes, annotator: Codes, n_entries: int) -> NDArray[np.bool_]:
    """Per entry, whether more than one annotator judged it: other entries say nothing about any annotator."""
    first = np.full(n_entries, -1, dtype=np.int32)
    first[entry] = annotator
    several = np.zeros(n_entries, dtype=bool)
    several[entry[first[entry] != annotator]] = True
    return several


def _no_overlap_note(judgments: Judgments) -> list[str]:
    """The note about annotators of grades and lists who share no item with anybody."""
    if not len(judgments.grades) and not len(judgments.rankings):
        return []
    entry, annotator = _entries_and_annotators(judgments)
    n = len(judgments.vocabulary.annotators)
    shared = judged_by_several(entry, annotator, judgments.vocabulary.n_entries)[entry]
    below = judgments.rankings.list_annotator[judgments.rankings.unlisted_below]
    alone = np.bincount(annotator, minlength=n) > 0
    alone[annotator[shared]] = False
    alone[below] = False  # they compare the items of others with their own
    count = int(alone.sum())
    if not count or n < 2:
        return []
    who = f"{count:,} of {n:,} annotators share" if count > 1 else f"1 of {n:,} annotators shares"
    return [f"{who} no item with anybody: their quality cannot be known until items are judged by several annotators"]


def evidence_per_preference(judgments: Judgments) -> Floats:
    """Per annotator: how many independent votes each of their preferences counts as; 1 where they gave no lists."""
    lists, n = as_rankings(judgments, counted=True), len(judgments.vocabulary.annotators)
    votes = np.bincount(judgments.pairs.annotator, minlength=n).astype(np.float64)
    preferences, variance = (
        votes + sum_by(lists.list_annotator, of_list * lists.counts, n)
        for of_list in preference_variance(lists.list_starts, lists.position)
    )
    return np.divide(preferences, variance, out=np.ones(n), where=variance > 0)


def dependent_pairs_note(judgments: Judgments) -> tuple[str, ...]:
    """The note of methods whose intervals treat the pairs of a list as independent votes."""
    if not len(judgments.rankings) and not len(judgments.grades):
        return ()
    method = "plackett-luce" if len(judgments.rankings) else "gda"
    note = "pairs derived from lists or grades are not independent, so these intervals are too narrow"
    return (f"{note}; use --bootstrap-over annotators, or {method}, which has wider intervals",)


def _unused_columns(description: Description, pairs: Pairs) -> list[str]:
    """Notes about columns of the pairs that the method does not use."""
    notes = []
    if pairs.weight is not None and "weight" not in description.pair_columns:
        notes.append(f"{description.name} does not use the weights of the votes: every vote counts once")
    if pairs.strength is not None and "strength" not in description.pair_columns:
        notes.append(f"{description.name} does not use the strengths of the preferences, only who won; mpm uses both")
    if (pairs.covariates is not None or pairs.category is not None) and "covariates" not in description.pair_columns:
        notes.append(
            f"{description.name} does not use covariates and categories; bradley-terry, thurstone, crowd-bt and "
            "crowd-thurstone do"
        )
    return notes


def _not_converged(fit: Fit) -> list[str]:
    if fit.converged:
        return []
    return [f"not converged after {fit.steps} steps: scores may still change; raise max_iter"]


def _not_scored(score: Floats) -> list[str]:
    count = int(np.isnan(score).sum())
    return [f"{count:,} entries have no judgments this method can use: not ranked"] if count else []


def _disconnected(vocabulary: Vocabulary, component: NDArray[np.int32]) -> list[str]:
    """The note about tasks whose items are in several parts that were never compared with each other."""
    tasks, parts = parts_per_task(vocabulary, component)
    if not len(tasks):
        return []
    advice = "the order of items of different parts means nothing until some of them are compared"
    if len(vocabulary.tasks) == 1:
        return [f"comparisons do not connect all items: they fall into {parts[0]:,} parts; {advice}"]
    named = [f"{vocabulary.tasks[task]} ({count} parts)" for task, count in zip(tasks, parts, strict=True)]
    where = f"{len(tasks):,} of {len(vocabulary.tasks):,} tasks: {_some(named)}"
    return [f"comparisons do not connect all items in {where}; {advice}"]


def one_sided_annotators(judgments: Judgments) -> NDArray[np.bool_]:
    """Which annotators always gave the same answer, too often for chance."""
    n, grades = len(judgments.vocabulary.annotators), judgments.grades
    answers = count_answers(judgments.pairs, n)
    votes = answers.sum(axis=1)
    one_sided = (answers.max(axis=1) == votes) & (votes >= _too_often(n))
    if len(grades) and grades.grade.min() < grades.grade.max():
        lowest, highest = np.full(n, np.inf), np.full(n, -np.inf)
        np.minimum.at(lowest, grades.annotator, grades.grade)
        np.maximum.at(highest, grades.annotator, grades.grade)
        count = np.bincount(grades.annotator, minlength=n)
        one_sided |= (lowest == highest) & (count >= _too_often(n))
    return np.asarray(one_sided)


def _too_often(n_annotators: int) -> float:
    """If all annotators toss a coin, only in one study of 16 does anybody give the same answer this often."""
    return float(5 + np.log2(max(n_annotators, 1)))


def _one_sided_note(judgments: Judgments, columns: Mapping[str, NDArray[Any]]) -> list[str]:
    """The note that names the annotators whose verdict is one-sided."""
    names = list(dict.fromkeys(columns["annotator"][columns["verdict"] == "one-sided"]))
    if not names:
        return []
    shown = [f"{name} ({_constant_answer(judgments, name)})" for name in names[:NAMES_SHOWN]]
    return [f"one-sided votes of {len(names):,} annotator{'s' * (len(names) > 1)}: {_some(shown, len(names))}"]


def _constant_answer(judgments: Judgments, name: object) -> str:
    """The answer that a one-sided annotator always gave, and how often."""
    annotators, pairs, grades = judgments.vocabulary.annotators.tolist(), judgments.pairs, judgments.grades
    code = annotators.index(name)
    votes = pairs.outcome[pairs.annotator == code]
    if len(votes) >= _too_often(len(annotators)) and (votes == votes[0]).all():
        return f"always {ANSWERS[int(votes[0])]}, {len(votes):,} votes"
    given = grades.grade[grades.annotator == code]
    return f"always grade {given[0]:g}, {len(given):,} items"


def _some(names: Sequence[str], count: int | None = None) -> str:
    """The first few names, and how many more there are of `count`."""
    more = (len(names) if count is None else count) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
