"""Weights that users give to annotators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from crowdrank.settings import SettingError, did_you_mean, is_number
from crowdrank.study import Floats, Vocabulary

Weights = tuple[tuple[str, float], ...] | None
GivenWeights = Mapping[str, float] | Sequence[tuple[str, float]]


def check_weights(weights: GivenWeights | None) -> Weights:
    """Weights above 0 of some annotators, by name; as a tuple, because settings are immutable."""
    if weights is None:
        return None
    try:
        pairs = tuple(
            (str(name), weight) for name, weight in (weights.items() if isinstance(weights, Mapping) else weights)
        )
    except (TypeError, ValueError):
        raise SettingError(f"weights is {weights!r}; it must be a weight for each name, like {{'bm25': 2.0}}") from None
    for name, weight in pairs:
        if not (is_number(weight) and 0 < weight < math.inf):
            raise SettingError(f"weights has {weight!r} for {name!r}; it must be a number above 0")
    return pairs


def annotator_weights(weights: Weights, vocabulary: Vocabulary) -> Floats:
    """The weight of each annotator; 1 where none is given."""
    if not weights:  # the table of names takes time with a hundred thousand annotators
        return np.ones(len(vocabulary.annotators))
    names = [str(name) for name in vocabulary.annotators]
    known, result = {name: code for code, name in enumerate(names)}, np.ones(len(names))
    for name, weight in weights:
        if name not in known:
            known_names = f"; there are {', '.join(names[:5])}{' …' * (len(names) > 5)}"
            hint = did_you_mean(name, names) or known_names
            raise SettingError(f"weights: there is no annotator {name!r}{hint}")
        result[known[name]] = weight
    return result
