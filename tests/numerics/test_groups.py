import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crowdrank.numerics.groups import grouped, stable_order


@given(codes=st.lists(st.integers(0, 6), max_size=40))
def test_rows_of_a_code_are_together_and_in_order(codes):
    order, starts = grouped(np.array(codes, dtype=np.int32), 7)
    assert order.tolist() == sorted(range(len(codes)), key=lambda row: codes[row])
    assert np.diff(starts).tolist() == [codes.count(code) for code in range(7)]
    assert (starts[0], starts[-1]) == (0, len(codes))


@given(
    rows=arrays(np.int64, (20, 2), elements=st.integers(-2, 3)),
    wide=arrays(np.int64, 20, elements=st.sampled_from([0, 5, 1 << 16, 1 << 40])),
    fractions=arrays(np.float32, 20, elements=st.sampled_from([-np.inf, -1.5, -1e-9, -0.0, 0.0, 1e-9, 2.5, np.inf])),
)
def test_rows_are_sorted_by_several_keys_as_numpy_sorts_them(rows, wide, fractions):
    keys = [rows[:, 0], wide, fractions.astype(float), rows[:, 1] + 2]
    assert stable_order(keys).tolist() == np.lexsort(keys[::-1]).tolist()
