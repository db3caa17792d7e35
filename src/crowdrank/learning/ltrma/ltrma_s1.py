"""LTRMA-S1: ltrma-mle where θ of some annotators, or the true order of some tasks, is known.

A known θ is fixed from the first step on (with a finite confidence, it is drawn towards the given value). The true
order of some tasks is treated as lists by an annotator who is never wrong: it fixes the order of their items, and so
shows how good the annotators are who judged them. All other side information may be given, too.

Wu, You, Xia, Ma, Hu: Listwise learning to rank from crowds, TKDD 2016, section 4.

>>> import crowdrank as cr
>>> features = cr.features({"item": list("wxyz"), "age": [4, 3, 1, 2]})
>>> lists = {"annotator": ["ann"] * 3 + ["bob"] * 3 + ["cy"] * 3, "item": list("yxwyzxzyx"), "rank": [1, 2, 3] * 3}
>>> side = cr.Side(ranges=(cr.Range("cy", 0.5, 0.5),))  # cy is known to reverse orders
>>> float(cr.learn("ltrma-s1", features, cr.judgments(lists), side=side).annotators["theta"][2])
0.5
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crowdrank.learning.features import Features
from crowdrank.learning.labels import TrainingData
from crowdrank.learning.ltrma.crowd_em import joint_ranker, require_side_information
from crowdrank.learning.ltrma.ltrma_mle import LTRMAMLE
from crowdrank.learning.ltrma.side_information import Side
from crowdrank.learning.ranker import Ranker
from crowdrank.methods.protocols import Description


@dataclass(frozen=True, slots=True)
class LTRMAS1(LTRMAMLE):
    """Settings of LTRMA-S1: those of LTRMA-MLE."""

    description: ClassVar[Description] = Description(
        name="ltrma-s1",
        family="ltrma",
        summary="ltrma-mle with the expertise of some annotators, or the true order of some tasks, known.",
        takes=("rankings", "grades"),
        takes_side_information=True,
    )

    def learn(self, features: Features, data: TrainingData, side: Side | None = None) -> Ranker:
        """A ranker from the lists of a crowd, given θ of some annotators, or the true order of some tasks."""
        side = side or Side()
        require_side_information(
            self.description.name,
            bool(side.known or side.truth is not None),
            "θ of some annotators, or the true order of some tasks",
        )
        return joint_ranker(self, features, data, side)
