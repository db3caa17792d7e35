"""What to ask whom next: who may be asked what, and the questions with their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.chooser import Question, QuestionChooser
from crowdrank.collect.grades import grade_questions
from crowdrank.collect.handfuls import ranking_questions
from crowdrank.collect.limits import Limits
from crowdrank.collect.policies import GradePolicy, RankingPolicy, policy_of
from crowdrank.collect.protocols import Known, Policy
from crowdrank.collect.rotation import rotation
from crowdrank.collect.state import State, joined
from crowdrank.consensus import frame_of
from crowdrank.convert import as_pairs
from crowdrank.formats import judgments as read_frames
from crowdrank.formats.source import Source, of_frame
from crowdrank.methods import catalogue
from crowdrank.methods.pairs.leaderboard.fit import FURTHER_VOTE
from crowdrank.numerics.seeds import generator
from crowdrank.settings import check_positive, check_share, check_whole_number
from crowdrank.study import Floats, Ids, Judgments, Vocabulary, entries_in, ids, recode

USUAL_SHARES = 3  # nobody gets more than so many times an equal share of the questions


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
    outstanding: Any = None,
    away: Sequence[Any] = (),
    most_share: float | None = None,
    most_per_pair: int | None = None,
    seed: int = 0,
    **settings: Any,
) -> Any:
    """The questions to ask next: a data frame task, annotator, left, right, gain (of grades: task, annotator, item,
    gain; of rankings: task, annotator, list, item, gain).

    They are in the order in which they were chosen. Each choice takes the earlier ones into account. The gain is the
    expected information, in nats.

    - `annotator`: who is available. One name, or several: each gets `count` questions. None: the best `count` of all
      annotators but those `away`.
    - `policy` and its settings (`goal="top-k", k=5`): see `crowdrank.collect.policies`. The default is
      mutual-information, or grades for a study of grades alone.
    - `state`: the current state of the collection; the default is a fit to the judgments.
    - `items`: a table of the items in rotation, with the column item and optional columns task and owner (an annotator
      who is not asked about the item). It may have items without judgments. The default is all judged items.
    - `cost` of an answer by annotator, default 1: gains are per unit of it. Where the judgments name trusted
      annotators, the gain of others' answers is smaller by what they all share with each other and not with those.
    - `repeat`: several annotators may get the same pair.
    - `outstanding`: questions that were asked before and are not answered yet, as a data frame like the result.
    - `most_share` of all judgments, so far and asked now, that anyone may give. By default three times an equal share
      where annotators are chosen, and no limit for those who are named.
    - `most_per_pair`: how often a pair may be asked in all; by default three times, and three times more for each
      round of all pairs.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=10, annotators=5, votes=100, seed=0)
    >>> cr.next_questions(study.judgments, "annotator1", count=3).columns
    ['task', 'annotator', 'left', 'right', 'gain']
    """
    check_whole_number("count", count)
    if most_share is not None:
        check_share("most_share", most_share)
    if most_per_pair is not None:
        check_whole_number("most_per_pair", most_per_pair)
    chosen = policy_of(policy or usual_policy(judgments), settings)
    named = None if annotator is None else ids(_listed(annotator))
    vocabulary = judgments.vocabulary if state is None else joined(state.vocabulary, judgments.vocabulary)
    vocabulary, allowed = rotation(_with_annotators(vocabulary, named, cost), items)
    available = None if named is None else recode(named, vocabulary.annotators).astype(np.int32)
    allowed[[str(name) in set(map(str, away)) for name in vocabulary.annotators]] = False
    costs = _costs(vocabulary.annotators, cost)
    if judgments.trusted is not None:
        trusted = judgments.vocabulary.annotators[judgments.trusted]
        costs[recode(vocabulary.annotators, trusted) < 0] /= further_untrusted_vote(judgments)
    limits = Limits(allowed, costs, np.zeros(0, np.int64))
    if isinstance(chosen, GradePolicy):
        asked = [] if outstanding is None else _outstanding_grades(outstanding, vocabulary)
        return grade_questions(
            judgments, vocabulary, limits, available, count, chosen, outstanding=asked, repeat=repeat
        )
    state = (State.start(vocabulary).refit(judgments) if state is None else state).over(vocabulary)
    who, known = _known(judgments, state)
    limits = limits.without(who, known.left, known.right)
    if isinstance(chosen, RankingPolicy):
        return ranking_questions(known, limits, available, count, chosen)
    total = count if named is None else count * len(named)
    quota = _quota(who, len(vocabulary.annotators), total, most_share, chosen=named is None)
    chooser = QuestionChooser(known, limits, chosen, quota=quota, most_per_pair=most_per_pair, repeat=repeat, seed=seed)
    if outstanding is not None:
        chooser.expect(_outstanding(outstanding, vocabulary))
    return _frame(chooser.questions(available, count), vocabulary, seed)


def _known(judgments: Judgments, state: State) -> tuple[NDArray[Any], Known]:
    """Who answered, and what a policy may use."""
    vocabulary = state.vocabulary
    if not len(judgments):
        return np.zeros(0, np.int32), Known(state, np.zeros(vocabulary.n_entries, np.int64))
    pairs, entry = as_pairs(judgments), entries_in(judgments.vocabulary, vocabulary)
    who = recode(judgments.vocabulary.annotators, vocabulary.annotators)[pairs.annotator]
    left, right = entry[pairs.left].astype(np.int32), entry[pairs.right].astype(np.int32)
    compared = np.bincount(np.concatenate([left, right]), minlength=vocabulary.n_entries)
    return who, Known(state, compared, left=left, right=right, outcome=pairs.outcome)


def _quota(
    who: NDArray[Any], n_annotators: int, count: int, most_share: float | None, *, chosen: bool
) -> NDArray[np.int64] | None:
    """How many questions each annotator may get now, of these and of all judgments; None: any number."""
    if most_share is None and not chosen:
        return None
    equal = 1 / max(n_annotators, 1)
    share = USUAL_SHARES * equal if most_share is None else max(most_share, equal)
    most, most_now = (int(np.ceil(share * total - 1e-9)) for total in (len(who) + count, count))
    return np.clip(most - np.bincount(who, minlength=n_annotators), 0, most_now)


def _outstanding_grades(asked: Any, vocabulary: Vocabulary) -> list[tuple[int, int]]:
    """Annotator and entry, by code, of grades that were asked for."""
    source = asked if isinstance(asked, Source) else of_frame(asked)[0]
    source.require("annotator", "item")
    columns: dict[str, Any] = {
        name: source.names(name) for name in ("annotator", "item", "task") if name in source.columns
    }
    if not len(columns["item"]):
        return []
    columns["grade"] = np.zeros(len(columns["item"]))
    read = read_frames(columns)
    entry = entries_in(read.vocabulary, vocabulary)[read.grades.entry]
    who = recode(read.vocabulary.annotators, vocabulary.annotators)[read.grades.annotator]
    return [(int(k), int(i)) for k, i in zip(who, entry, strict=True) if min(k, i) >= 0]


def _outstanding(asked: Any, vocabulary: Vocabulary) -> Iterator[tuple[int, int, int]]:
    """Annotator and entries, by code, of questions that are not answered yet; those about other items are left out."""
    source = asked if isinstance(asked, Source) else of_frame(asked)[0]
    source.require("annotator", "left", "right")
    columns = {name: source.names(name) for name in ("annotator", "left", "right")}
    if "task" in source.columns:
        columns["task"] = source.names("task")
    if not len(columns["left"]):
        return
    asked = read_frames({**columns, "winner": columns["left"]})
    entry = entries_in(asked.vocabulary, vocabulary)
    who = recode(asked.vocabulary.annotators, vocabulary.annotators)
    for k, i, j in zip(who[asked.pairs.annotator], entry[asked.pairs.left], entry[asked.pairs.right], strict=True):
        if min(k, i, j) >= 0:
            yield int(k), int(i), int(j)


def _listed(annotator: Any) -> Sequence[Any]:
    """One name or several, as a list."""
    return annotator if isinstance(annotator, Sequence) and not isinstance(annotator, str) else [annotator]


def usual_policy(judgments: Judgments) -> str:
    """The default policy for a study of this kind."""
    return "grades" if judgments.kinds == ("grades",) else "mutual-information"


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


def further_untrusted_vote(judgments: Judgments) -> float:
    """What one more vote of an annotator who is not trusted brings, as a share of what it would by their quality."""
    if "pairs" not in judgments.kinds:
        return 1.0
    found = catalogue.fit("crowd-bt", judgments, intervals=False)
    return float(found.settings.get(FURTHER_VOTE, 1.0))


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
