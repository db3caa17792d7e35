"""A study without some of its judgments, the vocabulary stays; and a method that is quick to fit to many of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.convert import lists_of
from crowdrank.evaluation.bootstrap import for_rounds, without_intervals
from crowdrank.evaluation.resample import rows_of
from crowdrank.methods.catalogue import settings_of
from crowdrank.methods.protocols import Method
from crowdrank.study import Judgments

USUAL_PRIOR = 1.0  # virtual wins and losses
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


def quicker(method: Method, judgments: Judgments, consensus: Consensus) -> Method:
    """The method with the settings that it chose from the whole study and without intervals; the usual prior where it
    would choose one in each fit, and may be given one.
    """
    found = for_rounds(without_intervals(method), consensus)
    chooses = not judgments.has_effects and settings_of(found).get("prior", 0) is None
    return replace(found, prior=USUAL_PRIOR) if chooses else found  # type: ignore[type-var]
