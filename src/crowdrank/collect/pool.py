"""The most informative question among all pairs and annotators, updated as the state changes.

For every annotator and entry a bound is stored: no question about this entry and a later one of its task gains more. A
judgment changes the gain of the questions that share an entry or the annotator with it: those are computed again, and
raise bounds where they gain more. Where the best question of a bound has lost, the bound falls to the second best,
which may no longer be attained by any question. The best question of all is then found by looking only where bounds are
highest: a bound that is not attained is computed again, until the highest one is attained.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.gain_kernels import CELLS, NARROW, STEPS, fill_table
from crowdrank.collect.limits import Limits
from crowdrank.collect.pool_kernels import Bounds, PoolData, compare_before, scan_rows
from crowdrank.collect.state import State
from crowdrank.numerics.compiled import for_work
from crowdrank.settings import InputError
from crowdrank.study import Codes

MOST_BOUNDS = 50_000_000  # 650 MB


class Pool:
    """Questions to some annotators, or to all. It is changed in place: one thread at a time may use it."""

    def __init__(self, state: State, limits: Limits, gamma: float, annotators: Codes | None = None) -> None:
        vocabulary = state.vocabulary
        who = np.arange(len(vocabulary.annotators)) if annotators is None else np.asarray(annotators, dtype=np.int64)
        n, crowd = vocabulary.n_entries, len(who)
        if n * crowd > MOST_BOUNDS:
            raise InputError(
                f"{n:,} entries × {crowd:,} annotators are too many to choose from; name the available annotators"
            )
        self.limits, self.gamma, self.who = limits, float(gamma), who
        sizes, starts = np.diff(vocabulary.task_starts), vocabulary.task_starts
        self.task_start, self.task_end = np.repeat(starts[:-1], sizes), np.repeat(starts[1:], sizes)
        self.bound, self.second = np.full((crowd, n), -np.inf), np.full((crowd, n), -np.inf)
        self.partner = np.full((crowd, n), -1, np.int32)  # the entry that attains the bound; -1: perhaps none does
        self.top = np.zeros(crowd, np.int64)  # for each annotator, the entry whose bound is highest
        self.tables = np.zeros((crowd, 2, CELLS + 1))
        self.ties = state.ties  # changes a little with every judgment: kept until it is wrong by a tenth
        self._set_state(state)
        alike: dict[Any, int] = {}  # annotators without answers have the same bounds
        for k in range(crowd):
            self._scan(k, alike.setdefault(self._kind(k), k))

    def _set_state(self, state: State) -> None:
        self.state, self.odds = state, np.exp(np.clip(state.mean, -300, 300))
        self.simple = self.ties == 0 and bool(state.variance.max(initial=0) <= NARROW)

    def _kind(self, k: int) -> Any:
        """What the bounds of an annotator depend on."""
        who, n = self.who[k], self.bound.shape[1]
        first, last = np.searchsorted(self.limits.asked, (who * n * n, (who + 1) * n * n))
        asked = self.limits.asked[first:last] - who * n * n
        beta = self.state.alpha[who], self.state.beta[who]
        return *beta, self.limits.cost[who], self.limits.allowed[who].tobytes(), asked.tobytes()

    def _scan(self, k: int, like: int) -> None:
        """Compute all bounds of an annotator, or copy them from one of the same kind."""
        if like != k:
            for array in (self.tables, self.bound, self.second, self.partner, self.top):
                array[k] = array[like]
            return
        alpha, beta = self.state.alpha[self.who[k]], self.state.beta[self.who[k]]
        for_work(fill_table, STEPS * CELLS)(alpha, beta, self.ties, self.tables[k])
        n = self.bound.shape[1]
        self._scan_rows(np.full(n, k), np.arange(n), len(self.who) == 1)
        self.top[k] = np.argmax(self.bound[k])

    def _scan_rows(self, whose: NDArray[Any], rows: NDArray[Any], highest_only: bool = False) -> None:
        questions = int((self.task_end[rows] - rows).sum())
        for_work(scan_rows, STEPS * questions)(whose, rows, highest_only, *self._parts())

    def _parts(self) -> tuple[PoolData, Bounds]:
        """The arguments that the kernels share."""
        state, limits = self.state, self.limits
        data = PoolData(
            odds=self.odds,
            mean=state.mean,
            variance=state.variance,
            alpha=state.alpha,
            beta=state.beta,
            allowed=limits.allowed,
            cost=limits.cost,
            asked=limits.asked,
            task_start=self.task_start,
            task_end=self.task_end,
            who=self.who,
            tables=self.tables,
            ties=self.ties,
            gamma=self.gamma,
            simple=self.simple,
        )
        return data, Bounds(self.bound, self.second, self.partner)

    def best(self) -> tuple[int, int, int, float] | None:
        """Annotator, two entries, and gain per cost of the best question; None where nothing may be asked."""
        if not self.bound.size:
            return None
        everybody = np.arange(len(self.who))
        while True:
            k = int(np.argmax(self.bound[everybody, self.top]))
            i = int(self.top[k])
            gain, partner = float(self.bound[k, i]), int(self.partner[k, i])
            if gain == -np.inf:
                return None
            if partner >= 0:
                return int(self.who[k]), i, partner, gain
            self._scan_rows(np.array([k]), np.array([i]))
            self.top[k] = np.argmax(self.bound[k])

    def change(
        self, state: State, entries: tuple[int, ...], annotator: int | None = None, limits: Limits | None = None
    ) -> None:
        """Update the bounds where the state or the limits of only these entries and this annotator have changed."""
        simple = self.simple
        self.limits = limits or self.limits
        self._set_state(state)
        if self.simple != simple or abs(state.ties - self.ties) > self.ties / 10:  # then all gains change
            self.__init__(state, self.limits, self.gamma, self.who)  # type: ignore[misc]
            return
        if annotator is not None:
            for k in np.flatnonzero(self.who == annotator):
                self._scan(int(k), int(k))
        for entry in entries:
            self._scan_rows(np.arange(len(self.who)), np.full(len(self.who), entry))
            before = int(entry - self.task_start[entry]) * len(self.who)
            for_work(compare_before, STEPS * before)(entry, *self._parts())
        self.top = np.argmax(self.bound, axis=1)
