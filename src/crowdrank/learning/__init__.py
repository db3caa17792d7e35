"""Learning to rank from crowds: features of items and what people say of them go in, a ranking function comes out.

A learner is a frozen dataclass of settings with `name`, `takes`, `model` and `learn(features, teaching) -> Ranker` (`ranker.py`). The
teaching is judgments, or for learners of one label per item (the two-stage way) also the consensus of any method, or gold:

- `judgments_over(features, teaching, name, takes)` gives judgments in the codes of the features' entries: `features.value[entry]` is the
  row of an entry, and arrays by entry of either are arrays of the other (`labels.py`);
- `labels_over(features, teaching, name, method)` gives one label per entry, and the same as grades (`labels.py`).

A `Ranker` holds the model (`Linear`, trees: anything with `score`, `state` and `restore`), the names of the columns it was learned from,
what was found out about annotators (the columns of a `Consensus`, built with `methods.result.annotator_columns`), and how the fit ended.
Its `rank(features)` is a `Consensus`; `cr.save` and `cr.load_ranker` write and read it. Adding a learner is: one file here, one test
file, one row in LEARNERS.
"""

from __future__ import annotations

from inspect import signature
from typing import Any

from crowdrank.learning.features import Features
from crowdrank.learning.gda_pw_mart import GDAPWMART
from crowdrank.learning.labels import Teaching
from crowdrank.learning.lambdamart import LambdaMART
from crowdrank.learning.listmle import ListMLE
from crowdrank.learning.lregma import LRegMA
from crowdrank.learning.ltrma_d import LTRMAD
from crowdrank.learning.ltrma_mle import LTRMAMLE
from crowdrank.learning.ltrma_s1 import LTRMAS1
from crowdrank.learning.ltrma_s2 import LTRMAS2
from crowdrank.learning.ltrma_s3 import LTRMAS3
from crowdrank.learning.ranker import Learner, Ranker
from crowdrank.learning.side import Side
from crowdrank.methods import with_settings
from crowdrank.settings import SettingError

LEARNERS: dict[str, type[Learner]] = {
    "listmle": ListMLE,
    "ltrma-d": LTRMAD,
    "ltrma-mle": LTRMAMLE,
    "ltrma-s1": LTRMAS1,
    "ltrma-s2": LTRMAS2,
    "ltrma-s3": LTRMAS3,
    "lregma": LRegMA,
    "lambdamart": LambdaMART,
    "gda-pw-mart": GDAPWMART,
}


def learner(name: str, **settings: Any) -> Learner:
    """The learner of that name with these settings."""
    return with_settings(LEARNERS, name, settings)


def learn(name: str, features: Features, teaching: Teaching, *, side: Side | None = None, **settings: Any) -> Ranker:
    """Learn to rank with the learner of that name; `side` is what is known of annotators beforehand, for those that can use it.

    >>> import crowdrank as cr
    >>> features = cr.features({"item": ["x", "y", "z"], "age": [3, 1, 2]})
    >>> votes = cr.judgments({"annotator": ["ann", "bob"], "left": ["x", "x"], "right": ["y", "z"], "winner": ["y", "z"]})
    >>> cr.learn("listmle", features, votes, labels="bradley-terry").rank(features).ranking["item"].to_list()
    ['y', 'z', 'x']
    """
    return learn_with(learner(name, **settings), features, teaching, side)


def learn_with(chosen: Learner, features: Features, teaching: Teaching, side: Side | None = None) -> Ranker:
    """Learn with these settings; side information is refused where there is no use for it."""
    if side is None:
        return chosen.learn(features, teaching)
    if not takes_side(type(chosen)):
        raise SettingError(
            f"{chosen.name} does not use side information; {', '.join(each for each in LEARNERS if takes_side(LEARNERS[each]))} do"
        )
    return chosen.learn(features, teaching, side=side)  # type: ignore[call-arg]


def takes_side(chosen: type[Learner]) -> bool:
    """Does its `learn` take side information?"""
    return "side" in signature(chosen.learn).parameters
