"""A vote as one whole number: sorting those is twenty times faster than sorting rows.

From its highest bits on, a key has: the high bits of the winner, the high bits of the loser (its place within the task,
to save bits), the annotator, the low bits of winner and loser, the kind of vote. So successive votes use scores that
are close to each other in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.compiled import for_work, kernel
from crowdrank.numerics.threads import chunks, in_parts
from crowdrank.study import LEFT, TIE, Codes, Floats

WON_LEFT, WON_RIGHT, TIED = 0, 1, 2  # kinds of vote
KIND_BITS = 2
LOW_BITS = 12  # the scores and sums of 2¹² entries stay in the cache while their votes are processed
MOST_BITS = 63
STEPS = 8  # of the kernels for one vote

Keys = NDArray[np.int64]


class Widths(NamedTuple):
    """Bits of each part of a key."""

    winner_high: int
    loser_high: int
    annotator: int
    winner_low: int
    loser_low: int
    kind: int


def key_widths(n_entries: int, task_starts: NDArray[np.int64], n_annotators: int) -> Widths:
    """The fewest bits that can represent every code."""
    winner, loser = _bits(n_entries), _bits(int(np.diff(task_starts).max(initial=0)))
    low = min(loser, LOW_BITS)
    return Widths(winner - low, loser - low, _bits(n_annotators), low, low, KIND_BITS)


def _bits(count: int) -> int:
    """The number of bits of any code below `count`."""
    return max(count - 1, 0).bit_length()


def packed(
    annotator: Codes, left: Codes, right: Codes, outcome: NDArray[np.int8], first: Codes, widths: Widths, sides: bool
) -> Keys:
    """The keys of votes, the winner first; of ties the left item, or without `sides` the one of the smaller code."""
    keys = np.empty(len(left), np.int64)
    pack = for_work(_pack, STEPS * len(left))
    in_parts(
        lambda r: pack(annotator[r], left[r], right[r], outcome[r], first, widths, sides, keys[r]), chunks(len(keys))
    )
    return keys


@kernel
def _pack(annotator, left, right, outcome, first, widths, sides, keys):
    _, loser_high, annotator_bits, low, _, kind_bits = widths
    last = (1 << low) - 1
    for r in range(len(keys)):
        winner, loser, kind = left[r], right[r], WON_LEFT
        if outcome[r] == TIE:
            kind = TIED
        elif outcome[r] != LEFT and sides:
            kind = WON_RIGHT
        if outcome[r] < TIE or (outcome[r] == TIE and not sides and winner > loser):
            winner, loser = loser, winner
        loser -= first[loser]
        key = np.int64(winner >> low) << loser_high | loser >> low
        if annotator_bits:
            key = key << annotator_bits | annotator[r]
        keys[r] = ((key << low | winner & last) << low | loser & last) << kind_bits | kind


def count_runs(keys: Keys) -> tuple[Keys, Floats]:
    """The distinct ones of sorted keys, and how often each occurs."""
    count = np.empty(len(keys))
    n = for_work(_count_runs, len(keys))(keys, count)
    return keys[:n], count[:n]


@kernel
def _count_runs(keys, count):
    """Brings the distinct keys to the front."""
    last = -1
    for r in range(len(keys)):
        if last >= 0 and keys[r] == keys[last]:
            count[last] += 1.0
        else:
            last += 1
            keys[last], count[last] = keys[r], 1.0
    return last + 1


def unpacked(keys: Keys, first: Codes, widths: Widths) -> tuple[Codes, Codes, Codes, NDArray[np.int8]]:
    """The annotator (0 where keys have none), winner, loser and kind of each vote."""
    annotator, winner, loser = (np.empty(len(keys), np.int32) for _ in range(3))
    kind = np.empty(len(keys), np.int8)
    unpack = for_work(_unpack, STEPS * len(keys))
    in_parts(lambda r: unpack(keys[r], first, widths, annotator[r], winner[r], loser[r], kind[r]), chunks(len(keys)))
    return annotator, winner, loser, kind


@kernel
def _unpack(keys, first, widths, annotator, winner, loser, kind):
    _, loser_high, annotator_bits, low, _, kind_bits = widths
    last = (1 << low) - 1
    for r in range(len(keys)):
        key = keys[r]
        kind[r] = key & ((1 << kind_bits) - 1)
        key >>= kind_bits
        loser_low = key & last
        key >>= low
        winner_low = key & last
        key >>= low
        annotator[r] = key & ((1 << annotator_bits) - 1)
        key >>= annotator_bits
        winner[r] = (key >> loser_high) << low | winner_low
        loser[r] = ((key & ((1 << loser_high) - 1)) << low | loser_low) + first[winner[r]]
