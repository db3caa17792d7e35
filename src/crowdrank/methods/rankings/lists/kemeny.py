"""Kemeny orders: the order of a task's items with the least total distance to its lists.

`against[i, j]` is the weight of the lists that put i before j: what it costs to put j before i. First the task falls
into parts, each of which beats all that follow by majority; every best order keeps to them. Parts up to `exact` items
are ordered by dynamic programming over subsets, larger ones by local search. Of orders at the same distance, the one
that agrees best with the votes (Borda) is taken, so that names decide only between items that nothing tells apart.

Weights are multiples of a power of two (`exact_weights`): their sums are exact in any order, and equal costs are equal.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from crowdrank.study import Floats, JudgmentError, Rankings, Vocabulary

MOST_ITEMS = 5000  # of a task: a table of all their pairs takes 200 MB
STEP = 2.0**-20  # of weights
SHAKES = 1009  # random numbers for the local search, a prime: no round has the same as another
ROUNDS = 20  # of shaking a large part's order and searching again


def by_task(lists: Rankings) -> Rankings:
    """The lists in the order of their tasks."""
    order = np.argsort(lists.list_task, kind="stable")
    lengths = np.diff(lists.list_starts)
    rows = np.argsort(np.argsort(order, kind="stable")[lists.row_list], kind="stable")
    return Rankings(
        list_annotator=lists.list_annotator[order],
        list_task=lists.list_task[order],
        unlisted_below=lists.unlisted_below[order],
        row_list=np.repeat(np.arange(len(order), dtype=np.int32), lengths[order]),
        entry=lists.entry[rows],
        position=lists.position[rows],
    )


def refuse_large_tasks(method: str, vocabulary: Vocabulary) -> None:
    """A table of all pairs must fit."""
    sizes = np.diff(vocabulary.task_starts)
    if sizes.max(initial=0) > MOST_ITEMS:
        worst = vocabulary.tasks[int(sizes.argmax())]
        raise JudgmentError(
            f"{method} looks at all pairs of items: task {worst!r} has {sizes.max():,} items, at most {MOST_ITEMS:,} fit; "
            "use borda, rrf or plackett-luce"
        )


def left_out(lists: Rankings, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """How many items each list puts below its own without naming them."""
    below = np.diff(vocabulary.task_starts)[lists.list_task] - np.diff(lists.list_starts)
    return np.where(lists.unlisted_below, below, 0)


def taking_part(lists: Rankings, vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Which entries some list compares with others."""
    out = left_out(lists, vocabulary)
    part = np.isin(vocabulary.entry_task, lists.list_task[out > 0])
    part[lists.entry[(np.diff(lists.list_starts) + out > 1)[lists.row_list]]] = True
    return part


def exact_weights(weight: Floats) -> Floats:
    """Weights as multiples of a power of two, the largest 1: sums of such numbers are exact, in whatever order."""
    largest = np.abs(weight).max(initial=0.0) or 1.0
    return np.asarray(np.rint(weight / largest / STEP) * STEP)


def kemeny(lists: Rankings, vocabulary: Vocabulary, weight: Floats, exact: int, seed: int) -> tuple[Floats, int]:
    """Entries by how many stand below them in the best order of their task, and how many parts were too large to be
    ordered exactly.

    `lists` are in the order of their tasks, `weight` is each annotator's.
    """
    rows = preferring(lists, vocabulary, weight)
    line, begins = np.full(vocabulary.n_entries, -1), np.zeros(vocabulary.n_entries + 1, dtype=bool)
    line_up_tasks(rows, vocabulary.task_starts, taking_part(lists, vocabulary), line, begins)
    starts = np.flatnonzero(begins)
    shakes, searched = np.random.default_rng(seed).random(SHAKES), 0
    in_line = np.bincount(vocabulary.entry_task[line >= 0], minlength=len(vocabulary.tasks))
    first, task = vocabulary.task_starts[:-1][vocabulary.entry_task], vocabulary.entry_task
    below = in_line[task] - (np.arange(vocabulary.n_entries) - first) - 1  # of each place in line
    score = np.full(vocabulary.n_entries, np.nan)
    placed = np.flatnonzero(line >= 0)
    score[first[placed] + line[placed]] = below[placed]
    # Parts of one item, which are most, are in order. The others are brought into it one by one.
    ends = np.minimum(np.r_[starts[1:], vocabulary.n_entries], (first + in_line[task])[starts])
    for begin, end in zip(starts[ends - starts > 1].tolist(), ends[ends - starts > 1].tolist(), strict=True):
        against, votes = preferences(rows, int(task[begin]), vocabulary.task_starts)
        order = line[begin:end]
        if end - begin <= exact:
            _solve(order, against, votes)
        else:
            searched += 1
            _search(order, against, votes, rows, int(task[begin]), int(first[begin]), shakes)
        _score(order, against, votes, int(below[end - 1]), score[first[begin] :])
    return score, searched


