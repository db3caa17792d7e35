"""Bootstrap intervals for every method: the same fit to many studies, resampled from the study's judgments or from its
annotators.

Resampling judgments shows how much another sample of judgments by the same annotators would change; resampling
annotators, each with all of their judgments, how much another crowd would. The second gives wider intervals where
annotators differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.evaluation.resample import annotators_of, canonical, drawn, graded_as_lists
from crowdrank.methods.catalogue import fit_method, settings_of
from crowdrank.methods.catalogue import method as method_of
from crowdrank.methods.protocols import Method
from crowdrank.numerics.progress import report
from crowdrank.numerics.seeds import generator
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import parallel_map
from crowdrank.settings import check_choice, check_fraction, check_whole_number
from crowdrank.study import Floats, FrameT, Gold, Judgments, recode

Over = Literal["judgments", "annotators"]
MOST_MISSING = 0.05  # share of the rounds in which an entry may be missing
ROUND_TOL = 1e-3  # tolerance of a round's fit in log-odds: far below the differences between rounds


@dataclass(frozen=True, slots=True)
class Rounds:
    """The results of the fits, a row for each round; NaN for entries and annotators that are not in it."""

    score: Floats
    rank: Floats
    quality: Floats
    not_converged: int  # number of fits


def bootstrap(
    method: str | Method,
    judgments: Judgments[FrameT],
    *,
    over: Over = "judgments",
    rounds: int = 200,
    level: float = 0.95,
    seed: int = 0,
    gold: Gold | None = None,
) -> Consensus[FrameT]:
    """The consensus of a method, by name or with its settings, with intervals from fits to resampled studies.

    `over` is what is drawn with replacement: pairs, grades and whole rankings, or annotators with all their judgments.
    The result is that of the method itself with low and high, rank_low and rank_high, the standard error of the gaps
    between neighbours and how often the upper one was above, and quality_low and quality_high of the annotators: the
    range that holds the share `level` of all rounds, widened to hold the estimate. A prior that the method chooses from
    the votes is chosen once. Scores that are comparable only within their task (as after comparisons) are taken
    relative to the task's mean.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=4, annotators=5, votes=400, seed=0)
    >>> consensus = bootstrap("elo", study.judgments, rounds=50)
    >>> bool(((consensus.low <= consensus.score) & (consensus.score <= consensus.high)).all())
    True
    """
    check_choice("over", over, ("judgments", "annotators"))
    check_whole_number("rounds", rounds, least=2)
    check_fraction("level", level)
    chosen = without_intervals(method_of(method) if isinstance(method, str) else method)
    consensus = fit_method(chosen, judgments, gold)
    studies = _resampled_studies(chosen, judgments, over, rounds, seed)
    found = _fit_rounds(for_rounds(chosen, consensus), consensus, studies, rounds, gold)
    return _with_intervals(consensus, found, over, level)


def without_intervals(chosen: Method) -> Method:
    """The method without intervals of its own."""
    return replace(chosen, intervals=False) if "intervals" in settings_of(chosen) else chosen  # type: ignore[type-var]


def for_rounds(chosen: Method, consensus: Consensus) -> Method:
    """The method with the settings that it chose from the whole study, and only as exact as resampling needs."""
    settings = settings_of(chosen)
    open_settings = [name for name, value in settings.items() if value is None]
    changed = {name: value for name, value in consensus.settings.items() if name in open_settings}
    if {"intervals", "tol"} <= settings.keys():  # scores in log-odds
        changed["tol"] = max(settings["tol"], ROUND_TOL)
    return replace(chosen, **changed)  # type: ignore[type-var]


def _resampled_studies(chosen: Method, judgments: Judgments, over: Over, rounds: int, seed: int) -> Iterator[Judgments]:
    """The resampled studies, one after the other; independent of the order of the judgments if the method is."""
    rng = generator(seed)
    if over == "annotators" and "rankings" in chosen.description.takes:
        # An annotator drawn twice gives every judgment twice; as grades, both copies would be compared with each other.
        judgments = graded_as_lists(judgments)
    if not chosen.description.depends_on_order:
        judgments = canonical(judgments)
    crowd = annotators_of(judgments, chosen.description.takes)
    for _ in range(rounds):
        yield drawn(judgments, rng, crowd if over == "annotators" else None)


def _fit_rounds(
    chosen: Method, consensus: Consensus, studies: Iterator[Judgments], rounds: int, gold: Gold | None
) -> Rounds:
    rows = len(consensus.annotator_columns["quality"])
    found = Rounds(
        np.empty((rounds, len(consensus.score))), np.empty((rounds, len(consensus.score))), np.empty((rounds, rows)), 0
    )
    not_converged = 0
    for number, fitted in enumerate(parallel_map(lambda study: fit_method(chosen, study, gold), studies)):
        report("bootstrap", number + 1, rounds)
        shift = _shift(consensus, fitted.score) if consensus.component is not None else 0.0
        found.score[number] = fitted.score - shift
        found.rank[number] = np.where(fitted.rank > 0, fitted.rank, np.nan)
        found.quality[number] = _quality(consensus, fitted)
        not_converged += not fitted.fit.converged
    return replace(found, not_converged=not_converged)


def _shift(consensus: Consensus, score: Floats) -> Floats:
    """For each entry, the mean difference between the scores of its task and those of the consensus."""
    task, n = consensus.vocabulary.entry_task, len(consensus.vocabulary.tasks)
    difference = score - consensus.score
    both = ~np.isnan(difference)
    mean = sum_by(task[both], difference[both], n) / np.maximum(np.bincount(task[both], minlength=n), 1)
    return np.asarray(mean[task])


def _quality(consensus: Consensus, fitted: Consensus) -> Floats:
    """The quality in a round for each row of the consensus' annotators; NaN for those who were not drawn."""
    columns = fitted.annotator_columns
    quality = np.where(columns["judgments"] > 0, columns["quality"], np.nan)
    if "task" not in columns:
        return quality
    found = np.full(len(consensus.annotator_columns["quality"]), np.nan)
    found[np.searchsorted(_row_keys(consensus), _row_keys(fitted))] = quality
    return found


