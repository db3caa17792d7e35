"""Fragility: the fewest judgments, or annotators, whose removal changes the winner or the first k of a task.

Influence functions say how much the gap between two entries changes without a judgment (Broderick, Giordano, Meager: An
automatic finite-sample robustness metric, 2020). Judgments are removed in that order, influence is computed anew as
they go, and every set that is reported was confirmed by fitting the method without it. The set found is small, though a
still smaller one may exist: to find the smallest is a hard problem. The search fits a quicker variant of the method,
without intervals and in larger studies with a fixed prior; only what it finds is confirmed by the method itself, and
made larger if need be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.evaluation.bootstrap import without_intervals
from crowdrank.methods.catalogue import check_method, fit_method
from crowdrank.methods.catalogue import method as method_of
from crowdrank.methods.protocols import Method
from crowdrank.numerics.progress import report
from crowdrank.settings import InputError, check_choice, check_whole_number
from crowdrank.statistics.influence import Influence
from crowdrank.statistics.removal import kept_of, quicker
from crowdrank.study import Judgments, check_judgments

Of = Literal["judgments", "annotators"]
RIVALS = 3  # of the first k, those that are tried to be overtaken
CHUNKS = 4  # removed in so many steps, with new influence after each; few are removed one by one
ONE_BY_ONE = 12
SMALL = 20_000  # judgments; up to this many, every removed one is tried to be put back
MOST_PUT_BACK = 12
FITS_ARE_FAST = 100  # judgments; up to this many, each fit in the search chooses its prior


@dataclass(frozen=True, slots=True, eq=False)
class Fragility:
    """The set that was found; empty if none changes the result, or if entries are tied already."""

    of: Of
    k: int
    task: Any
    removed: NDArray[np.int64]  # grades, then pairs, then lists, numbered through; or annotators
    share: float  # of all judgments or annotators of the task
    before: tuple[Any, ...]  # the items of the first k places, with all judgments
    after: tuple[Any, ...]  # and without the removed ones
    refits: int

    @property
    def found(self) -> bool:
        return len(self.removed) > 0


class _Search:
    """Removes judgments or annotators and fits again."""

    def __init__(
        self, method: Method, judgments: Judgments, of: Of, entries: NDArray[np.intp], k: int, start: Consensus | None
    ) -> None:
        self.method, self.judgments, self.of, self.entries, self.k = method, judgments, of, entries, k
        self.refits = 0
        self.last: tuple[NDArray[np.int64], Consensus] | None = None
        self.whose = np.concatenate(
            [judgments.grades.annotator, judgments.pairs.annotator, judgments.rankings.list_annotator]
        )
        self.start = self.fit(np.zeros(0, np.int64)) if start is None else start
        self.top = self.first(self.start)

    def remaining(self, removed: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which judgments are left."""
        if self.of == "annotators":
            return ~np.isin(self.whose, removed)
        mask = np.ones(len(self.whose), bool)
        mask[removed] = False
        return mask

    def fit(self, removed: NDArray[np.int64]) -> Consensus:
        """The consensus without them; the last one is kept, since it is often asked for again."""
        if self.last is None or not np.array_equal(self.last[0], removed):
            self.refits += 1
            report("fragility", self.refits, 200)
            self.last = removed, fit_method(self.method, kept_of(self.judgments, self.remaining(removed)))
        return self.last[1]

    def first(self, consensus: Consensus) -> NDArray[np.intp]:
        """The entries of the first k places."""
        score = consensus.score[self.entries]
        order = np.argsort(np.where(np.isnan(score), np.inf, -score), kind="stable")
        return np.sort(self.entries[order[: self.k]])

    def changed(self, consensus: Consensus) -> bool:
        """Whether an entry from outside is above one of the first k."""
        inside = np.isin(self.entries, self.top)
        score = np.nan_to_num(consensus.score[self.entries], nan=-np.inf)
        return bool(score[inside].min() < score[~inside].max())

    def changes(self, removed: NDArray[np.int64]) -> bool:
        return self.changed(self.fit(removed))

    def influence(self, consensus: Consensus, removed: NDArray[np.int64], weighted: bool) -> Influence:
        mask = self.remaining(removed)
        return Influence(consensus, kept_of(self.judgments, mask), np.flatnonzero(mask), self.whose, weighted)


def fragility(
    method: str | Method,
    judgments: Judgments,
    *,
    of: Of = "judgments",
    k: int = 1,
    task: Any = None,
    consensus: Consensus | None = None,
) -> Fragility:
    """The fewest judgments (or annotators) found whose removal changes the first `k` of a task.

    `method` is a name, or a method with its settings. Without `task`, it is the one with the most judgments.
    `consensus` is the result of the method, if it is known.

    >>> import crowdrank as cr
    >>> votes = cr.judgments({"left": ["x"] * 5, "right": ["y"] * 5, "winner": ["x", "x", "x", "y", "y"]})
    >>> len(fragility(cr.BradleyTerry(), votes).removed)
    2
    """
    method = method_of(method) if isinstance(method, str) else method
    check_method(method)
    check_judgments(judgments)
    check_choice("of", of, ("judgments", "annotators"))
    check_whole_number("k", k)
    entries, name, size = _task(judgments, task, of)
    exact = _Search(method, judgments, of, entries, k, consensus)
    few = len(exact.whose) <= FITS_ARE_FAST
    variant = without_intervals(method) if few else quicker(method, judgments, exact.start)
    refits = 0
    if variant == method:
        best = _smallest(exact)
    else:
        quick = _Search(variant, judgments, of, entries, k, None)
        quick.top = exact.top
        best = _confirmed(exact, _smallest(quick))
        refits = quick.refits
    items = judgments.vocabulary.items[judgments.vocabulary.entry_item]
    after = exact.first(exact.fit(best)) if len(best) else exact.top
    refits += exact.refits
    return Fragility(of, k, name, best, len(best) / max(size, 1), tuple(items[exact.top]), tuple(items[after]), refits)


