"""Kemeny orders: the order of a task's items with the least total distance to its lists.

`against[i, j]` is the weight of the lists that put i before j: what it costs to put j before i. First the task falls into parts, each of
which beats all that follow by majority; every best order keeps to them. Parts up to `exact` items are ordered by dynamic programming
over subsets, larger ones by local search. Of orders at the same distance, the one that agrees best with the votes (Borda) is taken, so
that names decide only between items that nothing tells apart.

Weights are multiples of a power of two (`exact_weights`): their sums are exact in any order, and equal costs are equal.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from crowdrank.study import Floats, JudgmentError, Rankings, Vocabulary

MOST_ITEMS = 5000  # of a task: a table of all their pairs takes 200 MB
STEP = 2.0**-20  # of weights
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


def refuse_large_tasks(method: str, words: Vocabulary) -> None:
    """A table of all pairs must fit."""
    sizes = np.diff(words.task_starts)
    if sizes.max(initial=0) > MOST_ITEMS:
        worst = words.tasks[int(sizes.argmax())]
        raise JudgmentError(
            f"{method} looks at all pairs of items: task {worst!r} has {sizes.max():,} items, at most {MOST_ITEMS:,} fit; "
            "use borda, rrf or plackett-luce"
        )


def left_out(lists: Rankings, words: Vocabulary) -> NDArray[np.int64]:
    """How many items each list puts below its own without naming them."""
    below = np.diff(words.task_starts)[lists.list_task] - np.diff(lists.list_starts)
    return np.where(lists.unlisted_below, below, 0)


def taking_part(lists: Rankings, words: Vocabulary) -> NDArray[np.bool_]:
    """Which entries some list compares with others."""
    out = left_out(lists, words)
    part = np.isin(words.entry_task, lists.list_task[out > 0])
    part[lists.entry[(np.diff(lists.list_starts) + out > 1)[lists.row_list]]] = True
    return part


def exact_weights(weight: Floats) -> Floats:
    """Weights as multiples of a power of two, the largest 1: sums of such numbers are exact, in whatever order."""
    largest = np.abs(weight).max(initial=0.0) or 1.0
    return np.asarray(np.rint(weight / largest / STEP) * STEP)


@nb.njit(cache=True, nogil=True)
def order_tasks(task_lists, starts, entry, position, below, weight, task_starts, takes_part, exact, shakes, score):
    """Score the entries of every task by how many stand below them; the number of parts too large to be ordered exactly.

    Lists of task t are `task_lists[t] : task_lists[t + 1]`; `below[l]`: does list l put the task's other items below its own?
    `shakes` are random numbers from 0 to 1.
    """
    searched = 0
    for task in range(len(task_starts) - 1):
        first, size = task_starts[task], task_starts[task + 1] - task_starts[task]
        against = np.zeros((size, size))
        for number in range(task_lists[task], task_lists[task + 1]):
            rows = slice(starts[number], starts[number + 1])
            count_preferences(entry[rows], position[rows], below[number], weight[number], first, against)
        votes = np.zeros(size)
        for i in range(size):
            for j in range(size):
                votes[i] += against[i, j] - against[j, i]
        order, ends = _parts(against, votes, takes_part[first : first + size])
        begin = 0
        for end in ends:
            if end - begin > exact:
                searched += 1
                lists = slice(task_lists[task], task_lists[task + 1] + 1)
                order[begin:end] = _searched(order[begin:end], against, votes, starts[lists], entry, first, shakes)
            elif end - begin > 1:
                order[begin:end] = _best(order[begin:end], against, votes)
            begin = end
        _score(order, against, votes, first, score)
    return searched


@nb.njit(cache=True, nogil=True)
def count_preferences(entry, position, below, weight, first, against):
    """One list's preferences. Ties have none."""
    for a in range(len(entry)):
        for b in range(a + 1, len(entry)):
            if position[a] < position[b]:
                against[entry[a] - first, entry[b] - first] += weight
    if below:
        listed = np.zeros(len(against), dtype=np.bool_)
        for e in entry:
            listed[e - first] = True
        for j in range(len(against)):
            if not listed[j]:
                for e in entry:
                    against[e - first, j] += weight


@nb.njit(cache=True, nogil=True)
def _parts(against, votes, takes_part):
    """The items by contests won, then votes; and where each part ends that beats all behind it, and cannot be cut further."""
    members = np.flatnonzero(takes_part)
    n = len(members)
    won = np.zeros(len(against))
    for i in members:
        for j in members:
            if against[i, j] > against[j, i]:
                won[i] += 1
    order = _sorted(members, won, votes)
    ends = np.zeros(n, dtype=np.int64)
    count, within, total = 0, 0, 0
    for k in range(n):
        total += won[order[k]]
        for a in range(k):
            if against[order[a], order[k]] != against[order[k], order[a]]:
                within += 1
        if total - within == (k + 1) * (n - k - 1):
            ends[count] = k + 1
            count += 1
    return order, ends[:count]


