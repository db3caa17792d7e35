"""What to ask whom next.

A batch is chosen one question after the other. After each, the variances of its entries are what an answer is expected
to leave, so that a batch of five is not about one item five times. Nobody else gets the same pair, unless `repeat`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.grades import grade_questions
from crowdrank.collect.limits import Limits
from crowdrank.collect.policies import GradePolicy, InformationGain, Known, Policy, Random, policy_of
from crowdrank.collect.pool import Pool
from crowdrank.collect.rotation import rotation
from crowdrank.collect.state import State, joined
from crowdrank.consensus import frame_of
from crowdrank.convert import as_pairs
from crowdrank.numerics.seeds import generator
from crowdrank.settings import check_positive, check_whole_number
from crowdrank.study import Codes, Floats, Ids, Judgments, Vocabulary, entries_in, ids, recode

MOST_CANDIDATES = 2_000_000  # pairs that policies other than information gain compare; of more, a random sample


@dataclass(frozen=True, slots=True)
class Question:
    """An annotator and two entries, by code."""

    annotator: int
    left: int
    right: int
    gain: float  # the expected information of the answer, per unit of cost


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

    They are in the order in which they were chosen. Each choice takes the earlier ones into account. The gain is the
    expected information, in nats.

    - `annotator`: who is available. One name, or several: each gets `count` questions. None: the best `count` of all
      annotators.
    - `policy` and its settings (`gamma=5`): see `crowdrank.collect.policies`. The default is information-gain, or
      grades for a study of grades alone.
    - `state`: the current state of the collection; the default is a fit to the judgments.
    - `items`: a table of the items in rotation, with the column item and optional columns task and owner (an annotator
      who is not asked about the item). It may have items without judgments. The default is all judged items.
    - `cost` of an answer by annotator, default 1: gains are per unit of it.
    - `repeat`: several annotators may get the same pair.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=10, annotators=5, votes=100, seed=0)
    >>> cr.next_questions(study.judgments, "annotator1", count=3).columns
    ['task', 'annotator', 'left', 'right', 'gain']
    """
    check_whole_number("count", count)
    chosen = policy_of(policy or usual_policy(judgments), settings)
    named = None if annotator is None else ids(_listed(annotator))
    vocabulary = judgments.vocabulary if state is None else joined(state.vocabulary, judgments.vocabulary)
    vocabulary, allowed = rotation(_with_annotators(vocabulary, named, cost), items)
    available = None if named is None else recode(named, vocabulary.annotators).astype(np.int32)
    limits = Limits(allowed, _costs(vocabulary.annotators, cost), np.zeros(0, np.int64))
    if isinstance(chosen, GradePolicy):
        return grade_questions(judgments, vocabulary, limits, available, count, chosen, repeat=repeat)
    state = (State.start(vocabulary).refit(judgments) if state is None else state).over(vocabulary)
    compared = np.zeros(vocabulary.n_entries, np.int64)
    if len(judgments):
        pairs, entry = as_pairs(judgments), entries_in(judgments.vocabulary, vocabulary)
        who = recode(judgments.vocabulary.annotators, vocabulary.annotators)[pairs.annotator]
        limits = limits.without(who, entry[pairs.left], entry[pairs.right])
        compared = np.bincount(np.concatenate([entry[pairs.left], entry[pairs.right]]), minlength=vocabulary.n_entries)
    chooser = QuestionChooser(state, limits, chosen, compared, repeat=repeat, seed=seed)
    return _frame(chooser.questions(available, count), state.vocabulary, seed)


def _listed(annotator: Any) -> Sequence[Any]:
    """One name or several, as a list."""
    return annotator if isinstance(annotator, Sequence) and not isinstance(annotator, str) else [annotator]


def usual_policy(judgments: Judgments) -> str:
    """The default policy for a study of this kind."""
    return "grades" if judgments.kinds == ("grades",) else "information-gain"


