"""What votes say about annotators: biases, self-consistency, agreement with trusted ones, what a vote is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.pairs.leaderboard.effect_kernels import EffectValues
from crowdrank.methods.pairs.leaderboard.model import EffectModel
from crowdrank.methods.pairs.leaderboard.posterior import EffectPosterior
from crowdrank.methods.pairs.votes.model import logistic
from crowdrank.methods.verdicts import FEWEST, QUALITY, crowd_posterior, words_for
from crowdrank.numerics.groups import run_starts, stable_order
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.numerics.sums import sum_by
from crowdrank.study import LEFT, Floats, Pairs

Columns = dict[str, NDArray[Any]]


def quality_columns(model: EffectModel, posterior: EffectPosterior, one_sided: NDArray[np.bool_]) -> Columns:
    """Quality with its interval, and the verdict."""
    odds = posterior.of_annotators(model.own["quality"], model.slices["mean quality"].start)
    low, mean, high = logistic(np.array(odds))
    logs = model.per_annotator("quality_logs", posterior.values, QUALITY, width=(len(QUALITY),))
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares = crowd_posterior(likelihood)
    verdict = words_for(np.broadcast_to(QUALITY, shares.shape), shares, likelihood)
    given = np.bincount(model.rows.annotator, model.rows.weight, len(shares))
    verdict[given < FEWEST] = "unclear"
    verdict[one_sided] = "one-sided"
    return {"quality": mean, "verdict": verdict, "quality_low": low, "quality_high": high}


def bias_columns(model: EffectModel, posterior: EffectPosterior, names: Sequence[str]) -> Columns:
    """Biases of annotators, the mean of all and their own together, and their readiness to tie; with intervals."""
    places = {"bias": ("left_bias", "mean bias", 0), "ties": ("tie_threshold", "mean ties", 0)}
    places |= {f"slope {j}": (f"bias_{name}", "coefficient", j) for j, name in enumerate(names)}
    columns: Columns = {}
    for own, at in model.own.items():
        if own == "quality":
            continue
        title, shared, offset = places[own]
        ends = np.array(posterior.of_annotators(at, model.slices[shared].start + offset))
        low, middle, high = np.exp(ends) if own == "ties" else ends
        columns |= {title: middle, f"{title}_low": low, f"{title}_high": high}
    return columns


def consistency_columns(pairs: Pairs, n_annotators: int) -> Columns:
    """How often annotators repeat their answer to a question asked again, in the same and in the other order.

    No columns where nobody was asked twice. Intervals are Wilson's, 95 %.
    """
    pairs = _asked_twice(pairs)
    question, swapped, answer = _questions(pairs)
    key = (question * n_annotators + pairs.annotator) * 6 + swapped * 3 + answer
    cell, count = np.unique(key, return_counts=True)
    group, start = np.unique(cell // 6, return_index=True)
    table = np.zeros((len(group), 2, 3))
    table.reshape(-1, 6)[np.repeat(np.arange(len(group)), np.diff(np.r_[start, len(cell)])), cell % 6] = count
    who = (group % n_annotators).astype(np.int32)
    asked = table.sum(axis=2)
    columns: Columns = {}
    for name, total, same in (
        ("repeat", (asked * (asked - 1) / 2).sum(axis=1), (table * (table - 1) / 2).sum(axis=(1, 2))),
        ("swap", asked.prod(axis=1), table.prod(axis=1).sum(axis=1)),
    ):
        totals, agreed = (sum_by(who, values, n_annotators) for values in (total, same))
        if totals.any():
            columns |= _share_columns(f"{name}_consistency", agreed, totals)
    return columns


def agreement_columns(pairs: Pairs, trusted: NDArray[np.bool_]) -> Columns:
    """How often annotators answer as (other) trusted ones did, on the same questions."""
    question, _, answer = _questions(pairs)
    size = int(question.max(initial=-1)) + 1
    own = trusted[pairs.annotator]
    given = np.bincount((question * 3 + answer)[own], minlength=size * 3).reshape(size, 3)
    others = given.sum(axis=1)[question] - own
    same = given[question, answer] - own
    known = others > 0
    n = len(trusted)
    totals = sum_by(pairs.annotator[known], np.ones(int(known.sum())), n)
    agreed = sum_by(pairs.annotator[known], same[known] / others[known], n)
    columns: Columns = {"trusted": trusted}
    return {**columns, **_share_columns("agreement", agreed, totals)}


def worth_columns(model: EffectModel, values: EffectValues, trusted: NDArray[np.bool_], quality: Columns) -> Columns:
    """What one vote of each annotator is worth in votes of a typical trusted one on the same pairs.

    That is the ratio of the information about the gap between the items. A deviation that untrusted annotators share is
    not part of it.
    """
    votes = np.bincount(model.rows.annotator, model.rows.weight, len(trusted))
    typical = float(np.average(quality["quality"][trusted], weights=votes[trusted] + 1e-9))
    plain = values._replace(own=np.zeros_like(values.own))
    usual = model.per_annotator("gap_information", plain, np.full(len(trusted), typical))
    middle, low, high = (
        model.per_annotator("gap_information", values, quality[name]) / np.maximum(usual, 1e-300)
        for name in ("quality", "quality_low", "quality_high")
    )
    crosses = (quality["quality_low"] < 0.5) & (quality["quality_high"] > 0.5)  # a spammer's vote is worth nothing
    least = np.where(crosses, 0.0, np.minimum(np.minimum(low, high), middle))
    known = votes > 0
    columns = {"worth": middle, "worth_low": least, "worth_high": np.maximum(np.maximum(low, high), middle)}
    return {name: np.where(known, values, np.nan) for name, values in columns.items()}


def _questions(pairs: Pairs) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The question of each pair, whether its order is swapped, and the answer by items, not by sides.

    A question is two items of a task, with their category and covariates: other covariates mean other answers.
    """
    swapped = pairs.left > pairs.right
    key = (np.minimum(pairs.left, pairs.right).astype(np.int64) << 32) + np.maximum(pairs.left, pairs.right)
    columns: list[NDArray[Any]] = [key]
    if pairs.category is not None:
        columns.append(pairs.category)
    if pairs.covariates is not None:
        sign = np.where(swapped, -1.0, 1.0)
        columns += [np.where(column == 0, 0.0, column * sign) for column in pairs.covariates.T]
    order = np.lexsort(columns[::-1])
    question = np.empty(len(pairs), np.int64)
    question[order] = np.cumsum(run_starts(*(column[order] for column in columns))) - 1
    answer = np.where(swapped, -pairs.outcome, pairs.outcome) + LEFT
    return question, swapped.astype(np.int64), answer.astype(np.int64)


