"""LTRMA-S2: ltrma-mle where θ of some annotators is known to lie in a range.

θ stays within the range, or, with a finite confidence, is drawn into it. A range that ends at 20 has no upper limit.
All other side information may be given, too.

Wu, You, Xia, Ma, Hu: Listwise learning to rank from crowds, TKDD 2016, section 4.

>>> import crowdrank as cr
>>> features = cr.features({"item": list("wxyz"), "age": [4, 3, 1, 2]})
>>> lists = {"annotator": ["ann"] * 3 + ["bob"] * 3 + ["cy"] * 3, "item": list("yxwyzxzyx"), "rank": [1, 2, 3] * 3}
>>> side = cr.Side(ranges=(cr.Range("ann", -20, -1),))  # ann is good
>>> float(cr.learn("ltrma-s2", features, cr.judgments(lists), side=side).annotators["theta"][0]) <= -1
True
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
class LTRMAS2(LTRMAMLE):
    """Settings of LTRMA-S2: those of LTRMA-MLE."""

    description: ClassVar[Description] = Description(
        name="ltrma-s2",
        family="ltrma",
        summary="ltrma-mle with ranges of expertise known.",
        takes=("rankings", "grades"),
        takes_side_information=True,
    )

    def learn(self, features: Features, data: TrainingData, side: Side | None = None) -> Ranker:
        """A ranker from the lists of a crowd, given ranges of θ of some annotators."""
        side = side or Side()
        require_side_information(
            self.description.name,
            any(each.low < each.high for each in side.ranges),
            "ranges of θ of some annotators",
        )
        return joint_ranker(self, features, data, side)