class QuestionChooser:
    """Chooses questions one after the other; each choice takes the earlier ones into account."""

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
        self.repeat, self.rng = repeat, generator(seed)

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

    def _for_all(self, count: int) -> list[Question]:
        """The best questions to any annotator; policies other than information gain draw the annotator at random."""
        annotators = np.arange(len(self.state.vocabulary.annotators))
        if not isinstance(self.policy, InformationGain):
            return self._drawn(annotators, count)
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
            pool.change(self.state, (question.left, question.right), None, self.limits)
        return found

    def _drawn(self, annotators: NDArray[np.int64], count: int) -> list[Question]:
        """Questions to annotators drawn at random, until nobody has one left."""
        found: list[Question] = []
        while len(found) < count and len(annotators):
            who = int(self.rng.choice(annotators))
            question = self._for_one(who)
            if question is None:
                annotators = annotators[annotators != who]
            else:
                found.append(question)
        return found

    def _for_one(self, annotator: int) -> Question | None:
        """The best question to one annotator; None where nothing may be asked."""
        if isinstance(self.policy, InformationGain) and not self._at_random():
            best = Pool(self.state, self.limits, self.policy.gamma_at(0.0), np.array([annotator], np.int32)).best()
            return None if best is None else self._asked(Question(*best))
        policy = Random() if isinstance(self.policy, InformationGain) else self.policy
        left, right = self._candidates(annotator)
        if not len(left):
            return None
        who = np.full(len(left), annotator, np.int32)
        known = Known(self.state, self.compared)
        worth = policy.worth(known, who, left, right, self.rng)
        row = self.rng.choice(np.flatnonzero(worth >= worth.max()), 1)
        gain = InformationGain().worth(known, who[row], left[row], right[row], self.rng) / self.limits.cost[annotator]
        return self._asked(Question(annotator, int(left[row[0]]), int(right[row[0]]), float(gain[0])))

    def _at_random(self) -> bool:
        """Whether the next question is drawn at random; no random number is used up where none ever is."""
        return self.policy.epsilon > 0 and bool(self.rng.random() < self.policy.epsilon)

    def _candidates(self, annotator: int) -> tuple[Codes, Codes]:
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
        permitted = self.limits.permits(np.full(len(left), annotator), left, right)
        return left[permitted].astype(np.int32), right[permitted].astype(np.int32)

    def _asked(self, question: Question) -> Question:
        """Note that the question is asked: its entries' expected variances, and that it is not asked again."""
        who, left, right = (np.array([code]) for code in (question.annotator, question.left, question.right))
        self.limits = (
            self.limits.without(who, left, right)
            if self.repeat
            else self.limits.without_pair(question.left, question.right)
        )
        self.state = self.state.expecting(question.annotator, question.left, question.right)
        self.compared[[question.left, question.right]] += 1
        return question


def _with_annotators(vocabulary: Vocabulary, named: Ids | None, cost: Mapping[Any, float] | None) -> Vocabulary:
    """The vocabulary with annotators who have no judgments yet."""
    new = ids(dict.fromkeys([*(named if named is not None else []), *(cost or {})]))
    empty = np.zeros(0, np.int32)
    return joined(vocabulary, Vocabulary(vocabulary.tasks, vocabulary.items, new, empty, empty, vocabulary.frame))


def _costs(annotators: Ids, cost: Mapping[Any, float] | None) -> Floats:
    """The cost of an answer of each annotator."""
    costs = np.ones(len(annotators))
    for name, value in (cost or {}).items():
        check_positive(f"cost of {name!r}", value)
        costs[[str(other) == str(name) for other in annotators]] = value
    return costs


def _frame(questions: Sequence[Question], vocabulary: Vocabulary, seed: int) -> Any:
    """The questions with their names; which item is shown on the left is drawn at random."""
    swap = generator(seed).random(len(questions)) < 0.5
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
