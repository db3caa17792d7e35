"""Which method to use for a study whose user names none, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.catalogue import METHODS, usual_method
from crowdrank.study import Judgments

FEW = 5  # lists of an annotator; with fewer, an ordinary crowd gains nothing by learning about them
MOST_LIST_PAIRS = 200_000  # written out for em-elo
MOST_ENTRIES = 2000
FAR_BEYOND = 2.0  # lengths of a list
RESAMPLED = ("em-elo",)  # methods chosen for people's lists that take their intervals from a bootstrap
ROUNDS = 100  # of it


def choose_method(judgments: Judgments) -> tuple[str, str]:
    """The method for these judgments, and the reason in one sentence.

    It is the usual one for the kind of judgments, unless annotators gave too little to learn about them. Lists are
    fused by `rrf` if they are parts of longer ones, and weighed by annotator where these gave enough lists.
    """
    name = usual_method(judgments)
    given = judgments.per_annotator()
    if name == "crowd-bt" and len(given) == 1:
        return "bradley-terry", "all votes come from one annotator, so no votes can be weighed against others"
    if name == "crowd-bt" and _median(given) < 2:
        return "bradley-terry", "half of the annotators or more gave a single vote, which says nothing about them"
    if name == "plackett-luce":
        return _for_lists(judgments)
    kinds = " and ".join(judgments.kinds)
    return name, f"it is the usual method for {kinds} ({METHODS[name].description.summary.rstrip('.')})"


def _for_lists(judgments: Judgments) -> tuple[str, str]:
    """For lists that are not said to be runs of search systems."""
    lists, words = judgments.rankings, judgments.vocabulary
    if _parts_of_longer_lists(judgments):
        return "rrf", "positions go far beyond the length of the lists, so these are parts of longer ones"
    length = np.diff(lists.list_starts)
    pairs = float((length * (length - 1) / 2).sum())
    per_annotator = np.bincount(lists.list_annotator, minlength=1)
    known = (per_annotator > 0).sum() > 2 and _median(per_annotator) >= FEW
    if known and pairs <= MOST_LIST_PAIRS and words.n_entries <= MOST_ENTRIES:
        return "em-elo", f"half of the annotators gave {FEW} lists or more, enough to learn whom to trust"
    return "plackett-luce", "it is the usual method for rankings, and models whole lists, not pairs"


def _parts_of_longer_lists(judgments: Judgments) -> bool:
    """Whether the last of typical lists stands far beyond their length, as in runs of which some items are shown."""
    lists = judgments.rankings
    starts = lists.list_starts
    length = np.diff(starts)
    last = lists.position[starts[1:][length > 0] - 1]
    return bool(len(last)) and float(np.median(last / length[length > 0])) > FAR_BEYOND


def _median(count: NDArray[np.integer[Any]]) -> float:
    return float(np.median(count[count > 0])) if count.any() else 0.0
