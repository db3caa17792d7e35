"""Sampling true orders: a Metropolis chain for each task, whose steps cost the same for any number of annotators.

The posterior of a task's order y, given features and lists, is proportional to PL(y | scores) Π_l exp(θ_l d(y, y_l)).
The distance is a sum over pairs, so one table `cost[a, b] = Σ_l θ_l · (l puts b before a)` replaces all lists: swapping
the neighbours a, b multiplies the probability by exp(cost[b, a] − cost[a, b]) and by the change of one denominator of
the Plackett-Luce model. An item moves over one neighbour or over several at once; lengths of moves are drawn uniformly
on a logarithmic scale, because with single steps alone, where lists have little information, a chain would take n²
sweeps to forget its start. The longest length is halved or doubled as long moves are rejected or accepted. Where only
some places count, the item at the last of them is also exchanged with one that has none, in a time proportional to the
places.

The time that one item stands before another is added up whenever that changes, so that every step of the chain counts,
at a cost proportional to the items that moved.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.compiled import kernel
from crowdrank.study import Floats

STEEPEST = 300.0  # logarithms of odds are clipped to this
GOLDEN, FIRST_MIX, SECOND_MIX = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
HALF, DOWN = np.uint64(32), np.uint64(1 << 16)
UNIT = 2.0**-32
N_LENGTHS, LENGTH_BITS = 64, np.uint64(63)  # lengths of moves to draw from, and the bits that choose one
TOO_FEW, MANY = 0.05, 0.2  # shares of long moves accepted below which they get shorter, above which longer


class TaskLists(NamedTuple):
    """The lists of each task; CrowdLists explains the fields."""

    places: NDArray[np.int64]
    candidate_starts: NDArray[np.int64]
    list_starts: NDArray[np.int64]
    row_starts: NDArray[np.int64]
    row: NDArray[np.int64]
    level: NDArray[np.int64]


class Posterior(NamedTuple):
    """What the orders are sampled from."""

    theta: Floats  # by list
    worth: Floats  # by candidate: e^score
    rest: Floats  # by task: the sum of e^score over the items that are no candidates


class Chains(NamedTuple):
    """Where the chains stand: they continue from here, in place."""

    order: NDArray[np.int64]  # by task, the candidates by their number
    random: NDArray[np.uint64]  # by task, the state of the random numbers
    reach: NDArray[np.int64]  # by task, how far an item may move in one step


class Sampled(NamedTuple):
    """What is written: a row with one order of each task per sample, and the mean distance of each list."""

    starts: NDArray[np.int64]  # by task, the columns of its order
    orders: NDArray[np.int64]
    distance: Floats


class Times(NamedTuple):
    """The steps of a chain in which two items had places, one before the other, and in which an item had a place."""

    before: Floats
    since: Floats  # the step at which the one was put before the other
    inside: Floats
    entered: Floats  # the step at which the item got a place


@kernel
def sample_orders(lists, posterior, chains, first, last, sweeps, sampled):
    """Continue the chains of the tasks `first` to `last`.

    After every `sweeps` sweeps (of as many steps as places) the order is stored. Without samples nothing moves, and the
    distances are those of the orders where the chains stand.
    """
    for task in range(first, last):
        start, end = lists.candidate_starts[task], lists.candidate_starts[task + 1]
        n, k = end - start, lists.places[task]
        own_lists = range(lists.list_starts[task], lists.list_starts[task + 1])
        cost = np.zeros((n, n))
        for number in own_lists:
            _add_costs(lists, number, posterior.theta[number], cost)
        times = Times(np.zeros((n, n)), np.zeros((n, n)), np.zeros(n), np.zeros(n))
        own = Chains(chains.order[start:end], chains.random[task : task + 1], chains.reach[task : task + 1])
        orders = sampled.orders[:, sampled.starts[task] : sampled.starts[task] + k]
        total = _run(cost, posterior.worth[start:end], posterior.rest[task], own, sweeps * k, times, orders)
        for number in own_lists:
            sampled.distance[number] = _distance(lists, number, times) / total


@kernel
def _add_costs(lists, number, theta, cost):
    """Add θ for each pair of a list."""
    start, end, row, level = lists.row_starts[number], lists.row_starts[number + 1], lists.row, lists.level
    for better in range(start, end):
        for worse in range(end - 1, better, -1):
            if level[worse] == level[better]:
                break
            cost[row[worse], row[better]] += theta


@kernel
def _distance(lists, number, times):
    """The time that the chain had each pair of a list in the opposite order, summed over the pairs."""
    start, end, row, level = lists.row_starts[number], lists.row_starts[number + 1], lists.row, lists.level
    total = 0.0
    for better in range(start, end):
        for worse in range(end - 1, better, -1):
            if level[worse] == level[better]:
                break
            total += times.inside[row[worse]] - times.before[row[better], row[worse]]
    return total


@kernel
def _run(cost, worth, rest, chain, steps, times, orders):
    """Run one chain, store an order after every so many steps, and return the number of all steps."""
    current, random, reach = chain
    n, k = len(current), orders.shape[1]
    before, since = times.before, times.since  # not in `_move`, which is called at nearly every step
    odds, row_sum, lengths = _odds(cost), _sums(cost), _lengths(reach[0])
    left = np.empty(k + 1)  # the worth of the items left to choose from, at each place
    left[k] = _outside(worth, rest, current, k)
    for p in range(k - 1, -1, -1):
        left[p] = left[p + 1] + worth[current[p]]
    tried = np.zeros(2)  # long moves proposed, and accepted
    for number in range(len(orders) if n > 1 else 0):
        for now in range(number * steps, (number + 1) * steps):
            drawn = _next(random)
            if k < n and _below(drawn, k) == 0:
                other = k + _below(_next(random), n - k)
                a, b = current[k - 1], current[other]
                change = math.exp(_exchange_change(cost, row_sum, current, k, a, b))
                if _unit(_next(random)) * worth[a] < worth[b] * change:
                    current[k - 1], current[other] = b, a
                    left[k] = _outside(worth, rest, current, k)
                    _note_exchange(a, b, current, k, now, times)
            elif k > 1:
                length = lengths[drawn & LENGTH_BITS]
                p = _below(_next(random), k - length)
                move = p, p + length, drawn & DOWN > 0
                moved = _move(move, _unit(_next(random)), odds, worth, left, current, now, before, since)
                if 2 * length > reach[0]:
                    tried[0] += 1
                    tried[1] += moved
        for p in range(k):
            orders[number, p] = current[p]
    _adapt(reach, k, tried)
    end = max(len(orders) * steps, 1)
    _note_end(current, k, end, times)
    return end


@kernel
def _move(move, chance, odds, worth, left, current, now, before, since):
    """Make a move if it is accepted: of the item at p after the one at q (down), or of the one at q before that at p.

    `new` is the worth of the items left after the move; always a sum from below, because differences lose digits.
    """
    p, q, down = move
    a = current[p] if down else current[q]
    new, ratio = left[q + 1], 1.0
    for step in range(q - p):
        if down:
            b = current[p + 1 + step]
            ratio *= odds[a, b] * left[p + 1 + step] / (left[p + 2 + step] + worth[a])
        else:
            b = current[q - 1 - step]
            new += worth[b]
            ratio *= odds[b, a] * left[q - step] / new
    if not chance < ratio:
        return False
    new = left[q + 1]
    for step in range(q - p):
        if down:
            place = p + 1 + step
            b = current[place]
            left[place] = left[place + 1] + worth[a]
            current[place - 1] = b
            before[a, b] += now - since[a, b]
            since[b, a] = now
        else:
            place = q - step
            b = current[place - 1]
            new += worth[b]
            left[place] = new
            current[place] = b
            before[b, a] += now - since[b, a]
            since[a, b] = now
    current[q if down else p] = a
    return True


@kernel
def _lengths(reach):
    """Lengths of moves from 1 to `reach`, uniform on a logarithmic scale."""
    lengths = np.empty(N_LENGTHS, np.int64)
    for number in range(N_LENGTHS):
        lengths[number] = np.int64(math.exp(math.log(reach + 0.999) * number / (N_LENGTHS - 1)))
    return lengths


@kernel
def _adapt(reach, k, tried):
    """Change the longest move; between runs only, so that the moves of a chain do not depend on its past."""
    if tried[1] < TOO_FEW * tried[0]:
        reach[0] = max(reach[0] // 2, 1)
    elif tried[1] > MANY * tried[0]:
        reach[0] = max(min(2 * reach[0], k - 1), 1)


@kernel
def _odds(cost):
    """The factor by which swapping the neighbours a, b, in this order, multiplies the probability of the lists."""
    n = len(cost)
    odds = np.empty((n, n))
    for a in range(n):
        for b in range(n):
            odds[a, b] = math.exp(min(max(cost[b, a] - cost[a, b], -STEEPEST), STEEPEST))
    return odds


@kernel
def _sums(cost):
    """The sums of the rows; NumPy's own function takes seconds to compile."""
    total = np.zeros(len(cost))
    for a in range(len(cost)):
        for b in range(len(cost)):
            total[a] += cost[a, b]
    return total


