"""A study without some of its judgments; the vocabulary stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crowdrank.evaluation.resample import lists_of, rows_of
from crowdrank.study import Judgments

Mask = NDArray[np.bool_]


def kept(judgments: Judgments, grades: Mask, pairs: Mask, lists: Mask) -> Judgments:
    """The study with these grades, pairs and whole lists."""
    return replace(
        judgments,
        grades=rows_of(judgments.grades, np.flatnonzero(grades)),
        pairs=rows_of(judgments.pairs, np.flatnonzero(pairs)),
        rankings=lists_of(judgments.rankings, np.flatnonzero(lists)),
    )


def kept_of(judgments: Judgments, mask: Mask) -> Judgments:
    """The study with some of its judgments: one mask over grades, then pairs, then lists."""
    counts = judgments.counts
    first, second = counts["grades"], counts["grades"] + counts["pairs"]
    return kept(judgments, mask[:first], mask[first:second], mask[second:])
