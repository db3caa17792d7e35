"""Who shares a scale with whom, and which grades are one level."""

import numpy as np
import pytest

from crowdrank.methods.grades.curves.scales import LEVELS, MOST_LEVELS, scales_of
from crowdrank.study import Grades


def scales(*by_annotator):
    who = np.concatenate([np.full(len(grades), code) for code, grades in enumerate(by_annotator)]).astype(np.int32)
    return scales_of(Grades(who, who, np.concatenate(by_annotator).astype(float)), len(by_annotator))


@pytest.mark.parametrize(
    ("grades", "same"),
    [
        (([0, 1], [0, 1, 2, 3, 4]), True),
        (([0, 1, 2], [0, 40, 100]), False),
        (([0.2, 0.9], [0, 1]), False),
        (([0.5, 2.5], [0, 1, 2]), True),
        (([-2, 0, 1], [0, 1, 2]), True),
        (([300, 900], [0, 100]), False),
    ],
    ids=["low grades only", "hundred", "probabilities", "halves", "negative", "thousand"],
)
def test_who_shares_a_scale(grades, same):
    one, other = scales(*grades).of_annotator
    assert (one == other) == same


def test_levels_are_the_grades_where_they_are_few():
    found = scales([3, 0, 1], [1, 2])
    assert found.level.tolist() == [3, 0, 1, 1, 2]
    np.testing.assert_array_equal(found.grade[0], [0, 1, 2, 3])


def test_many_grades_are_cut_into_parts_of_about_equal_size():
    rng = np.random.default_rng(0)
    grades = rng.uniform(0, 100, 5000)
    found = scales(grades)
    np.testing.assert_allclose(np.bincount(found.level), np.full(LEVELS, 500), atol=1)
    assert (np.diff(found.level[np.argsort(grades)]) >= 0).all()
    np.testing.assert_allclose(found.grade[0], [grades[found.level == k].mean() for k in range(LEVELS)])


def test_a_grade_most_give_is_one_level():
    found = scales(np.r_[np.zeros(1000), np.arange(1, MOST_LEVELS + 10)])
    assert len(set(found.level[:1000])) == 1
    assert found.n_levels[0] <= LEVELS


def test_nobody():
    assert scales_of(Grades(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)), 0).grade == ()
