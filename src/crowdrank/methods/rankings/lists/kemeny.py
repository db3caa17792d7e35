"""Kemeny orders: the order of a task's items with the least total distance to its lists.

`against[i, j]` is the weight of the lists that have i before j: the cost of putting j before i. First the task is
divided into parts, each of which beats all later ones by majority; every best order keeps to them. Parts of up to
`exact` items are ordered by dynamic programming over subsets, larger ones by local search. Of orders at the same
distance, the one closest to the Borda votes is taken, so that names decide only between items that are equal in
everything.

Weights are multiples of a power of two (`exact_weights`): their sums are exact in any order, so equal costs are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import lists_of
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.progress import report
from crowdrank.study import Floats, JudgmentError, Rankings, Vocabulary

MOST_ITEMS = 2000  # of a task: a table of all their pairs takes 32 MB, and sorting them half a minute
STEP = 2.0**-20  # of weights
RANDOM_NUMBERS = 1009  # for the local search; a prime, so that no two rounds use the same
ROUNDS = 20  # of perturbing a large part's order and searching again


def by_task(lists: Rankings) -> Rankings:
    """The lists in the order of their tasks."""
    return lists_of(lists, np.argsort(lists.list_task, kind="stable"))


def refuse_large_tasks(method: str, vocabulary: Vocabulary) -> None:
    """Refuse tasks whose table of all pairs is too large."""
    sizes = np.diff(vocabulary.task_starts)
    if sizes.max(initial=0) > MOST_ITEMS:
        worst = vocabulary.tasks[int(sizes.argmax())]
        raise JudgmentError(
            f"{method} compares all pairs of items: task {worst!r} has {sizes.max():,} items, "
            f"at most {MOST_ITEMS:,} fit; use borda, rrf or plackett-luce"
        )


def left_out(lists: Rankings, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """How many items each list puts below its own without listing them."""
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
    """Per entry, how many are below it in the best order of its task; and how many parts were too large to be exact.

    `lists` are in the order of their tasks, `weight` is each annotator's.
    """
    rows = list_arrays(lists, vocabulary, weight)
    order, begins = np.full(vocabulary.n_entries, -1), np.zeros(vocabulary.n_entries + 1, dtype=bool)
    divide_tasks(rows, vocabulary.task_starts, taking_part(lists, vocabulary), order, begins)
    starts = np.flatnonzero(begins)
    random, searched = np.random.default_rng(seed).random(RANDOM_NUMBERS), 0
    placed = np.flatnonzero(order >= 0)
    n_placed = np.bincount(vocabulary.entry_task[placed], minlength=len(vocabulary.tasks))
    first, task = vocabulary.task_starts[:-1][vocabulary.entry_task], vocabulary.entry_task
    below = n_placed[task] - (np.arange(vocabulary.n_entries) - first) - 1  # of each place of the order
    score = np.full(vocabulary.n_entries, np.nan)
    score[first[placed] + order[placed]] = below[placed]
    # Most parts are single items, which need no ordering.
    ends = np.minimum(np.r_[starts[1:], vocabulary.n_entries], (first + n_placed[task])[starts])
    parts = list(zip(starts[ends - starts > 1].tolist(), ends[ends - starts > 1].tolist(), strict=True))
    for number, (begin, end) in enumerate(parts):
        report("best orders", number, len(parts))
        against, votes = preferences(rows, int(task[begin]), vocabulary.task_starts)
        part = order[begin:end]
        if end - begin <= exact:
            _order_exactly(part, against, votes)
        else:
            searched += 1
            _search(part, against, votes, rows, int(task[begin]), int(first[begin]), random)
        _score(part, against, votes, int(below[end - 1]), score[first[begin] :])
    return score, searched


def list_arrays(lists: Rankings, vocabulary: Vocabulary, weight: Floats) -> tuple[Any, ...]:
    """The lists as the kernels take them: lists of task t are `task_lists[t]:task_lists[t + 1]`."""
    task_lists = np.searchsorted(lists.list_task, np.arange(len(vocabulary.tasks) + 1))
    counts = exact_weights(weight)[lists.list_annotator] * lists.counts
    return task_lists, lists.list_starts, lists.entry, lists.position, lists.unlisted_below, counts


# The kernels copy in loops and are called one by one: slices and deep calls take seconds to compile.
# Literal numbers are not passed on: Numba compiles another version for each (np.int64(0) is no literal).


@kernel
def divide_tasks(rows, task_starts, takes_part, all_orders, begins):
    """Write the items of each task by contests won, then votes, as numbers in the task; and where each part begins."""
    for task in range(len(task_starts) - 1):
        first = task_starts[task]
        against, votes = preferences(rows, task, task_starts)
        order = _by_contests_won(against, votes, takes_part, first)
        begin: Any = np.int64(0)
        for end in range(1, len(order) + 1):
            all_orders[first + end - 1] = order[end - 1]
            if _beats_the_rest(order, begin, end, against):
                begins[first + begin] = True
                begin = end


@kernel
def preferences(rows, task, task_starts):
    """`against` of a task, and its items' votes: weight of wins less weight of losses. Ties count nothing."""
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


