"""LTRMA-MLE: a ranker, the true orders and the expertise of the annotators, estimated together from lists.

The true order of a task is drawn by the scores of its items (Plackett-Luce), which are linear in the features; each
annotator's list is a noisy copy of it (Mallows), the less noisy the lower their θ:

    P(list | order) ∝ exp(θ · the number of pairs in the opposite order)

θ is far below 0 for an accurate annotator, 0 for one who guesses, above 0 for one who reverses the order. The features
of a task help to find the annotators who are right about it, and these determine what is learned from it. Lists may
have any length, ties, and missing items; grades are lists with ties. With `top`, only the first places of each task are
estimated, and lists are cut there, which makes long lists as cheap as short ones. `annotators` has `theta` beside
quality, the share of an annotator's pairs that are in the true order.

Side information (`side_information.py`) gives what is known about annotators or tasks: θ or a range of it, who is
better than whom, the true order of some tasks. ltrma-s1, ltrma-s2 and ltrma-s3 are the same learner, and require some
of it.

Wu, You, Xia, Ma, Hu: Listwise learning to rank from crowds, TKDD 2016. Different here: moves over neighbours, at a cost
that does not grow with the annotators, instead of random transpositions; all samples instead of the most likely one in
the M-step; momentum from step to step; and top-k distances as sums over pairs.

>>> import crowdrank as cr
>>> features = cr.features({"item": list("wxyz"), "age": [4, 3, 1, 2]})
>>> lists = {"annotator": ["ann"] * 3 + ["bob"] * 3 + ["cy"] * 3, "item": list("yxwyzxzyx"), "rank": [1, 2, 3] * 3}
>>> cr.learn("ltrma-mle", features, cr.judgments(lists)).rank(features).ranking["item"].to_list()
['y', 'z', 'x', 'w']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crowdrank.learning.features import Features
from crowdrank.learning.labels import TrainingData
from crowdrank.learning.linear.model import Linear
from crowdrank.learning.ltrma.crowd_em import check_settings, joint_ranker
from crowdrank.learning.ltrma.side_information import Side
from crowdrank.learning.ranker import Model, Ranker
from crowdrank.methods.protocols import Description


@dataclass(frozen=True, slots=True)
class LTRMAMLE:
    """Settings of LTRMA-MLE."""

    description: ClassVar[Description] = Description(
        name="ltrma-mle",
        family="ltrma",
        summary="True orders, expertise and ranker estimated together; partial lists, ties, top-k.",
        takes=("rankings", "grades"),
        takes_side_information=True,
    )
    model: ClassVar[type[Model]] = Linear

    top: int | None = None  # learn only so many of the first places of each task: for long lists
    samples: int = 10  # true orders of each task that the weights are fitted to, in every step
    sweeps: int = 10  # of the chain between two samples
    penalty: float = 1.0  # weight of the penalty on squared weights
    max_iter: int = 100
    tol: float = 0.005  # converged when the chance to put neighbours right changes by less than this
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self)

    def learn(self, features: Features, data: TrainingData, side: Side | None = None) -> Ranker:
        """A ranker from the lists of a crowd, and side information."""
        return joint_ranker(self, features, data, side or Side())
