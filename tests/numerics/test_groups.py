import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crowdrank.numerics.groups import grouped


@given(codes=st.lists(st.integers(0, 6), max_size=40))
def test_rows_of_a_code_are_together_and_in_order(codes):
    order, starts = grouped(np.array(codes, dtype=np.int32), 7)
    assert order.tolist() == sorted(range(len(codes)), key=lambda row: codes[row])
    assert np.diff(starts).tolist() == [codes.count(code) for code in range(7)]
    assert (starts[0], starts[-1]) == (0, len(codes))
