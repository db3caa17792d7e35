"""How long annotators take: durations, or the time between their judgments, where the file has them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from crowdrank.formats.times import FIRST
from crowdrank.numerics.groups import run_starts
from crowdrank.study import Codes, Floats, Judgments

LONGEST = 1800.0  # seconds; what takes longer is a break


def seconds_per_judgment(judgments: Judgments) -> tuple[Floats, Floats]:
    """The seconds of each judgment whose time is known, and the median of each annotator's, NaN where it has none.

    Where the file says how long judgments took, that counts. Elsewhere a judgment takes the time since the one
    before it by the same annotator, and judgments that were sent together share it. A list counts as one judgment.
    Breaks, and the first judgment of an annotator, have no time.
    """
    who, seconds = _known(judgments, "seconds", 0, LONGEST)
    if not len(seconds):
        who, seconds = _gaps(*_known(judgments, "time", FIRST, np.inf))  # small numbers may be no seconds
    return seconds, _medians(who, seconds, len(judgments.vocabulary.annotators))


def _gaps(annotator: Codes, time: Floats) -> tuple[Codes, Floats]:
    """The annotator of each judgment but the first, and the time since the one before."""
    order = np.lexsort((time, annotator))
    annotator, time = annotator[order], time[order]
    start = np.flatnonzero(run_starts(annotator, time))
    count = np.diff(np.r_[start, len(annotator)])
    who, gap = annotator[start], np.diff(time[start], prepend=np.nan)
    gap[run_starts(who)] = np.nan
    with np.errstate(invalid="ignore"):
        known = gap <= LONGEST
    return np.repeat(who[known], count[known]), np.repeat((gap / count)[known], count[known])


def _medians(who: Codes, seconds: Floats, n_annotators: int) -> Floats:
    median = np.full(n_annotators, np.nan)
    order = np.lexsort((seconds, who))
    first = np.flatnonzero(run_starts(who[order]))
    size = np.diff(np.r_[first, len(who)])
    low, high = seconds[order][first + (size - 1) // 2], seconds[order][first + size // 2]
    median[who[order][first]] = (low + high) / 2
    return median


def _known(judgments: Judgments, role: Literal["seconds", "time"], least: float, most: float) -> tuple[Codes, Floats]:
    """Annotator and time, or duration, of the judgments where it is known and neither too small nor too large."""
    grades, pairs, lists = judgments.grades, judgments.pairs, judgments.rankings
    tables = (
        (grades.annotator, getattr(grades, role)),
        (pairs.annotator, getattr(pairs, role)),
        (lists.list_annotator, getattr(lists, f"list_{role}")),
    )
    known = [(annotator, values) for annotator, values in tables if values is not None]
    if not known:
        return np.zeros(0, np.int32), np.zeros(0)
    annotator, values = np.concatenate([each[0] for each in known]), np.concatenate([each[1] for each in known])
    with np.errstate(invalid="ignore"):
        used = (values >= least) & (values <= most)
    return annotator[used], values[used]
