"""LTRMA-D: learning in two stages. First true orders and the annotators' expertise from the lists alone, then ListMLE.

The true order of a task and θ of every annotator are estimated as in ltrma-mle, but features are not used: all orders
are equally likely before anybody judged. The ranker is then trained on the mean place of each item. Errors of the first
stage are learned by the second.

Wu, You, Xia, Ma, Hu: Listwise learning to rank from crowds, TKDD 2016, section 3. Klementiev, Roth, Small: Unsupervised
rank aggregation with distance-based models, ICML 2008.

>>> import crowdrank as cr
>>> features = cr.features({"item": list("wxyz"), "age": [4, 3, 1, 2]})
>>> lists = {"annotator": ["ann"] * 3 + ["bob"] * 3 + ["cy"] * 3, "item": list("yxwyzxzyx"), "rank": [1, 2, 3] * 3}
>>> cr.learn("ltrma-d", features, cr.judgments(lists)).rank(features).ranking["item"].to_list()
['y', 'z', 'x', 'w']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crowdrank.learning.features import Features
from crowdrank.learning.labels import TrainingData, judgments_over
from crowdrank.learning.linear.listmle import fitted
from crowdrank.learning.ltrma.crowd_em import estimate
from crowdrank.learning.ltrma.ltrma_mle import LTRMAMLE
from crowdrank.learning.ltrma.side_information import Side
from crowdrank.learning.ranker import Ranker
from crowdrank.methods.protocols import Description


@dataclass(frozen=True, slots=True)
class LTRMAD(LTRMAMLE):
    """Settings of LTRMA-D: those of LTRMA-MLE."""

    description: ClassVar[Description] = Description(
        name="ltrma-d",
        family="ltrma",
        summary="True orders and expertise from the lists alone, then ListMLE.",
        takes=("rankings", "grades"),
        takes_side_information=True,
    )

    def learn(self, features: Features, data: TrainingData, side: Side | None = None) -> Ranker:
        """A ranker from the true orders estimated from the lists of a crowd."""
        judgments = judgments_over(features, data, self.description)
        found = estimate(self, features, judgments, side or Side(), weights=False)
        inputs, weights = fitted(features, found.label, self)
        notes = (*judgments.notes, *inputs.notes)
        return Ranker(
            self, features.columns, inputs.model(weights.x), found.columns, found.fit, notes, features.vocabulary.frame
        )
