"""The measures that are learned for are those that `evaluate` knows."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.methods.supervised.cells.target_measure import target, worth_of_list

GRADES = [0, 2, 1, 0, 0, 1, 2, 0]


def evaluated(name: str, grades: list[int]) -> float:
    items = [f"item{number}" for number in range(len(grades))]
    ranking = {"item": items, "rank": range(1, len(grades) + 1)}
    return cr.evaluate(ranking, cr.gold({"item": items, "grade": grades}), [name]).mean[name]


@pytest.mark.parametrize("name", ["ndcg", "ndcg@1", "ndcg@3", "err", "err@2", "map", "p@1", "p@4"])
def test_as_a_share_of_the_best_it_is_what_evaluate_says(name):
    """ERR and precision cannot reach 1 on every task; learning looks at how near they come to what can be reached."""
    best = evaluated(name, sorted(GRADES, reverse=True))
    wanted = target(name)
    gain = wanted.gain(np.array(GRADES, dtype=float), 2.0)
    assert worth_of_list(wanted, gain) == pytest.approx(evaluated(name, GRADES) / best)


def test_nothing_to_find_is_worth_nothing():
    assert worth_of_list(target("map"), np.zeros(4)) == 0.0


def test_large_and_negative_grades_have_finite_gains():
    gain = target("ndcg").gain(np.array([-2.0, 0.0, 100.0, 1000.0]), 1000.0)
    assert np.isfinite(gain).all()
    assert gain[:2].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["p", "map@3", "ndcg@0", "nonsense", "ndcg@x", ""])
def test_unknown_measures_are_refused(name):
    with pytest.raises(cr.SettingError, match="measure"):
        target(name)
