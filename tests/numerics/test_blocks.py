import numpy as np
import pytest

from crowdrank.numerics.blocks import Layout


def test_blocks_lie_one_after_the_other():
    layout = Layout(score=2, quality=3, tie=1)
    assert layout.size == 6
    theta = layout.unpack(np.arange(6.0))
    assert (theta.score.tolist(), theta.quality.tolist(), theta.tie.tolist()) == ([0, 1], [2, 3, 4], [5])


def test_unpacking_and_packing_come_back_to_the_same_vector():
    layout, vector = Layout(a=4, b=1, c=7), np.random.default_rng(0).normal(size=12)
    assert np.array_equal(layout.pack(**vars(layout.unpack(vector))), vector)


def test_blocks_are_views():
    vector = np.zeros(5)
    Layout(a=2, b=3).unpack(vector).b[:] = 7
    assert vector.tolist() == [0, 0, 7, 7, 7]


def test_one_number_fills_its_block_and_empty_blocks_are_allowed():
    assert Layout(a=2, none=0, b=1).pack(a=3.0, none=[], b=[4]).tolist() == [3, 3, 4]


def test_a_missing_block_is_named():
    with pytest.raises(KeyError, match="b"):
        Layout(a=2, b=1).pack(a=[1, 2])