def _row_keys(consensus: Consensus) -> NDArray[np.int64]:
    """One ascending number for the annotator and the task of each row."""
    vocabulary, columns = consensus.vocabulary, consensus.annotator_columns
    return recode(columns["annotator"], vocabulary.annotators) * len(vocabulary.tasks) + recode(
        columns["task"], vocabulary.tasks
    )


def _with_intervals(consensus: Consensus, found: Rounds, over: Over, level: float) -> Consensus:
    shares = (1 - level) / 2, (1 + level) / 2
    low, high = _range(found.score, shares, consensus.score)
    rank = np.where(consensus.rank > 0, consensus.rank, np.nan)
    first, last = _range(found.rank, shares, rank)
    quality = consensus.annotator_columns["quality"]
    worst, best = _range(found.quality, shares, quality)
    above, below = consensus.neighbours
    gap_error, gap_chance = np.full((2, len(consensus.score)), np.nan)
    gap = found.score[:, above] - found.score[:, below]
    gap_error[above] = _deviation(gap)
    gap_chance[above] = _share_above(gap)
    rounds = len(found.score)
    note = f"intervals contain {level:.0%} of {rounds:,} fits to resampled {over}"
    failed = found.not_converged
    late = [f"{failed:,} of {rounds:,} fits to resampled {over} did not converge"] if failed else []
    return replace(
        consensus,
        low=low,
        high=high,
        score_error=None,
        rank_low=_whole(np.floor(first)),
        rank_high=_whole(np.ceil(last)),
        gap_error=gap_error,
        gap_chance=gap_chance,
        draws=None,  # they know nothing of the bootstrap
        upright=1.0,
        annotator_columns={**consensus.annotator_columns, "quality_low": worst, "quality_high": best},
        notes=(*consensus.notes, note, *late, *_often_missing(found.score)),
    )


def _often_missing(score: Floats) -> list[str]:
    """A note on entries with few judgments: many rounds miss them, and the other rounds hardly differ."""
    missing = np.isnan(score).mean(axis=0)
    few = int(((missing > MOST_MISSING) & (missing < 1)).sum())
    if not few:
        return []
    return [f"{few:,} entries have so few judgments that many rounds miss them: their intervals are too narrow"]


def _whole(rank: Floats) -> NDArray[np.int32]:
    return np.where(np.isnan(rank), 0, rank).astype(np.int32)


def _range(values: Floats, shares: tuple[float, float], estimate: Floats) -> tuple[Floats, Floats]:
    """Two quantiles of each column, moved apart where the estimate lies outside; NaN where no round has a value."""
    ordered = np.sort(values, axis=0)  # NaN last
    last = (~np.isnan(ordered)).sum(axis=0) - 1
    column = np.arange(values.shape[1])
    low, high = (_at(ordered, share * np.maximum(last, 0), column) for share in shares)
    return np.minimum(low, estimate), np.maximum(high, estimate)


def _at(ordered: Floats, place: Floats, column: NDArray[np.intp]) -> Floats:
    """The value of each column at a fractional place, interpolated between two rows."""
    lower, upper = np.floor(place).astype(np.int64), np.ceil(place).astype(np.int64)
    part = place - lower
    return np.asarray(ordered[lower, column] * (1 - part) + ordered[upper, column] * part)


def _share_above(gap: Floats) -> Floats:
    """The share of the rounds with a value in which it is above 0, ties counted half; NaN where none has one."""
    known = (~np.isnan(gap)).sum(axis=0)
    above = (gap > 0).sum(axis=0) + (gap == 0).sum(axis=0) / 2
    return np.asarray(np.divide(above, known, out=np.full(len(known), np.nan), where=known > 0))


def _deviation(values: Floats) -> Floats:
    """The standard deviation of each column over the rounds that have a value; NaN where fewer than two have."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(count, 1)
    squares = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0)
    return np.where(count > 1, np.sqrt(squares / np.maximum(count - 1, 1)), np.nan)
