"""The Mallows model in numbers: expected distances, normalisers, exact samples.

    P(list | order) ∝ exp(−clear · d(list, order)),    d: the pairs that the two put the other way around

`clear` is −θ in papers, −log φ in others: large for an annotator who repeats the order, 0 for one who guesses, negative
for one who turns it around. A list may have groups of ties: it stands for all orders of their members together. The
order may tell only its first `places` items apart, and put all others below them; pairs that either of the two does not
tell apart cost nothing.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from crowdrank.study import Floats

CLEAREST = 20.0  # beyond which nobody is told apart
LARGEST = 700.0  # whose exponential is finite


@nb.njit(cache=True, nogil=True)
def one_more(length, clear):
    """How many of the items before it the last of `length` items is expected to overtake: those are 0 to length − 1."""
    if abs(length * clear) < 1e-3:  # the difference below would be rounding
        return (length - 1) / 2 - (length**2 - 1) * clear / 12
    return 1 / math.expm1(clear) - length / math.expm1(length * clear)


@nb.njit(cache=True, nogil=True)
def part_moments(places, starts, group, clear, log_total, mean_total, room):
    """The logarithm of the normaliser, but for what does not depend on `clear`, and the expected distance, of lists of
    a shape.

    A shape is the sizes of the groups of ties of a list, the best first; its items are those of the order, of which
    `places` are told apart. `log_total` and `mean_total` are those of full lists (`totals`), `room` has four rows of
    places + 1. From the last group to the first: how many of the items told apart it has, and what that costs with
    those in later groups.
    """
    log, mean, new_log, new_mean = room[0], room[1], room[2], room[3]
    for s in range(places + 1):
        log[s], mean[s] = -np.inf, 0.0
    log[0] = 0.0
    for g in range(starts[1] - 1, starts[0] - 1, -1):
        for s in range(places + 1):
            new_log[s], new_mean[s] = -np.inf, 0.0
        for s in range(places + 1):
            if log[s] == -np.inf:
                continue
            for told in range(min(group[g], places - s) + 1):
                tail, end = group[g] - told, s + told
                # Members not told apart stand above what the order puts before them.
                path = (
                    log[s]
                    + log_total[end]
                    - log_total[s]
                    - log_total[told]
                    - clear * tail * s
                    - math.lgamma(tail + 1.0)
                )
                cost = mean[s] + mean_total[end] - mean_total[s] - mean_total[told] + tail * s
                if path > new_log[end]:
                    share = math.exp(new_log[end] - path)
                    new_mean[end] = (new_mean[end] * share + cost) / (1 + share)
                    new_log[end] = path + math.log1p(share)
                else:
                    share = math.exp(path - new_log[end])
                    new_mean[end] = (new_mean[end] + cost * share) / (1 + share)
                    new_log[end] = new_log[end] + math.log1p(share)
        for s in range(places + 1):
            log[s], mean[s] = new_log[s], new_mean[s]
    return log[places], mean[places]


def totals(longest: int, clear: Floats) -> tuple[Floats, Floats]:
    """The logarithm of the normaliser of full lists of 0 to `longest` items, and their expected distance; a row for
    each clarity.

    One more item at the end of `length` − 1 others overtakes `more` of them, in one of e^`ways` ways.
    """
    length, clear = np.arange(1, longest + 1), np.asarray(clear, dtype=np.float64)[:, None]
    near = np.abs(length * clear) < 1e-3  # the differences below would be rounding
    safe = np.where(clear == 0, 1.0, clear)
    far = np.where(near, 1.0, length * safe)
    series = length - 1, length**2 - 1
    more = np.where(
        near, series[0] / 2 - series[1] * clear / 12, 1 / np.expm1(safe) - length / np.expm1(np.minimum(far, LARGEST))
    )
    ways = (1 - length) * clear / 2 + _log_sinhs(far / 2) - _log_sinhs(safe / 2)
    ways = np.where(near, np.log(length) - series[0] * clear / 2 + series[1] * clear * clear / 24, ways)
    nothing = np.zeros((len(clear), 1))
    return np.hstack([nothing, np.cumsum(ways, axis=1)]), np.hstack([nothing, np.cumsum(more, axis=1)])


def _log_sinhs(x: Floats) -> Floats:
    return np.asarray(np.abs(x) + np.log(-np.expm1(-2 * np.abs(x))))


def expected_distance(length: int, clear: float) -> float:
    """The distance to expect between a full list of so many items and the order."""
    return float(totals(length, np.array([clear]))[1][0, -1])


def log_normaliser(length: int, clear: float) -> float:
    """The logarithm of the sum over all lists of so many items."""
    return float(totals(length, np.array([clear]))[0][0, -1])


def sample(length: int, clear: Floats, rng: np.random.Generator) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """A list for each of these clarities: the numbers of the order's places 0, 1, …, as the list has them; exact, by repeated insertion."""
    return np.asarray(_inserted(length, np.asarray(clear, dtype=np.float64), rng.random((len(clear), length))))


@nb.njit(cache=True, nogil=True)
def _inserted(length, clear, draw):
    """Each item of the order in turn is put before v of those already there, with a chance in proportion to exp(−clear · v)."""
    result = np.empty((len(clear), length), dtype=np.int64)
    for number in range(len(clear)):
        for size in range(1, length + 1):
            before = _overtaken(size, clear[number], draw[number, size - 1])
            for place in range(size - 1, size - 1 - before, -1):
                result[number, place] = result[number, place - 1]
            result[number, size - 1 - before] = size - 1
    return result


@nb.njit(cache=True, nogil=True)
def _overtaken(size, clear, draw):
    """The v of 0 … size − 1 where the sum of exp(−clear · v) reaches a share of the whole."""
    if abs(clear) * size < 1e-9:
        return min(int(draw * size), size - 1)
    if clear < 0:  # counted from the other end, which is the likelier
        return size - 1 - _overtaken(size, -clear, draw)
    v = -math.log1p(draw * math.expm1(-clear * size)) / clear
    return min(int(v), size - 1)
