"""Expectation and maximisation in turn: true orders, how expert annotators are, and the weights of a linear ranker.

    P(true order | features) is Plackett-Luce, with scores linear in the features;    P(list | true order) is Mallows,
    with θ of its annotator.

The E-step samples true orders given weights and θ (`orders.py`); the M-step finds θ from the mean distances
(`expertise.py`, `side.py`) and the weights from all samples: the likelihood that is expected, not that of the likeliest
sample alone. Where lists say little, what is known in an M-step is mostly what the weights before it said, and steps
are short: each begins at a point ahead of the last one, in the direction of the last change (Nesterov's momentum).
Samples scatter, and so do the steps: the result is the mean over the last third of them, and the fit has converged when
that agrees with the mean over the third before, or the difference is no more than scatter.
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
from crowdrank.learning.linear.listmle import Fitted, check_top
from crowdrank.learning.linear.model import LinearLists, Scaled, scaled, times
from crowdrank.learning.ltrma.crowd_lists import CrowdLists, crowd_lists
from crowdrank.learning.ltrma.expertise import Expertise
from crowdrank.learning.ltrma.orders import Orders
from crowdrank.learning.ltrma.side_information import Side, Solver
from crowdrank.learning.ranker import Learner, Ranker
from crowdrank.methods.result import annotator_columns, evidence_per_preference
from crowdrank.numerics.mallows import CLEAREST
from crowdrank.numerics.progress import report
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import SettingError, check_fit, check_whole_number
from crowdrank.study import Codes, Floats, JudgmentError, Judgments, Rankings, Vocabulary

SHORTEST, LONG = 5, 15  # thirds of the steps that may agree, and whose scatter can be told from a drift
MOMENTUM, FURTHEST = 0.8, 0.5  # share of the last change that a step begins ahead, and the most for θ
SCATTER = 4.0  # standard errors of independent steps; these go with each other for about ten
NEWTON_STEPS, NEWTON_TOL = 2, 1e-4  # of the weights in each M-step
LAST_SAMPLES = 5  # times as many of the last E-step, for the orders and distances that are told
VIRTUAL = 1.0  # pairs that every annotator puts right, and as many wrong: keeps θ finite


class Settings(Fitted, Protocol):
    """What every learner of this family can be told, beside how weights are fitted."""

    @property
    def samples(self) -> int: ...
    @property
    def sweeps(self) -> int: ...
    @property
    def seed(self) -> int: ...


class JointSettings(Settings, Learner, Protocol):
    """Those of a learner."""


def check_settings(settings: Settings) -> None:
    """Refuse what nobody of this family can have."""
    check_fit(settings.prior, settings.max_iter, settings.tol)
    check_top(settings.top)
    for name in ("samples", "sweeps"):
        value = getattr(settings, name)
        check_whole_number(name, value)
    check_whole_number("seed", settings.seed, least=0)


def needs(name: str, there: bool, what: str) -> None:
    """Refuse to go without the side information that a method is for."""
    if not there:
        raise SettingError(
            f"{name} needs {what} as side information (side=…, --side-information FILE); ltrma-mle does without"
        )


def joint_ranker(settings: JointSettings, features: Features, data: TrainingData, side: Side) -> Ranker:
    """A ranker learned together with the true orders and the expertise of the annotators."""
    judgments = judgments_over(features, data, settings.description)
    found = estimate(settings, features, judgments, side, weights=True)
    notes, model = (*judgments.notes, *found.data.notes), found.data.model(found.weight)
    return Ranker(settings, features.columns, model, found.columns, found.fit, notes, features.vocabulary.frame)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Where the steps ended."""

    weight: Floats
    theta: Floats  # of each annotator of the judgments, NaN for those without lists
    data: Scaled
    label: Floats  # per entry: minus its mean place in the true orders, NaN where no list tells
    columns: dict[str, NDArray[Any]]  # of the annotators
    fit: Fit


def estimate(settings: Settings, features: Features, judgments: Judgments, side: Side, *, weights: bool) -> Found:
    """Run the steps; without `weights` all scores stay equal, and only the annotators and the true orders are estimated."""
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
    history, converged = [], False
    for step in range(settings.max_iter):
        report(
            "true orders, annotators and weights" if weights else "true orders and annotators", step, settings.max_iter
        )
        history.append(chain.step(weights=weights))
        if converged := _settled(np.array(history), n, settings.tol):
            break
    theta, weight = np.split(np.mean(history[-_third(history) :], axis=0), [n])
    label, distance = chain.told(theta, weight)
    far, evidence = chain.expertise.far(distance)[:n], chain.expertise.pairs[:n]
    with np.errstate(invalid="ignore"):
        quality = np.clip(1 - far / evidence, 0.0, 1.0)
    columns = annotator_columns(judgments, quality, evidence * evidence_per_preference(judgments))
    theta = np.where(chain.expertise.known[:n], theta, np.nan)
    return Found(weight, theta, data, label, columns | {"theta": theta}, Fit(len(history), bool(converged)))


