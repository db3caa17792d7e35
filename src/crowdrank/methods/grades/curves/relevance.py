"""Shared parts of `gda` and `gda-pw`: preparing the grades, and making a Consensus from relevance and curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit, rank_within
from crowdrank.methods.grades.curves.curves import Curves, Gaussians, GradesByProfile, sort_grades
from crowdrank.methods.grades.curves.information import informativeness
from crowdrank.methods.grades.curves.kernels import Nodes
from crowdrank.methods.grades.curves.outliers import LITTLE_AGREEMENT, graded_verdicts
from crowdrank.methods.grades.curves.scales import Scales, scales_of
from crowdrank.methods.grades.curves.true_grades import true_grade_chances
from crowdrank.methods.profiles import Profiles, profiles_of
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import annotator_columns, judged_by_several, make_consensus
from crowdrank.numerics.agreement import concordance_of_ranks, evidence_per_list_preference
from crowdrank.numerics.groups import run_starts
from crowdrank.numerics.special import NORMAL_95
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats, Judgments

TAIL = 0.025  # of the posterior, on either side of the interval
ENTRIES_AT_ONCE = 1 << 16
FEW_ANNOTATORS = 8  # fewer deserve no note


@dataclass(frozen=True, slots=True, eq=False)
class Graded:
    """The grades of a study, sorted, with their scales and profiles."""

    profiles: Profiles
    scales: Scales
    rows: GradesByProfile


def prepare(judgments: Judgments, quality_per: Literal["study", "task"]) -> Graded:
    """Find scales and profiles, and sort the judgments."""
    vocabulary, grades = judgments.vocabulary, judgments.grades
    scales = scales_of(grades, len(vocabulary.annotators))
    profiles = profiles_of(judgments.only("grades"), quality_per)
    of_row = profiles.of(grades.annotator, vocabulary.entry_task[grades.entry])
    rows = sort_grades(
        grades.entry, of_row, scales.level, scales.of_annotator[profiles.annotator], vocabulary.n_entries
    )
    return Graded(profiles, scales, rows)


@dataclass(frozen=True, slots=True, eq=False)
class Relevance:
    """Per entry: expected relevance with standard deviation and 95 % interval; difficulty where it is estimated."""

    score: Floats
    error: Floats
    low: Floats
    high: Floats
    difficulty: Floats | None

    def widened(self, factor: float) -> Relevance:
        """The same with this many times the variance."""
        wide = np.sqrt(factor)
        low, high = (self.score + wide * (end - self.score) for end in (self.low, self.high))
        return Relevance(self.score, wide * self.error, low, high, self.difficulty)


def graded_consensus(
    description: Description,
    judgments: Judgments,
    study: Graded,
    found: Relevance,
    curves: Curves,
    fit: Fit,
    notes: Iterable[str],
) -> Consensus:
    """The consensus of relevance and curves: scores, intervals, errors of the gaps, and columns of the annotators."""
    judged = np.diff(study.rows.entry_starts) > 0  # the others have only the prior
    # Relevance is of the order of one: further digits are rounding errors, which would break ties.
    score = np.where(judged, np.round(found.score, 12), np.nan)
    notes = (*notes, *study.scales.notes)
    if judged.any() and not _anybody_varies(study.rows):
        score = np.where(judged, 0.0, np.nan)  # curves of annotators with one grade differ by chance alone
        notes += ("every annotator gave one grade to all their items: the items cannot be told apart",)
    annotators = _annotators(judgments, study, curves)
    low, high = _on_unknown_scale(found, int(judged.sum()))
    return make_consensus(
        description,
        judgments,
        score,
        fit=fit,
        annotators=annotators,
        low=np.where(judged, np.minimum(low, score), np.nan),
        high=np.where(judged, np.maximum(high, score), np.nan),
        error=found.error,
        extra_fields={
            "difficulty": found.difficulty,
            "curve_columns": _curve_columns(judgments, study, curves.gaussians),
            "estimate_labels": _label_estimate(judgments, study, curves),
        },
        notes=(*notes, *_opinion_note(annotators["quality"])),
    )


def _on_unknown_scale(found: Relevance, entries: int) -> tuple[Floats, Floats]:
    """The intervals, with what is unknown about the shape of the scale.

    Relevance is normal by definition, though n entries are skewed by chance, with a standard error of √(6 / n). To
    remove a skewness κ, the scale is bent by κ (x² − 1) / 6. This concerns all entries together and not their order.
    """
    bend = NORMAL_95 * np.abs(found.score**2 - 1) / np.sqrt(6 * max(entries, 1))
    return found.score - np.hypot(found.score - found.low, bend), found.score + np.hypot(found.high - found.score, bend)


def _opinion_note(quality: Floats) -> tuple[str, ...]:
    """What readers must know where annotators hardly agree."""
    known = quality[~np.isnan(quality)]
    if len(known) < FEW_ANNOTATORS or np.median(known) >= LITTLE_AGREEMENT:
        return ()
    note = (
        f"annotators hardly agree: half of them share fewer than {np.median(known):.0%} of their preferences with the "
        "others (50% is chance). The order may be chance, or the taste of some. If they grade by taste, use the method "
        "mean for the average opinion, and `--bootstrap-over annotators` for its intervals"
    )
    return (note,)


def _anybody_varies(rows: GradesByProfile) -> bool:
    """Whether any profile has two different grades."""
    level, starts = rows.level[rows.by_profile], rows.profile_starts
    same = np.r_[level[1:] == level[:-1], True]
    same[starts[1:][starts[1:] > 0] - 1] = True  # the last of a profile
    return not bool(same.all())


def _label_estimate(judgments: Judgments, study: Graded, curves: Curves) -> Callable[[], Floats] | None:
    """How to get the probability of each grade as the true one, where all use one scale, whose levels are grades."""
    merged = len(np.unique(judgments.grades.grade)) > curves.table.shape[1]
    if len(study.scales.grade) > 1 or merged:
        return None
    return partial(true_grade_chances, study.rows, curves, judgments.vocabulary.entry_task)


def summarise_posterior(posterior: Floats, nodes: Nodes) -> Relevance:
    """Mean, standard deviation and 95 % interval of each entry's posterior over the grid."""
    x = np.unique(nodes.x)
    per_x = len(nodes.x) // len(x)
    parts = [slice(start, start + ENTRIES_AT_ONCE) for start in range(0, max(len(posterior), 1), ENTRIES_AT_ONCE)]
    relevance = [_summary(posterior[part].reshape(-1, len(x), per_x).sum(axis=2), x) for part in parts]
    mean, error, low, high = (np.concatenate(values) for values in zip(*relevance, strict=True))
    if per_x == 1:
        return Relevance(mean, error, low, high, None)
    log_inverse = np.concatenate([posterior[part] @ np.log(nodes.inverse_difficulty) for part in parts])
    return Relevance(mean, error, low, high, np.exp(-log_inverse))


