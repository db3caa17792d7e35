"""Scores within categories, with intervals: the overall score and the deviation together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import rank_within
from crowdrank.methods.intervals import score_intervals
from crowdrank.methods.pairs.leaderboard.model import EffectModel
from crowdrank.methods.pairs.leaderboard.solver import Solution
from crowdrank.methods.pairs.votes.posterior import centred
from crowdrank.numerics.laplace import Spread
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.study import Floats, Judgments, Vocabulary, ids


def centred_covariance(covariance: Floats, vocabulary: Vocabulary) -> Floats:
    """That of scores relative to the mean of their task."""
    task = vocabulary.entry_task
    count = np.bincount(task, minlength=len(vocabulary.tasks))
    mean = (task[:, None] == task[None, :]) / count[task][:, None]
    left = covariance - mean @ covariance
    return np.asarray(left - left @ mean.T)


def category_columns(
    model: EffectModel, solution: Solution, judgments: Judgments, name: str
) -> dict[str, NDArray[Any]]:
    """Category by category, all entries in the order of their codes."""
    words, categories = judgments.vocabulary, judgments.categories
    assert categories is not None
    score = solution.values.core[: words.n_entries]
    parts = []
    for level, category in enumerate(categories):
        deviation, of_deviation, of_both = _moments(model, solution, name, level)
        parts.append(_one_category(judgments, level, category, score, deviation, of_deviation, of_both))
    return {title: np.concatenate([part[title] for part in parts]) for title in parts[0]}


def _moments(model: EffectModel, solution: Solution, name: str, level: int) -> tuple[Floats, Floats, Floats]:
    """The deviations in a category, their covariance, and that of overall scores plus deviations."""
    n, arrow = model.n_entries, solution.arrow
    core = arrow.core_inverse
    if model.blocked is not None and model.blocked.name == name:
        mapping = arrow.block_map[level]
        own = np.linalg.inv(arrow.information.block[level]) + mapping @ core @ mapping.T
        across = -core[:n] @ mapping.T
        deviation = solution.values.block[level]
    else:
        start = model.slices[name].start + level * n
        where = slice(start, start + n)
        deviation, own, across = solution.values.core[where], core[where, where], core[:n, where]
    return deviation, own, core[:n, :n] + own + across + across.T


def _one_category(
    judgments: Judgments, level: int, category: Any, overall: Floats, deviation: Floats, own: Floats, both: Floats
) -> dict[str, NDArray[Any]]:
    words = judgments.vocabulary
    score, deviation = centred(overall + deviation, words.entry_task), centred(deviation, words.entry_task)
    covariance = centred_covariance(both, words)
    spread = Spread(np.maximum(np.diag(covariance), 0.0), lambda one, other: covariance[one, other])
    rank = rank_within(score, words.entry_task)
    around = score_intervals(score, rank, words, spread)
    half = NORMAL_95_ROUNDED * np.sqrt(np.maximum(np.diag(centred_covariance(own, words)), 0.0))
    pairs = judgments.pairs
    inside = pairs.category == level
    count = sum(np.bincount(side[inside], minlength=words.n_entries) for side in (pairs.left, pairs.right))
    return {
        "category": ids([category] * words.n_entries),
        "task": words.tasks[words.entry_task],
        "item": words.items[words.entry_item],
        "rank": rank,
        "score": score,
        "low": around.low,
        "high": around.high,
        "rank_low": around.rank_low,
        "rank_high": around.rank_high,
        "deviation": deviation,
        "deviation_low": deviation - half,
        "deviation_high": deviation + half,
        "judgments": np.asarray(count),
    }
