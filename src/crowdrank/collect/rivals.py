"""Policies of other papers, written from them. They treat all annotators alike, and leave ties out.

- `asap`: Mikhailiuk, Wilmot, Perez-Ortiz, Yue, Mantiuk: Active sampling for pairwise comparisons via approximate
  message passing and information gain maximization, ICPR 2020. The posterior of all scores by message passing over all
  comparisons (Thurstone's model), the expected information gain of every pair, and batches that are spanning trees.
- `hybrid-mst`: Li, Mantiuk, Wang, Ling, Le Callet: Hybrid-MST, a hybrid active sampling strategy for pairwise
  preference aggregation, NeurIPS 2018. Bradley-Terry scores with their covariance, mutual information by quadrature;
  spanning trees until every pair could have been asked once, then the best pair.
- `sorting`: Maystre, Grossglauser: Just sort it! A simple and effective approach to active preference learning, ICML
  2017. Quicksort, again and again, with pivots at random.
- `swiss`: rounds of a tournament, in each of which every entry meets one that is close to it in the ranking.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.protocols import Asks, Known
from crowdrank.methods.pairs.votes.model import logistic
from crowdrank.numerics.ranks import normal_below
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats

SWEEPS, DAMPING = 30, 0.5
NEWTON_STEPS = 25
WEAK_PRIOR = 0.1  # precision of Bradley-Terry scores, which are infinite where an entry has only won
IN_TREE = 100.0  # nats: more than any pair outside the tree brings
NODES, SHARES = np.polynomial.hermite_e.hermegauss(15)
SHARES = SHARES / SHARES.sum()


@dataclass(frozen=True, slots=True)
class Asap:
    """Expected information gain of the full posterior, in spanning trees (Mikhailiuk et al. 2020)."""

    name: ClassVar[str] = "asap"
    asks: ClassVar[Asks] = "pairs"
    local: ClassVar[bool] = False
    epsilon: ClassVar[float] = 0.0

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """The gain of a pair; pairs of the tree come first."""
        mean, variance = _messages(*_decided(known))
        gain = _gain(mean[left] - mean[right], variance[left], variance[right])
        tree = _tree(known, lambda i, j: _gain(mean[i] - mean[j], variance[i], variance[j]))
        return gain + IN_TREE * _is_in(tree, left, right, len(mean))


@dataclass(frozen=True, slots=True)
class HybridMst:
    """Mutual information under Bradley-Terry, in spanning trees at first (Li et al. 2018)."""

    name: ClassVar[str] = "hybrid-mst"
    asks: ClassVar[Asks] = "pairs"
    local: ClassVar[bool] = False
    epsilon: ClassVar[float] = 0.0

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """The information of a pair; pairs of the tree come first, until every pair could have been asked once."""
        mean, covariance = _bradley_terry(*_decided(known))
        spread = np.diagonal(covariance)

        def gain(i: Any, j: Any) -> Floats:
            return _quadrature(mean[i] - mean[j], spread[i] + spread[j] - 2 * covariance[i, j])

        sizes = np.diff(known.state.vocabulary.task_starts)
        if len(known.left) > (sizes * (sizes - 1) // 2).sum():
            return gain(left, right)
        return gain(left, right) + IN_TREE * _is_in(_tree(known, gain), left, right, len(mean))


@dataclass(frozen=True, slots=True)
class Sorting:
    """The comparisons of quicksort, run again and again (Maystre and Grossglauser 2017)."""

    name: ClassVar[str] = "sorting"
    asks: ClassVar[Asks] = "pairs"
    local: ClassVar[bool] = False
    epsilon: ClassVar[float] = 0.0

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """1 for what quicksort needs to know now; others by lot."""
        n = known.state.vocabulary.n_entries
        wanted = np.array(_quicksort_asks(known), dtype=np.int64)
        return _is_in(wanted, left, right, n) + rng.random(len(left)) / 2


@dataclass(frozen=True, slots=True)
class Swiss:
    """Rounds in which every entry meets one close to it in the ranking."""

    name: ClassVar[str] = "swiss"
    asks: ClassVar[Asks] = "pairs"
    local: ClassVar[bool] = False
    epsilon: ClassVar[float] = 0.0

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """Entries with the fewest judgments first, of these the closest."""
        rounds = known.compared[left] + known.compared[right]
        gap = np.abs(known.state.mean[left] - known.state.mean[right])
        return np.asarray(-rounds - gap / (1 + gap) - 1e-6 * rng.random(len(left)))


def _decided(known: Known) -> tuple[bytes, bytes, int]:
    """Winners and losers of the comparisons so far, and the number of entries: what a fit depends on."""
    won = known.outcome > 0
    decided = known.outcome != 0
    winner, loser = np.where(won, known.left, known.right), np.where(won, known.right, known.left)
    return (
        winner[decided].astype(np.int32).tobytes(),
        loser[decided].astype(np.int32).tobytes(),
        known.state.vocabulary.n_entries,
    )


@lru_cache(maxsize=4)
def _messages(winners: bytes, losers: bytes, n: int) -> tuple[Floats, Floats]:
    """Mean and variance of every score by message passing: the prior is N(0, 1), the chance to win Φ(gap)."""
    winner, loser = (np.frombuffer(codes, np.int32) for codes in (winners, losers))
    sides = winner, loser
    precision, pull = np.zeros((2, 2, len(winner)))  # the messages to winners and losers
    total, pulled = np.ones(n), np.zeros(n)
    for _ in range(SWEEPS):
        cavity = [total[side] - precision[at] for at, side in enumerate(sides)]
        mean = [(pulled[side] - pull[at]) / cavity[at] for at, side in enumerate(sides)]
        new_mean, new_variance = _after_win(mean[0], mean[1], 1 / cavity[0], 1 / cavity[1])
        for at in range(2):
            wanted = np.maximum(1 / new_variance[at] - cavity[at], 1e-9)
            wanted_pull = new_mean[at] / new_variance[at] - mean[at] * cavity[at]
            precision[at] += DAMPING * (wanted - precision[at])
            pull[at] += DAMPING * (wanted_pull - pull[at])
        total = 1 + sum_by(winner, precision[0], n) + sum_by(loser, precision[1], n)
        pulled = sum_by(winner, pull[0], n) + sum_by(loser, pull[1], n)
    return np.asarray(pulled / total), np.asarray(1 / total)


def _after_win(
    mean: Floats, other_mean: Floats, variance: Floats, other_variance: Floats
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Means and variances of two scores after the first won (TrueSkill)."""
    error = np.sqrt(variance + other_variance + 1)
    t = (mean - other_mean) / error
    ratio = np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) / np.maximum(normal_below(t), 1e-12)
    ratio = np.where(t < -7, -t, ratio)
    less = np.clip(ratio * (ratio + t), 0.0, 1 - 1e-9)
    means = mean + variance / error * ratio, other_mean - other_variance / error * ratio
    variances = variance * (1 - variance / error**2 * less), other_variance * (1 - other_variance / error**2 * less)
    return means, variances