@kernel
def _outside(worth, rest, current, k):
    """The worth of all items without a place."""
    total = rest
    for p in range(k, len(current)):
        total += worth[current[p]]
    return total


@kernel
def _exchange_change(cost, row_sum, current, k, a, b):
    """The change of the log-probability if b takes the last place from a, before all items without a place."""
    change = row_sum[b] - row_sum[a]
    for p in range(k - 1):
        change += cost[a, current[p]] - cost[b, current[p]]
    return min(max(change, -STEEPEST), STEEPEST)


@kernel
def _note_exchange(a, b, current, k, now, times):
    """Add up the times that end when b takes the last place from a."""
    times.inside[a] += now - times.entered[a]
    times.entered[b] = now
    for p in range(k - 1):
        times.before[current[p], a] += now - times.since[current[p], a]
        times.since[current[p], b] = now


@kernel
def _note_end(current, k, end, times):
    """Add up the times that last until the end of the chain."""
    for p in range(k):
        a = current[p]
        times.inside[a] += end - times.entered[a]
        for q in range(p + 1, k):
            times.before[a, current[q]] += end - times.since[a, current[q]]


@kernel
def _next(random):
    """The next 64 random bits of a chain (splitmix64)."""
    random[0] += GOLDEN
    z = random[0]
    z = (z ^ (z >> SHIFTS[0])) * FIRST_MIX
    z = (z ^ (z >> SHIFTS[1])) * SECOND_MIX
    return z ^ (z >> SHIFTS[2])


@kernel
def _unit(drawn):
    """A number from 0 to 1, from the upper half of the bits."""
    return np.float64(drawn >> HALF) * UNIT


@kernel
def _below(drawn, count):
    """A whole number below `count`, from the upper half of the bits."""
    return np.int64(((drawn >> HALF) * np.uint64(count)) >> HALF)
