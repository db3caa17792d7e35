"""Sampling true orders: a Metropolis chain for each task, whose steps cost the same whatever the number of annotators.

The posterior of a task's order y, given features and lists, is proportional to PL(y | scores) Π_l exp(θ_l d(y, y_l)).
The distance is a sum over pairs, so one table `cost[a, b] = Σ_l θ_l · (l puts b before a)` replaces all lists: to swap
the neighbours a, b multiplies the chance by exp(cost[b, a] − cost[a, b]) and by the change of one denominator of the
Plackett-Luce model. An item moves over one neighbour, or over several at once, of which short ways are as likely as
long ones on a logarithmic scale: where lists say little, neighbours alone would take n² sweeps to forget where they
began. How far a move may go is halved or doubled as long ones fail or succeed. Where only some places count, the item
at the last of them is also exchanged with one that has none, in a time in proportion to the places.

How long one item stood before another is summed when that changes, so that every step of the chain counts, at the cost
of those that moved.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

STEEPEST = 300.0  # logarithm of odds beyond which nothing is told apart
GOLDEN, FIRST_MIX, SECOND_MIX = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
HALF, DOWN = np.uint64(32), np.uint64(1 << 16)
UNIT = 2.0**-32
WAYS, SOME = 64, np.uint64(63)  # lengths of moves to draw from
TOO_FEW, MANY = 0.05, 0.2  # of the longest moves succeed: they are too long, may be longer


@nb.njit(cache=True, nogil=True)
def sample_orders(
    lists, theta, worth, rest, order, state, reach, sweeps, first, last, sample_starts, samples, distance
):
    """Run the chains of the tasks `first` to `last` on from `order`, and write the mean distance of every list to
    `distance`.

    After every so many `sweeps` (of as many steps as places) the order is kept: each row of `samples` takes one of
    every task. `rest` is the worth of a task's items that are no candidates. Without rows in `samples` nothing moves,
    and the distances are those of `order`.
    """
    places, candidate_starts, list_starts, row_starts, row, level = lists
    for task in range(first, last):
        start, end = candidate_starts[task], candidate_starts[task + 1]
        n, k = end - start, places[task]
        own, current = worth[start:end], order[start:end]
        cost = np.zeros((n, n))
        for number in range(list_starts[task], list_starts[task + 1]):
            _add_costs(row_starts[number], row_starts[number + 1], row, level, theta[number], cost)
        before, inside = np.zeros((n, n)), np.zeros(n)
        own_state = state[task : task + 1], reach[task : task + 1]
        total = _run(
            cost, own, rest[task], current, k, sweeps * k, own_state, before, inside, sample_starts[task], samples
        )
        for number in range(list_starts[task], list_starts[task + 1]):
            distance[number] = _distance(row_starts[number], row_starts[number + 1], row, level, before, inside) / total


@nb.njit(cache=True, nogil=True)
def _add_costs(start, end, row, level, theta, cost):
    for better in range(start, end):
        for worse in range(end - 1, better, -1):
            if level[worse] == level[better]:
                break
            cost[row[worse], row[better]] += theta


@nb.njit(cache=True, nogil=True)
def _distance(start, end, row, level, before, inside):
    """How long the order put each pair of a list the other way around."""
    total = 0.0
    for better in range(start, end):
        for worse in range(end - 1, better, -1):
            if level[worse] == level[better]:
                break
            total += inside[row[worse]] - before[row[better], row[worse]]
    return total


@nb.njit(cache=True, nogil=True)
def _run(cost, worth, rest, current, k, steps, state, before, inside, at, samples):
    """One chain: `before` gets how long both had a place, one before the other; `inside`, how long each had one. Gives the steps made."""
    n = len(current)
    random, reach = state
    odds, everywhere, ways = _odds(cost), _sums(cost), _ways(reach[0])
    since, entered = np.zeros((n, n)), np.zeros(n)
    left = np.empty(k + 1)  # the worth of what is left to choose from, at each place
    left[k] = _outside(worth, rest, current, k)
    for p in range(k - 1, -1, -1):
        left[p] = left[p + 1] + worth[current[p]]
    tried = np.zeros(2)  # the longest moves, and those of them that were made
    for number in range(len(samples) if n > 1 else 0):
        for now in range(number * steps, (number + 1) * steps):
            drawn = _next(random)
            if k < n and _below(drawn, k) == 0:
                other = k + _below(_next(random), n - k)
                a, b = current[k - 1], current[other]
                change = math.exp(_exchanged(cost, everywhere, current, k, a, b))
                if _unit(_next(random)) * worth[a] < worth[b] * change:
                    current[k - 1], current[other] = b, a
                    left[k] = _outside(worth, rest, current, k)
                    _note_exchange(a, b, current, k, now, before, since, inside, entered)
            elif k > 1:
                far = ways[drawn & SOME]
                p = _below(_next(random), k - far)
                down = drawn & DOWN > 0
                moved = _moved(p, p + far, down, _unit(_next(random)), odds, worth, left, current, now, before, since)
                if 2 * far > reach[0]:
                    tried[0] += 1
                    tried[1] += moved
        for p in range(k):
            samples[number, at + p] = current[p]
    _adapt(reach, k, tried)
    end = max(len(samples) * steps, 1)
    _note_end(current, k, end, before, since, inside, entered)
    return end


@nb.njit(cache=True, nogil=True)
def _moved(p, q, down, chance, odds, worth, left, current, now, before, since):
    """Move the item at p behind the one at q, or the one at q before that at p, if it is to be; was it?

    `new` is what is left to choose from after the move; always as a sum from below, as differences would lose digits.
    """
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


@nb.njit(cache=True, nogil=True)
def _ways(reach):
    """Lengths of moves from 1 to `reach`, evenly by their logarithm."""
    ways = np.empty(WAYS, np.int64)
    for number in range(WAYS):
        ways[number] = np.int64(math.exp(math.log(reach + 0.999) * number / (WAYS - 1)))
    return ways


@nb.njit(cache=True, nogil=True)
def _adapt(reach, k, tried):
    """Between two runs, so that each is a chain whose moves do not depend on where it was."""
    if tried[1] < TOO_FEW * tried[0]:
        reach[0] = max(reach[0] // 2, 1)
    elif tried[1] > MANY * tried[0]:
        reach[0] = max(min(2 * reach[0], k - 1), 1)


@nb.njit(cache=True, nogil=True)
def _odds(cost):
    """By what a swap multiplies the chance, for items a, b that stand in this order."""
    n = len(cost)
    odds = np.empty((n, n))
    for a in range(n):
        for b in range(n):
            odds[a, b] = math.exp(min(max(cost[b, a] - cost[a, b], -STEEPEST), STEEPEST))
    return odds


@nb.njit(cache=True, nogil=True)
def _sums(cost):
    """Of the rows; NumPy's own takes seconds to compile."""
    total = np.zeros(len(cost))
    for a in range(len(cost)):
        for b in range(len(cost)):
            total[a] += cost[a, b]
    return total


