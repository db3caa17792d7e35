from itertools import permutations, product

import numpy as np
import pytest

from crowdrank.numerics.mallows import expected_distance, log_normaliser, one_more, part_moments, sample, totals

CLEAR = (-0.7, -1e-5, 0.0, 1e-5, 0.3, 2.5)


def distance(place, level):
    """Pairs that an order (item → place) and a list (item → level) put the other way around; equal is no order."""
    n = len(place)
    return sum(place[a] < place[b] and level[a] > level[b] for a, b in product(range(n), repeat=2))


@pytest.mark.parametrize("clear", CLEAR)
@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_full_lists_by_enumeration(n, clear):
    far = np.array([distance(range(n), level) for level in permutations(range(n))])
    weight = np.exp(-clear * far)
    assert log_normaliser(n, clear) == pytest.approx(np.log(weight.sum()), abs=1e-9)
    assert expected_distance(n, clear) == pytest.approx((far * weight).sum() / weight.sum(), rel=1e-6)


@pytest.mark.parametrize("clear", [*CLEAR, 20.0, -20.0])
def test_one_item_more_is_the_difference_of_totals(clear):
    _, mean = totals(100, np.array([clear]))
    expected = [one_more(length, clear) for length in range(1, 31)]
    np.testing.assert_allclose(np.diff(mean[0])[:30], expected, atol=1e-9)


def of_shape(places, groups, clear):
    log_total, mean_total = (each[0] for each in totals(sum(groups), np.array([clear])))
    room = np.empty((4, places + 1))
    return part_moments(places, np.array([0, len(groups)]), np.array(groups), clear, log_total, mean_total, room)


@pytest.mark.parametrize("clear", CLEAR)
@pytest.mark.parametrize("groups", [(2, 1, 3), (1, 1, 4), (6,), (1, 1, 1, 1, 1, 1), (3, 2, 1)])
@pytest.mark.parametrize("places", [1, 2, 3, 6])
def test_ties_and_parts_by_enumeration(places, groups, clear):
    n = sum(groups)
    order = [min(item, places) for item in range(n)]
    levels = set(permutations([level for level, size in enumerate(groups) for _ in range(size)]))
    far = np.array([distance(order, level) for level in levels])
    weight = np.exp(-clear * far)
    log, mean = of_shape(places, groups, clear)
    assert mean == pytest.approx((far * weight).sum() / weight.sum(), rel=1e-6, abs=1e-9)
    flat, _ = of_shape(places, groups, 0.0)
    assert log - flat == pytest.approx(np.log(weight.mean()), abs=1e-9)  # but for the number of lists


@pytest.mark.parametrize("clear", [-0.4, 0.0, 0.6])
def test_samples_have_the_chances_of_the_model(clear):
    drawn = sample(4, np.full(200_000, clear), np.random.default_rng(1))
    orders = list(permutations(range(4)))
    count = np.array([(drawn == order).all(axis=1).sum() for order in orders])
    chance = np.exp([-clear * distance(np.argsort(order), range(4)) for order in orders])
    chance /= chance.sum()
    assert count.sum() == len(drawn)
    assert np.abs(count / len(drawn) - chance).max() < 5 * np.sqrt(chance.max() / len(drawn))


@pytest.mark.parametrize("clear", [-0.05, 0.02, 0.5])
def test_samples_of_long_lists_are_as_far_as_expected(clear):
    n = 40
    drawn = sample(n, np.full(2000, clear), np.random.default_rng(2))
    far = [(np.triu(row[:, None] > row[None, :], 1)).sum() for row in drawn]
    assert np.mean(far) == pytest.approx(expected_distance(n, clear), abs=4 * np.std(far) / np.sqrt(len(far)))
