"""How long annotators take: the time between their judgments, where the file has times."""

from __future__ import annotations

import numpy as np

from crowdrank.formats.times import FIRST
from crowdrank.numerics.groups import run_starts
from crowdrank.study import Floats, Judgments

LONGEST = 1800.0  # seconds; a longer time between two judgments is a break


def seconds_per_judgment(judgments: Judgments) -> tuple[Floats, Floats]:
    """The seconds of each judgment whose time is known, and the median of each annotator's, NaN where it has none.

    A judgment takes the time since the one before it by the same annotator. Judgments that were sent together share it.
    A list counts as one judgment. Breaks, and the first judgment of an annotator, have no time.
    """
    annotator, time = _times(judgments)
    order = np.lexsort((time, annotator))
    annotator, time = annotator[order], time[order]
    start = np.flatnonzero(run_starts(annotator, time))
    count = np.diff(np.r_[start, len(annotator)])
    who, gap = annotator[start], np.diff(time[start], prepend=np.nan)
    gap[run_starts(who)] = np.nan
    with np.errstate(invalid="ignore"):
        known = gap <= LONGEST
    seconds, who = np.repeat((gap / count)[known], count[known]), np.repeat(who[known], count[known])
    per_annotator = np.full(len(judgments.vocabulary.annotators), np.nan)
    order = np.lexsort((seconds, who))
    first = np.flatnonzero(run_starts(who[order]))
    size = np.diff(np.r_[first, len(who)])
    low, high = seconds[order][first + (size - 1) // 2], seconds[order][first + size // 2]
    per_annotator[who[order][first]] = (low + high) / 2
    return seconds, per_annotator


def _times(judgments: Judgments) -> tuple[Floats, Floats]:
    """Annotator and time of the judgments whose date is known; small numbers may be no seconds."""
    grades, pairs, lists = judgments.grades, judgments.pairs, judgments.rankings
    tables = ((grades.annotator, grades.time), (pairs.annotator, pairs.time), (lists.list_annotator, lists.list_time))
    known = [(annotator, time) for annotator, time in tables if time is not None]
    if not known:
        return np.zeros(0, np.int64), np.zeros(0)
    annotator, time = np.concatenate([each[0] for each in known]), np.concatenate([each[1] for each in known])
    with np.errstate(invalid="ignore"):
        dated = time >= FIRST
    return annotator[dated].astype(np.int64), time[dated]
