"""Expectation and maximisation in turn: true orders, the expertise of annotators, and the weights of a linear ranker.

    P(true order | features) is Plackett-Luce, with scores linear in the features
    P(list | true order) is Mallows, with θ of its annotator

The E-step samples true orders given weights and θ (`orders.py`). The M-step estimates θ from the mean distances
(`expertise.py`, `side_information.py`) and the weights from all samples: it maximises the expected likelihood, not that
of the most likely sample alone. Where lists have little information, an M-step mostly reproduces the previous weights,
and steps are short: each begins at a point ahead of the last one, in the direction of the last change (Nesterov's
momentum). Sampling makes the steps noisy: the result is the mean over the last third of them, and the fit has converged
when it agrees with the mean over the third before, or the difference is within the noise.
"""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Fit
from crowdrank.convert import as_lists
from crowdrank.learning.features import Features
from crowdrank.learning.labels import TrainingData, judgments_over
from crowdrank.learning.linear.listmle import WeightsFit, check_weights_fit
from crowdrank.learning.linear.model import LinearLists, Scaled, scaled, times
from crowdrank.learning.ltrma.crowd_lists import CrowdLists, crowd_lists
from crowdrank.learning.ltrma.expertise import Expertise
from crowdrank.learning.ltrma.orders import SampledOrders, order_by_votes
from crowdrank.learning.ltrma.side_information import Side, Solver
from crowdrank.learning.ranker import Learner, Ranker
from crowdrank.methods.result import annotator_columns, evidence_per_preference
from crowdrank.numerics.mallows import CLEAREST
from crowdrank.numerics.progress import report
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import SettingError, check_whole_number
from crowdrank.study import Codes, Floats, JudgmentError, Judgments, Rankings, Vocabulary

SHORTEST, LONG = 5, 15  # least number of steps in a third that may converge, and that shows noise from a trend
MOMENTUM, FURTHEST = 0.8, 0.5  # share of the last change that a step begins ahead, and the largest for θ
NOISE = 4.0  # standard errors of independent steps; successive steps are correlated over about ten
NEWTON_STEPS, NEWTON_TOL = 2, 1e-4  # of the weights in each M-step
LAST_SAMPLES = 5  # times as many samples in the last E-step, for the reported orders and distances
VIRTUAL = 1.0  # pairs that every annotator puts right, and as many wrong: keeps θ finite


class SamplingSettings(WeightsFit, Protocol):
    """The settings that all learners of this family have."""

    @property
    def samples(self) -> int: ...
    @property
    def sweeps(self) -> int: ...
    @property
    def seed(self) -> int: ...


class JointLearner(SamplingSettings, Learner, Protocol):
    """A learner of this family."""


def check_settings(settings: SamplingSettings) -> None:
    """Refuse settings that no learner of this family can have."""
    check_weights_fit(settings)
    check_whole_number("samples", settings.samples)
    check_whole_number("sweeps", settings.sweeps)
    check_whole_number("seed", settings.seed, least=0)


def require_side_information(name: str, given: bool, what: str) -> None:
    """Refuse to learn without the side information that a method is for."""
    if not given:
        raise SettingError(
            f"{name} needs {what} as side information (side=…, --side-information FILE); ltrma-mle needs none"
        )


def joint_ranker(settings: JointLearner, features: Features, data: TrainingData, side: Side) -> Ranker:
    """A ranker estimated together with the true orders and the expertise of the annotators."""
    judgments = judgments_over(features, data, settings.description)
    found = estimate(settings, features, judgments, side, weights=True)
    notes, model = (*judgments.notes, *found.data.notes), found.data.model(found.weight)
    return Ranker(settings, features.columns, model, found.columns, found.fit, notes, features.vocabulary.frame)


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """The result of the steps."""

    weight: Floats
    theta: Floats  # of each annotator of the judgments, NaN for those without lists
    data: Scaled
    label: Floats  # per entry: minus its mean place in the true orders, NaN for entries in no list
    columns: dict[str, NDArray[Any]]  # of the annotators
    fit: Fit


