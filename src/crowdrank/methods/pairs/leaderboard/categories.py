"""Scores within categories, with intervals: the overall score and the deviation together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import rank_within
from crowdrank.methods.pairs.leaderboard.posterior import EffectPosterior
from crowdrank.study import Judgments, ids


def category_columns(posterior: EffectPosterior, judgments: Judgments, name: str) -> dict[str, NDArray[Any]]:
    """Category by category, all entries in the order of their codes."""
    assert judgments.categories is not None
    parts = [_one_category(posterior, judgments, name, *each) for each in enumerate(judgments.categories)]
    return {title: np.concatenate([part[title] for part in parts]) for title in parts[0]}


def _one_category(
    posterior: EffectPosterior, judgments: Judgments, name: str, level: int, category: Any
) -> dict[str, NDArray[Any]]:
    words, pairs = judgments.vocabulary, judgments.pairs
    inside, deviation = posterior.within(name, level)
    votes = pairs.category == level
    count = sum(np.bincount(side[votes], minlength=words.n_entries) for side in (pairs.left, pairs.right))
    return {
        "category": ids([category] * words.n_entries),
        "task": words.tasks[words.entry_task],
        "item": words.items[words.entry_item],
        "rank": rank_within(inside.score, words.entry_task),
        "score": inside.score,
        **{name: inside.fields[name] for name in ("low", "high", "rank_low", "rank_high")},
        "deviation": deviation.middle,
        "deviation_low": deviation.low,
        "deviation_high": deviation.high,
        "judgments": np.asarray(count),
    }
