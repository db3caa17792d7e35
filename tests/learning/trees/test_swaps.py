"""What swapping two items changes in a measure, against the measure of both lists."""

import numpy as np
import pytest

from crowdrank.learning.trees.kernels import change
from crowdrank.learning.trees.swaps import EqualSwaps, Swaps, steps
from crowdrank.methods.supervised.cells.target_measure import target
from crowdrank.numerics.permutations import worth


def expected_precision(gain, places):
    """MAP's sum for chances to be relevant: each counts by itself and all expected above it."""
    return sum(own / (at + 1) * (1 + gain[:at].sum()) for at, own in enumerate(gain[:places]))


@pytest.mark.parametrize("name", ["ndcg", "ndcg@3", "p@4", "err", "err@3", "map"])
@pytest.mark.parametrize("certain", [True, False])
def test_a_swap_changes_the_measure_by_this_much(name, certain):
    rng, wanted = np.random.default_rng(0), target(name)
    task = np.repeat([0, 1], [7, 5]).astype(np.int32)
    gain = wanted.gain(rng.integers(0, 4, 12).astype(float), 3.0)
    if not certain:
        gain = rng.uniform(0, 0.9, 12)
    score = rng.normal(size=12)
    lists = Swaps(wanted, gain, np.zeros(12), task).lists(score)
    for start, end in ((0, 7), (7, 12)):
        order = start + np.argsort(-score[start:end])
        for a in range(end - start):
            for b in range(a):
                swapped = order.copy()
                swapped[[a, b]] = swapped[[b, a]]
                both = [value(wanted, gain[each]) for each in (order, swapped)]
                found = change(lists, order[a], order[b])
                assert found == pytest.approx(abs(both[0] - both[1]), abs=1e-12)


def value(wanted, gain):
    if wanted.family == "map":
        return expected_precision(gain, len(gain))
    return worth(wanted.how, gain, wanted.discount(len(gain)))


def test_uncertain_gains_are_worth_telling_apart():
    wanted, task = target("ndcg"), np.zeros(3, np.int32)
    lists = Swaps(wanted, np.ones(3), np.array([0.0, 4.0, 5.0]), task).lists(np.array([3.0, 2.0, 1.0]))
    found = change(lists, 1, 2)
    assert found == pytest.approx(3 * (1 / np.log2(3) - 1 / np.log2(4)))


def test_swaps_may_count_the_same():
    lists = EqualSwaps(4).lists(np.array([3.0, 1.0, 2.0, 2.0]))
    assert [change(lists, i, j) for i in range(4) for j in range(4)] == [1.0] * 16


def test_steps():
    assert steps(3).tolist() == [0, 1, 2]
    assert steps(9).tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]
    assert steps(1).tolist() == [0]
