"""What a trained method does when annotators whose judgments it relied on are missing.

The weights of the others were learned beside theirs, and may mean little alone. So the part of the score that the
missing annotators had is given to reciprocal rank fusion, which needs no training.
"""

from __future__ import annotations

import numpy as np

from crowdrank.methods.rankings.rrf import reciprocal_ranks
from crowdrank.methods.result import agreement
from crowdrank.methods.supervised.cells.cells import standardised
from crowdrank.study import Floats, Ids, Judgments, recode

TIMES = 2.0  # the part of rrf is so many times the lost part; measured in decision 0051
NOTABLE = 0.1  # share of the weights; a smaller loss changes little


def lost_share(known: Ids, weight: Floats, judgments: Judgments) -> float:
    """The share of the weights, one for each known annotator, whose annotators judged nothing here."""
    present = judgments.vocabulary.annotators[judgments.per_annotator() > 0]
    missing = recode(known, present) < 0
    total = float(np.abs(weight).sum())
    return float(np.abs(weight)[missing].sum()) / total if total > 0 else 0.0


def without_lost(score: Floats, lost: float, judgments: Judgments) -> tuple[Floats, list[str]]:
    """The scores with the lost part replaced by rrf, and a note about it."""
    if lost < NOTABLE:
        return score, []
    what = f"annotators that had {lost:.0%} of the weight in training judged nothing here"
    if not len(judgments.rankings) and not len(judgments.grades):
        return score, [f"{what}: train again without them"]
    # Those whom the trained scores contradict, such as reversed annotators, have no part in it.
    fused = reciprocal_ranks(judgments, np.where(agreement(judgments, score)[0] < 0.5, 0.0, 1.0))
    share = min(TIMES * lost, 1.0)  # where half is lost, little is known about the rest
    both = standardised(np.stack([score, fused], axis=1), judgments.vocabulary)
    mixed = np.where(np.isnan(both[:, 1]), both[:, 0], (1 - share) * both[:, 0] + share * both[:, 1])
    return mixed, [f"{what}: rrf has {share:.0%} of the score instead; train again without them"]