def pairs_where(pairs: Pairs, keep: NDArray[Any]) -> Pairs:
    """Some of the pairs, by a mask or by their rows."""
    columns = {name: getattr(pairs, name) for name in Pairs.__slots__}
    kept: dict[str, Any] = {name: None if column is None else column[keep] for name, column in columns.items()}
    return Pairs(**kept)


def _asked_twice(pairs: Pairs) -> Pairs:
    """The votes of annotators who judged the same two items more than once."""
    first, second = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    order = stable_order([pairs.annotator, first, second])
    new = run_starts(pairs.annotator[order], first[order], second[order])
    single = new & np.append(new[1:], True)
    return pairs_where(pairs, np.sort(order[~single]))


def _share_columns(name: str, agreed: Floats, total: Floats) -> Columns:
    """A share with Wilson's interval, and the number that it is a share of."""
    count = np.maximum(total, 1.0)
    share, z = agreed / count, NORMAL_95_ROUNDED
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * np.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2) / (1 + z * z / count)
    known = total > 0
    values = {name: share, f"{name}_low": centre - half, f"{name}_high": centre + half}
    columns: Columns = {title: np.where(known, np.clip(column, 0.0, 1.0), np.nan) for title, column in values.items()}
    return {**columns, f"{name}_count": total.astype(np.int64)}
