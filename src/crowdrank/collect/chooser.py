"""Chooses questions one after the other; each choice takes those before it into account.

The answers to what is asked are outstanding until they come: the draws of the scores are what the answers are expected
to leave, so that a batch of five is not about one item five times. Nobody else gets the same pair, unless `repeat`. No
pair is asked more often than `most_per_pair`, and nobody more often than their quota.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.information import candidates, narrowed, of_one_scale
from crowdrank.collect.limits import Limits, Whole
from crowdrank.collect.policies import InformationGain, MutualInformation, Random
from crowdrank.collect.pool import Pool
from crowdrank.collect.protocols import Known, Policy
from crowdrank.collect.state import State
from crowdrank.numerics.seeds import generator
from crowdrank.study import Codes

MOST_CANDIDATES = 2_000_000  # pairs that policies without candidates of their own compare; of more, a random sample
SHORTLIST = 256  # of the most promising pairs, whose information is computed exactly
FEWEST_REPEATS = 3  # of a pair, and more often where there are more judgments than pairs


@dataclass(frozen=True, slots=True)
class Question:
    """An annotator and two entries, by code."""

    annotator: int
    left: int
    right: int
    gain: float  # the expected information of the answer, per unit of cost


class QuestionChooser:
    """Chooses questions for a state; `known` has the answers so far."""

    def __init__(
        self,
        known: Known,
        limits: Limits,
        policy: Policy,
        *,
        quota: NDArray[np.int64] | None = None,
        most_per_pair: int | None = None,
        repeat: bool = False,
        seed: int = 0,
    ) -> None:
        draws = known.state.draws
        if getattr(policy, "goal", None) in ("order", "top-k"):
            draws, _ = of_one_scale(draws, known.state.vocabulary.task_starts)
        self.known = replace(known, compared=known.compared.copy(), draws=draws)
        self.limits, self.policy, self.quota, self.repeat, self.rng = limits, policy, quota, repeat, generator(seed)
        self.most_per_pair = usual_most_per_pair(known) if most_per_pair is None else most_per_pair
        self.times = self._times()
        for key in [key for key, times in self.times.items() if times >= self.most_per_pair]:
            self.limits = self.limits.without_pair(*divmod(key, self.state.vocabulary.n_entries))

    @property
    def state(self) -> State:
        """What is believed, and expected of outstanding answers."""
        return self.known.state

    def _times(self) -> dict[int, int]:
        """How often each pair was answered."""
        known, n = self.known, np.int64(self.state.vocabulary.n_entries)
        keys, times = np.unique(
            np.minimum(known.left, known.right) * n + np.maximum(known.left, known.right), return_counts=True
        )
        return dict(zip(keys.tolist(), times.tolist(), strict=True))

    def questions(self, annotators: Codes | None, count: int) -> list[Question]:
        """`count` for each of the annotators, or the best `count` of all; fewer where there is nothing left to ask."""
        if annotators is None:
            return self._for_all(count)
        found: list[Question] = []
        for _ in range(count):
            asked = [question for k in annotators if (question := self._for_one(int(k))) is not None]
            if not asked:
                break
            found += asked
        return found

    def expect(self, questions: Iterable[tuple[int, int, int]]) -> None:
        """Take questions into account that were asked before, and are not answered yet."""
        for annotator, left, right in questions:
            self._asked(Question(annotator, left, right, 0.0))

    def _for_all(self, count: int) -> list[Question]:
        """The best questions to any annotator; policies that do not compare annotators draw them at random."""
        if isinstance(self.policy, InformationGain):
            return self._best_of_pool(count)
        annotators = np.arange(len(self.state.vocabulary.annotators))
        found: list[Question] = []
        while len(found) < count and len(annotators):
            chosen = isinstance(self.policy, MutualInformation) and not self._at_random()
            who = self._best_annotator(annotators) if chosen else int(self.rng.choice(annotators))
            question = self._for_one(who)
            if question is None:
                annotators = annotators[annotators != who]
            else:
                found.append(question)
        return found

    def _best_annotator(self, annotators: NDArray[np.int64]) -> int:
        """The one whose answer to the best pair tells most per unit of cost."""
        left, right = candidates(self.state, self.known.expected_draws, self.rng)
        left, right = left[:SHORTLIST], right[:SHORTLIST]
        assert isinstance(self.policy, MutualInformation)
        gain = self.policy.rough_worth(self.known, annotators, left, right) / self.limits.cost[annotators, None]
        allowed = self.limits.allowed[annotators]
        gain = np.where(allowed[:, left] & allowed[:, right], gain, -np.inf)
        best = gain.max(axis=1, initial=-np.inf)
        if self.quota is not None:
            best[self.quota[annotators] <= 0] = -np.inf
        return int(annotators[np.argmax(best)])

    def _best_of_pool(self, count: int) -> list[Question]:
        """The best questions by information gain, whose bounds are kept from question to question."""
        assert isinstance(self.policy, InformationGain)
        if self.quota is not None:
            self.limits = self.limits.without_annotators(np.flatnonzero(self.quota <= 0))
        annotators = np.arange(len(self.state.vocabulary.annotators))
        pool, found = Pool(self.state, self.limits, self.policy.gamma_at(0.0)), []
        for _ in range(count):
            best = pool.best()
            if self._at_random() and len(annotators):
                question = self._for_one(int(self.rng.choice(annotators)))
            else:
                question = None if best is None else self._asked(Question(*best))
            if question is None:
                break
            found.append(question)
            full = self.quota is not None and self.quota[question.annotator] <= 0
            if full:
                self.limits = self.limits.without_annotators(np.array([question.annotator]))
            changed = question.annotator if full else None
            pool.change(self.state, (question.left, question.right), changed, self.limits)
        return found

    def _for_one(self, annotator: int) -> Question | None:
        """The best question to one annotator; None where nothing may be asked."""
        if self.quota is not None and self.quota[annotator] <= 0:
            return None
        policy: Policy = Random() if self._at_random() else self.policy
        if isinstance(policy, InformationGain):
            best = Pool(self.state, self.limits, policy.gamma_at(0.0), np.array([annotator], np.int32)).best()
            return None if best is None else self._asked(Question(*best))
        left, right = (
            self._shortlist(annotator) if isinstance(policy, MutualInformation) else self._all_pairs(annotator)
        )
        if not len(left):
            return None
        who = np.full(len(left), annotator, np.int32)
        worth = policy.worth(self.known, who, left, right, self.rng)
        row = self.rng.choice(np.flatnonzero(worth >= worth.max()), 1)
        gain = MutualInformation().information(self.known, who[row], left[row], right[row])
        gain = gain / self.limits.cost[annotator]
        return self._asked(Question(annotator, int(left[row[0]]), int(right[row[0]]), float(gain[0])))

    def _at_random(self) -> bool:
        """Whether the next question is drawn at random; no random number is used up where none ever is."""
        return self.policy.epsilon > 0 and bool(self.rng.random() < self.policy.epsilon)

    def _shortlist(self, annotator: int) -> tuple[Codes, Codes]:
        """The most promising pairs that the annotator may be asked."""
        left, right = candidates(self.state, self.known.expected_draws, self.rng)
        for end in (4 * SHORTLIST, len(left)):
            permitted = np.flatnonzero(self._permits(annotator, left[:end], right[:end]))[: 2 * SHORTLIST]
            if len(permitted):
                return left[permitted], right[permitted]
        return self._all_pairs(annotator)

    def _all_pairs(self, annotator: int) -> tuple[Codes, Codes]:
        """All pairs that the annotator may be asked; of more than MOST_CANDIDATES, a random sample."""
        starts = self.state.vocabulary.task_starts
        sizes = np.diff(starts)
        if int((sizes * (sizes - 1) // 2).sum()) <= MOST_CANDIDATES:
            pairs = [
                np.add(np.triu_indices(size, 1), start) for start, size in zip(starts, sizes, strict=False) if size > 1
            ]
            left, right = np.concatenate(pairs, axis=1) if pairs else np.zeros((2, 0), np.int64)
        else:
            task = self.rng.choice(
                len(sizes), MOST_CANDIDATES, p=sizes * (sizes - 1) / float((sizes * (sizes - 1.0)).sum())
            )
            left = self.rng.integers(0, sizes[task])
            right = (left + self.rng.integers(1, sizes[task])) % sizes[task] + starts[task]
            left = left + starts[task]
        permitted = self._permits(annotator, left, right)
        return left[permitted].astype(np.int32), right[permitted].astype(np.int32)

    def _permits(self, annotator: int, left: Whole, right: Whole) -> NDArray[np.bool_]:
        return self.limits.permits(np.full(len(left), annotator), left, right)

    def _asked(self, question: Question) -> Question:
        """Note that the question is asked: what its answer is expected to leave, and that it is not asked again."""
        k, i, j = question.annotator, question.left, question.right
        key = min(i, j) * self.state.vocabulary.n_entries + max(i, j)
        self.times[key] = self.times.get(key, 0) + 1
        if self.repeat and self.times[key] < self.most_per_pair:
            self.limits = self.limits.without(np.array([k]), np.array([i]), np.array([j]))
        else:
            self.limits = self.limits.without_pair(i, j)
        if self.quota is not None:
            self.quota[k] -= 1
        draws, state = self.known.expected_draws, self.state
        after = narrowed(draws, i, j, float(2 * state.quality[k] - 1))
        variance = state.variance.copy()
        for entry in (i, j):
            variance[entry] *= max(float(after[:, entry].var() / max(float(draws[:, entry].var()), 1e-30)), 1e-4)
        self.known.compared[[i, j]] += 1
        self.known = replace(self.known, state=replace(state, variance=variance), draws=after)
        return question


def usual_most_per_pair(known: Known) -> int:
    """How often a pair may be asked: three times, and three times more for each round of all pairs."""
    sizes = np.diff(known.state.vocabulary.task_starts)
    pairs = max(int((sizes * (sizes - 1) // 2).sum()), 1)
    return FEWEST_REPEATS * (1 + len(known.left) // pairs)
