"""What is believed of items and annotators while judgments come in: small, immutable, and updated by each of them.

A `State` is a score's mean and variance for every entry, a Beta for every annotator, and two counts; nothing of it
grows with the number of judgments. `update` returns another one, so threads may share it, and a server may keep
yesterday's. It is what `online-crowd-bt` believes after the same judgments; `refit` replaces that by what all judgments
together say (`crowd-bt`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.beliefs import around, expected_narrowing
from crowdrank.consensus import Consensus, Fit, verdicts
from crowdrank.convert import as_pairs
from crowdrank.formats import judgments as read_frames
from crowdrank.formats import write_files
from crowdrank.methods.pairs.crowd_bt import CrowdBT
from crowdrank.methods.pairs.votes.online_kernels import play, tie_threshold
from crowdrank.numerics.special import NORMAL_95
from crowdrank.settings import check, check_beta, is_number
from crowdrank.study import (
    LEFT,
    RIGHT,
    TIE,
    UNNAMED_TASK,
    Floats,
    Ids,
    JudgmentError,
    Judgments,
    Vocabulary,
    ids,
    recode,
)

FORMAT = "crowdrank state 1"
ARRAYS = ("mean", "variance", "alpha", "beta", "counts")


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Beliefs about scores (normal) and annotators (Beta). `State.start(...)`, then `update`, `answer` or `refit`."""

    vocabulary: Vocabulary
    mean: Floats  # per entry
    variance: Floats
    alpha: Floats  # per annotator
    beta: Floats
    counts: Floats  # of decided judgments and of ties, so far
    prior: float  # virtual wins and losses of every item: a belief of variance 2 / prior
    quality_prior: tuple[float, float]

    def __post_init__(self) -> None:
        for name in ARRAYS:
            getattr(self, name).flags.writeable = False

    @classmethod
    def start(
        cls,
        vocabulary: Vocabulary | None = None,
        *,
        prior: float = 4.0,
        quality_prior: tuple[float, float] = (30.0, 2.0),
    ) -> State:
        """Before any judgment."""
        check(is_number(prior) and 0 < prior < np.inf, "prior", prior, "a number above 0")
        check(quality_prior is not None, "quality_prior", quality_prior, "a tuple of two numbers of at least 1")
        check_beta("quality_prior", quality_prior)
        vocabulary = (
            vocabulary
            if vocabulary is not None
            else Vocabulary(ids([]), ids([]), ids([]), *(np.zeros(0, np.int32),) * 2)
        )
        n, k = vocabulary.n_entries, len(vocabulary.annotators)
        alpha, beta = (np.full(k, float(start)) for start in quality_prior)
        return cls(
            vocabulary, np.zeros(n), np.full(n, 2 / prior), alpha, beta, np.zeros(2), float(prior), quality_prior
        )

    @property
    def ties(self) -> float:
        """The readiness to tie."""
        return float(tie_threshold(self.counts))

    @property
    def quality(self) -> Floats:
        """The expected quality of each annotator."""
        return np.asarray(self.alpha / (self.alpha + self.beta))

    def over(self, vocabulary: Vocabulary) -> State:
        """The same beliefs over other names; of those that are new, what the priors say."""
        if vocabulary is self.vocabulary:
            return self
        start = State.start(vocabulary, prior=self.prior, quality_prior=self.quality_prior)
        entry = entries_of(vocabulary, self.vocabulary)
        who = recode(vocabulary.annotators, self.vocabulary.annotators)
        mean, variance = start.mean.copy(), start.variance.copy()
        mean[entry >= 0], variance[entry >= 0] = self.mean[entry[entry >= 0]], self.variance[entry[entry >= 0]]
        alpha, beta = start.alpha.copy(), start.beta.copy()
        alpha[who >= 0], beta[who >= 0] = self.alpha[who[who >= 0]], self.beta[who[who >= 0]]
        return replace(start, mean=mean, variance=variance, alpha=alpha, beta=beta, counts=self.counts)

    def update(self, judgments: Judgments) -> State:
        """What is believed after these judgments too, taken one after the other; new items and annotators join."""
        vocabulary = joined(self.vocabulary, judgments.vocabulary)
        pairs, to = as_pairs(judgments), self.over(vocabulary)
        entry = entries_of(judgments.vocabulary, vocabulary)
        who = recode(judgments.vocabulary.annotators, vocabulary.annotators)
        return to.after(who[pairs.annotator], entry[pairs.left], entry[pairs.right], pairs.outcome)

    def answer(self, annotator: Any, left: Any, right: Any, winner: Any, task: Any = UNNAMED_TASK) -> State:
        """What is believed after one more judgment: `winner` is left, right or "tie".

        >>> state = State.start().answer("ann", "a", "b", "a").answer("ann", "b", "c", "b")
        >>> state.consensus().ranking["item"].to_list()
        ['a', 'b', 'c']
        """
        outcome = LEFT if winner == left else RIGHT if winner == right else TIE if winner == "tie" else None
        codes = [_code(self.vocabulary.annotators, annotator), *(self._entry(task, item) for item in (left, right))]
        if outcome is None or None in codes or left == right:  # the door knows new names, and what to say of mistakes
            row = {"task": [task], "annotator": [annotator], "left": [left], "right": [right], "winner": [winner]}
            return self.update(read_frames(row))
        who, first, second = (np.array([code], dtype=np.int32) for code in codes)
        return self.after(who, first, second, np.array([outcome], dtype=np.int8))

    def _entry(self, task: Any, item: Any) -> int | None:
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
        new = {name: getattr(self, name).copy() for name in ARRAYS}
        who, one, other = (part.astype(np.int32) for part in (annotator, left, right))
        play(who, one, other, outcome, *new.values())
        return replace(self, **new)

    def expecting(self, annotator: int, left: int, right: int) -> State:
        """The same beliefs, these two entries known as well as an answer of this annotator (all by code) is expected to make them."""
        variance = self.variance.copy()
        beta = self.alpha[annotator], self.beta[annotator]
        for entry, factor in zip(
            (left, right), expected_narrowing(left, right, self.mean, self.variance, *beta, self.ties), strict=True
        ):
            variance[entry] *= factor
        return replace(self, variance=variance)

    def refit(self, judgments: Judgments) -> State:
        """What all judgments together say, as full Crowd-BT with the same priors finds it; whatever was believed
        before.

        Means are the most likely scores, variances what the judgments tell of each entry by itself.
        """
        vocabulary = joined(self.vocabulary, judgments.vocabulary)
        start = State.start(vocabulary, prior=self.prior, quality_prior=self.quality_prior)
        fit = CrowdBT(prior=self.prior, quality_prior=self.quality_prior, intervals=False).fit(judgments)
        entry = entries_of(judgments.vocabulary, vocabulary)
        who = recode(judgments.vocabulary.annotators, vocabulary.annotators)
        pairs, new = as_pairs(judgments), {name: getattr(start, name).copy() for name in ARRAYS}
        quality = np.full(len(vocabulary.annotators), 0.5)
        new["mean"][entry], quality[who] = fit.score, fit.annotator_columns["quality"]
        annotator, left, right = who[pairs.annotator], entry[pairs.left], entry[pairs.right]
        around(annotator, left, right, pairs.outcome, quality, *new.values())
        return replace(start, **new)

    def consensus(self) -> Consensus:
        """The ranking that these beliefs amount to."""
        reach = NORMAL_95 * np.sqrt(self.variance)
        evidence = np.maximum(self.alpha + self.beta - sum(self.quality_prior), 0.0)
        columns = {
            "annotator": self.vocabulary.annotators,
            "quality": self.quality,
            "verdict": verdicts(self.quality, evidence),
        }
        low, high = self.mean - reach, self.mean + reach
        return Consensus(self.vocabulary, "online-crowd-bt", self.mean, columns, Fit(), low, high)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a .json file; whole, or not at all."""
        vocabulary = self.vocabulary
        names = {
            name: getattr(vocabulary, name).tolist()
            for name in ("tasks", "items", "annotators", "entry_task", "entry_item")
        }
        beliefs = {name: getattr(self, name).tolist() for name in ARRAYS}
        priors = {"prior": self.prior, "quality_prior": list(self.quality_prior), "frame": vocabulary.frame}
        write_files({path: json.dumps({"format": FORMAT, **names, **beliefs, **priors}, ensure_ascii=False).encode()})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> State:
        """A state from the file it was saved to."""
        try:
            saved: Any = json.loads(Path(path).read_bytes())
            form = saved["format"]
            if form == FORMAT:
                return cls._restored(saved)
        except OSError as error:
            raise JudgmentError(f"{path}: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError, IndexError):
            raise JudgmentError(f"{path}: is not a whole state, as State.save writes it") from None
        raise JudgmentError(f"{path}: is a {form!r}; this version reads {FORMAT!r}")

    @classmethod
    def _restored(cls, saved: Mapping[str, Any]) -> State:
        tasks, items, annotators = (ids(saved[name]) for name in ("tasks", "items", "annotators"))
        entry_task, entry_item = (np.array(saved[name], dtype=np.int32) for name in ("entry_task", "entry_item"))
        vocabulary = Vocabulary(tasks, items, annotators, entry_task, entry_item, saved["frame"])
        beliefs: dict[str, Any] = {name: np.array(saved[name], dtype=np.float64) for name in ARRAYS}
        sizes = [len(entry_item), *(vocabulary.n_entries,) * 2, *(len(annotators),) * 2, 2]
        if [vocabulary.n_entries, *map(len, beliefs.values())] != sizes:
            raise ValueError
        first, second = saved["quality_prior"]
        start = cls.start(vocabulary, prior=float(saved["prior"]), quality_prior=(float(first), float(second)))
        return replace(start, **beliefs)

    def __repr__(self) -> str:
        vocabulary, (decided, ties) = self.vocabulary, self.counts
        return f"State({decided + ties:,.0f} judgments; {vocabulary.n_entries:,} entries, {len(vocabulary.annotators):,} annotators)"


def _code(names: Ids, name: Any) -> int | None:
    found = np.flatnonzero(names == name)
    return int(found[0]) if len(found) else None


def joined(one: Vocabulary, other: Vocabulary) -> Vocabulary:
    """All names and entries of both; those of the first keep their codes, but for entries, which stay sorted."""
    if other is one or not one.n_entries + len(one.annotators):
        return other
    tasks, items, annotators = (
        _with(getattr(one, name), getattr(other, name)) for name in ("tasks", "items", "annotators")
    )
    key = partial(_keys, tasks=tasks, items=items)
    keys = np.union1d(key(one), key(other))
    if len(keys) == one.n_entries and len(annotators) == len(one.annotators):
        return one
    width = max(len(items), 1)
    return Vocabulary(
        tasks, items, annotators, (keys // width).astype(np.int32), (keys % width).astype(np.int32), one.frame
    )


def _with(names: Ids, more: Ids) -> Ids:
    """Names, and behind them those of the others that are new."""
    new = more[recode(more, names) < 0]
    return np.concatenate([names, new]) if len(new) else names


def _keys(vocabulary: Vocabulary, tasks: Ids, items: Ids) -> NDArray[np.int64]:
    """Each entry as a whole number, by the codes of its task and item among these names; -1 where they lack one."""
    task, item = (
        recode(vocabulary.tasks, tasks)[vocabulary.entry_task],
        recode(vocabulary.items, items)[vocabulary.entry_item],
    )
    return np.where((task < 0) | (item < 0), -1, task * max(len(items), 1) + item)


def entries_of(of: Vocabulary, among: Vocabulary) -> NDArray[np.int64]:
    """Which entry of another vocabulary each entry is; -1 where it has none."""
    keys, own = _keys(of, among.tasks, among.items), _keys(among, among.tasks, among.items)
    at = np.minimum(np.searchsorted(own, keys), max(len(own) - 1, 0))
    return np.where(own[at] == keys, at, -1) if len(own) else np.full(len(keys), -1)
