"""How much each annotator's lists count, where the user says so."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence

import numpy as np

from crowdrank.settings import SettingError, is_number
from crowdrank.study import Floats, Vocabulary

Weights = Mapping[str, float] | Sequence[tuple[str, float]]


def check_weights(weights: Weights | None) -> tuple[tuple[str, float], ...] | None:
    """A weight above 0 for some annotators, by name; as a tuple, so that settings stay what they are."""
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


def annotator_weights(weights: tuple[tuple[str, float], ...] | None, vocabulary: Vocabulary) -> Floats:
    """The weight of each annotator, 1 for those that have none of their own."""
    if not weights:  # names of a hundred thousand annotators take a while
        return np.ones(len(vocabulary.annotators))
    names = [str(name) for name in vocabulary.annotators]
    known, result = {name: code for code, name in enumerate(names)}, np.ones(len(names))
    for name, weight in weights:
        if name not in known:
            near = difflib.get_close_matches(name, names, n=1)
            hint = (
                f" (did you mean {near[0]!r}?)"
                if near
                else f"; there are {', '.join(names[:5])}{' …' * (len(names) > 5)}"
            )
            raise SettingError(f"weights: there is no annotator {name!r}{hint}")
        result[known[name]] = weight
    return result
