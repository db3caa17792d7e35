import numpy as np
import pytest

from crowdrank.numerics.exponentials import LARGEST_ERROR, geometric, logarithmic, periodic


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


@pytest.mark.parametrize("n", [1, 2, 3, 10, 11])
def test_any_values(n):
    values = np.random.default_rng(n).normal(size=n)
    assert periodic(values)(np.arange(n)) == pytest.approx(values, abs=1e-12)


def test_powers():
    assert geometric(0.9)(np.arange(5)) == pytest.approx(0.9 ** np.arange(5))