def preferring(lists: Rankings, vocabulary: Vocabulary, weight: Floats) -> tuple[Any, ...]:
    """The lists as the kernels take them: lists of task t are `task_lists[t] : task_lists[t + 1]`."""
    task_lists = np.searchsorted(lists.list_task, np.arange(len(vocabulary.tasks) + 1))
    counts = exact_weights(weight)[lists.list_annotator]
    return task_lists, lists.list_starts, lists.entry, lists.position, lists.unlisted_below, counts


# The kernels copy in loops and are called one by one: slices and deep calls take seconds to compile, and few studies need them all.
# Nor are plain numbers passed on: Numba compiles another version for each (np.int64(0) is no plain number).


@nb.njit(cache=True, nogil=True)
def line_up_tasks(rows, task_starts, takes_part, line, begins):
    """The items of each task by contests won, then votes, as their numbers in the task; and where each part begins."""
    for task in range(len(task_starts) - 1):
        first = task_starts[task]
        against, votes = preferences(rows, task, task_starts)
        order = _line_up(against, votes, takes_part, first)
        begin: Any = np.int64(0)
        for end in range(1, len(order) + 1):
            line[first + end - 1] = order[end - 1]
            if _beats_the_rest(order, begin, end, against):
                begins[first + begin] = True
                begin = end


@nb.njit(cache=True, nogil=True)
def preferences(rows, task, task_starts):
    """`against` of a task, and its items' votes: what they win less what they lose. Ties have no preference."""
    task_lists, starts, entry, position, below, weight = rows
    first, size = task_starts[task], task_starts[task + 1] - task_starts[task]
    against, votes, listed = np.zeros((size, size)), np.zeros(size), np.full(size, -1)
    for number in range(task_lists[task], task_lists[task + 1]):
        for a in range(starts[number], starts[number + 1]):
            i = entry[a] - first
            listed[i] = number
            for b in range(a + 1, starts[number + 1]):
                if position[a] < position[b]:
                    against[i, entry[b] - first] += weight[number]
        if below[number]:
            _put_below(starts[number], starts[number + 1], entry, first, listed, number, weight[number], against)
    for i in range(size):
        for j in range(size):
            votes[i] += against[i, j] - against[j, i]
    return against, votes


@nb.njit(cache=True, nogil=True)
def _put_below(start, end, entry, first, listed, number, weight, against):
    """What a list does not have stands below what it has."""
    for a in range(start, end):
        for j in range(len(against)):
            if listed[j] != number:
                against[entry[a] - first, j] += weight


@nb.njit(cache=True, nogil=True)
def _line_up(against, votes, takes_part, first):
    """Whoever beats all others stands before them."""
    size, count = len(votes), 0
    won, order = np.zeros(size), np.empty(size, dtype=np.int64)
    for i in range(size):
        if takes_part[first + i]:
            order[count] = i
            count += 1
        for j in range(size):
            if against[i, j] > against[j, i]:
                won[i] += 1
    line = np.empty(count, dtype=np.int64)
    for k in range(count):
        line[k] = order[k]
    _sort(line, won, votes)
    return line


@nb.njit(cache=True, nogil=True)
def _sort(order, first_key, second_key):
    """Highest keys first; equal ones stay as they are."""
    for k in range(1, len(order)):
        at, item = k, order[k]
        while at > 0 and _precedes(item, order[at - 1], first_key, second_key):
            order[at] = order[at - 1]
            at -= 1
        order[at] = item


@nb.njit(cache=True, nogil=True)
def _precedes(i, j, first_key, second_key):
    if first_key[i] != first_key[j]:
        return first_key[i] > first_key[j]
    return second_key[i] > second_key[j]


@nb.njit(cache=True, nogil=True)
def _beats_the_rest(order, begin, end, against):
    """Does everybody of a part beat everybody behind it?"""
    for a in range(end - 1, begin - 1, -1):
        for b in range(end, len(order)):
            if against[order[a], order[b]] <= against[order[b], order[a]]:
                return False
    return True


@nb.njit(cache=True, nogil=True)
def _solve(order, against, votes):
    """Bring a few items into their best order: of every subset the least cost if it comes first, and which of it comes last."""
    n = len(order)
    half = n // 2
    low, high = _costs_behind(order, np.int64(0), half, against), _costs_behind(order, half, n, against)
    cost, agree = np.full(1 << n, np.inf), np.zeros(1 << n)
    last = np.zeros(1 << n, dtype=np.int64)
    cost[0] = 0.0
    for subset in range(1, 1 << n):
        size = 0
        for i in range(n):
            size += subset >> i & 1
        for i in range(n):
            if subset >> i & 1:
                before = subset ^ 1 << i
                total = cost[before] + low[i, before & (1 << half) - 1] + high[i, before >> half]
                votes_behind = agree[before] + (size - 1) * votes[order[i]]  # many votes far behind: a bad sign
                if total < cost[subset] or (total == cost[subset] and votes_behind < agree[subset]):
                    cost[subset], agree[subset], last[subset] = total, votes_behind, i
    items, subset = order.copy(), (1 << n) - 1
    for place in range(n - 1, -1, -1):
        i = last[subset]
        order[place] = items[i]
        subset ^= 1 << i