@kernel
def _put_below(start, end, entry, first, listed, number, weight, against):
    """Items that a list leaves out are below those it has."""
    for a in range(start, end):
        for j in range(len(against)):
            if listed[j] != number:
                against[entry[a] - first, j] += weight


@kernel
def _by_contests_won(against, votes, takes_part, first):
    """The items in the order of contests won; an item that beats all others comes first."""
    size, count = len(votes), 0
    won, order = np.zeros(size), np.empty(size, dtype=np.int64)
    for i in range(size):
        if takes_part[first + i]:
            order[count] = i
            count += 1
        for j in range(size):
            if against[i, j] > against[j, i]:
                won[i] += 1
    found = np.empty(count, dtype=np.int64)
    for k in range(count):
        found[k] = order[k]
    _sort(found, won, votes)
    return found


@kernel
def _sort(order, first_key, second_key):
    """Highest keys first; equal ones stay as they are."""
    for k in range(1, len(order)):
        at, item = k, order[k]
        while at > 0 and _precedes(item, order[at - 1], first_key, second_key):
            order[at] = order[at - 1]
            at -= 1
        order[at] = item


@kernel
def _precedes(i, j, first_key, second_key):
    if first_key[i] != first_key[j]:
        return first_key[i] > first_key[j]
    return second_key[i] > second_key[j]


@kernel
def _beats_the_rest(order, begin, end, against):
    """Whether all items of a part beat all items after it."""
    for a in range(end - 1, begin - 1, -1):
        for b in range(end, len(order)):
            if against[order[a], order[b]] <= against[order[b], order[a]]:
                return False
    return True


@kernel
def _order_exactly(order, against, votes):
    """Sort a few items into their best order, in place, by dynamic programming.

    For every subset: the least cost if it comes first, and which of its items comes last then.
    """
    n = len(order)
    half = n // 2
    low, high = _costs_after(order, np.int64(0), half, against), _costs_after(order, half, n, against)
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
                votes_cost = (
                    agree[before] + (size - 1) * votes[order[i]]
                )  # items with many votes should not be far behind
                if total < cost[subset] or (total == cost[subset] and votes_cost < agree[subset]):
                    cost[subset], agree[subset], last[subset] = total, votes_cost, i
    items, subset = order.copy(), (1 << n) - 1
    for place in range(n - 1, -1, -1):
        i = last[subset]
        order[place] = items[i]
        subset ^= 1 << i


@kernel
def _costs_after(order, start, end, against):
    """The cost of putting each item after each subset of those from `start` to `end`."""
    costs = np.zeros((len(order), 1 << (end - start)))
    for i in range(len(order)):
        for j in range(end - start):
            for subset in range(1 << j):
                costs[i, subset | 1 << j] = costs[i, subset] + against[order[i], order[start + j]]
    return costs


@kernel
def _search(order, against, votes, rows, task, first, random):
    """Sort many items into a good order, in place, by local search.

    From the Borda order and from the best list, then from random perturbations of the best order so far.
    """
    n = len(order)
    candidate = np.empty(n, dtype=np.int64)
    _sort(order, votes, _votes_of_beaten(order, against, votes))
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
            place, to = random[drawn % len(random)], random[(drawn + 1) % len(random)]
            _move(candidate, int(place * n), int(to * n))
            drawn += 2


@kernel
def _votes_of_beaten(order, against, votes):
    """Per item, the votes of those it beats less of those it loses to: orders equal votes without regard to names."""
    found = np.zeros(len(votes))
    for i in order:
        for j in order:
            found[i] += (against[j, i] - against[i, j]) * votes[j]
    return found


@kernel
def _copy(source, into):
    for k in range(len(source)):
        into[k] = source[k]


@kernel
def _find_best_list(borda, best, against, rows, task, first):
    """Write the best of the lists to `best`; items that it leaves out follow in the Borda order."""
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


@kernel
def _cost(order, against):
    total = 0.0
    for a in range(len(order)):
        for b in range(a + 1, len(order)):
            total += against[order[b], order[a]]
    return total


@kernel
def _improve(order, against, votes):
    """Move every item to its cheapest place until no move helps; return the cost of the order."""
    moved = True
    while moved:
        moved = False
        for place in range(len(order)):
            to = _best_place(order, place, against, votes)
            if to != place:
                _move(order, place, to)
                moved = True
    return _cost(order, against)


@kernel
def _best_place(order, place, against, votes):
    """The cheapest place for the item at a place; of equally cheap ones, the one closest to the votes."""
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


@kernel
def _move(order, place, to):
    item, way = order[place], 1 if to > place else -1
    while place != to:
        order[place] = order[place + way]
        place += way
    order[to] = item


@kernel
def _score(order, against, votes, below, score):
    """Write how many items are below each, `below` of them after the part; neighbours equal in everything are tied."""
    group: Any = np.int64(0)
    n = len(order)
    for after in range(1, n + 1):
        if after < n and _alike(order, group, after, against, votes):
            continue
        for place in range(group, after):
            score[order[place]] = below + n - after
        group = after


@kernel
def _alike(order, group, place, against, votes):
    """Whether the item at a place is equal to all of the group before it, in contests and votes."""
    same, item = True, order[place]
    for at in range(group, place):
        i = order[at]
        same = same and against[i, item] == against[item, i] and votes[i] == votes[item]
    return same
