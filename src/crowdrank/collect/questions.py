"""What to ask whom next.

A batch is chosen one question after the other: once one is chosen, its entries count as known as well as its answer is
expected to make them, so that five questions are not five times the same item; and nobody else gets the same pair,
unless that is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.grades import grade_questions
from crowdrank.collect.limits import Limits
from crowdrank.collect.policies import InformationGain, Known, Policy, Random, policy_of
from crowdrank.collect.pool import Pool
from crowdrank.collect.rotation import rotation
from crowdrank.collect.state import State, entries_of, joined
from crowdrank.consensus import frame_of
from crowdrank.convert import as_pairs
from crowdrank.settings import check, check_whole_number
from crowdrank.study import Codes, Ids, Judgments, Vocabulary, ids, recode

MOST_CANDIDATES = 2_000_000  # pairs that policies other than information gain look at; of more, so many are drawn


@dataclass(frozen=True, slots=True)
class Question:
    """Annotator, two entries, and the information that the answer is expected to bring, per unit of cost."""

    annotator: int
    left: int
    right: int
    gain: float


def next_questions(
    judgments: Judgments,
    annotator: Any = None,
    count: int = 1,
    *,
    policy: str | Policy | None = None,
    state: State | None = None,
    items: Any = None,
    cost: Mapping[Any, float] | None = None,
    repeat: bool = False,
    seed: int = 0,
    **settings: Any,
) -> Any:
    """The questions to ask next: a data frame task, annotator, left, right, gain (of grades: task, annotator, item,
    gain).

    They are in the order in which they were chosen, each in the light of those before. The gain is the expected
    information, in nats.

    - `annotator`: who is at hand. One name, or several: each gets `count` questions. None: the best `count` of the
      whole crowd.
    - `policy` and its settings (`gamma=5`): see `crowdrank.collect.policies`. By default information-gain; grades,
      where there is nothing else.
    - `state`: what is believed so far, kept up to date by whoever asks; by default the judgments are fitted anew.
    - `items`: a table of the items in rotation, with the columns item, perhaps task, and perhaps owner (an annotator
      who is not asked about it). Items that nobody has judged yet may be among them. By default all that were judged
      are.
    - `cost` of an answer by annotator, 1 unless told: gains are per unit of it.
    - `repeat`: may several annotators get the same pair?

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=10, annotators=5, votes=100, seed=0)
    >>> cr.next_questions(study.judgments, "annotator1", count=3).columns
    ['task', 'annotator', 'left', 'right', 'gain']
    """
    check_whole_number("count", count)
    chosen = policy_of(policy or usual_policy(judgments), settings)
    named = (
        None
        if annotator is None
        else ids([annotator] if isinstance(annotator, str) or not isinstance(annotator, Sequence) else annotator)
    )
    vocabulary = _crowd(
        judgments.vocabulary if state is None else joined(state.vocabulary, judgments.vocabulary), named, cost
    )
    vocabulary, allowed = rotation(vocabulary, items)
    at_hand = None if named is None else recode(named, vocabulary.annotators).astype(np.int32)
    price = _costs(vocabulary.annotators, cost)
    if chosen.asks == "grades":
        return grade_questions(judgments, vocabulary, allowed, price, at_hand, count, chosen, repeat=repeat)
    state = (State.start(vocabulary).refit(judgments) if state is None else state).over(vocabulary)
    limits = Limits(allowed, price, np.zeros(0, np.int64))
    compared = np.zeros(vocabulary.n_entries, np.int64)
    if len(judgments):
        pairs, entry = as_pairs(judgments), entries_of(judgments.vocabulary, vocabulary)
        who = recode(judgments.vocabulary.annotators, vocabulary.annotators)[pairs.annotator]
        limits = limits.without(who, entry[pairs.left], entry[pairs.right])
        compared = np.bincount(np.concatenate([entry[pairs.left], entry[pairs.right]]), minlength=vocabulary.n_entries)
    chooser = QuestionChooser(state, limits, chosen, compared, repeat=repeat, seed=seed)
    return _frame(chooser.questions(at_hand, count), state.vocabulary, seed)


def usual_policy(judgments: Judgments) -> str:
    """The policy for a study of this kind."""
    return "grades" if judgments.kinds == ("grades",) else "information-gain"


class QuestionChooser:
    """Chooses questions one after the other, each in the light of those before."""

    def __init__(
        self,
        state: State,
        limits: Limits,
        policy: Policy,
        compared: NDArray[np.int64],
        *,
        repeat: bool = False,
        seed: int = 0,
    ) -> None:
        self.state, self.limits, self.policy, self.compared = state, limits, policy, compared.copy()
        self.repeat, self.rng = repeat, np.random.default_rng(seed)

    def questions(self, annotators: Codes | None, count: int) -> list[Question]:
        """`count` for each of the annotators, or the best `count` of all; fewer where there is nothing left to ask."""
        if annotators is None:
            return self._of_everybody(count)
        return [question for _ in range(count) for k in annotators if (question := self._of_one(int(k))) is not None]

    def _of_everybody(self, count: int) -> list[Question]:
        crowd = np.arange(len(self.state.vocabulary.annotators))
        if not isinstance(self.policy, InformationGain):  # these do not choose whom to ask
            drawn = (self._of_one(int(self.rng.choice(crowd))) for _ in range(count) if len(crowd))
            return [question for question in drawn if question is not None]
        pool, found = Pool(self.state, self.limits, self.policy.gamma_at(0.0)), []
        for _ in range(count):
            best = pool.best()
            if self._by_lot() and len(crowd):
                question = self._of_one(int(self.rng.choice(crowd)))
            else:
                question = None if best is None else self._taken(Question(*best))
            if question is None:
                break
            found.append(question)
            pool.change(self.state, (question.left, question.right), None, self.limits)
        return found

    def _of_one(self, annotator: int) -> Question | None:
        if isinstance(self.policy, InformationGain) and not self._by_lot():
            best = Pool(self.state, self.limits, self.policy.gamma_at(0.0), np.array([annotator], np.int32)).best()
            return None if best is None else self._taken(Question(*best))
        policy = Random() if isinstance(self.policy, InformationGain) else self.policy
        left, right = self._candidates(annotator)
        if not len(left):
            return None
        who = np.full(len(left), annotator, np.int32)
        worth = policy.worth(Known(self.state, self.compared), who, left, right, self.rng)
        row = self.rng.choice(np.flatnonzero(worth >= worth.max()), 1)
        known = Known(self.state, self.compared)
        gain = InformationGain().worth(known, who[row], left[row], right[row], self.rng) / self.limits.cost[annotator]
        return self._taken(Question(annotator, int(left[row[0]]), int(right[row[0]]), float(gain[0])))

    def _by_lot(self) -> bool:
        epsilon = getattr(self.policy, "epsilon", 0.0)
        return bool(epsilon) and bool(self.rng.random() < epsilon)

    def _candidates(self, annotator: int) -> tuple[Codes, Codes]:
        """All pairs that the annotator may be asked; of very many, some."""
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
        may = self.limits.permits(np.full(len(left), annotator), left, right)
        return left[may].astype(np.int32), right[may].astype(np.int32)

    def _taken(self, question: Question) -> Question:
        """The question is asked: as well known as its entries are expected to be then, and not to be asked again."""
        who, left, right = (np.array([code]) for code in (question.annotator, question.left, question.right))
        self.limits = (
            self.limits.without(who, left, right)
            if self.repeat
            else self.limits.without_pair(question.left, question.right)
        )
        self.state = self.state.expecting(question.annotator, question.left, question.right)
        self.compared[[question.left, question.right]] += 1
        return question


def _crowd(vocabulary: Vocabulary, named: Ids | None, cost: Mapping[Any, float] | None) -> Vocabulary:
    """The study's names, with annotators who have not judged anything yet."""
    new = ids([*(named if named is not None else []), *(cost or {})])
    nothing = np.zeros(0, np.int32)
    return joined(
        vocabulary,
        Vocabulary(vocabulary.tasks, vocabulary.items, ids(dict.fromkeys(new)), nothing, nothing, vocabulary.frame),
    )


def _costs(annotators: Ids, cost: Mapping[Any, float] | None) -> NDArray[np.float64]:
    price = np.ones(len(annotators))
    for name, value in (cost or {}).items():
        check(0 < value < np.inf, f"cost of {name!r}", value, "a number above 0")
        price[[str(other) == str(name) for other in annotators]] = value
    return price


def _frame(questions: Sequence[Question], vocabulary: Vocabulary, seed: int) -> Any:
    """The questions with their names; which item is shown on the left is drawn."""
    swap = np.random.default_rng(seed).random(len(questions)) < 0.5
    pairs = np.array([(q.left, q.right) for q in questions], dtype=np.int64).reshape(-1, 2)
    pairs[swap] = pairs[swap][:, ::-1]
    left, right = pairs.T
    columns = {
        "task": vocabulary.tasks[vocabulary.entry_task[left]],
        "annotator": vocabulary.annotators[[q.annotator for q in questions]] if questions else ids([]),
        "left": vocabulary.items[vocabulary.entry_item[left]],
        "right": vocabulary.items[vocabulary.entry_item[right]],
        "gain": np.array([q.gain for q in questions], dtype=np.float64),
    }
    return frame_of(columns, vocabulary.frame).to_native()
