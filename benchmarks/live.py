"""A simulated live collection: annotators who answer, a policy that asks, and crowd-bt that ranks, for all alike."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import kendalltau

import crowdrank as cr
from crowdrank.collect.chooser import QuestionChooser
from crowdrank.collect.limits import Limits
from crowdrank.collect.policies import policy_of
from crowdrank.collect.protocols import Known, Policy
from crowdrank.study import Judgments, Pairs, Vocabulary, ids

QUALITY = 5.0, 1.0  # Beta distribution of those who do not guess


@dataclass(frozen=True)
class Setting:
    """A crowd and how it is asked."""

    items: int = 30
    annotators: int = 30
    spam: float = 0.3
    hostile: float = 0.0
    spread: float = 1.5
    votes: int = 600
    batch: int = 20
    chosen: bool = False  # annotators are chosen; otherwise they come by themselves

    def __str__(self) -> str:
        who = "chosen" if self.chosen else "come by themselves"
        return f"{self.items} items, {self.spam:.0%} guess, annotators {who}, in batches of {self.batch}"


class Collection:
    """Answers so far, and the truth that they come from."""

    def __init__(self, setting: Setting, policy: str | Policy, seed: int) -> None:
        self.setting, self.policy, self.rng = setting, policy_of(policy), np.random.default_rng(seed)
        n, k = setting.items, setting.annotators
        self.truth = self.rng.normal(0, setting.spread, n)
        self.quality = self.rng.beta(*QUALITY, k)
        self.quality[: round(setting.spam * k)] = 0.5
        self.quality[k - round(setting.hostile * k) :] = 0.0
        names = [ids([f"{what}{number:03}" for number in range(size)]) for what, size in (("i", n), ("a", k))]
        self.vocabulary = Vocabulary(ids(["t"]), *names, np.zeros(n, np.int32), np.arange(n, dtype=np.int32))
        self.votes = np.zeros((0, 4), np.int64)  # annotator, left, right, outcome
        self.state = cr.State.start(self.vocabulary)
        self.seconds = 0.0  # spent on choosing

    @property
    def judgments(self) -> Judgments:
        """The answers so far."""
        who, left, right, outcome = self.votes.T
        empty = cr.judgments({"annotator": ["x"], "left": ["y"], "right": ["z"], "winner": ["y"]})
        pairs = Pairs(*(codes.astype(np.int32) for codes in (who, left, right)), outcome.astype(np.int8))
        return replace(empty, vocabulary=self.vocabulary, pairs=pairs)

    def run(self) -> Iterator[tuple[int, float]]:
        """Votes so far and Kendall's τ of the ranking with the truth, after every batch."""
        while len(self.votes) < self.setting.votes:
            self.ask()
            yield len(self.votes), self.tau()

    def tau(self) -> float:
        """Of the ranking with the truth."""
        return float(kendalltau(self.state.mean, self.truth).statistic)

    def ask(self) -> None:
        """One batch: questions, answers, a new fit."""
        batch = self.questions()
        answers = [(k, i, j, self.answer(k, i, j)) for k, i, j in batch]
        self.votes = np.concatenate([self.votes, np.array(answers, np.int64).reshape(-1, 4)])
        if self.setting.batch == 1:
            who, left, right, outcome = self.votes[-1:].T
            self.state = self.state.after(who, left, right, outcome.astype(np.int8))
        if self.setting.batch > 1 or self.state.needs_refit:
            self.state = self.state.refit(self.judgments)

    def questions(self) -> Sequence[tuple[int, int, int]]:
        """Those of the next batch."""
        who, left, right, outcome = self.votes.T
        compared = np.bincount(np.r_[left, right], minlength=self.setting.items)
        codes = left.astype(np.int32), right.astype(np.int32), outcome.astype(np.int8)
        known = Known(self.state, compared, len(self.votes) / self.setting.votes, None, *codes)
        limits = Limits.none(self.vocabulary).without(who, left, right)
        share = 3 / self.setting.annotators
        quota = np.ceil(share * (len(who) + self.setting.batch)) - np.bincount(who, minlength=self.setting.annotators)
        began = time.perf_counter()
        chooser = QuestionChooser(
            known,
            limits,
            self.policy,
            quota=np.maximum(quota, 0).astype(np.int64) if self.setting.chosen else None,
            repeat=True,
            seed=int(self.rng.integers(1 << 30)),
        )
        if self.setting.chosen:
            found = chooser.questions(None, self.setting.batch)
        else:
            coming = self.rng.integers(0, self.setting.annotators, self.setting.batch)
            found = [each for k in coming for each in chooser.questions(np.array([k]), 1)]
        self.seconds += time.perf_counter() - began
        return [(each.annotator, each.left, each.right) for each in found]

    def answer(self, k: int, i: int, j: int) -> int:
        """1 if annotator k puts i before j, −1 otherwise."""
        better = 1 / (1 + np.exp(self.truth[j] - self.truth[i]))
        return 1 if self.rng.random() < self.quality[k] * better + (1 - self.quality[k]) * (1 - better) else -1