def _summary(chance: Floats, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    mean = chance @ x
    error = np.sqrt(np.maximum(chance @ (x * x) - mean**2, 0.0))
    below, step = np.cumsum(chance, axis=1), x[1] - x[0]
    ends = []
    for tail in (TAIL, 1 - TAIL):
        # Each node covers half a step to either side; within it the quantile is interpolated linearly.
        at = np.minimum((below < tail).sum(axis=1), len(x) - 1)[:, None]
        own, upto = np.take_along_axis(chance, at, 1)[:, 0], np.take_along_axis(below, at, 1)[:, 0]
        ends.append(x[at[:, 0]] + step * (0.5 - (upto - tail) / np.maximum(own, 1e-300)))
    return mean, error, ends[0], ends[1]


def _annotators(judgments: Judgments, study: Graded, curves: Curves) -> dict[str, NDArray[Any]]:
    profiles = study.profiles
    quality, evidence = _agreement_with_others(study.rows, judgments.vocabulary.entry_task, curves)
    columns = annotator_columns(
        judgments, quality, None, profiles.annotator, profiles.task, graded_verdicts(quality, evidence)
    )
    alone, paired = informativeness(curves.gaussians)
    return columns | {
        "informativeness": alone,
        "pair_informativeness": paired,
        "spread": np.sqrt(curves.gaussians.variance),
    }


def _agreement_with_others(rows: GradesByProfile, task: Codes, curves: Curves) -> tuple[Floats, Floats]:
    """Per profile: the share of preferences that the others' grades confirm, and the evidence as a number of votes.

    Their own grades do not count in the relevance they are compared with. Otherwise annotators of items that few others
    graded would agree with themselves. Entries that nobody else graded say nothing. But the curves of the others have
    seen these grades: an entry of k annotators counts (k − 1) / (k − ½).
    """
    relevance, whose = curves.relevance_by_others(rows), (rows.profile.astype(np.int64) << 32) | task[rows.entry]
    order = np.lexsort((rows.level, whose))
    order = order[judged_by_several(rows.entry, rows.profile, rows.n_entries)[rows.entry[order]]]
    starts = np.r_[np.flatnonzero(run_starts(whose[order])), len(order)]
    group = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    profile, level = rows.profile[order[starts[:-1]]], rows.level[order].astype(np.float64)
    clear, agree = concordance_of_ranks(starts, level, rank_within(-relevance[order], group))
    total, right = (sum_by(profile, values, rows.n_profiles) for values in (clear, agree))
    evidence = sum_by(profile, clear * evidence_per_list_preference(starts, level), rows.n_profiles)
    with np.errstate(invalid="ignore"):
        return right / total, evidence * _independence(rows)


def _independence(rows: GradesByProfile) -> Floats:
    """Per profile, the mean of (k − 1) / (k − ½) over its entries that k > 1 annotators graded."""
    count = np.diff(rows.entry_starts)[rows.entry]
    part = sum_by(rows.profile, np.where(count > 1, (count - 1) / (count - 0.5), 0.0), rows.n_profiles)
    return np.asarray(part / np.maximum(sum_by(rows.profile, count > 1, rows.n_profiles), 1.0))


def _curve_columns(judgments: Judgments, study: Graded, curves: Gaussians) -> dict[str, NDArray[Any]]:
    """One row for each annotator and grade of their scale: the curve of the grade."""
    vocabulary, profiles = judgments.vocabulary, study.profiles
    profile, level = np.nonzero(np.arange(curves.mean.shape[1]) < curves.n_levels[:, None])
    grade = np.zeros((len(study.scales.grade), curves.mean.shape[1]))
    for scale, grades in enumerate(study.scales.grade):
        grade[scale, : len(grades)] = grades
    task = {} if profiles.task is None else {"task": vocabulary.tasks[profiles.task[profile]]}
    return {
        "annotator": vocabulary.annotators[profiles.annotator[profile]],
        **task,
        "grade": grade[study.rows.scale[profile], level],
        "mean": curves.mean[profile, level],
        "spread": np.sqrt(curves.variance)[profile],
        "weight": curves.weight[profile, level],
    }
