"""Which method to use for a study whose user names none, and why."""

from __future__ import annotations

import numpy as np

from crowdrank.methods.catalogue import METHODS, usual_method
from crowdrank.study import Judgments

FEW_VOTES = 5  # of an annotator; with fewer, an ordinary crowd gains nothing by learning about them (docs/choosing.md)


def choose_method(judgments: Judgments) -> tuple[str, str]:
    """The method for these judgments, and the reason in one sentence.

    It is the usual one for the kind of judgments, unless annotators gave so little that nothing can be learned about
    them.
    """
    name = usual_method(judgments)
    given = judgments.per_annotator()
    many = float(np.median(given[given > 0])) if given.any() else 0.0
    if name == "crowd-bt" and len(given) == 1:
        return "bradley-terry", "all votes come from one annotator, so no votes can be weighed against others"
    if name == "crowd-bt" and many < FEW_VOTES:
        return (
            "bradley-terry",
            f"half of the annotators gave fewer than {FEW_VOTES} votes, too few to learn whom to trust",
        )
    kinds = " and ".join(judgments.kinds)
    return name, f"it is the usual method for {kinds}: {METHODS[name].description.summary.rstrip('.')}"
