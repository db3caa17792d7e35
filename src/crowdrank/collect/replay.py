"""Policies evaluated on recorded answers: each answer is used once, and unknown to the policy until it asks for it.

With `refit`, crowd-bt is fitted again to all answers so far at every checkpoint, and where so many answers came since
the last fit that beliefs may have drifted. At checkpoints the ranking is compared with gold, which no policy sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.policies import WITHOUT_BELIEFS, policy_of
from crowdrank.collect.protocols import Known, Policy
from crowdrank.collect.state import PRIOR, State
from crowdrank.consensus import frame_of
from crowdrank.convert import as_pairs
from crowdrank.evaluation.evaluate import evaluate
from crowdrank.numerics.progress import report
from crowdrank.numerics.seeds import generator
from crowdrank.settings import SettingError, check, check_whole_number
from crowdrank.study import Codes, Gold, JudgmentError, Judgments, Pairs, check_gold, check_judgments


def replay(
    judgments: Judgments,
    gold: Gold,
    policies: str | Policy | Iterable[str | Policy] | Mapping[str, Policy] = "information-gain",
    *,
    budget: int | None = None,
    every: int = 50,
    seeds: int | Iterable[int] = 1,
    refit: bool = True,
    start: State | None = None,
) -> Any:
    """How accurate the ranking is after so many answers, for each policy and seed: a data frame policy, seed, votes,
    acc.

    `judgments` are the recorded answers, `budget` how many of them are asked for (default: all). A dict gives policies
    names of their own, to compare several settings of one. `refit=False` ranks by the state that the answers updated
    one by one. `start` is the state before the first answer; by default with the priors of the active Crowd-BT, since
    learned ones are fitted by sampling, which takes much longer.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=10, annotators=5, votes=200, seed=0)
    >>> replay(study.judgments, study.gold, ["mutual-information", "random"], budget=40, every=20)["votes"].to_list()
    [20, 40, 20, 40]
    """
    check_judgments(judgments)
    check_gold(gold)
    pairs = as_pairs(judgments)
    if not len(pairs):
        raise JudgmentError("replay needs pairs, or rankings or grades to derive pairs from; this study has none")
    most = len(pairs)
    budget = most if budget is None else min(budget, most)
    check_whole_number("every", every)
    check(budget >= every, "budget", budget, f"at least {every}, the answers between two checkpoints")
    named = _named(policies)
    before = (State.start(prior=PRIOR) if start is None else start).over(judgments.vocabulary)
    chosen = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    rows: dict[str, list[Any]] = {"policy": [], "seed": [], "votes": [], "acc": []}
    for number, (name, policy) in enumerate(named.items()):
        for seed in chosen:
            report("replay", number * len(chosen) + chosen.index(seed), len(named) * len(chosen))
            collection = _Collection(judgments, pairs, policy, before, budget, seed)
            for votes in range(every, budget + 1, every):
                state = collection.until(votes, refit)
                acc = evaluate(state.consensus(), gold, ["acc"]).mean["acc"]
                for column, value in zip(rows, (name, seed, votes, acc), strict=True):
                    rows[column].append(value)
    columns: dict[str, NDArray[Any]] = {
        name: np.array(values, dtype=object if name == "policy" else None) for name, values in rows.items()
    }
    return frame_of(columns, judgments.vocabulary.frame).to_native()


def _named(policies: Any) -> dict[str, Policy]:
    """The policies by the names they have in the result."""
    if isinstance(policies, Mapping):
        named = {name: policy_of(policy) for name, policy in policies.items()}
    else:
        several = [policies] if isinstance(policies, str) or not isinstance(policies, Iterable) else list(policies)
        named = {policy.name: policy for policy in map(policy_of, several)}
        if len(named) < len(several):
            raise SettingError(
                "a policy is named twice; give several settings of one by name: {'gamma 0': …, 'gamma 1': …}"
            )
    for policy in named.values():
        if policy.asks != "pairs":
            raise SettingError(f"replay asks for pairs; the policy {policy.name} does not")
    return named


class _Collection:
    """One run: answers asked for one by one."""

    def __init__(
        self, judgments: Judgments, pairs: Pairs, policy: Policy, start: State, budget: int, seed: int
    ) -> None:
        self.rng = generator(seed)
        self.order = self.rng.permutation(len(pairs))  # ties in worth are broken by this order
        self.annotator, self.left = pairs.annotator[self.order], pairs.left[self.order]
        self.right, self.outcome = pairs.right[self.order], pairs.outcome[self.order]
        self.judgments, self.pairs, self.policy, self.budget, self.state = judgments, pairs, policy, budget, start
        vocabulary = judgments.vocabulary
        self.compared = np.zeros(vocabulary.n_entries, np.int64)
        self.of_entry = _RowsByCode((self.left, self.right), vocabulary.n_entries)
        self.of_annotator = _RowsByCode((self.annotator,), len(vocabulary.annotators))
        self.asked: list[int] = []
        self.open = np.ones(len(self.left), bool)
        self.worth = np.empty(len(self.left))
        self._update_worth(np.arange(len(self.left)))

    def until(self, votes: int, refit: bool) -> State:
        """Ask until there are so many answers; the state after the last."""
        while len(self.asked) < votes:
            self._ask()
            due = self.state.learned and self.state.needs_refit and self.policy.name not in WITHOUT_BELIEFS
            if refit and (due or len(self.asked) == votes):
                self._refit()
        if not refit:
            self._update_worth(np.flatnonzero(self.open))
        return self.state

    def _refit(self) -> None:
        """Fit all answers so far."""
        rows, pairs = np.sort(self.order[self.asked]), self.pairs
        asked = Pairs(pairs.annotator[rows], pairs.left[rows], pairs.right[rows], pairs.outcome[rows])
        self.state = self.state.refit(replace(self.judgments.only("pairs"), pairs=asked))
        self._update_worth(np.flatnonzero(self.open))

    def _ask(self) -> None:
        """Ask the next question, and update the state and the worth of the others."""
        row = self._chosen()
        i, j, k = self.left[row], self.right[row], self.annotator[row]
        self.asked.append(row)
        self.open[row], self.worth[row] = False, -np.inf
        one = slice(row, row + 1)
        self.state = self.state.after(self.annotator[one], self.left[one], self.right[one], self.outcome[one])
        self.compared[[i, j]] += 1
        touched = np.concatenate([self.of_entry[i], self.of_entry[j], self.of_annotator[k]])
        self._update_worth(touched[self.open[touched]] if self.policy.local else np.flatnonzero(self.open))

    def _chosen(self) -> int:
        """The row of the next question."""
        if self.policy.epsilon > 0 and self.rng.random() < self.policy.epsilon:
            return int(self.rng.choice(np.flatnonzero(self.open)))
        return int(np.argmax(self.worth))

    def _update_worth(self, rows: NDArray[np.int64]) -> None:
        """Compute the worth of these questions again."""
        if not len(rows):
            return
        answered = self.left[self.asked], self.right[self.asked], self.outcome[self.asked]
        known = Known(self.state, self.compared, len(self.asked) / self.budget, None, *answered)
        self.worth[rows] = self.policy.worth(known, self.annotator[rows], self.left[rows], self.right[rows], self.rng)


class _RowsByCode:
    """The rows in which each code appears."""

    def __init__(self, columns: Sequence[Codes], n: int) -> None:
        codes = np.concatenate(columns)
        order = np.argsort(codes, kind="stable")
        self.rows = order % len(columns[0])
        self.starts = np.searchsorted(codes[order], np.arange(n + 1))

    def __getitem__(self, code: int) -> NDArray[np.int64]:
        return self.rows[self.starts[code] : self.starts[code + 1]]
