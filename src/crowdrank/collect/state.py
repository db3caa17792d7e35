"""The state of a collection: beliefs about items and annotators, immutable, and updated by each judgment.

A `State` holds the mean and variance of the score of every entry, a Beta distribution of the quality of every
annotator, two counts, and draws of all scores from the last fit; its size does not grow with the number of judgments.
`update` returns a new state, so threads may share one, and a server may keep an earlier one. `refit` takes over what
`crowd-bt` finds in all judgments: scores, intervals, draws, quality, and the distributions that new items and
annotators come from. Each judgment after that updates them as `online-crowd-bt` does, in less than a microsecond, and a
little less exactly than a fit: `needs_refit` says when to fit again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.belief import SMALLEST, Belief, Draws, beta_of, crowd_beta, normal_draws
from crowdrank.collect.belief_kernels import around
from crowdrank.consensus import Consensus, Fit
from crowdrank.convert import as_pairs
from crowdrank.formats import judgments as read_frames
from crowdrank.formats import write_files
from crowdrank.formats.saved_json import load_saved, saved_bytes, saved_codes, saved_names, saved_numbers
from crowdrank.methods.pairs.crowd_bt import CrowdBT
from crowdrank.methods.pairs.votes.hyperparameters import SCORE_VARIANCE
from crowdrank.methods.pairs.votes.online_kernels import play, tie_threshold
from crowdrank.methods.verdicts import verdicts
from crowdrank.numerics.compiled import for_work
from crowdrank.numerics.special import NORMAL_95
from crowdrank.settings import check, check_beta, check_positive
from crowdrank.study import (
    LEFT,
    RIGHT,
    TIE,
    UNNAMED_TASK,
    Floats,
    Frame,
    Ids,
    JudgmentError,
    Judgments,
    Pairs,
    Vocabulary,
    entries_in,
    ids,
    recode,
    recode_tasks,
)

FORMAT, FORMAT_BEFORE = "crowdrank state 2", "crowdrank state 1"
WHAT = "state, as State.save writes it"
ARRAYS = ("mean", "variance", "alpha", "beta", "counts")
PRIOR, QUALITY_PRIOR = 4.0, (30.0, 2.0)  # where only the other one is given; also what format 1 had instead of learning
STEPS = 50  # passes of a loop that one judgment takes as long as
FEW_NEW, NEW_SHARE = 20, 0.05  # judgments since the last fit after which a new one is due


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Beliefs about scores (normal) and annotators (Beta). `State.start(...)`, then `update`, `answer` or `refit`."""

    vocabulary: Vocabulary
    mean: Floats  # per entry
    variance: Floats
    alpha: Floats  # per annotator
    beta: Floats
    counts: Floats  # of decided judgments and of ties, so far
    prior: float  # virtual wins and losses of every item: scores start with the variance 2 / prior
    quality_prior: tuple[float, float]  # the Beta distribution of quality before any judgment
    learned: bool = False  # both are learned from the judgments, at every fit
    fitted: Belief | None = None  # the last fit

    def __post_init__(self) -> None:
        for name in ARRAYS:
            getattr(self, name).flags.writeable = False

    @classmethod
    def start(
        cls,
        vocabulary: Vocabulary | None = None,
        *,
        prior: float | None = None,
        quality_prior: tuple[float, float] | None = None,
    ) -> State:
        """The state before any judgment. By default priors are learned, as in crowd-bt: `refit` replaces them."""
        learned = prior is None and quality_prior is None
        if learned:
            return cls._new(vocabulary, 2 / SCORE_VARIANCE.typical, crowd_beta(np.zeros(0), np.zeros(0)), learned=True)
        prior, quality_prior = PRIOR if prior is None else prior, quality_prior or QUALITY_PRIOR
        check_positive("prior", prior)
        check_beta("quality_prior", quality_prior)
        return cls._new(vocabulary, float(prior), quality_prior, learned=False)

    @classmethod
    def _new(
        cls, vocabulary: Vocabulary | None, prior: float, quality_prior: tuple[float, float], *, learned: bool
    ) -> State:
        """Every entry and annotator as the priors say."""
        if vocabulary is None:
            vocabulary = Vocabulary(ids([]), ids([]), ids([]), *(np.zeros(0, np.int32),) * 2)
        n, k = vocabulary.n_entries, len(vocabulary.annotators)
        alpha, beta = (np.full(k, float(start)) for start in quality_prior)
        variance = np.full(n, 2 / prior)
        return cls(vocabulary, np.zeros(n), variance, alpha, beta, np.zeros(2), prior, quality_prior, learned)

    @property
    def ties(self) -> float:
        """The tie parameter of the model, estimated from the counts."""
        return float(tie_threshold.py_func(self.counts))

    @property
    def quality(self) -> Floats:
        """The expected quality of each annotator."""
        return np.asarray(self.alpha / (self.alpha + self.beta))

    @property
    def quality_variance(self) -> Floats:
        """The variance of the quality of each annotator."""
        size = self.alpha + self.beta
        return np.asarray(self.alpha * self.beta / (size * size * (size + 1)))

    @property
    def draws(self) -> Draws:
        """Draws of all scores together: draw × entry."""
        if self.fitted is None:
            return normal_draws(self.mean, self.variance)
        return self.fitted.moved(self.mean, self.variance)

    @property
    def interval(self) -> tuple[Floats, Floats]:
        """The 95 % interval of every score; after a fit, the one that crowd-bt reports."""
        if self.fitted is None:
            reach = NORMAL_95 * np.sqrt(self.variance)
            return self.mean - reach, self.mean + reach
        return self.fitted.interval(self.mean, self.variance)

    @property
    def upright(self) -> float:
        """The probability that not the opposite ranking is right; votes alone cannot say where there are two camps."""
        return 1.0 if self.fitted is None else self.fitted.upright

    @property
    def needs_refit(self) -> bool:
        """Whether so many judgments came since the last fit that beliefs may have drifted."""
        before = 0.0 if self.fitted is None else self.fitted.judgments
        return bool(self.counts.sum() - before > max(FEW_NEW, NEW_SHARE * before))

    def over(self, vocabulary: Vocabulary) -> State:
        """The same beliefs over another vocabulary; its new entries and annotators start from the priors."""
        if vocabulary is self.vocabulary:
            return self
        start = self._new(vocabulary, self.prior, self.quality_prior, learned=self.learned)
        entry = entries_in(vocabulary, self.vocabulary)
        who = recode(vocabulary.annotators, self.vocabulary.annotators)
        mean, variance = start.mean.copy(), start.variance.copy()
        mean[entry >= 0], variance[entry >= 0] = self.mean[entry[entry >= 0]], self.variance[entry[entry >= 0]]
        alpha, beta = start.alpha.copy(), start.beta.copy()
        alpha[who >= 0], beta[who >= 0] = self.alpha[who[who >= 0]], self.beta[who[who >= 0]]
        fitted = None if self.fitted is None else self.fitted.over(entry, who, start.mean, start.variance)
        return replace(start, mean=mean, variance=variance, alpha=alpha, beta=beta, counts=self.counts, fitted=fitted)

    def update(self, judgments: Judgments) -> State:
        """The state after these judgments, taken one after the other; new items and annotators are added.

        Judgments that name no task belong to the task of a state that has exactly one.
        """
        vocabulary = joined(self.vocabulary, judgments.vocabulary)
        pairs, state = as_pairs(judgments), self.over(vocabulary)
        entry = entries_in(judgments.vocabulary, vocabulary)
        who = recode(judgments.vocabulary.annotators, vocabulary.annotators)
        return state.after(who[pairs.annotator], entry[pairs.left], entry[pairs.right], pairs.outcome)

    def answer(self, annotator: Any, left: Any, right: Any, winner: Any, task: Any = None) -> State:
        """The state after one more judgment: `winner` is left, right or "tie".

        Without `task` the judgment belongs to the only task of the state; a state with several needs its name.

        >>> state = State.start().answer("ann", "a", "b", "a").answer("ann", "b", "c", "b")
        >>> state.consensus().ranking["item"].to_list()
        ['a', 'b', 'c']
        """
        task = self._only_task() if task is None else task
        outcome = LEFT if winner == left else RIGHT if winner == right else TIE if winner == "tie" else None
        codes = [_code(self.vocabulary.annotators, annotator), *(self._entry(task, item) for item in (left, right))]
        if outcome is None or None in codes or left == right:  # `read_frames` adds names and reports errors
            row = {"task": [task], "annotator": [annotator], "left": [left], "right": [right], "winner": [winner]}
            return self.update(read_frames(row))
        who, first, second = (np.array([code], dtype=np.int32) for code in codes)
        return self.after(who, first, second, np.array([outcome], dtype=np.int8))

    def _only_task(self) -> Any:
        """The task of a judgment that names none."""
        tasks = self.vocabulary.tasks
        if len(tasks) > 1:
            raise JudgmentError(f"the state has {len(tasks):,} tasks; say which one: answer(…, task={tasks[0]!r})")
        return tasks[0] if len(tasks) else UNNAMED_TASK

    def _entry(self, task: Any, item: Any) -> int | None:
        """The code of an item within a task; None where the state has no such entry."""
        vocabulary = self.vocabulary
        number, code = _code(vocabulary.tasks, task), _code(vocabulary.items, item)
        if number is None or code is None:
            return None
        start, end = np.searchsorted(vocabulary.entry_task, (number, number + 1))
        at = int(start + np.searchsorted(vocabulary.entry_item[start:end], code))
        return at if at < end and vocabulary.entry_item[at] == code else None

    def after(
        self, annotator: NDArray[Any], left: NDArray[Any], right: NDArray[Any], outcome: NDArray[np.int8]
    ) -> State:
        """The state after judgments given by code."""
        new = {name: getattr(self, name).copy() for name in ARRAYS}
        who, one, other = (part.astype(np.int32) for part in (annotator, left, right))
        for_work(play, STEPS * len(who))(who, one, other, outcome, *new.values())
        return replace(self, **new)

    def refit(self, judgments: Judgments) -> State:
        """What crowd-bt finds in all judgments, with the same priors or learned ones; earlier beliefs are dropped.

        With given priors, means are the most likely scores, and variances those of each entry given the others.
        """
        vocabulary, pairs = joined(self.vocabulary, judgments.vocabulary), as_pairs(judgments)
        start = State.start(vocabulary)
        if not self.learned:
            start = self._new(vocabulary, self.prior, self.quality_prior, learned=False)
        if not len(pairs):
            return start
        if not self.learned:
            return start._around(judgments, pairs)
        fit = CrowdBT().fit(judgments)
        ties = float((pairs.outcome == TIE).sum())
        counts = np.array([len(pairs) - ties, ties])
        quality = fit.annotator_columns["quality"]
        width = fit.annotator_columns["quality_high"] - fit.annotator_columns["quality_low"]
        quality_variance = (width / (2 * NORMAL_95)) ** 2
        crowd = crowd_beta(quality, quality_variance)
        start = self._new(vocabulary, 2 / fit.settings["spread"] ** 2, crowd, learned=True)
        alpha, beta = beta_of(quality, quality_variance)
        belief = Belief.of(fit, float(len(pairs)))
        found = State(
            judgments.vocabulary, belief.mean, belief.variance, alpha, beta, counts, start.prior, start.quality_prior
        )
        return replace(found, learned=self.learned, fitted=belief).over(vocabulary)

    def _around(self, judgments: Judgments, pairs: Pairs) -> State:
        """From the state before any judgment, that after a fit with its priors to all judgments."""
        fit = CrowdBT(prior=self.prior, quality_prior=self.quality_prior, intervals=False).fit(judgments)
        entry = entries_in(judgments.vocabulary, self.vocabulary)
        who = recode(judgments.vocabulary.annotators, self.vocabulary.annotators)
        new = {name: getattr(self, name).copy() for name in ARRAYS}
        quality = np.full(len(self.vocabulary.annotators), 0.5)
        new["mean"][entry], quality[who] = fit.score, fit.annotator_columns["quality"]
        annotator, left, right = who[pairs.annotator], entry[pairs.left], entry[pairs.right]
        for_work(around, STEPS * len(annotator))(annotator, left, right, pairs.outcome, quality, *new.values())
        return replace(self, **new)

    def consensus(self) -> Consensus:
        """The ranking by the means of the scores."""
        low, high = self.interval
        if self.fitted is not None:
            verdict = self.fitted.verdict
        else:
            verdict = verdicts(self.quality, np.maximum(self.alpha + self.beta - sum(self.quality_prior), 0.0))
        columns = {"annotator": self.vocabulary.annotators, "quality": self.quality, "verdict": verdict}
        method = "online-crowd-bt" if self.fitted is None else "crowd-bt"
        return Consensus(self.vocabulary, method, self.mean, columns, Fit(), low, high, upright=self.upright)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a .json file; whole, or not at all."""
        vocabulary = self.vocabulary
        names = {
            name: getattr(vocabulary, name).tolist()
            for name in ("tasks", "items", "annotators", "entry_task", "entry_item")
        }
        beliefs = {name: getattr(self, name).tolist() for name in ARRAYS}
        priors = {"prior": self.prior, "quality_prior": list(self.quality_prior), "learned": self.learned}
        fitted = None if self.fitted is None else self.fitted.saved()
        rest = {"frame": vocabulary.frame, "fitted": fitted}
        write_files({path: saved_bytes(FORMAT, {**names, **beliefs, **priors, **rest})})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> State:
        """A state from the file it was saved to, by this version or the one before."""
        return load_saved(path, FORMAT, WHAT, cls._restored, older=(FORMAT_BEFORE,))

    @classmethod
    def _restored(cls, saved: Mapping[str, Any]) -> State:
        tasks, items, annotators = (saved_names(saved[name]) for name in ("tasks", "items", "annotators"))
        entry_task = saved_codes(saved["entry_task"], len(tasks))
        entry_item = saved_codes(saved["entry_item"], len(items))
        if len(entry_task) != len(entry_item) or (np.diff(entry_task * np.int64(len(items)) + entry_item) <= 0).any():
            raise ValueError("the entries are not in order")
        if saved["frame"] not in get_args(Frame):
            raise ValueError("the library of the data frames is unknown")
        vocabulary = Vocabulary(tasks, items, annotators, entry_task, entry_item, saved["frame"])
        beliefs: dict[str, Any] = {
            "mean": saved_numbers(saved["mean"], len(entry_item)),
            "variance": saved_numbers(saved["variance"], len(entry_item), least=SMALLEST),
            "alpha": saved_numbers(saved["alpha"], len(annotators), least=SMALLEST),
            "beta": saved_numbers(saved["beta"], len(annotators), least=SMALLEST),
            "counts": saved_numbers(saved["counts"], 2, least=0.0),
        }
        first, second = saved["quality_prior"]
        prior, quality_prior = float(saved["prior"]), (float(first), float(second))
        check_positive("prior", prior)
        check(min(quality_prior) > 0, "quality_prior", quality_prior, "above 0")
        # Format 1 had fixed values by default, where later ones learn.
        learned = bool(saved.get("learned", (prior, quality_prior) == (PRIOR, QUALITY_PRIOR)))
        start = cls._new(vocabulary, prior, quality_prior, learned=learned)
        if saved.get("fitted") is not None:
            beliefs["fitted"] = Belief.restored(saved["fitted"], len(entry_item), len(annotators))
        return replace(start, **beliefs)

    def __repr__(self) -> str:
        judgments, entries, annotators = self.counts.sum(), self.vocabulary.n_entries, len(self.vocabulary.annotators)
        return f"State({judgments:,.0f} judgments; {entries:,} entries, {annotators:,} annotators)"


def _code(names: Ids, name: Any) -> int | None:
    found = np.flatnonzero(names == name)
    return int(found[0]) if len(found) else None


def joined(one: Vocabulary, other: Vocabulary) -> Vocabulary:
    """All names and entries of both. Names of the first keep their codes; entries are sorted again.

    Tasks are the same under the rules of `recode_tasks`.
    """
    if other is one or not one.n_entries + len(one.annotators):
        return other
    tasks = _joined_tasks(one.tasks, other.tasks)
    items, annotators = _joined_names(one.items, other.items), _joined_names(one.annotators, other.annotators)
    keys = np.union1d(_keys(one, tasks, items), _keys(other, tasks, items))
    same_tasks = list(tasks[: len(one.tasks)]) == list(one.tasks)
    if same_tasks and len(keys) == one.n_entries and len(annotators) == len(one.annotators):
        return one
    width = max(len(items), 1)
    return Vocabulary(
        tasks, items, annotators, (keys // width).astype(np.int32), (keys % width).astype(np.int32), one.frame
    )


def _joined_names(names: Ids, more: Ids) -> Ids:
    """Names, followed by the new ones among the others."""
    new = more[recode(more, names) < 0]
    return np.concatenate([names, new]) if len(new) else names


def _joined_tasks(one: Ids, other: Ids) -> Ids:
    """The tasks of both; where two single tasks are the same and one is unnamed, the name of the other."""
    if len(one) == len(other) == 1 and recode_tasks(other, one)[0] == 0:
        return other if one[0] == UNNAMED_TASK else one
    return _joined_names(one, other)


def _keys(vocabulary: Vocabulary, tasks: Ids, items: Ids) -> NDArray[np.int64]:
    """Each entry as a whole number: the codes of its task and item among these names, which have both."""
    task = recode_tasks(vocabulary.tasks, tasks)[vocabulary.entry_task]
    item = recode(vocabulary.items, items)[vocabulary.entry_item]
    return np.asarray(task * max(len(items), 1) + item)