def _with_truth(lists: Rankings, side: Side, vocabulary: Vocabulary) -> Rankings:
    """One more annotator, who is never wrong: the truth about some tasks, equal values as ties."""
    if side.truth is None:
        return lists
    value = side.truth.align(vocabulary)
    entry = np.flatnonzero(~np.isnan(value)).astype(np.int32)
    if not len(entry):
        raise JudgmentError("the truth of the side information is about no item with features")
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
    """What changes from step to step."""

    def __init__(
        self, settings: Settings, lists: CrowdLists, value: Floats, vocabulary: Vocabulary, side: Side, *, below: bool
    ) -> None:
        self.settings, self.lists, self.value, self.vocabulary = settings, lists, value, vocabulary
        self.orders = Orders(lists, vocabulary, settings.seed, below=below)
        self.expertise = Expertise(lists, len(vocabulary.annotators) + 1, VIRTUAL)
        self.solver = Solver(side, vocabulary.annotators, self.expertise)
        self.truth = -min(side.truth_confidence, CLEAREST)
        self.weight = np.zeros(value.shape[1])
        self.theta = self._start()
        self.orders.begin(-self.theta[lists.annotator])
        self.change = np.zeros(len(self.theta)), np.zeros(len(self.weight))
        empty = self.orders.as_rankings(np.zeros((settings.samples, self.orders.sample_starts[-1]), np.int32))
        share = np.full(len(empty.list_task), 1 / settings.samples)
        self.likelihood = LinearLists(value, empty, share, vocabulary, settings.prior)

    def _start(self) -> Floats:
        """θ to begin with. Where more is known of some annotators, or the truth about some tasks, that is where to
        begin: how good the others are is seen from how far they are from it, lest a crowd that is wrong together
        outvotes it.
        """
        lists = self.lists
        theta, first = self.solver.start()
        theta[-1], first[-1] = self.truth, True
        trusted = first[lists.annotator]
        task = np.repeat(np.arange(len(lists.task)), np.diff(lists.list_starts))
        self.orders.begin(np.where(trusted, -theta[lists.annotator], 0.0))
        near = Expertise(lists, len(theta), VIRTUAL, np.isin(task, task[trusted]))
        others = near.known & ~first
        theta[others] = near.solve(near.far(self.orders.distances()))[others]
        return np.clip(theta, self.solver.low, self.solver.high)

    def _theta(self, distance: Floats) -> Floats:
        theta = self.solver.solve(self.expertise.far(distance), self.theta)
        theta[-1] = self.truth
        return theta

    def step(self, *, weights: bool) -> Floats:
        """One E-step and one M-step, from a point ahead of the last one; θ and weights after it."""
        chosen, before = self.settings, (self.theta, self.weight)
        furthest = np.minimum(
            FURTHEST, np.abs(self.theta) / 2
        )  # never across 0, where who is right and who is wrong change places
        ahead = np.clip(MOMENTUM * self.change[0], -furthest, furthest)
        theta = np.clip(self.theta + ahead, self.solver.low, self.solver.high)
        weight = self.weight + MOMENTUM * self.change[1]
        samples, distance = self._sample(theta, weight, chosen.samples)
        self.theta = self._theta(distance)
        if weights:
            self.likelihood.lists.entry = samples.ravel()
            self.weight = self.likelihood.fit(weight, NEWTON_STEPS, NEWTON_TOL, rough=True).x
        self.change = self.theta - before[0], self.weight - before[1]
        return np.concatenate([self.theta[:-1], self.weight])

    def _sample(self, theta: Floats, weight: Floats, samples: int) -> tuple[Codes, Floats]:
        return self.orders.sample(times(self.value, weight), theta[self.lists.annotator], samples, self.settings.sweeps)

    def told(self, theta: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """The labels of all entries, and the distance of each list from the true orders, where the steps ended.

        A label is minus the mean place of an entry; all that had none in a sample share the place behind the last.
        """
        vocabulary, lists = self.vocabulary, self.lists
        samples, distance = self._sample(np.r_[theta, self.truth], weight, LAST_SAMPLES * self.settings.samples)
        place = np.concatenate([np.arange(k) for k in lists.places])
        behind = np.zeros(len(vocabulary.tasks))
        behind[lists.task] = lists.places
        count = np.bincount(samples.ravel(), minlength=vocabulary.n_entries)
        total = sum_by(samples.ravel(), np.tile(place, len(samples)), vocabulary.n_entries)
        label = -(total + (len(samples) - count) * behind[vocabulary.entry_task]) / len(samples)
        known = (
            np.isin(vocabulary.entry_task, lists.task)
            if self.orders.below
            else np.isin(np.arange(vocabulary.n_entries), lists.candidate)
        )
        return np.where(known, label, np.nan), distance


def _third(history: Sized) -> int:
    return max(len(history) // 3, 1)


def _settled(history: Floats, n: int, tol: float) -> bool:
    """Do the last two thirds of the steps agree: on how often each annotator puts neighbours right, and on the weights?"""
    third = _third(history)
    if third < SHORTEST:
        return False
    seen = history.copy()
    seen[:, :n] = 1 / (1 + np.exp(np.clip(seen[:, :n], -CLEAREST, CLEAREST)))
    before, after = seen[-2 * third : -third], seen[-third:]
    apart = np.abs(after.mean(axis=0) - before.mean(axis=0))
    scatter = SCATTER * np.sqrt((before.var(axis=0) + after.var(axis=0)) / third) * (third >= LONG)
    right = bool((apart[:n] <= np.maximum(tol, scatter[:n])).all())
    return right and _norm(apart[n:]) <= max(4 * tol * _norm(after.mean(axis=0)[n:]), _norm(scatter[n:]))


def _norm(x: Floats) -> float:
    return float(np.sqrt((x * x).sum()))