@nb.njit(cache=True, nogil=True)
def _sorted(members, first_key, second_key):
    """Highest keys first; equal ones by their number."""
    order = members.copy()
    for k in range(1, len(order)):
        at, item = k, order[k]
        while at > 0 and _precedes(item, order[at - 1], first_key, second_key):
            order[at] = order[at - 1]
            at -= 1
        order[at] = item
    return order


@nb.njit(cache=True, nogil=True)
def _precedes(i, j, first_key, second_key):
    if first_key[i] != first_key[j]:
        return first_key[i] > first_key[j]
    return second_key[i] > second_key[j]


@nb.njit(cache=True, nogil=True)
def _best(items, against, votes):
    """The best order of a few items: of every subset the least cost if it comes first, and which of it comes last."""
    n = len(items)
    half = n // 2
    low, high = np.zeros((n, 1 << half)), np.zeros((n, 1 << (n - half)))  # the cost of i behind a subset, by its two halves
    for i in range(n):
        for j in range(n):
            table, bit = (low, j) if j < half else (high, j - half)
            for subset in range(1 << bit):
                table[i, subset | 1 << bit] = table[i, subset] + against[items[i], items[j]]
    cost, agree = np.full(1 << n, np.inf), np.zeros(1 << n)
    last = np.zeros(1 << n, dtype=np.int8)
    cost[0] = 0.0
    for subset in range(1, 1 << n):
        size = 0
        for i in range(n):
            size += subset >> i & 1
        for i in range(n):
            if subset >> i & 1:
                before = subset ^ 1 << i
                total = cost[before] + low[i, before & (1 << half) - 1] + high[i, before >> half]
                votes_behind = agree[before] + (size - 1) * votes[items[i]]  # many votes far behind: a bad sign
                if total < cost[subset] or (total == cost[subset] and votes_behind < agree[subset]):
                    cost[subset], agree[subset], last[subset] = total, votes_behind, i
    order, subset = np.empty_like(items), (1 << n) - 1
    for place in range(n - 1, -1, -1):
        i = last[subset]
        order[place] = items[i]
        subset ^= 1 << i
    return order


@nb.njit(cache=True, nogil=True)
def _searched(items, against, votes, starts, entry, first, shakes):
    """A good order of many items: from the Borda order and from the best list, then again and again from the best found, shaken."""
    best = _sorted(items, votes, votes)
    candidate = _best_list(items, best, against, starts, entry, first)
    _improve(best, against, votes)
    _improve(candidate, against, votes)
    if _cost(candidate, against) < _cost(best, against):
        best = candidate
    drawn = 0
    for _ in range(ROUNDS):
        candidate = best.copy()
        for _ in range(max(2, len(items) // 10)):
            place, to = shakes[drawn % len(shakes)], shakes[(drawn + 1) % len(shakes)]
            _move(candidate, int(place * len(items)), int(to * len(items)))
            drawn += 2
        _improve(candidate, against, votes)
        if _cost(candidate, against) < _cost(best, against):
            best = candidate
    return best


@nb.njit(cache=True, nogil=True)
def _best_list(items, borda, against, starts, entry, first):
    """The list that is the best order; what it leaves out follows in the Borda order."""
    wanted = np.zeros(len(against), dtype=np.bool_)
    for i in items:
        wanted[i] = True
    best, least = borda.copy(), np.inf
    order = np.empty_like(items)
    for number in range(len(starts) - 1):
        left, count = wanted.copy(), 0
        for row in range(starts[number], starts[number + 1]):
            i = entry[row] - first
            if left[i]:
                order[count] = i
                left[i] = False
                count += 1
        for i in borda:
            if left[i]:
                order[count] = i
                count += 1
        cost = _cost(order, against)
        if cost < least:
            best[:], least = order, cost
    return best


@nb.njit(cache=True, nogil=True)
def _cost(order, against):
    total = 0.0
    for a in range(len(order)):
        for b in range(a + 1, len(order)):
            total += against[order[b], order[a]]
    return total


@nb.njit(cache=True, nogil=True)
def _improve(order, against, votes):
    """Move every item to where it costs least, until none wants to move."""
    moved = True
    while moved:
        moved = False
        for place in range(len(order)):
            to = _best_place(order, place, against, votes)
            if to != place:
                _move(order, place, to)
                moved = True


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
def _score(order, against, votes, first, score):
    """How many items stand below each; neighbours that neither lists nor votes tell apart are tied."""
    group, n = 0, len(order)
    while group < n:
        after = group + 1
        while after < n and _alike(order[group:after], order[after], against, votes):
            after += 1
        for place in range(group, after):
            score[first + order[place]] = n - after
        group = after


@nb.njit(cache=True, nogil=True)
def _alike(members, item, against, votes):
    same = True
    for i in members:
        same = same and against[i, item] == against[item, i] and votes[i] == votes[item]
    return same