def _smallest(search: _Search) -> NDArray[np.int64]:
    """The smallest set found; nothing if entries are tied already, or too few are ranked."""
    best = np.zeros(0, np.int64)
    if _nothing_to_change(search):
        return best
    for candidate in _candidates(search):
        if len(candidate) and (not len(best) or len(candidate) < len(best)):
            best = candidate
    return _put_back(search, best)


def _confirmed(exact: _Search, found: NDArray[np.int64]) -> NDArray[np.int64]:
    """The set, if the method itself agrees; else with further judgments until it does."""
    if _nothing_to_change(exact):
        return found[:0]
    if len(found) and exact.changes(found):
        return found
    influence = exact.influence(exact.start, np.zeros(0, np.int64), True)
    for _, inside, outside in _rivals(exact, influence)[:1]:
        more = influence.order(inside, outside, exact.of)[0]
        return _shortest_prefix(np.r_[found, more[~np.isin(more, found)]], exact.changes, len(found))
    return found[:0]


def _nothing_to_change(search: _Search) -> bool:
    """Whether too few entries are ranked, or the first k do not lead by their scores."""
    score = np.nan_to_num(search.start.score[search.entries], nan=-np.inf)
    inside = np.isin(search.entries, search.top)
    return bool(np.isfinite(score).sum() <= search.k or score[inside].min() <= score[~inside].max())


def _task(judgments: Judgments, task: Any, of: Of) -> tuple[NDArray[np.intp], Any, int]:
    """The entries of the task, its name, and how many judgments or annotators it has."""
    vocabulary = judgments.vocabulary
    annotator, of_row = judgments.annotator_and_task()
    count = np.bincount(of_row, minlength=len(vocabulary.tasks))
    if task is None:
        code = int(count.argmax())
    else:
        found = np.flatnonzero(vocabulary.tasks == task)
        if not len(found):
            raise InputError(f"no task {task!r} in this study")
        code = int(found[0])
    size = count[code] if of == "judgments" else len(np.unique(annotator[of_row == code]))
    return np.flatnonzero(vocabulary.entry_task == code), vocabulary.tasks[code], int(size)


def _candidates(search: _Search) -> Iterator[NDArray[np.int64]]:
    """Sets whose removal changes the result, each confirmed."""
    nothing = np.zeros(0, np.int64)
    ways = [(search.influence(search.start, nothing, weighted), weighted) for weighted in (False, True)]
    tries = sorted((*rival, weighted) for influence, weighted in ways for rival in _rivals(search, influence))
    best: int | None = None
    for _, inside, outside, weighted in tries[: len(tries) if len(search.whose) <= FITS_ARE_FAST else 1]:
        order = ways[weighted][0].order(inside, outside, search.of)[0]
        found = _shortest_prefix(order, search.changes)
        if not len(found):
            continue
        yield found
        best = min(len(found), best or len(found))
        yield _step_by_step(search, inside, outside, weighted, best)


def _rivals(search: _Search, influence: Influence) -> list[tuple[int, int, int]]:
    """How many removals would change the order of an entry inside and one outside, and the two; the fewest first."""
    score = search.start.score
    outside = search.entries[~np.isin(search.entries, search.top) & np.isfinite(score[search.entries])]
    near = outside[np.argsort(-score[outside], kind="stable")[: 2 * RIVALS]]
    last = search.top[np.argsort(score[search.top], kind="stable")[:RIVALS]]
    need = [(influence.order(int(i), int(o), search.of)[1], int(i), int(o)) for i in last for o in near]
    return sorted(need)[:2]


def _shortest_prefix(
    order: NDArray[np.int64], changes: Callable[[NDArray[np.int64]], bool], low: int = 0
) -> NDArray[np.int64]:
    """The shortest beginning of `order` that changes the result, by doubling and bisection; nothing if none does.

    The first `low` alone do not change it.
    """
    high = low + max(1, low // 4)
    while high < len(order) and not changes(order[:high]):
        low, high = high, min(2 * high, len(order))
    if high >= len(order) and not changes(order):
        return order[:0]
    high = min(high, len(order))
    while high - low > 1:
        middle = (low + high) // 2
        if changes(order[:middle]):
            high = middle
        else:
            low = middle
    return order[:high]


def _step_by_step(search: _Search, inside: int, outside: int, weighted: bool, known: int) -> NDArray[np.int64]:
    """Remove a few at a time, with the influence of what is left, until the result changes or nothing is gained."""
    chunk = 1 if known <= ONE_BY_ONE else -(-known // CHUNKS)
    removed, consensus = np.zeros(0, np.int64), search.start
    while len(removed) < known:
        order = search.influence(consensus, removed, weighted).order(inside, outside, search.of)[0][:chunk]
        if not len(order):
            return removed[:0]
        removed = np.r_[removed, order]
        consensus = search.fit(removed)
        if search.changed(consensus):
            return _shortest_prefix(removed, search.changes) if chunk > 1 else removed
    return removed[:0]


def _put_back(search: _Search, removed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Leave out of the set what is not needed, the least influential first."""
    if len(search.whose) > SMALL or not 1 < len(removed) <= MOST_PUT_BACK:
        return removed
    for each in removed[::-1]:
        fewer = removed[removed != each]
        if len(fewer) and search.changes(fewer):
            removed = fewer
    return removed
