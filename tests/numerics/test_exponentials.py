import numpy as np
import pytest

from crowdrank.numerics.exponentials import LARGEST_ERROR, falling, geometric, logarithmic


@pytest.mark.parametrize("n", [1, 2, 16, 17, 100, 1000, 5000])
def test_the_discount_of_ndcg_at_every_rank(n):
    found = logarithmic(n)
    assert found(np.arange(n)) == pytest.approx(1 / np.log2(2 + np.arange(n)), abs=LARGEST_ERROR, rel=1e-12)
    assert (found.weight > 0).all()
    assert ((found.node >= 0) & (found.node <= 1)).all()


def test_a_million_ranks_need_few_terms():
    found = logarithmic(1_000_000)
    rank = np.random.default_rng(0).integers(0, 1_000_000, 2000)
    assert found(rank) == pytest.approx(1 / np.log2(2 + rank), abs=LARGEST_ERROR)
    assert len(found.node) <= 80


def test_sizes_share_their_terms():
    assert logarithmic(70) is logarithmic(128)


@pytest.mark.parametrize(
    "discount", [lambda r: 1 / (1 + r), lambda r: 1 / np.sqrt(1 + r), lambda r: 1 / np.log2(2 + r), np.ones_like]
)
@pytest.mark.parametrize("n", [1, 2, 10, 300, 2000])
def test_what_falls_smoothly_is_a_sum_of_powers(discount, n):
    wanted = discount(np.arange(float(n)))
    found = falling(wanted)
    assert found is not None
    assert found(np.arange(n)) == pytest.approx(wanted, rel=1e-11)
    assert (found.weight > 0).all()


@pytest.mark.parametrize(
    "values",
    [np.r_[np.ones(10), np.zeros(90)], np.arange(1.0, 50.0), np.r_[np.ones(10), np.full(90, 0.1)], -np.ones(5)],
)
def test_what_does_not_is_none(values):
    assert falling(values) is None


def test_powers():
    assert geometric(0.9)(np.arange(5)) == pytest.approx(0.9 ** np.arange(5))
