"""The tasks and items that a ranking and gold share, and the order of the ranking."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crowdrank.evaluation.kernels import GradedLists, Ints, PositiveGrades
from crowdrank.evaluation.order import KnownPairs, RankingAndGold
from crowdrank.study import UNNAMED_TASK, Floats, Gold, Ids, JudgmentError, Vocabulary, recode_tasks


@dataclass(frozen=True, slots=True, eq=False)
class Matching:
    """The entries of a vocabulary and their gold, in the tasks that both have; for all rankings of the vocabulary."""

    vocabulary: Vocabulary
    tasks: Ids  # the tasks in both; codes below are of these
    entry: NDArray[np.intp]  # the vocabulary's entries in these tasks
    task: Ints  # of each entry, ascending
    gold: Floats  # of each entry, NaN where there is none
    ideal: PositiveGrades  # all gold of these tasks, ranked or not, best first
    n_gold: int  # values, or pairs
    top_grade: float
    better: Ints  # of gold that is pairs: the vocabulary's entries
    worse: Ints
    notes: tuple[str, ...]

    def order(self, rank: NDArray[np.int32]) -> NDArray[np.intp]:
        """The entries (as rows of `entry`) of every task in the order of their ranks, without unranked ones (0).

        Of equally ranked items the one later in the alphabet comes first, as in trec_eval.
        """
        rank = rank[self.entry]
        rows = np.flatnonzero(rank)
        task = self.task[rows]
        starts = np.searchsorted(task, np.arange(len(self.tasks)))
        slot = starts[task] + rank[rows] - 1  # the items of a tie share the first of their slots
        tied = np.flatnonzero(np.bincount(slot)[slot] > 1) if len(slot) else slot
        if len(tied):
            slot[tied] = _spread(slot[tied], self._alphabet(rows[tied]))
        ordered = np.empty_like(rows)
        ordered[slot] = rows
        return ordered

    def _alphabet(self, rows: NDArray[np.intp]) -> Ints:
        """The place of each row's item in the alphabet."""
        codes, inverse = np.unique(self.vocabulary.entry_item[self.entry[rows]], return_inverse=True)
        names = [str(name) for name in self.vocabulary.items[codes]]
        place = np.empty(len(names), dtype=np.int64)
        place[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        return place[inverse]

    def graded_lists(self, order: NDArray[np.intp], *, condensed: bool) -> GradedLists:
        """The lists for measures of gain; if `condensed`, without the items that have no gold."""
        if condensed:
            order = order[~np.isnan(self.gold[order])]
        return GradedLists(
            n_tasks=len(self.tasks),
            ranked=PositiveGrades.of(self.task[order], self.gold[order]),
            ideal=self.ideal,
            top_grade=self.top_grade,
        )

    def orders(self, rank: NDArray[np.int32]) -> RankingAndGold | KnownPairs:
        """The two orders of the items that have both a rank and gold; or the known pairs of ranked items."""
        if len(self.better):
            used = self.ranked_pairs(rank)
            better, worse = self.better[used], self.worse[used]
            task = self.task[np.searchsorted(self.entry, better)]
            return KnownPairs.of(len(self.tasks), task, rank[better], rank[worse])
        rank = rank[self.entry]
        both = (rank > 0) & ~np.isnan(self.gold)
        return RankingAndGold.of(len(self.tasks), self.task[both], rank[both], self.gold[both])

    def ranked_pairs(self, rank: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of the known pairs have two ranked items."""
        return (rank[self.better] > 0) & (rank[self.worse] > 0)


def _spread(slot: Ints, alphabet: Ints) -> Ints:
    """Give the items that share a slot the slots that follow it, the last in the alphabet first."""
    order = np.lexsort((-alphabet, slot))
    ascending = slot[order]
    first = np.searchsorted(ascending, ascending)
    spread = np.empty_like(slot)
    spread[order] = ascending + np.arange(len(slot)) - first
    return spread


@lru_cache(maxsize=1)  # by identity: several rankings of one study are matched once
def match(vocabulary: Vocabulary, gold: Gold) -> Matching:
    """Match the rankings of a vocabulary with gold."""
    known = gold.vocabulary
    own_task = recode_tasks(vocabulary.tasks, known.tasks)
    if not np.any(own_task >= 0):
        if vocabulary.tasks.tolist() == [UNNAMED_TASK]:
            raise JudgmentError(
                f"the ranking has no column task, but gold has {len(known.tasks):,} tasks; add the column"
            )
        raise JudgmentError(f"the ranking and gold share no task; {_examples('tasks', vocabulary.tasks, known.tasks)}")
    better, worse = gold.pairs_in(vocabulary)
    value = np.full(vocabulary.n_entries, np.nan) if gold.kind == "pair" else gold.align(vocabulary)
    if np.all(np.isnan(value)) and not len(better):
        raise JudgmentError(f"no ranked item has gold; {_examples('items', vocabulary.items, known.items)}")
    shared = np.flatnonzero(own_task >= 0)
    number = np.full(len(vocabulary.tasks), -1, dtype=np.int64)
    number[shared] = np.arange(len(shared))
    gold_number = np.full(len(known.tasks), -1, dtype=np.int64)
    gold_number[own_task[shared]] = np.arange(len(shared))
    entry = np.flatnonzero(number[vocabulary.entry_task] >= 0)
    gold_task, gold_value = _best_first(gold_number[known.entry_task], gold.value)
    return Matching(
        vocabulary=vocabulary,
        tasks=vocabulary.tasks[shared],
        entry=entry,
        task=number[vocabulary.entry_task[entry]],
        gold=value[entry],
        ideal=PositiveGrades.of(gold_task, gold_value),
        n_gold=len(gold) if gold.kind == "pair" else len(gold_value),
        top_grade=0.0 if gold.kind == "pair" else float(np.nanmax(gold.value)),
        better=better,
        worse=worse,
        notes=_unmatched_tasks(len(vocabulary.tasks) - len(shared), len(known.tasks) - len(shared)),
    )


def _best_first(task: Ints, value: Floats) -> tuple[Ints, Floats]:
    """Sorted by task, then by value, highest first; without tasks of number -1 and values that are NaN."""
    kept = (task >= 0) & ~np.isnan(value)
    levels = -np.unique(-value[kept])
    # Sorting one whole number per row is several times as fast as sorting by two keys.
    key = np.sort(task[kept] * len(levels) + np.searchsorted(-levels, -value[kept]))
    return key // len(levels), levels[key % len(levels)]


def _unmatched_tasks(without_gold: int, without_ranking: int) -> tuple[str, ...]:
    notes = []
    if without_gold:
        notes.append(f"{without_gold:,} ranked task{'s' * (without_gold > 1)} without gold: not evaluated")
    if without_ranking:
        notes.append(f"{without_ranking:,} task{'s' * (without_ranking > 1)} of the gold not ranked: not evaluated")
    return tuple(notes)


def _examples(what: str, ours: Ids, theirs: Ids) -> str:
    return f"{what} of the ranking are for example {_some(ours)}, those of gold {_some(theirs)}"


def _some(names: Ids) -> str:
    return ", ".join(repr(str(name)[:50]) for name in names[:3]) or "(none)"
