"""Products of the chances of each profile's votes, against sums of logarithms."""

import numpy as np
import pytest

from crowdrank.methods.pairs.votes.few_tables import Products


@pytest.mark.parametrize(("profiles", "votes"), [(300, 900), (3, 200), (1, 1), (40, 700)])
def test_products_are_sums_of_logarithms(profiles, votes):
    rng = np.random.default_rng(profiles)
    profile = np.sort(rng.integers(0, profiles, votes))
    weight = rng.choice([1.0, 1.0, 2.5], votes)
    chance = rng.uniform(0.02, 1, (5, votes))
    products, found = Products(profile, weight), np.zeros((5, profiles))
    assert products.are_many == (profiles == 300)
    products.add_logs(chance[:, products.order], found)
    expected = np.array([np.bincount(profile, weight * np.log(row), profiles) for row in chance])
    assert found == pytest.approx(expected, abs=1e-12)
