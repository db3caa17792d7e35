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

import numpy as np

from crowdrank.numerics.compiled import kernel

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


@kernel
def sample_orders(
    lists, theta, worth, rest, order, state, reach, sweeps, first, last, sample_starts, samples, distance
):
    """Continue the chains of the tasks `first` to `last` from `order`; write the mean distance of each list.

    After every `sweeps` sweeps (of as many steps as places) the order is stored: each row of `samples` takes one of
    every task. `worth` is e^score, `rest` its sum over the items of a task that are no candidates. Without rows in
    `samples` nothing moves, and the distances are those of `order`.
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


@kernel
def _add_costs(start, end, row, level, theta, cost):
    """Add θ for each pair of a list."""
    for better in range(start, end):
        for worse in range(end - 1, better, -1):
            if level[worse] == level[better]:
                break
            cost[row[worse], row[better]] += theta


@kernel
def _distance(start, end, row, level, before, inside):
    """The time that the chain had each pair of a list in the opposite order, summed over the pairs."""
    total = 0.0
    for better in range(start, end):
        for worse in range(end - 1, better, -1):
            if level[worse] == level[better]:
                break
            total += inside[row[worse]] - before[row[better], row[worse]]
    return total


@kernel
def _run(cost, worth, rest, current, k, steps, state, before, inside, at, samples):
    """Run one chain, and return its number of steps.

    `before` gets the time that two items had places, the one before the other; `inside`, the time that each had one.
    """
    n = len(current)
    random, reach = state
    odds, row_sum, lengths = _odds(cost), _sums(cost), _lengths(reach[0])
    since, entered = np.zeros((n, n)), np.zeros(n)
    left = np.empty(k + 1)  # the worth of the items left to choose from, at each place
    left[k] = _outside(worth, rest, current, k)
    for p in range(k - 1, -1, -1):
        left[p] = left[p + 1] + worth[current[p]]
    tried = np.zeros(2)  # long moves proposed, and accepted
    for number in range(len(samples) if n > 1 else 0):
        for now in range(number * steps, (number + 1) * steps):
            drawn = _next(random)
            if k < n and _below(drawn, k) == 0:
                other = k + _below(_next(random), n - k)
                a, b = current[k - 1], current[other]
                change = math.exp(_exchange_change(cost, row_sum, current, k, a, b))
                if _unit(_next(random)) * worth[a] < worth[b] * change:
                    current[k - 1], current[other] = b, a
                    left[k] = _outside(worth, rest, current, k)
                    _note_exchange(a, b, current, k, now, before, since, inside, entered)
            elif k > 1:
                length = lengths[drawn & LENGTH_BITS]
                p = _below(_next(random), k - length)
                down = drawn & DOWN > 0
                moved = _move(p, p + length, down, _unit(_next(random)), odds, worth, left, current, now, before, since)
                if 2 * length > reach[0]:
                    tried[0] += 1
                    tried[1] += moved
        for p in range(k):
            samples[number, at + p] = current[p]
    _adapt(reach, k, tried)
    end = max(len(samples) * steps, 1)
    _note_end(current, k, end, before, since, inside, entered)
    return end


@kernel
def _move(p, q, down, chance, odds, worth, left, current, now, before, since):
    """Move the item at p after the one at q, or the one at q before that at p, if accepted; return whether it was.

    `new` is the worth of the items left after the move; always a sum from below, because differences lose digits.
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
def _note_exchange(a, b, current, k, now, before, since, inside, entered):
    """Add up the times that end when b takes the last place from a."""
    inside[a] += now - entered[a]
    entered[b] = now
    for p in range(k - 1):
        before[current[p], a] += now - since[current[p], a]
        since[current[p], b] = now


@kernel
def _note_end(current, k, end, before, since, inside, entered):
    """Add up the times that last until the end of the chain."""
    for p in range(k):
        a = current[p]
        inside[a] += end - entered[a]
        for q in range(p + 1, k):
            before[a, current[q]] += end - since[a, current[q]]


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