def estimate(
    settings: SamplingSettings, features: Features, judgments: Judgments, side: Side, *, weights: bool
) -> Estimates:
    """Run the steps. Without `weights` all scores stay equal: only annotators and true orders are estimated."""
    vocabulary = judgments.vocabulary
    n = len(vocabulary.annotators)
    lists = crowd_lists(_with_truth(as_lists(judgments), side, vocabulary), vocabulary, settings.top)
    if not len(lists):
        raise JudgmentError("there is nothing to learn: no list puts one item before another")
    below = settings.top is not None
    used = np.flatnonzero(np.isin(vocabulary.entry_task, lists.task)) if below else np.unique(lists.candidate)
    data = scaled(features, used)
    value = np.zeros(features.value.shape)
    value[used] = data.value
    chain = _Chain(settings, lists, value, vocabulary, side, below=below)
    steps, converged = _run(chain, n, weights=weights)
    theta, weight = np.split(steps[-_third(steps) :].mean(axis=0), [n])
    label, distance = chain.labels_and_distances(theta, weight)
    wrong, pairs = chain.expertise.total_distance(distance)[:n], chain.expertise.pairs[:n]
    with np.errstate(invalid="ignore"):
        quality = np.clip(1 - wrong / pairs, 0.0, 1.0)
    columns = annotator_columns(judgments, quality, pairs * evidence_per_preference(judgments))
    theta = np.where(chain.expertise.known[:n], theta, np.nan)
    return Estimates(weight, theta, data, label, columns | {"theta": theta}, Fit(len(steps), converged))


def _run(chain: _Chain, n_annotators: int, *, weights: bool) -> tuple[Floats, bool]:
    """θ and weights after each step, and whether they converged."""
    what = "true orders, annotators and weights" if weights else "true orders and annotators"
    steps: list[Floats] = []
    for number in range(chain.settings.max_iter):
        report(what, number, chain.settings.max_iter)
        steps.append(chain.step(weights=weights))
        if _converged(np.array(steps), n_annotators, chain.settings.tol):
            return np.array(steps), True
    return np.array(steps), False


def _with_truth(lists: Rankings, side: Side, vocabulary: Vocabulary) -> Rankings:
    """The lists, and those of one more annotator: the true order of some tasks, with equal values as ties."""
    if side.truth is None:
        return lists
    value = side.truth.align(vocabulary)
    entry = np.flatnonzero(~np.isnan(value)).astype(np.int32)
    if not len(entry):
        raise JudgmentError("the truth in the side information is about no item with features; check its ids")
    entry = entry[np.lexsort((-value[entry], vocabulary.entry_task[entry]))]
    task, row_list = np.unique(vocabulary.entry_task[entry], return_inverse=True)
    return Rankings(
        list_annotator=np.r_[lists.list_annotator, np.full(len(task), len(vocabulary.annotators), np.int32)],
        list_task=np.r_[lists.list_task, task.astype(np.int32)],
        unlisted_below=np.r_[lists.unlisted_below, np.zeros(len(task), dtype=bool)],
        row_list=np.r_[lists.row_list, row_list.astype(np.int32) + np.int32(len(lists.list_task))],
        entry=np.r_[lists.entry, entry],
        position=np.r_[lists.position, -value[entry]],
    )