@nb.njit(cache=True, nogil=True)
def _costs_behind(order, start, end, against):
    """What it costs to put each item behind each subset of those from `start` to `end`."""
    costs = np.zeros((len(order), 1 << (end - start)))
    for i in range(len(order)):
        for j in range(end - start):
            for subset in range(1 << j):
                costs[i, subset | 1 << j] = costs[i, subset] + against[order[i], order[start + j]]
    return costs


@nb.njit(cache=True, nogil=True)
def _search(order, against, votes, rows, task, first, shakes):
    """Bring many items into a good order: from the Borda order and from the best list, then again from the best found, shaken."""
    n = len(order)
    candidate = np.empty(n, dtype=np.int64)
    _sort(order, votes, votes)
    _find_best_list(order, candidate, against, rows, task, first)
    least = _improve(order, against, votes)
    drawn = 0
    for _ in range(ROUNDS + 1):
        cost = _improve(candidate, against, votes)
        if cost < least:
            least = cost
            _copy(candidate, order)
        _copy(order, candidate)
        for _ in range(max(2, n // 10)):
            place, to = shakes[drawn % len(shakes)], shakes[(drawn + 1) % len(shakes)]
            _move(candidate, int(place * n), int(to * n))
            drawn += 2


@nb.njit(cache=True, nogil=True)
def _copy(source, into):
    for k in range(len(source)):
        into[k] = source[k]


@nb.njit(cache=True, nogil=True)
def _find_best_list(borda, best, against, rows, task, first):
    """Write the list that is the best order to `best`; what it leaves out follows in the Borda order."""
    task_lists, starts, entry, _, _, _ = rows
    left, order = np.zeros(len(against), dtype=np.bool_), np.empty_like(borda)
    _copy(borda, best)
    least = _cost(best, against)
    for number in range(task_lists[task], task_lists[task + 1]):
        count = 0
        for i in borda:
            left[i] = True
        for row in range(starts[number], starts[number + 1]):
            i = entry[row] - first
            if left[i]:
                order[count] = i
                left[i] = False
                count += 1
        for i in borda:
            if left[i]:
                order[count] = i
                left[i] = False
                count += 1
        cost = _cost(order, against)
        if cost < least:
            least = cost
            _copy(order, best)


@nb.njit(cache=True, nogil=True)
def _cost(order, against):
    total = 0.0
    for a in range(len(order)):
        for b in range(a + 1, len(order)):
            total += against[order[b], order[a]]
    return total


@nb.njit(cache=True, nogil=True)
def _improve(order, against, votes):
    """Move every item to where it costs least, until none wants to move; what the order costs then."""
    moved = True
    while moved:
        moved = False
        for place in range(len(order)):
            to = _best_place(order, place, against, votes)
            if to != place:
                _move(order, place, to)
                moved = True
    return _cost(order, against)


@nb.njit(cache=True, nogil=True)
def _best_place(order, place, against, votes):
    """Where the item at a place costs least, and of such places agrees best with the votes."""
    item, best = order[place], place
    least, least_agree = 0.0, 0.0
    for way in (-1, 1):
        cost, agree, at = 0.0, 0.0, place + way
        while 0 <= at < len(order):
            other = order[at]
            cost += way * (against[item, other] - against[other, item])
            agree += way * (votes[item] - votes[other])
            if cost < least or (cost == least and agree < least_agree):
                best, least, least_agree = at, cost, agree
            at += way
    return best


@nb.njit(cache=True, nogil=True)
def _move(order, place, to):
    item, way = order[place], 1 if to > place else -1
    while place != to:
        order[place] = order[place + way]
        place += way
    order[to] = item


@nb.njit(cache=True, nogil=True)
def _score(order, against, votes, below, score):
    """How many items stand below each, `below` of them behind the part; neighbours that nothing tells apart are tied."""
    group: Any = np.int64(0)
    n = len(order)
    for after in range(1, n + 1):
        if after < n and _alike(order, group, after, against, votes):
            continue
        for place in range(group, after):
            score[order[place]] = below + n - after
        group = after


@nb.njit(cache=True, nogil=True)
def _alike(order, group, place, against, votes):
    """Is the item at a place like all of the group before it?"""
    same, item = True, order[place]
    for at in range(group, place):
        i = order[at]
        same = same and against[i, item] == against[item, i] and votes[i] == votes[item]
    return same
