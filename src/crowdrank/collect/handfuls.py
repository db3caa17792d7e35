"""Which handful of items an annotator should rank next.

A handful begins with the best pair, and takes the items one by one whose pairs with those it has tell most. What the
pairs are expected to tell narrows the draws of the scores, so that the next item brings something new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from crowdrank.collect.information import candidates, narrowed
from crowdrank.collect.limits import Limits
from crowdrank.collect.policies import MutualInformation, RankingPolicy
from crowdrank.collect.protocols import Known
from crowdrank.consensus import frame_of
from crowdrank.study import Codes, Vocabulary, ids

SHORTLIST = 256


class Handful(NamedTuple):
    """Entries for an annotator to rank, by code, and the expected information per unit of cost."""

    annotator: int
    entries: list[int]
    gain: float


def ranking_questions(known: Known, limits: Limits, available: Codes | None, count: int, policy: RankingPolicy) -> Any:
    """The handfuls to rank next: a data frame task, annotator, list, item, gain, a row for each item."""
    n_annotators = len(known.state.vocabulary.annotators)
    best = np.argsort(-np.abs(known.state.quality - 0.5) / limits.cost, kind="stable")
    asked = np.resize(best, count) if available is None else np.tile(available, count)
    found: list[Handful] = []
    known = replace(known, draws=known.expected_draws)
    for annotator in asked if n_annotators else ():
        handful = _handful(known, limits, int(annotator), policy)
        if handful is not None:
            found.append(handful)
            known = _expected(known, handful)
            one, other = np.array(list(combinations(handful.entries, 2))).T
            limits = limits.without(np.full(len(one), annotator), one, other)
    return _frame(found, known.state.vocabulary)


def _handful(known: Known, limits: Limits, annotator: int, policy: RankingPolicy) -> Handful | None:
    """The best handful for one annotator; None where no two items may be asked."""
    rng = np.random.default_rng(0)
    left, right = candidates(known.state, known.expected_draws, rng)
    permitted = np.flatnonzero(limits.permits(np.full(len(left), annotator), left, right))[:SHORTLIST]
    if not len(permitted):
        return None
    left, right = left[permitted], right[permitted]
    first = int(np.argmax(policy.worth(known, np.full(len(left), annotator), left, right, rng)))
    entries = [int(left[first]), int(right[first])]
    while len(entries) < policy.size:
        others = _others(known, limits, annotator, entries)
        if not len(others):
            break
        left, right = np.repeat(entries, len(others)), np.tile(others, len(entries))
        worth = policy.worth(known, np.full(len(left), annotator), left, right, rng)
        entries.append(int(others[np.argmax(worth.reshape(len(entries), -1).sum(axis=0))]))
    one, other = np.array(list(combinations(entries, 2))).T
    gain = MutualInformation(gamma=0.0).information(known, np.full(len(one), annotator), one, other).sum()
    return Handful(annotator, entries, float(gain / limits.cost[annotator]))


def _others(known: Known, limits: Limits, annotator: int, entries: list[int]) -> Codes:
    """The entries that the annotator may rank together with these; of a large task, those closest to them."""
    vocabulary = known.state.vocabulary
    task = vocabulary.entry_task[entries[0]]
    own = np.arange(*vocabulary.task_starts[task : task + 2])
    others = np.setdiff1d(own[limits.allowed[annotator, own]], entries)
    away = np.abs(known.state.mean[others] - known.state.mean[entries].mean())
    return np.sort(others[np.argsort(away, kind="stable")[:SHORTLIST]]).astype(np.int32)


def _expected(known: Known, handful: Handful) -> Known:
    """What is known, as the ranking is expected to leave it."""
    rate, draws = float(2 * known.state.quality[handful.annotator] - 1), known.expected_draws
    for one, other in combinations(handful.entries, 2):
        draws = narrowed(draws, one, other, rate)
    return replace(known, draws=draws)


def _frame(found: Sequence[Handful], vocabulary: Vocabulary) -> Any:
    """The handfuls with their names."""
    rows = [(number, each, entry) for number, each in enumerate(found, 1) for entry in each.entries]
    entry = np.array([row[2] for row in rows], dtype=np.int64)
    columns = {
        "task": vocabulary.tasks[vocabulary.entry_task[entry]],
        "annotator": vocabulary.annotators[[each.annotator for _, each, _ in rows]] if rows else ids([]),
        "list": np.array([number for number, _, _ in rows], dtype=np.int64),
        "item": vocabulary.items[vocabulary.entry_item[entry]],
        "gain": np.array([each.gain for _, each, _ in rows], dtype=np.float64),
    }
    return frame_of(columns, vocabulary.frame).to_native()
