"""How many more judgments a rule will take: the rest of the collection, simulated from what is believed now.

Each path takes a draw of the posterior as the truth, and draws the quality of every annotator. Annotators come as often
as they came so far, and now and then somebody new. They answer what the policy asks, and the posterior follows by the
information in the answers (a normal approximation, task by task), until the rule holds. Answers tell less than they
would if quality were known: how much less is what the answers so far show.

How far apart all scores are, their scale, is known less well than their order: larger scores of a worse crowd explain
the same answers. So a draw is its scale times scores of the usual scale, and both are followed by themselves. The order
does not depend on the scale; widths do, and change with what is believed about it. They are found from a limited number
of draws, so they are too large or too small by chance, now and after every fit to come.

The paths differ as the future may: their median and their tenth and ninetieth percentile are the forecast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.information import of_one_scale, promise
from crowdrank.collect.state import State
from crowdrank.methods.pairs.votes.posterior import effective_number
from crowdrank.numerics.seeds import generator
from crowdrank.numerics.special import NORMAL_95
from crowdrank.study import Floats

MOST_PATHS, FEWEST_PATHS = 40, 10
GROWTH, SHORTEST_STEP = 0.08, 10  # of a step of a path: a share of the judgments so far, and at least so many
LONGEST = 100  # times as many judgments as now: further ahead nothing is said
LARGEST_BLOCK = 400  # entries of a task whose covariances are followed; of a larger one, only variances
MOST_WORK = 3e9  # arithmetic operations: some seconds
END_ERROR = 2.67  # of the end of a 95 % interval from one draw, in standard deviations: √(.025 × .975) / φ(1.96)
ORDERS = 200  # draws of an order in a simulated posterior
MOST_CALIBRATED, BISECTIONS = 20, 12  # tasks, and steps, by which it is found how much judgments tell


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """What is believed about the entries of a task, if the scale of all scores were known."""

    draws: Floats
    precision: Floats  # a matrix; of a large task, its diagonal
    width: Floats  # of the intervals now


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """What is believed about all tasks, and about the logarithm of the scale, which is 0 on average."""

    blocks: Sequence[Block]
    log_scale: Floats  # of every draw
    judgments: float  # so far

    @property
    def scale_precision(self) -> float:
        """Of the logarithm of the scale."""
        return 1 / max(float(self.log_scale.var()), 1e-6)

    @property
    def width_error(self) -> float:
        """How random the widths of a fit are, relative to the standard error of the logarithm of the scale."""
        return float(END_ERROR / np.sqrt(effective_number(self.log_scale[:, None])))


class Path:
    """One possible future. It is changed in place."""

    def __init__(
        self, beliefs: Beliefs, number: int, informed: bool, crowd: ComingAnnotators, told: float = 1.0
    ) -> None:
        self.blocks, self.informed, self.crowd, self.told = beliefs.blocks, informed, crowd, told
        draw = number % len(beliefs.log_scale)
        self.truth = [block.draws[draw] for block in self.blocks]
        self.precision = [block.precision.copy() for block in self.blocks]
        self.pull = [_times(block.precision, block.draws.mean(axis=0)) for block in self.blocks]
        self.true_log_scale, self.log_scale = beliefs.log_scale[draw], 0.0
        self.scale_precision = beliefs.scale_precision
        self.scale_information = self.scale_precision / beliefs.judgments  # of a judgment
        self.width_error = beliefs.width_error
        self.luck = self.chance = self._chance()
        self.mean: list[Floats] = []
        self.covariance: list[Floats] = []
        self._update()
        self.shape = [block.width / width for block, width in zip(self.blocks, self._normal_widths(), strict=True)]

    def _update(self) -> None:
        """Means and covariances from precisions."""
        self.covariance = [np.asarray(np.linalg.inv(each) if each.ndim == 2 else 1 / each) for each in self.precision]
        self.mean = [_times(c, pull) for c, pull in zip(self.covariance, self.pull, strict=True)]

    def step(self, votes: float) -> None:
        """So many more judgments."""
        for at, (i, j, share) in enumerate(self._pairs()):
            gap = self.truth[at][i] - self.truth[at][j]
            weight = votes * share * self.told * self.crowd.information(gap)
            seen = weight * gap + np.sqrt(weight) * self.crowd.rng.standard_normal(len(gap))
            n, precision = len(self.truth[at]), self.precision[at]
            self.pull[at] += np.bincount(i, seen, n) - np.bincount(j, seen, n)
            own = np.bincount(i, weight, n) + np.bincount(j, weight, n)
            if precision.ndim == 1:
                precision += own
            else:
                precision[np.arange(n), np.arange(n)] += own
                np.subtract.at(precision, (i, j), weight)
                np.subtract.at(precision, (j, i), weight)
        self._learn_scale(votes * self.scale_information)
        self._update()

    def _learn_scale(self, information: float) -> None:
        """The scale is estimated anew, with so much more information about it."""
        seen = self.true_log_scale + self.crowd.rng.standard_normal() / np.sqrt(information)
        total = self.scale_precision + information
        self.log_scale += information / total * (seen - self.log_scale)
        self.scale_precision = total
        self.chance = self._chance()

    def _chance(self) -> float:
        """By how much widths are too large, as a logarithm, because draws are limited."""
        return float(self.width_error * self.crowd.rng.standard_normal() / np.sqrt(self.scale_precision))

    def _pairs(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]]:
        """Of each task, the pairs that are asked, and their shares of all questions."""
        found: list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]] = []
        for mean, covariance in zip(self.mean, self.covariance, strict=True):
            i, j = np.triu_indices(len(mean), 1) if len(mean) <= LARGEST_BLOCK else _near(mean)
            variance = covariance if covariance.ndim == 1 else covariance.diagonal()
            spread = variance[i] + variance[j] - (0.0 if covariance.ndim == 1 else 2 * covariance[i, j])
            worth = promise(mean[i] - mean[j], spread) if self.informed else np.ones(len(i))
            found.append((i, j, worth))
        if self.informed:  # of each task as many pairs as entries, the best ones
            for at, (i, j, worth) in enumerate(found):
                best = np.argsort(-worth, kind="stable")[: len(self.mean[at])]
                found[at] = i[best], j[best], worth[best]
        total = sum(float(worth.sum()) for _, _, worth in found)
        return [(i, j, np.asarray(worth / max(total, 1e-300))) for i, j, worth in found]

    def widest(self) -> float:
        """The width of the widest interval."""
        widths = zip(self._normal_widths(), self.shape, strict=True)
        return float(
            np.exp(self.log_scale + self.chance - self.luck)
            * max(float((width * shape).max(initial=0.0)) for width, shape in widths)
        )

    def _normal_widths(self) -> list[Floats]:
        """The widths of the intervals at the scale of now: by what is known about each entry, and about the scale."""
        found = []
        for mean, covariance in zip(self.mean, self.covariance, strict=True):
            variance = covariance if covariance.ndim == 1 else covariance.diagonal()
            found.append(2 * NORMAL_95 * np.sqrt(variance + mean**2 / self.scale_precision))
        return found

    def top_decided(self, k: int) -> float:
        """The probability that the best k of all tasks are those that seem to be."""
        chance = 1.0
        for mean, covariance in zip(self.mean, self.covariance, strict=True):
            if len(mean) > k:
                noise = np.random.default_rng(k).standard_normal((ORDERS, len(mean)))
                root = np.sqrt(covariance) if covariance.ndim == 1 else np.linalg.cholesky(covariance)
                score = mean + (noise * root if covariance.ndim == 1 else noise @ root.T)
                chance *= same_top(score, mean, k)
        return chance


class ComingAnnotators:
    """Who will come, and how good they are: drawn from what is believed."""

    def __init__(self, state: State, rng: np.random.Generator, *, drawn: bool = True) -> None:
        self.rng = rng
        given = np.maximum(state.alpha + state.beta - sum(state.quality_prior), 0.0) + 1.0
        alpha, beta = state.quality_prior
        quality = rng.beta(state.alpha, state.beta) if drawn else state.quality
        new = rng.beta(alpha, beta, len(quality)) if drawn else np.full(len(quality), alpha / (alpha + beta))
        self.rate = 2 * np.r_[quality, new] - 1
        self.share = np.r_[given, np.full(len(new), 1.0)]  # somebody new as often as somebody who came once
        self.share /= self.share.sum()

    def information(self, gap: Floats) -> Floats:
        """The Fisher information about gaps in a vote, on average."""
        lead = np.tanh(gap / 2) / 2
        slope = 0.25 - lead**2
        square = self.rate[:, None] ** 2
        return np.asarray(self.share @ (square * slope**2 / np.maximum(0.25 - square * lead**2, 1e-6)))


def forecast(state: State, lack: Callable[[Path], float], *, informed: bool, seed: int) -> tuple[float, float, float]:
    """Median, tenth and ninetieth percentile of the judgments until a rule holds; NaN beyond what is simulated.

    `lack` is what a rule lacks on a path: 0 or less where it holds. `informed`: the policy asks where little is known;
    otherwise pairs are drawn by lot.
    """
    rng, beliefs = generator(seed), beliefs_of(state)
    now = beliefs.judgments
    sizes = np.array([block.draws.shape[1] for block in beliefs.blocks], dtype=float)
    per_path = np.log(LONGEST) / GROWTH * float(np.where(sizes > LARGEST_BLOCK, 100 * sizes, 3 * sizes**3 + 1e5).sum())
    count = int(np.clip(MOST_WORK / per_path, FEWEST_PATHS, MOST_PATHS))
    told = told_so_far(state, beliefs.blocks)
    paths = (
        Path(beliefs, int(number), informed, ComingAnnotators(state, rng), told)
        for number in rng.permutation(10 * count)
    )
    needed = np.sort([_until(path, lack, now) for path, _ in zip(paths, range(count), strict=False)])
    low, median, high = needed[[count // 10, count // 2, count - 1 - count // 10]]
    return tuple(value if np.isfinite(value) else np.nan for value in (median, low, high))  # type: ignore[return-value]


def told_so_far(state: State, blocks: Sequence[Block]) -> float:
    """How much of their information the judgments so far have told: at most all of it.

    The posterior is as narrow as the prior and so many judgments of pairs by lot would make it, if each told this
    share of the information it has for those who know quality and scale.
    """
    crowd, some = ComingAnnotators(state, np.random.default_rng(0), drawn=False), blocks[:MOST_CALIBRATED]
    total = sum(len(block.width) * (len(block.width) - 1) / 2 for block in blocks)
    parts = []
    for block in some:
        mean = block.draws.mean(axis=0)
        information = crowd.information((mean[:, None] - mean).ravel()).reshape(len(mean), -1)
        np.fill_diagonal(information, 0.0)
        parts.append((np.diag(information.sum(axis=1)) - information, np.log(block.draws.var(axis=0)).mean()))
    least, most = 0.02, 1.0
    for _ in range(BISECTIONS):
        share = np.sqrt(least * most)
        weight = share * float(state.counts.sum()) / total
        wider = sum(_log_variance(weight * part, 2 / state.prior) - now for part, now in parts)
        least, most = (share, most) if wider > 0 else (least, share)
    return float(np.sqrt(least * most))


def _log_variance(precision: Floats, prior_variance: float) -> float:
    """The mean log-variance of scores relative to their mean, after judgments of this precision."""
    n = len(precision)
    covariance = np.linalg.inv(precision + np.eye(n) / prior_variance)
    covariance = covariance - covariance.mean(axis=0)
    return float(np.log(np.maximum((covariance - covariance.mean(axis=1, keepdims=True)).diagonal(), 1e-12)).mean())


def beliefs_of(state: State) -> Beliefs:
    """The tasks with something to compare, and the scale of all scores."""
    starts = [(start, end) for start, end in pairwise(state.vocabulary.task_starts.tolist()) if end - start > 1]
    low, high = state.interval
    draws, log_scale = of_one_scale(state.draws.astype(np.float64), state.vocabulary.task_starts)
    blocks = [_block(draws[:, start:end], (high - low)[start:end]) for start, end in starts]
    return Beliefs(blocks, log_scale, max(float(state.counts.sum()), 1.0))


def _block(draws: Floats, width: Floats) -> Block:
    """Covariances of few draws are random, and are shrunk."""
    n, variance = draws.shape[1], np.maximum(draws.var(axis=0), 1e-9)
    if n > LARGEST_BLOCK:
        return Block(draws, 1 / variance, width)
    share = n / (n + len(draws))
    covariance = (1 - share) * np.cov(draws.T, bias=True) + share * np.diag(variance)
    return Block(draws, np.linalg.inv(covariance), width)


def _until(path: Path, lack: Callable[[Path], float], now: float) -> float:
    """How many more judgments it takes on a path, between steps in proportion; infinite beyond LONGEST."""
    more, before, left = 0.0, 0.0, lack(path)
    while left > 0:
        if more > LONGEST * now:
            return np.inf
        step, before = max(GROWTH * (now + more), SHORTEST_STEP), left
        path.step(step)
        more, left = more + step, lack(path)
        if left <= 0:
            more += step * left / (before - left)
    return max(round(more), 0)


def same_top(score: Floats, mean: Floats, k: int) -> float:
    """The share of the draws in which the best k are those by their mean; never quite 0 or 1."""
    best = np.argpartition(-mean, k - 1)[:k]
    others = np.setdiff1d(np.arange(len(mean)), best)
    agree = score[:, best].min(axis=1) > score[:, others].max(axis=1)
    return float((agree.sum() + 0.5) / (len(score) + 1))


def _times(matrix: Floats, vector: Floats) -> Floats:
    return np.asarray(matrix @ vector if matrix.ndim == 2 else matrix * vector)


def _near(mean: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Neighbours in the ranking of a large task."""
    order = np.argsort(mean, kind="stable")
    return (
        np.concatenate([order[:-apart] for apart in (1, 2, 4, 8, 16, 32)]),
        np.concatenate([order[apart:] for apart in (1, 2, 4, 8, 16, 32)]),
    )
