"""The exponential of kernels beside that of the C library."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdrank.numerics.vector_exp import exp


@given(st.floats(-700, 700))
def test_it_is_exact_but_for_the_last_bits(x):
    assert exp(x) == pytest.approx(math.exp(x), rel=5e-16, abs=0.0)


@pytest.mark.parametrize(("x", "expected"), [(0.0, 1.0), (-0.0, 1.0), (1e-300, 1.0)])
def test_it_is_1_at_0(x, expected):
    assert exp(x) == expected
