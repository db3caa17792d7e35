"""Exact expectations over all orders of a few items, against plain enumeration and finite differences."""

from itertools import permutations
from math import exp, log, log2

import numpy as np
import pytest

from crowdrank.numerics.permutations import (
    CASCADE,
    MOST_ITEMS,
    PRECISION,
    SUM,
    discounts,
    expected_over_tasks,
    expected_worth,
    reciprocals,
    worth,
)


def ndcg(gains):
    return sum(gain / log2(place + 2) for place, gain in enumerate(gains))


def err(gains):
    total, left = 0.0, 1.0
    for place, gain in enumerate(gains, 1):
        total += left * gain / place
        left *= 1 - gain
    return total


def summed_precision(gains):
    return sum(
        sum(gain > 0 for gain in gains[: place + 1]) / (place + 1) for place, gain in enumerate(gains) if gain > 0
    )


CASES = {
    "ndcg": (SUM, discounts, ndcg),
    "err": (CASCADE, reciprocals, err),
    "map": (PRECISION, reciprocals, summed_precision),
}


def by_enumeration(score, gain, measure):
    """The mean of a measure over orders of probability ∝ exp(Σ score / log(place + 1))."""
    orders = list(permutations(range(len(score))))
    weight = [exp(sum(score[item] / log(place + 2) for place, item in enumerate(order))) for order in orders]
    value = [measure([gain[item] for item in order]) for order in orders]
    return sum(w * v for w, v in zip(weight, value, strict=True)) / sum(weight)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("m", range(MOST_ITEMS + 1))
def test_expected_worth_is_the_mean_over_all_orders(name, m):
    how, discount, measure = CASES[name]
    rng = np.random.default_rng(m)
    score, gain = rng.normal(0, 3, m), rng.choice([0.0, 0.25, 0.75], m)
    found = expected_worth(score, gain, how, discount(MOST_ITEMS), np.empty(m))
    assert found == pytest.approx(by_enumeration(score, gain, measure))


@pytest.mark.parametrize("name", CASES)
def test_a_cut_off_measure_sees_the_first_places_only(name):
    how, discount, measure = CASES[name]
    gain = np.array([0.25, 0.0, 0.75, 0.75])
    assert worth(how, gain, discount(2)) == pytest.approx(measure([0.25, 0.0]))


@pytest.mark.parametrize("name", CASES)
def test_a_cut_off_measure_on_average(name):
    how, discount, measure = CASES[name]
    rng = np.random.default_rng(7)
    score, gain = rng.normal(0, 2, 5), np.array([0.0, 0.9, 0.0, 0.4, 0.4])
    found = expected_worth(score, gain, how, discount(2), np.empty(5))
    assert found == pytest.approx(by_enumeration(score, gain, lambda gains: measure(gains[:2])))


def test_certain_scores_give_the_sorted_list():
    """Large scores leave one order; no overflow on the way."""
    gain = np.array([0.0, 1.0, 0.5])
    found = expected_worth(np.array([-1e4, 1e4, 0.0]), gain, SUM, discounts(3), np.empty(3))
    assert found == pytest.approx(ndcg([1.0, 0.5, 0.0]))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("places", [2, 6])
def test_slope_by_finite_differences(name, places):
    how, discount, _ = CASES[name]
    rng = np.random.default_rng(3)
    score, gain, slope = rng.normal(0, 1, 5), rng.choice([0.0, 0.5, 0.9], 5), np.empty(5)

    def value(at):
        return expected_worth(at, gain, how, discount(places), np.empty(5))

    expected_worth(score, gain, how, discount(places), slope)
    step = 1e-6 * np.eye(5)
    assert slope == pytest.approx([(value(score + h) - value(score - h)) / 2e-6 for h in step], abs=1e-8)


def test_change_of_the_weights_by_finite_differences():
    """Own weights, shared ones, and annotators who have only those."""
    rng = np.random.default_rng(5)
    starts = np.array([0, 2, 3, 6, 7, 9])
    annotator, value = np.array([0, 1, -1, 0, 1, -1, 1, 0, -1]), rng.normal(size=(9, 2))
    sample, size = np.array([[0, 1, 2, 0, 0, 0], [3, 4, 0, 0, 0, 0]]), np.array([3, 2])
    gain, best = rng.random((2, 6)), np.array([0.7, 1.3])
    weight = rng.normal(size=(3, 2))

    def total(at, change):
        return expected_over_tasks(sample, size, starts, annotator, value, at, gain, best, SUM, discounts(6), change)

    change = np.zeros_like(weight)
    total(weight, change)
    for at in np.ndindex(weight.shape):
        step = np.zeros_like(weight)
        step[at] = 1e-6
        difference = total(weight + step, np.zeros_like(weight)) - total(weight - step, np.zeros_like(weight))
        assert change[at] == pytest.approx(difference / 2e-6, abs=1e-8)
