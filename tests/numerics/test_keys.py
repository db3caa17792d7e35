"""Keys of votes, against rows sorted and counted one by one."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdrank.numerics import keys as k

TASK_STARTS = np.array([0, 5, 5, 12])
ENTRY_TASK = np.repeat([0, 1, 2], np.diff(TASK_STARTS))
FIRST = TASK_STARTS[ENTRY_TASK].astype(np.int32)


@st.composite
def one_vote(draw):
    task = draw(st.sampled_from([0, 2]))
    entries = range(TASK_STARTS[task], TASK_STARTS[task + 1])
    left, right = draw(st.lists(st.sampled_from(entries), min_size=2, max_size=2, unique=True))
    return draw(st.integers(0, 2)), left, right, draw(st.sampled_from([-1, 0, 1]))


def expected_row(vote, pooled, sides):
    annotator, left, right, outcome = vote
    kind = {0: k.TIED, 1: k.WON_LEFT, -1: k.WON_RIGHT if sides else k.WON_LEFT}[outcome]
    turned = outcome < 0 or (outcome == 0 and not sides and left > right)
    return (0 if pooled else annotator, *((right, left) if turned else (left, right)), kind)


@given(st.lists(one_vote(), max_size=30), st.booleans(), st.booleans(), st.sampled_from([1, 2, 12]))
def test_packed_sorted_counted_and_unpacked_they_are_the_votes(rows, pooled, sides, near):
    columns = np.array(rows, dtype=np.int32).reshape(-1, 4).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(k, "LOW_BITS", near)
        widths = k.key_widths(12, TASK_STARTS, 0 if pooled else 3)
    keys = k.packed(*(columns[i].copy() for i in range(3)), columns[3].astype(np.int8), FIRST, widths, sides)
    keys.sort()
    keys, count = k.count_runs(keys)
    found = dict(
        zip(
            zip(*(column.tolist() for column in k.unpacked(keys, FIRST, widths)), strict=True),
            count.tolist(),
            strict=True,
        )
    )
    assert found == Counter(expected_row(row, pooled, sides) for row in rows)
    assert len(keys) == len(found)


def test_widths_hold_every_code():
    widths = k.key_widths(100_000, np.array([0, 90_000, 100_000]), 10_000)
    assert widths.winner_high + widths.winner_low == 17
    assert widths.loser_high + widths.loser_low == 17
    assert widths.annotator == 14
    assert sum(widths) <= k.MOST_BITS
