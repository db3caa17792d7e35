"""Policies: what a question is worth. The question of the highest worth is asked; ties are broken at random.

| name | asks |
|---|---|
| `mutual-information` | what is expected to tell most about the order, the best k or the scores, by the posterior |
| `information-gain` | the same by formulas for independent scores (Chen et al., WSDM 2013) |
| `random` | any pair |
| `least-compared` | about the items with the fewest judgments |
| `uncertainty` | about the pairs whose order is least certain |
| `thompson` | what would be most informative if scores and qualities were a draw from their distributions |
| `top-k` | what is most informative about which items are the best k of a task, by the formulas of information-gain |
| `asap`, `hybrid-mst`, `sorting`, `swiss` | as other papers do: see `crowdrank.collect.rivals` |
| `grades` | for the grade with the highest expected information about an item (needs grades) |
| `rankings` | for a ranking of a handful of items, chosen like pairs |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.belief import Draws
from crowdrank.collect.gain_kernels import STEPS, gains
from crowdrank.collect.information import (
    Chances,
    chances,
    memberships,
    mutual_information,
    places,
    quality_information,
    variance_reduction,
)
from crowdrank.collect.protocols import Asks, Known, Policy
from crowdrank.collect.rivals import Asap, HybridMst, Sorting, Swiss
from crowdrank.collect.state import State
from crowdrank.methods.pairs.votes.model import logistic
from crowdrank.numerics.compiled import for_work
from crowdrank.numerics.ranks import normal_below
from crowdrank.settings import (
    SettingError,
    check,
    check_choice,
    check_not_negative,
    check_setting_names,
    check_share,
    check_whole_number,
    did_you_mean,
    is_number,
)
from crowdrank.study import Codes, Floats

Goal = Literal["order", "top-k", "scale"]
AT_ONCE = 10_000  # questions whose information is computed together


@dataclass(frozen=True, slots=True)
class MutualInformation:
    """The information of an answer about what is wanted, over draws of the posterior of crowd-bt.

    γ is the weight of the information about annotators.
    """

    name: ClassVar[str] = "mutual-information"
    asks: ClassVar[Asks] = "pairs"
    local: ClassVar[bool] = True

    goal: Goal = "order"  # what is wanted: the order of all items, the best k of every task, or scores
    k: int = 10  # of the goal top-k
    gamma: float = 0.0
    epsilon: float = 0.0  # share of the questions that are drawn at random

    def __post_init__(self) -> None:
        check_choice("goal", self.goal, get_args(Goal))
        check_whole_number("k", self.k)
        check_not_negative("gamma", self.gamma)
        check_share("epsilon", self.epsilon)

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """What an answer tells about the goal and, γ times, the annotator, in nats.

        Of places in the ranking, and of belonging to the best k, it is half the share by which their variance is
        expected to fall, relative to the mean variance: what nats are, if little is told.
        """
        target = self._target(known.expected_draws, known.state, left, right)
        if target is None:
            return self.information(known, annotator, left, right)
        usual = max(float(target.var(axis=0).mean()), 1e-12)
        found = np.empty(len(left))
        for part, answers, rate, variance in self._answers(known, annotator, left, right):
            reduction = variance_reduction(answers, target[:, left[part]], target[:, right[part]])
            found[part] = reduction / (2 * usual) + self.gamma * quality_information(answers, rate, variance)
        return found

    def information(self, known: Known, annotator: Codes, left: Codes, right: Codes) -> Floats:
        """The information of each answer about scores and, γ times, annotators, in nats."""
        found = np.empty(len(left))
        for part, answers, rate, variance in self._answers(known, annotator, left, right):
            found[part] = mutual_information(answers) + self.gamma * quality_information(answers, rate, variance)
        return found

    def rough_worth(self, known: Known, annotator: NDArray[Any], left: Codes, right: Codes) -> Floats:
        """About `information`: a row for each of these annotators, a column for each of these pairs."""
        draws, state = known.expected_draws, known.state
        lead = np.tanh((draws[:, left] - draws[:, right]) / 2) / 2
        mean, square = lead.mean(axis=0), (lead**2).mean(axis=0)
        rate, variance = (2 * state.quality - 1)[annotator, None], state.quality_variance[annotator, None]
        scores = rate**2 * (square - mean**2) / (0.5 - 2 * (rate * mean) ** 2)
        return np.asarray(scores + self.gamma * 2 * variance * square / np.maximum(0.25 - rate**2 * square, 0.05))

    def _answers(
        self, known: Known, annotator: Codes, left: Codes, right: Codes
    ) -> Iterator[tuple[slice, Chances, Draws, Floats]]:
        """Part by part: the chances of the answers, 2η − 1 and the variance of η of whom they come from."""
        draws, state = known.expected_draws, known.state
        rate, variance = (2 * state.quality - 1).astype(np.float32), state.quality_variance
        for at in range(0, len(left), AT_ONCE):
            part = slice(at, at + AT_ONCE)
            who = annotator[part]
            gap = draws[:, left[part]] - draws[:, right[part]]
            yield part, chances(gap, rate[who], state.ties), rate[who], variance[who]

    def _target(self, draws: Draws, state: State, left: Codes, right: Codes) -> Draws | None:
        """What is wanted, relative to its mean, in every draw; None for the scores themselves."""
        if self.goal == "scale":
            return None
        vocabulary = state.vocabulary
        task = vocabulary.entry_task[np.concatenate([left, right])]
        if self.goal == "order":
            target = places(draws, vocabulary.task_starts, task)
        else:
            target = memberships(draws, vocabulary.task_starts, task, self.k)
        return np.asarray(target - target.mean(axis=0))


@dataclass(frozen=True, slots=True)
class InformationGain:
    """The expected information gain; γ is the weight of the information about annotators."""

    name: ClassVar[str] = "information-gain"
    asks: ClassVar[Asks] = "pairs"
    local: ClassVar[bool] = True

    gamma: float = 1.0
    halve_every: float | None = None  # share of the budget after which γ is halved, and halved again
    epsilon: float = 0.0  # share of the questions that are drawn at random

    def __post_init__(self) -> None:
        check_not_negative("gamma", self.gamma)
        halving = self.halve_every is None or (is_number(self.halve_every) and 0 < self.halve_every <= 1)
        check(halving, "halve_every", self.halve_every, "a share of the budget, above 0 and at most 1")
        check_share("epsilon", self.epsilon)

    def gamma_at(self, spent: float) -> float:
        """γ once this share of the budget is spent.

        >>> InformationGain(gamma=8, halve_every=0.25).gamma_at(0.6)
        2.0
        """
        if self.halve_every is None:
            return float(self.gamma)
        return self.gamma * 0.5 ** int(spent / self.halve_every + 1e-9)

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """The expected gain of each question, in nats."""
        return _gains(known.state, annotator, left, right, self.gamma_at(known.spent))


@dataclass(frozen=True, slots=True)
class Random:
    """Every question is worth the same."""

    name: ClassVar[str] = "random"
    asks: ClassVar[Asks] = "pairs"
    local: ClassVar[bool] = True
    epsilon: ClassVar[float] = 0.0

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """A random number for each question."""
        return rng.random(len(left))


@dataclass(frozen=True, slots=True)
class LeastCompared:
    """Pairs of entries with the fewest judgments first."""

    name: ClassVar[str] = "least-compared"
    asks: ClassVar[Asks] = "pairs"
    local: ClassVar[bool] = True
    epsilon: ClassVar[float] = 0.0

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """Minus the judgments that the two entries have."""
        return np.asarray(-(known.compared[left] + known.compared[right]), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """Pairs whose order is least certain first."""

    name: ClassVar[str] = "uncertainty"
    asks: ClassVar[Asks] = "pairs"
    local: ClassVar[bool] = True
    epsilon: ClassVar[float] = 0.0

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """The probability that the order of the means is wrong."""
        state = known.state
        error = np.sqrt(state.variance[left] + state.variance[right])
        return np.asarray(normal_below(-np.abs(state.mean[left] - state.mean[right]) / error))


@dataclass(frozen=True, slots=True)
class Thompson:
    """The most informative question for scores and qualities that are drawn from their distributions."""

    name: ClassVar[str] = "thompson"
    asks: ClassVar[Asks] = "pairs"
    local: ClassVar[bool] = False
    epsilon: ClassVar[float] = 0.0

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:
        """The variance of the gap times the Fisher information of an answer under the draw."""
        state = known.state
        score = rng.normal(state.mean, np.sqrt(state.variance))
        quality = rng.beta(state.alpha, state.beta)[annotator]
        p = logistic(score[left] - score[right])
        first = quality * p + (1 - quality) * (1 - p)
        information = ((2 * quality - 1) * p * (1 - p)) ** 2 / (first * (1 - first) + 1e-12)
        return np.asarray((state.variance[left] + state.variance[right]) * information)


@dataclass(frozen=True, slots=True)
class TopK:
    """The expected information gain of the entries that may or may not be among the best k of a task."""

    name: ClassVar[str] = "top-k"
    asks: ClassVar[Asks] = "pairs"
    local: ClassVar[bool] = False
    epsilon: ClassVar[float] = 0.0

    k: int = 10
    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_whole_number("k", self.k)
        check_not_negative("gamma", self.gamma)

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """The gain, weighted by how uncertain it is whether the two entries are among the best."""
        inside = chance_of_top(known.state, self.k)
        undecided = 4 * inside * (1 - inside)
        gain = _gains(known.state, annotator, left, right, self.gamma)
        return np.asarray(gain * (undecided[left] + undecided[right]) / 2)


@dataclass(frozen=True, slots=True)
class GradePolicy:
    """Which item needs another grade, and from whom: the expected information about its relevance (gda)."""

    name: ClassVar[str] = "grades"
    asks: ClassVar[Asks] = "grades"
    local: ClassVar[bool] = True
    epsilon: ClassVar[float] = 0.0

    shrinkage: float = 1.0  # of gda: how strongly annotators' curves are shrunk to the crowd's

    def __post_init__(self) -> None:
        check_not_negative("shrinkage", self.shrinkage)

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """Refuse: it has no worth of pairs."""
        raise SettingError("the policy grades asks for grades, not for pairs; use another policy for pairs")


@dataclass(frozen=True, slots=True)
class RankingPolicy:
    """Which handful of items to rank next: those whose pairs tell most."""

    name: ClassVar[str] = "rankings"
    asks: ClassVar[Asks] = "rankings"
    local: ClassVar[bool] = True
    epsilon: ClassVar[float] = 0.0

    size: int = 5  # items in a handful
    goal: Goal = "order"
    k: int = 10  # of the goal top-k

    def __post_init__(self) -> None:
        check_whole_number("size", self.size, least=2)
        check_choice("goal", self.goal, get_args(Goal))
        check_whole_number("k", self.k)

    def worth(self, known: Known, annotator: Codes, left: Codes, right: Codes, rng: np.random.Generator) -> Floats:
        """The worth of a pair, as one of those in a ranking."""
        return MutualInformation(self.goal, self.k, gamma=0.0).worth(known, annotator, left, right, rng)


PAIR_POLICIES = (MutualInformation, InformationGain, Random, LeastCompared, Uncertainty, Thompson, TopK)
RIVALS = (Asap, HybridMst, Sorting, Swiss)
WITHOUT_BELIEFS = ("random", "least-compared", "asap", "hybrid-mst", "sorting")  # what they ask does not use the state
POLICIES: dict[str, type[Policy]] = {
    policy.name: policy for policy in (*PAIR_POLICIES, *RIVALS, GradePolicy, RankingPolicy)
}


def policy_of(chosen: str | Policy, settings: Mapping[str, Any] | None = None) -> Policy:
    """The policy of that name with these settings."""
    if not isinstance(chosen, str):
        return chosen
    if chosen not in POLICIES:
        raise SettingError(f"no policy {chosen!r}{did_you_mean(chosen, POLICIES)}; there are {', '.join(POLICIES)}")
    known = [field.name for field in fields(POLICIES[chosen])]  # type: ignore[arg-type]
    check_setting_names(f"the policy {chosen}", settings or {}, known)
    return POLICIES[chosen](**(settings or {}))


def chance_of_top(state: State, k: int) -> Floats:
    """The probability that each entry is among the best k of its task.

    Its score is compared with the middle between the means at places k and k + 1.
    """
    vocabulary, inside = state.vocabulary, np.ones(state.vocabulary.n_entries)
    for start, end in zip(vocabulary.task_starts[:-1], vocabulary.task_starts[1:], strict=True):
        if end - start > k:
            ordered = np.sort(state.mean[start:end])[::-1]
            edge = (ordered[k - 1] + ordered[k]) / 2
            inside[start:end] = normal_below((state.mean[start:end] - edge) / np.sqrt(state.variance[start:end]))
    return inside


def _gains(state: State, annotator: Codes, left: Codes, right: Codes, gamma: float) -> Floats:
    """The expected information gain of each question, in nats."""
    out = np.empty(len(left))
    beliefs = state.mean, state.variance, state.alpha, state.beta
    for_work(gains, STEPS * len(left))(annotator, left, right, *beliefs, state.ties, float(gamma), out)
    return out
