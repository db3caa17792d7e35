"""LTRMA-S3: ltrma-mle where some annotators are known to be better than others.

The θ of the better one is at most that of the others, or, with a finite confidence, is drawn there. Annotators whom the
judgments alone would put in the opposite order get the same θ: the most likely one for all their lists together. All
other side information may be given, too.

Wu, You, Xia, Ma, Hu: Listwise learning to rank from crowds, TKDD 2016, section 4.

>>> import crowdrank as cr
>>> features = cr.features({"item": list("wxyz"), "age": [4, 3, 1, 2]})
>>> lists = {"annotator": ["ann"] * 3 + ["bob"] * 3 + ["cy"] * 3, "item": list("yxwyzxzyx"), "rank": [1, 2, 3] * 3}
>>> side = cr.Side(orders=(cr.Better("cy"),))  # cy is better than everybody else
>>> theta = cr.learn("ltrma-s3", features, cr.judgments(lists), side=side).annotators["theta"]
>>> bool(theta[2] <= min(theta) + 1e-6)
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
class LTRMAS3(LTRMAMLE):
    """Settings of LTRMA-S3: those of LTRMA-MLE."""

    description: ClassVar[Description] = Description(
        name="ltrma-s3",
        family="ltrma",
        summary="ltrma-mle with some annotators known to be better than others.",
        takes=("rankings", "grades"),
        takes_side_information=True,
    )

    def learn(self, features: Features, data: TrainingData, side: Side | None = None) -> Ranker:
        """A ranker from the lists of a crowd, given who is better than whom."""
        side = side or Side()
        require_side_information(self.description.name, bool(side.orders), "who is better than whom")
        return joint_ranker(self, features, data, side)