def _gain(gap: Floats, variance: Floats, other_variance: Floats) -> Floats:
    """The expected information gain of a comparison: KL of both scores, after and before, over both answers."""
    win = normal_below(gap / np.sqrt(variance + other_variance + 1))
    total = np.zeros(len(gap))
    for chance, sign in ((win, 1.0), (1 - win, -1.0)):
        means, variances = _after_win(sign * gap, np.zeros(len(gap)), variance, other_variance)
        for shift, after, before in (
            (means[0] - sign * gap, variances[0], variance),
            (means[1], variances[1], other_variance),
        ):
            total += chance * (after / before - 1 - np.log(after / before) + shift**2 / before) / 2
    return total


@lru_cache(maxsize=4)
def _bradley_terry(winners: bytes, losers: bytes, n: int) -> tuple[Floats, Floats]:
    """The scores and their covariance, by Newton's method."""
    winner, loser = (np.frombuffer(codes, np.int32).astype(np.int64) for codes in (winners, losers))
    score = np.zeros(n)
    covariance: Floats = np.eye(n)
    for _ in range(NEWTON_STEPS):
        chance = logistic(score[winner] - score[loser])
        weight = chance * (1 - chance)
        links = np.bincount(winner * n + loser, weight, n * n).reshape(n, n)
        links = links + links.T
        hessian = np.diag(links.sum(axis=1) + WEAK_PRIOR) - links
        gradient = np.bincount(winner, 1 - chance, n) - np.bincount(loser, 1 - chance, n) - WEAK_PRIOR * score
        covariance = np.asarray(np.linalg.inv(hessian), dtype=np.float64)
        step = covariance @ gradient
        score = score + step * min(1.0, 2 / max(float(np.abs(step).max(initial=0.0)), 1e-9))
        if np.abs(step).max(initial=0.0) < 1e-6:
            break
    return score, covariance


