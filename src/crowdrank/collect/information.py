"""How much the answer to a question is expected to tell, over draws of the posterior.

With quality η the first of two items wins with the chance ½ + (2η − 1)(σ(gap) − ½). Draws of the gap give draws of the
chances of all answers. From these follow, for every question,

- the mutual information of the answer and the scores, H(mean chance) − mean H(chance), in nats;
- that of the answer and the annotator's quality, by its variance;
- by how much the answer is expected to reduce the variance of any quantity that has a value in every draw, such as the
  places of the two items in the ranking: Σ over the answers  cov(chance, quantity)² / mean chance.

An answer that is still outstanding is expected to narrow the draws along the gap of its two items, and everything that
depends on that gap with it: the batch goes on with the narrowed draws.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.belief import Draws
from crowdrank.collect.state import State
from crowdrank.study import Codes, Floats

TINY = np.float32(1e-12)
NEIGHBOURS = 8  # places apart in the ranking: pairs further apart are rarely worth a question
WIDE = 8  # entries of the largest variance, which are compared with all of their task
BY_LOT = 500  # further pairs, drawn at random
PROMISING = 1024  # candidates that come first, in their order
ALL_PAIRS = 2_000  # up to so many are all candidates
CELLS, POOL = 512, 4096  # of a table of places, and draws that it is made from


SMALLEST_SCALE = 0.05  # of a draw, relative to the mean of all


class Chances(NamedTuple):
    """The chances of the answers to some questions: draw × question."""

    lead: Draws  # σ(gap) − ½
    first: Draws  # of the answer that the first entry is better
    second: Draws
    tie: Draws | None


def of_one_scale(draws: Any, starts: NDArray[np.int64]) -> tuple[Any, Floats]:
    """The draws, relative to the means of their tasks, with the same scale of all scores; the logarithms of the scales.

    The scale is known less well than the order, which does not depend on it. While nothing is known about the scores,
    their draws have no scale in common, and stay as they are.
    """
    sizes = np.diff(starts)
    if not draws.size:
        return draws, np.zeros(len(draws))
    means = np.add.reduceat(draws, starts[:-1][sizes > 0], axis=1) / sizes[sizes > 0]
    centred = draws - np.repeat(means, sizes[sizes > 0], axis=1)
    middle = centred.mean(axis=0)
    size = float(middle @ middle)
    known = size / max(size + float(centred.var(axis=0).sum()), 1e-30)
    along = centred @ middle / max(size, 1e-30)
    logs = np.log(np.maximum(1 + known * (along - 1), SMALLEST_SCALE))
    logs -= logs.mean()
    return centred / np.exp(logs)[:, None], logs


def chances(gap: Draws, rate: Draws, ties: float) -> Chances:
    """Of annotators whose mean 2η − 1 is `rate`, for each column of gaps."""
    lead = np.asarray(np.tanh(gap / 2) / 2, dtype=np.float32)
    first = 0.5 + rate * lead
    if not ties > 0:
        return Chances(lead, first, 1 - first, None)
    tie = np.asarray(ties / (ties + 2 * np.cosh(np.clip(rate * gap / 2, -40, 40))), dtype=np.float32)
    return Chances(lead, (1 - tie) * first, (1 - tie) * (1 - first), tie)


def mutual_information(found: Chances) -> Floats:
    """Of the answer and the scores, for each question, in nats."""
    total = np.zeros(found.first.shape[1])
    for chance in (found.first, found.second, found.tie):
        if chance is not None:
            mean = chance.mean(axis=0)
            inside = chance * np.log(chance + TINY)
            total += inside.mean(axis=0) - mean * np.log(mean + TINY)
    return np.maximum(total, 0.0)


def quality_information(found: Chances, rate: Draws, variance: Floats) -> Floats:
    """Of the answer and the annotator's quality, to the second order."""
    square = (found.lead**2).mean(axis=0)
    return np.asarray(2 * variance * square / np.maximum(0.25 - rate**2 * square, 0.05))


def variance_reduction(found: Chances, of_left: Draws, of_right: Draws) -> Floats:
    """By how much an answer is expected to reduce the variances of two quantities of mean 0, one for each entry."""
    total = np.zeros(found.first.shape[1])
    for chance in (found.first, found.second, found.tie):
        if chance is not None:
            mean = chance.mean(axis=0)
            away = chance - mean
            for quantity in (of_left, of_right):
                total += (away * quantity).mean(axis=0) ** 2 / (mean + TINY)
    return total


