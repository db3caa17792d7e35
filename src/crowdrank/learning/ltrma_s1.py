"""LTRMA-S1: ltrma-mle where θ of some annotators, or the truth about some tasks, is known.

An annotator whose θ is known counts for as much from the beginning, and is not re-estimated (with a confidence below ∞, is drawn towards
it). The truth about some tasks is a list by somebody who is never wrong: it fixes the order of their items, and so shows how good everybody
is who judged them. All other side information may be given, too.

Wu, You, Xia, Ma, Hu: Listwise learning to rank from crowds, TKDD 2016, section 4.

>>> import crowdrank as cr
>>> features = cr.features({"item": list("wxyz"), "age": [4, 3, 1, 2]})
>>> lists = {"annotator": ["ann"] * 3 + ["bob"] * 3 + ["cy"] * 3, "item": list("yxwyzxzyx"), "rank": [1, 2, 3] * 3}
>>> side = cr.Side(ranges=(cr.Range("cy", 0.5, 0.5),))  # cy is known to turn orders around
>>> float(cr.learn("ltrma-s1", features, cr.judgments(lists), side=side).annotators["theta"][2])
0.5
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crowdrank.learning.crowd_em import check_settings, joint_ranker, needs
from crowdrank.learning.features import Features
from crowdrank.learning.labels import Teaching
from crowdrank.learning.linear import Linear
from crowdrank.learning.ranker import Model, Ranker
from crowdrank.learning.side import Side
from crowdrank.study import Kind


@dataclass(frozen=True, slots=True)
class LTRMAS1:
    """Settings of LTRMA-S1."""

    name: ClassVar[str] = "ltrma-s1"
    takes: ClassVar[tuple[Kind, ...]] = ("rankings", "grades")
    model: ClassVar[type[Model]] = Linear

    top: int | None = None  # learn only so many of the first places of each task: for long lists
    samples: int = 20  # true orders of each task that the weights are fitted to, in every step
    sweeps: int = 20  # of the chain between two samples
    prior: float = 1.0  # weight of the penalty on squared weights
    max_iter: int = 60
    tol: float = 0.005  # the change of the chance to put neighbours right at which the fit has converged
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self)

    def learn(self, features: Features, teaching: Teaching, side: Side | None = None) -> Ranker:
        """A ranker from the lists of a crowd, given θ of some annotators, or the truth about some tasks."""
        side = side or Side()
        needs(self.name, bool(side.known or side.truth is not None), "θ of some annotators, or the truth about some tasks")
        return joint_ranker(self, features, teaching, side)