class _Chain:
    """θ, weights and sampled orders, updated by each step."""

    def __init__(
        self,
        settings: SamplingSettings,
        lists: CrowdLists,
        value: Floats,
        vocabulary: Vocabulary,
        side: Side,
        *,
        below: bool,
    ) -> None:
        self.settings, self.lists, self.value, self.vocabulary = settings, lists, value, vocabulary
        self.expertise = Expertise(lists, len(vocabulary.annotators) + 1, VIRTUAL)
        self.solver = Solver(side, vocabulary.annotators, self.expertise)
        self.truth = -min(side.truth_confidence, CLEAREST)
        self.weight = np.zeros(value.shape[1])
        self.theta = self._start()
        start = order_by_votes(lists, -self.theta[lists.annotator])
        self.orders = SampledOrders(lists, vocabulary, start, settings.seed, below=below)
        self.change = np.zeros(len(self.theta)), np.zeros(len(self.weight))
        empty = self.orders.as_rankings(np.zeros((settings.samples, self.orders.sample_starts[-1]), np.int32))
        share = np.full(len(empty.list_task), 1 / settings.samples)
        self.likelihood = LinearLists(value, empty, share, vocabulary, settings.penalty)

    def _start(self) -> Floats:
        """The first θ.

        Where side information is given about some annotators, or the truth about some tasks, θ of the others comes
        from their distance to the orders of these. Otherwise a majority that is wrong together would outvote them.
        """
        lists = self.lists
        theta, informed = self.solver.start()
        theta[-1], informed[-1] = self.truth, True
        trusted = informed[lists.annotator]
        task = np.repeat(np.arange(len(lists.task)), np.diff(lists.list_starts))
        order = order_by_votes(lists, np.where(trusted, -theta[lists.annotator], 0.0))
        in_common = Expertise(lists, len(theta), VIRTUAL, np.isin(task, task[trusted]))
        others = in_common.known & ~informed
        distance = SampledOrders(lists, self.vocabulary, order, self.settings.seed, below=False).distances()
        theta[others] = in_common.solve(in_common.total_distance(distance))[others]
        return np.clip(theta, self.solver.low, self.solver.high)

    def _theta(self, distance: Floats) -> Floats:
        """θ of the M-step."""
        theta = self.solver.solve(self.expertise.total_distance(distance), self.theta)
        theta[-1] = self.truth
        return theta

    def step(self, *, weights: bool) -> Floats:
        """One E-step and one M-step, from a point ahead of the last one; θ and weights after it."""
        chosen, before = self.settings, (self.theta, self.weight)
        furthest = np.minimum(FURTHEST, np.abs(self.theta) / 2)  # never across 0: beyond it an annotator is reversed
        ahead = np.clip(MOMENTUM * self.change[0], -furthest, furthest)
        theta = np.clip(self.theta + ahead, self.solver.low, self.solver.high)
        weight = self.weight + MOMENTUM * self.change[1]
        samples, distance = self._sample(theta, weight, chosen.samples)
        self.theta = self._theta(distance)
        if weights:
            self.likelihood.lists.use_entries(samples.ravel())
            self.weight = self.likelihood.fit(weight, NEWTON_STEPS, NEWTON_TOL, rough=True).x
        self.change = self.theta - before[0], self.weight - before[1]
        return np.concatenate([self.theta[:-1], self.weight])

    def _sample(self, theta: Floats, weight: Floats, samples: int) -> tuple[Codes, Floats]:
        return self.orders.sample(times(self.value, weight), theta[self.lists.annotator], samples, self.settings.sweeps)

    def labels_and_distances(self, theta: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """The labels of all entries, and the mean distance of each list from the true orders, at these parameters.

        A label is minus the mean place of an entry; entries without a place in a sample share the one after the last.
        """
        vocabulary, lists = self.vocabulary, self.lists
        samples, distance = self._sample(np.r_[theta, self.truth], weight, LAST_SAMPLES * self.settings.samples)
        place = np.concatenate([np.arange(k) for k in lists.places])
        after_last = np.zeros(len(vocabulary.tasks))
        after_last[lists.task] = lists.places
        count = np.bincount(samples.ravel(), minlength=vocabulary.n_entries)
        total = sum_by(samples.ravel(), np.tile(place, len(samples)), vocabulary.n_entries)
        label = -(total + (len(samples) - count) * after_last[vocabulary.entry_task]) / len(samples)
        known = np.isin(np.arange(vocabulary.n_entries), lists.candidate)
        if self.orders.below:
            known = np.isin(vocabulary.entry_task, lists.task)
        return np.where(known, label, np.nan), distance


def _third(steps: Sized) -> int:
    return max(len(steps) // 3, 1)


def _converged(steps: Floats, n: int, tol: float) -> bool:
    """Whether the last two thirds of the steps agree on σ(−θ) of the n annotators and on the weights."""
    third = _third(steps)
    if third < SHORTEST:
        return False
    seen = steps.copy()
    seen[:, :n] = 1 / (1 + np.exp(np.clip(seen[:, :n], -CLEAREST, CLEAREST)))
    before, after = seen[-2 * third : -third], seen[-third:]
    apart = np.abs(after.mean(axis=0) - before.mean(axis=0))
    noise = NOISE * np.sqrt((before.var(axis=0) + after.var(axis=0)) / third) * (third >= LONG)
    annotators_agree = bool((apart[:n] <= np.maximum(tol, noise[:n])).all())
    return annotators_agree and _norm(apart[n:]) <= max(4 * tol * _norm(after.mean(axis=0)[n:]), _norm(noise[n:]))


def _norm(x: Floats) -> float:
    return float(np.sqrt((x * x).sum()))
