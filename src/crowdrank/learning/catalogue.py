"""The learners by name, with their settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from crowdrank.catalogue import Catalogue
from crowdrank.learning.features import Features
from crowdrank.learning.labels import TrainingData
from crowdrank.learning.ranker import Learner, Ranker
from crowdrank.methods.catalogue import with_settings
from crowdrank.settings import SettingError

if TYPE_CHECKING:
    from crowdrank.learning.ltrma.side_information import Side

LEARNERS: Mapping[str, type[Learner]] = Catalogue("learning.")


class SideLearner(Learner, Protocol):
    """A learner whose description says `takes_side_information`."""

    def learn(self, features: Features, data: TrainingData, side: Side | None = None) -> Ranker:
        """A ranker from the features of items, the training data, and side information about the annotators."""


def learner(name: str, **settings: Any) -> Learner:
    """The learner of that name with these settings."""
    return with_settings(LEARNERS, name, settings)


def learn(name: str, features: Features, data: TrainingData, *, side: Side | None = None, **settings: Any) -> Ranker:
    """Learn to rank with the learner of that name; `side` is side information, for learners that take it.

    >>> import crowdrank as cr
    >>> features = cr.features({"item": ["x", "y", "z"], "age": [3, 1, 2]})
    >>> votes = cr.judgments({"annotator": ["a", "b"], "left": ["x", "x"], "right": ["y", "z"], "winner": ["y", "z"]})
    >>> cr.learn("listmle", features, votes, labels="bradley-terry").rank(features).ranking["item"].to_list()
    ['y', 'z', 'x']
    """
    return learn_with(learner(name, **settings), features, data, side)


def learn_with(chosen: Learner, features: Features, data: TrainingData, side: Side | None = None) -> Ranker:
    """Learn with these settings; an error where side information is given to a learner that does not take it."""
    if side is None:
        return chosen.learn(features, data)
    if not chosen.description.takes_side_information:
        others = [name for name, each in LEARNERS.items() if each.description.takes_side_information]
        raise SettingError(
            f"{chosen.description.name} does not use side information; these learners do: {', '.join(others)}"
        )
    return cast(SideLearner, chosen).learn(features, data, side=side)