@nb.njit(cache=True, nogil=True)
def _outside(worth, rest, current, k):
    total = rest
    for p in range(k, len(current)):
        total += worth[current[p]]
    return total


@nb.njit(cache=True, nogil=True)
def _exchanged(cost, everywhere, current, k, a, b):
    """What it adds to the logarithm of the chance that b takes the last place from a: both stand before all that have none."""
    change = everywhere[b] - everywhere[a]
    for p in range(k - 1):
        change += cost[a, current[p]] - cost[b, current[p]]
    return min(max(change, -STEEPEST), STEEPEST)


@nb.njit(cache=True, nogil=True)
def _note_exchange(a, b, current, k, now, before, since, inside, entered):
    inside[a] += now - entered[a]
    entered[b] = now
    for p in range(k - 1):
        before[current[p], a] += now - since[current[p], a]
        since[current[p], b] = now


@nb.njit(cache=True, nogil=True)
def _note_end(current, k, end, before, since, inside, entered):
    for p in range(k):
        a = current[p]
        inside[a] += end - entered[a]
        for q in range(p + 1, k):
            before[a, current[q]] += end - since[a, current[q]]


@nb.njit(cache=True, nogil=True)
def _next(random):
    """The next 64 random bits of a chain (splitmix64)."""
    random[0] += GOLDEN
    z = random[0]
    z = (z ^ (z >> SHIFTS[0])) * FIRST_MIX
    z = (z ^ (z >> SHIFTS[1])) * SECOND_MIX
    return z ^ (z >> SHIFTS[2])


@nb.njit(cache=True, nogil=True)
def _unit(drawn):
    """A number from 0 to 1."""
    return np.float64(drawn >> HALF) * UNIT


@nb.njit(cache=True, nogil=True)
def _below(drawn, count):
    """A whole number below `count`, from the upper half of the bits."""
    return np.int64(((drawn >> HALF) * np.uint64(count)) >> HALF)
