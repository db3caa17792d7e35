"""Agreement with the others alone, by hand and by all permutations."""

from itertools import permutations

import numpy as np
import pytest

import build
from crowdrank.methods.leave_one_out import agreement_with_others


def test_it_is_a_permutation_test():
    """The covariance of grades with the means of the others, over its deviation among all orders of the grades."""
    own, others = np.array([3.0, 1.0, 2.0, 0.0]), np.array([[2, 2, 1, 0], [3, 0, 1, 1]])
    rows = [("t", "ann", f"x{item}", grade) for item, grade in enumerate(own)]
    rows += [("t", f"b{row}", f"x{item}", grade) for row in (0, 1) for item, grade in enumerate(others[row])]
    mean = others.mean(axis=0)
    all_orders = [np.dot(np.array(order) - own.mean(), mean) for order in permutations(own)]
    expected = np.dot(own - own.mean(), mean) / np.std(all_orders)
    assert agreement_with_others(build.judgments(grades=rows))[0] == pytest.approx(expected)


def test_places_of_several_lists_add_up():
    """Two tasks: the sums of the lists' covariances and variances; places are counted from the best."""
    lists = [
        ("t", "ann", [["x"], ["y"], ["z"]], False),
        ("t", "bob", [["y"], ["x"], ["z"]], False),
        ("u", "ann", [["v"], ["w"]], False),
        ("u", "bob", [["w"], ["v"]], False),
    ]
    place = (-np.array([1.0, 2, 3]) / 4, -np.array([2.0, 1, 3]) / 4), (-np.array([1.0, 2]) / 3, -np.array([2.0, 1]) / 3)
    covariance = variance = 0.0
    for ann, bob in place:
        orders = [np.dot(np.array(order) - ann.mean(), bob) for order in permutations(ann)]
        covariance, variance = covariance + np.dot(ann - ann.mean(), bob), variance + np.var(orders)
    found = agreement_with_others(build.judgments(lists=lists))
    assert found[0] == pytest.approx(covariance / np.sqrt(variance))


def test_what_nobody_else_judged_and_equal_means_say_nothing():
    rows = [("t", "ann", f"x{item}", item % 3) for item in range(6)] + [
        ("t", "bob", f"y{item}", 1) for item in range(6)
    ]
    rows += [("t", who, f"x{item}", 0.1) for who in ("cy", "dan", "eve") for item in range(6)]
    assert agreement_with_others(build.judgments(grades=rows)).tolist() == [0.0] * 5
