"""A vote as one whole number: sorting those is twenty times faster than sorting rows.

From its highest bits on, a key holds: the far part of the winner, the far part of the loser (its place within the task,
to save bits), the annotator, the near parts of winner and loser, the kind of vote. So what is looked up for votes that
follow each other is near each other in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.threads import chunks, in_parts
from crowdrank.study import LEFT, TIE, Codes, Floats

WON_LEFT, WON_RIGHT, TIED = 0, 1, 2  # kinds of vote
KIND_BITS = 2
NEAR_BITS = (
    12  # the scores of 2¹² entries, and what is summed for them, stay in the cache while their votes are counted
)
MOST_BITS = 63

Keys = NDArray[np.int64]


class Widths(NamedTuple):
    """Bits of each part of a key."""

    winner_far: int
    loser_far: int
    annotator: int
    winner_near: int
    loser_near: int
    kind: int


def key_widths(n_entries: int, task_starts: NDArray[np.int64], n_annotators: int) -> Widths:
    """As few bits as hold every code."""
    winner, loser = _bits(n_entries), _bits(int(np.diff(task_starts).max(initial=0)))
    near = min(loser, NEAR_BITS)
    return Widths(winner - near, loser - near, _bits(n_annotators), near, near, KIND_BITS)


def _bits(count: int) -> int:
    """Bits that hold any code below `count`."""
    return max(count - 1, 0).bit_length()


def packed(
    annotator: Codes, left: Codes, right: Codes, outcome: NDArray[np.int8], first: Codes, widths: Widths, sides: bool
) -> Keys:
    """The keys of votes, the winner first; of ties the left item, or without `sides` the one of the smaller code."""
    keys = np.empty(len(left), np.int64)
    in_parts(
        lambda r: _pack(annotator[r], left[r], right[r], outcome[r], first, widths, sides, keys[r]), chunks(len(keys))
    )
    return keys


@nb.njit(cache=True, nogil=True)
def _pack(annotator, left, right, outcome, first, widths, sides, keys):
    _, loser_far, annotator_bits, near, _, kind_bits = widths
    last = (1 << near) - 1
    for r in range(len(keys)):
        winner, loser, kind = left[r], right[r], WON_LEFT
        if outcome[r] == TIE:
            kind = TIED
        elif outcome[r] != LEFT and sides:
            kind = WON_RIGHT
        if outcome[r] < TIE or (outcome[r] == TIE and not sides and winner > loser):
            winner, loser = loser, winner
        loser -= first[loser]
        key = np.int64(winner >> near) << loser_far | loser >> near
        if annotator_bits:
            key = key << annotator_bits | annotator[r]
        keys[r] = ((key << near | winner & last) << near | loser & last) << kind_bits | kind


def count_runs(keys: Keys) -> tuple[Keys, Floats]:
    """The distinct ones of sorted keys, and how often each occurs."""
    count = np.empty(len(keys))
    n = _count_runs(keys, count)
    return keys[:n], count[:n]


@nb.njit(cache=True, nogil=True)
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
    in_parts(lambda r: _unpack(keys[r], first, widths, annotator[r], winner[r], loser[r], kind[r]), chunks(len(keys)))
    return annotator, winner, loser, kind


@nb.njit(cache=True, nogil=True)
def _unpack(keys, first, widths, annotator, winner, loser, kind):
    _, loser_far, annotator_bits, near, _, kind_bits = widths
    last = (1 << near) - 1
    for r in range(len(keys)):
        key = keys[r]
        kind[r] = key & ((1 << kind_bits) - 1)
        key >>= kind_bits
        loser_near = key & last
        key >>= near
        winner_near = key & last
        key >>= near
        annotator[r] = key & ((1 << annotator_bits) - 1)
        key >>= annotator_bits
        winner[r] = (key >> loser_far) << near | winner_near
        loser[r] = ((key & ((1 << loser_far) - 1)) << near | loser_near) + first[winner[r]]
