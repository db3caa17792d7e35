"""The Mallows model: expected distances, normalisers, exact samples.

    P(list | order) ∝ exp(−clear · d(list, order)),    d: the pairs in opposite order

`clear` is −θ in some papers, −log φ in others: large for an annotator who repeats the order, 0 for one who guesses,
negative for one who reverses it. A list may have groups of ties: it represents all orders of their members together.
The order may rank only its first `places` items, and tie all others below them; pairs that either of the two ties cost
nothing.
"""

from __future__ import annotations

import math

import numpy as np

from crowdrank.numerics.compiled import kernel
from crowdrank.study import Floats

CLEAREST = 20.0  # larger values of `clear` make no difference
LARGEST = 700.0  # its exponential is finite


@kernel
def one_more(length, clear):
    """How many of the `length` − 1 items before it the last item is expected to overtake."""
    if abs(length * clear) < 1e-3:  # the difference below would be rounding
        return (length - 1) / 2 - (length**2 - 1) * clear / 12
    return 1 / math.expm1(clear) - length / math.expm1(length * clear)


@kernel
def part_moments(places, starts, group, clear, log_total, mean_total, scratch):
    """The log normaliser, up to a constant without `clear`, and the expected distance, of lists of a shape.

    A shape is the sizes of the groups of ties of a list, the best first; its items are those of the order, which ranks
    `places` of them. `log_total` and `mean_total` are those of full lists (`totals`); `scratch` has four
    rows of places + 1. The recursion goes from the last group to the first, over the number of ranked items in it and
    their cost with those in later groups.
    """
    log, mean, new_log, new_mean = scratch[0], scratch[1], scratch[2], scratch[3]
    for s in range(places + 1):
        log[s], mean[s] = -np.inf, 0.0
    log[0] = 0.0
    for g in range(starts[1] - 1, starts[0] - 1, -1):
        for s in range(places + 1):
            new_log[s], new_mean[s] = -np.inf, 0.0
        for s in range(places + 1):
            if log[s] == -np.inf:
                continue
            for ranked in range(min(group[g], places - s) + 1):
                tail, end = group[g] - ranked, s + ranked
                # Members that the order does not rank are above items that it puts before them.
                path = (
                    log[s]
                    + log_total[end]
                    - log_total[s]
                    - log_total[ranked]
                    - clear * tail * s
                    - math.lgamma(tail + 1.0)
                )
                cost = mean[s] + mean_total[end] - mean_total[s] - mean_total[ranked] + tail * s
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
    """The log normaliser and the expected distance of full lists of 0 to `longest` items; a row per value of `clear`.

    One more item at the end of `length` − 1 others overtakes `more` of them, in one of e^`ways` ways.
    """
    length, clear = np.arange(1, longest + 1), np.asarray(clear, dtype=np.float64)[:, None]
    small = np.abs(length * clear) < 1e-3  # the differences below would be rounding
    safe = np.where(clear == 0, 1.0, clear)
    far = np.where(small, 1.0, length * safe)
    series = length - 1, length**2 - 1
    more = np.where(
        small, series[0] / 2 - series[1] * clear / 12, 1 / np.expm1(safe) - length / np.expm1(np.minimum(far, LARGEST))
    )
    ways = (1 - length) * clear / 2 + _log_sinhs(far / 2) - _log_sinhs(safe / 2)
    ways = np.where(small, np.log(length) - series[0] * clear / 2 + series[1] * clear * clear / 24, ways)
    nothing = np.zeros((len(clear), 1))
    return np.hstack([nothing, np.cumsum(ways, axis=1)]), np.hstack([nothing, np.cumsum(more, axis=1)])


def _log_sinhs(x: Floats) -> Floats:
    return np.asarray(np.abs(x) + np.log(-np.expm1(-2 * np.abs(x))))


def expected_distance(length: int, clear: float) -> float:
    """The expected distance between a full list of so many items and the order."""
    return float(totals(length, np.array([clear]))[1][0, -1])


def log_normaliser(length: int, clear: float) -> float:
    """The logarithm of the sum over all lists of so many items."""
    return float(totals(length, np.array([clear]))[0][0, -1])


def sample(length: int, clear: Floats, rng: np.random.Generator) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """A list for each value of `clear`, as places 0, 1, … in the order; exact, by repeated insertion."""
    return np.asarray(_inserted(length, np.asarray(clear, dtype=np.float64), rng.random((len(clear), length))))


@kernel
def _inserted(length, clear, draw):
    """Inserts each item of the order before v of those already there, with a chance proportional to exp(−clear · v)."""
    result = np.empty((len(clear), length), dtype=np.int64)
    for number in range(len(clear)):
        for size in range(1, length + 1):
            before = _overtaken(size, clear[number], draw[number, size - 1])
            for place in range(size - 1, size - 1 - before, -1):
                result[number, place] = result[number, place - 1]
            result[number, size - 1 - before] = size - 1
    return result


@kernel
def _overtaken(size, clear, draw):
    """The v of 0 … size − 1 where the sum of exp(−clear · v) reaches a share of the whole."""
    if abs(clear) * size < 1e-9:
        return min(int(draw * size), size - 1)
    if clear < 0:  # counted from the other end, which is the likelier
        return size - 1 - _overtaken(size, -clear, draw)
    v = -math.log1p(draw * math.expm1(-clear * size)) / clear
    return min(int(v), size - 1)