def places(draws: Draws, starts: NDArray[np.int64], task: Codes) -> Draws:
    """The place of every entry in its task that its score makes likely, in every draw.

    It is how many draws of all entries are below it: unlike the rank in the same draw it depends on the entry's own
    score alone, and is less random.
    """
    found = np.zeros_like(draws)
    for number in np.unique(task):
        own = slice(starts[number], starts[number + 1])
        score = draws[:, own]
        low, high = float(score.min()), float(score.max())
        step = max(high - low, 1e-6) / CELLS
        pool = np.sort(score.ravel()[:: max(score.size // POOL, 1)])
        below = np.searchsorted(pool, low + step * (np.arange(CELLS + 1) + 0.5)) / len(pool) * score.shape[1]
        found[:, own] = below.astype(np.float32)[((score - low) / step).astype(np.int32)]
    return found


def memberships(draws: Draws, starts: NDArray[np.int64], task: Codes, k: int) -> Draws:
    """1 where an entry is among the best k of its task in a draw, else 0."""
    found = np.ones_like(draws)
    for number in np.unique(task):
        own = slice(starts[number], starts[number + 1])
        score = draws[:, own]
        if score.shape[1] > k:
            edge = np.partition(score, -k, axis=1)[:, [-k]]
            found[:, own] = score >= edge
    return found


def narrowed(draws: Draws, left: int, right: int, rate: float) -> Draws:
    """The draws as an answer about two entries is expected to leave them."""
    centre = draws.mean(axis=0)
    away = draws - centre
    gap = away[:, left] - away[:, right]
    variance = float((gap**2).mean())
    if not variance > 0:
        return draws
    slope = 0.25 / np.cosh(np.clip((draws[:, left] - draws[:, right]) / 2, -40, 40)) ** 2
    chance = float(0.5 + rate * np.tanh((draws[:, left] - draws[:, right]) / 2).mean() / 2)
    precision = (rate * float(slope.mean())) ** 2 / (chance * (1 - chance))
    lost = 1 - (1 + precision * variance) ** -0.5
    covariance = gap @ away / len(gap)
    return np.asarray(centre + away - np.outer(lost / variance * gap, covariance), dtype=np.float32)


def candidates(state: State, draws: Draws, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Pairs that may be worth a question, the most promising first, some of them twice.

    They are neighbours in the ranking, pairs with an entry of which little is known, and some by lot.
    """
    starts = state.vocabulary.task_starts
    sizes = np.diff(starts)
    if int((sizes * (sizes - 1) // 2).sum()) <= ALL_PAIRS:
        pairs = [np.add(np.triu_indices(size, 1), start) for start, size in zip(starts, sizes, strict=False)]
        left, right = np.concatenate(pairs, axis=1) if pairs else np.zeros((2, 0), np.int64)
        return left.astype(np.int32), right.astype(np.int32)
    task, mean, variance = state.vocabulary.entry_task, draws.mean(axis=0), draws.var(axis=0)
    order = np.lexsort((mean, task))
    lefts, rights = [], []
    for apart in range(1, NEIGHBOURS + 1):
        lefts.append(order[:-apart])
        rights.append(order[apart:])
    for entry in np.argpartition(variance, -WIDE)[-WIDE:]:
        others = np.arange(starts[task[entry]], starts[task[entry] + 1])
        lefts.append(np.full(len(others), entry))
        rights.append(others)
    lefts.append(rng.integers(0, len(task), BY_LOT))
    rights.append(starts[task[lefts[-1]]] + rng.integers(0, sizes[task[lefts[-1]]]))
    left, right = np.concatenate(lefts), np.concatenate(rights)
    distinct = (task[left] == task[right]) & (left != right)
    left, right = left[distinct].astype(np.int32), right[distinct].astype(np.int32)
    worth = promise(mean[left] - mean[right], variance[left] + variance[right])
    best = np.argpartition(-worth, min(PROMISING, len(worth) - 1))
    best[:PROMISING] = best[:PROMISING][np.argsort(-worth[best[:PROMISING]], kind="stable")]
    return left[best], right[best]


def promise(gap: NDArray[Any], variance: NDArray[Any]) -> NDArray[Any]:
    """About proportional to the mutual information of a vote, from the mean and variance of a gap."""
    lead = np.tanh(gap / np.sqrt(4 + 1.6 * variance))
    return np.asarray(variance / (1 + variance / 4) * (1 - lead * lead) ** 2)
