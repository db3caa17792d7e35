"""What is in a study, before any method: counts, connections, repeats, agreement, and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import frame_of, parts_per_task
from crowdrank.convert import links
from crowdrank.methods.choice import choose_method
from crowdrank.numerics.agreement import count_answers
from crowdrank.numerics.graph import components
from crowdrank.numerics.sums import sum_by
from crowdrank.statistics.agreement import Agreement, agreement
from crowdrank.statistics.pace import seconds_per_judgment
from crowdrank.statistics.ratings import Ratings, ratings_of
from crowdrank.statistics.warnings import warnings_of
from crowdrank.study import Floats, Ids, Judgments, Kind, Rankings, Vocabulary, check_judgments

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CountSpread:
    """How a count varies over tasks, entries or annotators."""

    least: int
    lower_quartile: float
    median: float
    mean: float
    upper_quartile: float
    most: int

    @classmethod
    def of(cls, counts: Counts) -> CountSpread:
        if not len(counts):
            return cls(0, 0.0, 0.0, 0.0, 0.0, 0)
        low, middle, high = np.quantile(counts, [0.25, 0.5, 0.75]).tolist()
        return cls(int(counts.min()), low, middle, float(counts.mean()), high, int(counts.max()))


@dataclass(frozen=True, eq=False)
class StudyDescription:
    """What is in a study. Arrays are in the order of the vocabulary."""

    vocabulary: Vocabulary
    counts: Mapping[Kind, int]
    task_judgments: Counts  # a row of a ranking counts as one judgment
    entry_judgments: Counts
    disconnected: Mapping[Any, int]  # task → the number of its parts that were never compared with each other
    agreement: Mapping[Kind, Agreement]
    annotator_columns: Mapping[str, NDArray[Any]]
    ties: float  # share of the pairs, NaN without pairs
    left_share: float  # of the pairs that are not ties
    overlap: float  # items that two lists of a task share, as a share of the items that either names
    seconds: float  # that a judgment takes, the median; NaN without times
    never_lost: int  # entries that won all of their pairs, and those that lost all
    never_won: int
    method: str  # to use for these judgments, and why
    reason: str
    warnings: tuple[str, ...]  # the most important first
    notes: tuple[str, ...] = ()

    @property
    def per_task(self) -> CountSpread:
        return CountSpread.of(self.task_judgments)

    @property
    def per_entry(self) -> CountSpread:
        return CountSpread.of(self.entry_judgments)

    @property
    def per_annotator(self) -> CountSpread:
        return CountSpread.of(self.annotator_columns["judgments"])

    @property
    def repeated(self) -> int:
        """Judgments of what the same annotator had judged before."""
        return int(self.annotator_columns["repeated"].sum())

    @property
    def contradicted(self) -> int:
        """Entries or pairs that an annotator judged in different ways, summed over annotators."""
        return int(self.annotator_columns["contradicted"].sum())

    @property
    def annotators(self) -> Any:
        """A data frame: annotator, judgments, tasks, alpha, agreement, compared, left_share, ties, repeated, …"""
        return frame_of(self.annotator_columns, self.vocabulary.frame).to_native()

    def as_dict(self) -> dict[str, Any]:
        """Numbers and texts only, for JSON."""
        return {
            "judgments": dict(self.counts),
            "tasks": len(self.vocabulary.tasks),
            "items": len(self.vocabulary.items),
            "entries": self.vocabulary.n_entries,
            "annotators": len(self.vocabulary.annotators),
            "per_task": asdict(self.per_task),
            "per_item": asdict(self.per_entry),
            "per_annotator": asdict(self.per_annotator),
            "disconnected": {str(task): parts for task, parts in self.disconnected.items()},
            "agreement": {kind: _summary(each) for kind, each in self.agreement.items()},
            "ties": self.ties,
            "left_share": self.left_share,
            "list_overlap": self.overlap,
            "seconds": self.seconds,
            "never_lost": self.never_lost,
            "never_won": self.never_won,
            "repeated": self.repeated,
            "contradicted": self.contradicted,
            "annotator": frame_of(self.annotator_columns, "polars").to_native().to_dicts(),
            "method": self.method,
            "reason": self.reason,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        given = " and ".join(f"{count:,} {kind}" for kind, count in self.counts.items() if count)
        alphas = ", ".join(f"alpha {each.alpha:.3f} ({kind})" for kind, each in self.agreement.items())
        size = f"{self.vocabulary.n_entries:,} entries in {len(self.vocabulary.tasks):,} tasks"
        size += f", {len(self.vocabulary.annotators):,} annotators"
        lines = [
            f"Description: {given or 'no judgments'}; {size}; {alphas}",
            *(f"warning: {warning}" for warning in self.warnings),
            f"use {self.method}: {self.reason}",
        ]
        return "\n".join(lines)


def _summary(found: Agreement) -> dict[str, Any]:
    names = ("alpha", "percent", "by_chance", "metric", "units", "judgments")
    return {name: getattr(found, name) for name in names}


def describe(judgments: Judgments) -> StudyDescription:
    """What is in a study: counts, connections, repeats, agreement, warnings, and which method to use.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=10, annotators=5, votes=300, seed=0)
    >>> cr.describe(study.judgments).method
    'crowd-bt'
    """
    check_judgments(judgments)
    vocabulary, n = judgments.vocabulary, len(judgments.vocabulary.annotators)
    ratings = {kind: ratings_of(judgments, kind) for kind in judgments.kinds}
    found = {kind: agreement(each, n) for kind, each in ratings.items()}
    columns = _annotator_columns(judgments, ratings, found)
    seconds, per_annotator = seconds_per_judgment(judgments)
    if len(seconds):
        columns["seconds"] = per_annotator
    answers = count_answers(judgments.pairs, n).sum(axis=0)
    never_lost, never_won = _one_way(judgments)
    disconnected = _disconnected(judgments)
    method, reason = choose_method(judgments) if len(judgments) else ("", "there are no judgments")
    return StudyDescription(
        vocabulary=vocabulary,
        counts=judgments.counts,
        task_judgments=np.bincount(judgments.annotator_and_task()[1], minlength=len(vocabulary.tasks)),
        entry_judgments=entry_judgments(judgments),
        disconnected=disconnected,
        agreement=found,
        annotator_columns=columns,
        ties=_share(answers[1], answers.sum()),
        left_share=_share(answers[2], answers[0] + answers[2]),
        overlap=list_overlap(judgments.rankings, vocabulary.n_entries, len(vocabulary.tasks)),
        seconds=float(np.median(seconds)) if len(seconds) else float("nan"),
        never_lost=never_lost,
        never_won=never_won,
        method=method,
        reason=reason,
        warnings=warnings_of(judgments, found, columns, disconnected, entry_judgments(judgments)),
        notes=judgments.notes,
    )


def entry_judgments(judgments: Judgments) -> Counts:
    """How many judgments each entry takes part in."""
    named = judgments.grades.entry, judgments.pairs.left, judgments.pairs.right, judgments.rankings.entry
    return np.bincount(np.concatenate(named), minlength=judgments.vocabulary.n_entries)


def list_overlap(lists: Rankings, n_entries: int, n_tasks: int) -> float:
    """Items that two lists of a task share on average, as a share of those that either names; NaN without two lists.

    >>> import crowdrank as cr
    >>> two = cr.judgments({"annotator": ["a", "a", "b", "b"], "item": ["x", "y", "y", "z"], "rank": [1, 2, 1, 2]})
    >>> list_overlap(two.rankings, 3, 1) == 1 / 3
    True
    """
    named = np.bincount(lists.entry, minlength=n_entries).astype(np.float64)
    of_task = np.bincount(lists.list_task, minlength=n_tasks).astype(np.float64)
    shared = float((named * (named - 1)).sum())  # over ordered pairs of lists
    length = np.diff(lists.list_starts).astype(np.float64)
    either = 2 * float((length * (of_task[lists.list_task] - 1)).sum()) - shared
    return _share(shared, either)


def _annotator_columns(
    judgments: Judgments, ratings: Mapping[Kind, Ratings], found: Mapping[Kind, Agreement]
) -> dict[str, NDArray[Any]]:
    names: Ids = judgments.vocabulary.annotators
    n = len(names)
    annotator, task = judgments.annotator_and_task()
    pairs = np.unique((annotator.astype(np.int64) << 32) | task) >> 32
    answers = count_answers(judgments.pairs, n)
    compared = [each.annotator_judgments for each in found.values()]
    columns: dict[str, NDArray[Any]] = {
        "annotator": names,
        "judgments": judgments.per_annotator(),
        "tasks": np.bincount(pairs, minlength=n),
        "alpha": _combined([each.annotator_alpha for each in found.values()], compared, n),
        "alpha_error": _combined([each.annotator_error for each in found.values()], compared, n),
        "agreement": _combined([each.annotator_percent for each in found.values()], compared, n),
        "compared": _total(compared, n),
        "repeated": _total([each.repeated for each in ratings.values()], n),
        "contradicted": _total([each.contradicted for each in ratings.values()], n),
    }
    if len(judgments.pairs):
        decided = answers[:, 0] + answers[:, 2]
        columns["left_share"] = _shares(answers[:, 2], decided)
        columns["ties"] = _shares(answers[:, 1], answers.sum(axis=1))
    return columns


def _total(counts: list[Counts], n: int) -> Counts:
    return np.asarray(sum(counts, np.zeros(n, np.int64)))


def _combined(values: list[Floats], weights: list[Counts], n: int) -> Floats:
    """The mean over the kinds of judgment, each weighted by how much was compared; NaN where nothing was."""
    total, weight = np.zeros((2, n))
    for value, count in zip(values, weights, strict=True):
        known = ~np.isnan(value)
        total[known] += value[known] * count[known]
        weight[known] += count[known]
    return _shares(total, weight)


def _one_way(judgments: Judgments) -> tuple[int, int]:
    """How many entries won, and how many lost, all of their pairs (ties count as neither)."""
    pairs, n = judgments.pairs, judgments.vocabulary.n_entries
    won = sum_by(pairs.left, pairs.outcome > 0, n) + sum_by(pairs.right, pairs.outcome < 0, n)
    lost = sum_by(pairs.left, pairs.outcome < 0, n) + sum_by(pairs.right, pairs.outcome > 0, n)
    seen = np.bincount(np.r_[pairs.left, pairs.right], minlength=n)
    return int(((won == seen) & (seen > 0)).sum()), int(((lost == seen) & (seen > 0)).sum())


def _disconnected(judgments: Judgments) -> dict[Any, int]:
    vocabulary, compared = judgments.vocabulary, links(judgments)
    tasks, parts = parts_per_task(vocabulary, components(vocabulary.n_entries, compared.left, compared.right))
    return dict(zip(vocabulary.tasks[tasks], parts.tolist(), strict=True))


def _share(part: float, whole: float) -> float:
    return float(part) / float(whole) if whole else float("nan")


def _shares(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    return np.asarray(np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0))