def _quadrature(gap: Floats, variance: Floats) -> Floats:
    """The mutual information of a vote and a normal gap."""
    chance = logistic(gap[:, None] + np.sqrt(np.maximum(variance, 0.0))[:, None] * NODES)
    return np.maximum(_entropy(chance @ SHARES) - _entropy(chance) @ SHARES, 0.0)


def _entropy(chance: Floats) -> Floats:
    other = 1 - chance
    return np.asarray(-chance * np.log(np.maximum(chance, 1e-300)) - other * np.log(np.maximum(other, 1e-300)))


def _tree(known: Known, gain: Callable[[Any, Any], Floats]) -> NDArray[np.int64]:
    """The keys of the pairs in the spanning tree of every task that gains most."""
    from scipy.sparse.csgraph import minimum_spanning_tree  # not at the top: other policies do not need SciPy

    starts, n = known.state.vocabulary.task_starts.tolist(), known.state.vocabulary.n_entries
    keys = []
    for start, end in pairwise(starts):
        i, j = np.triu_indices(end - start, 1)
        if not len(i):
            continue
        cost = np.zeros((end - start, end - start))
        cost[i, j] = 1 / np.maximum(gain(i + start, j + start), 1e-9)
        one, other = minimum_spanning_tree(cost).nonzero()
        keys.append((np.minimum(one, other) + start) * np.int64(n) + np.maximum(one, other) + start)
    return np.concatenate(keys) if keys else np.zeros(0, np.int64)


def _is_in(keys: NDArray[np.int64], left: Codes, right: Codes, n: int) -> Floats:
    """1 for the pairs whose keys these are, else 0."""
    pairs = np.minimum(left, right).astype(np.int64) * n + np.maximum(left, right)
    return np.isin(pairs, keys).astype(np.float64)


def _quicksort_asks(known: Known) -> list[int]:
    """The keys of the pairs whose order quicksort needs next, in the run that is not complete yet.

    Every run uses up answers in their order; what the runs before did not use is there for the next.
    """
    n = known.state.vocabulary.n_entries
    answers: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    for i, j, outcome in zip(known.left.tolist(), known.right.tolist(), known.outcome.tolist(), strict=True):
        answers[min(i, j), max(i, j)].append(i if outcome >= 0 else j)
    starts = known.state.vocabulary.task_starts.tolist()
    asked: list[int] = []
    for start, end in pairwise(starts):
        for run in range(len(known.left) + 1):
            rng = np.random.default_rng((run, start))
            missing = list(_quicksort(list(range(start, end)), answers, rng))
            asked += [min(pair) * n + max(pair) for pair in missing]
            if missing or end - start < 2:
                break
    return asked


def _quicksort(
    entries: list[int], answers: dict[tuple[int, int], deque[int]], rng: np.random.Generator
) -> Iterator[tuple[int, int]]:
    """The comparisons that are missing; parts that are complete are sorted further."""
    parts = [entries]
    while parts:
        part = parts.pop()
        if len(part) < 2:
            continue
        pivot = part[int(rng.integers(len(part)))]
        better, worse, missing = [], [], False
        for entry in part:
            if entry == pivot:
                continue
            known = answers[min(entry, pivot), max(entry, pivot)]
            if not known:
                missing = True
                yield entry, pivot
            elif known.popleft() == entry:
                better.append(entry)
            else:
                worse.append(entry)
        if not missing:
            parts += [better, worse]
