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
    np.testing.assert_allclose(np.bincount(found.level), np.full(LEVELS, 5000 / LEVELS), atol=1)
    assert (np.diff(found.level[np.argsort(grades)]) >= 0).all()
    np.testing.assert_allclose(found.grade[0], [grades[found.level == k].mean() for k in range(LEVELS)])


def test_a_grade_most_give_is_one_level():
    found = scales(np.r_[np.zeros(1000), np.arange(1, MOST_LEVELS + 10)])
    assert len(set(found.level[:1000])) == 1
    assert found.n_levels[0] <= LEVELS


def test_nobody():
    assert scales_of(Grades(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)), 0).grade == ()


def test_a_slightly_larger_grade_is_no_scale_of_its_own():
    """One annotator gave an 11 where the others have up to 10."""
    who = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    found = scales_of(Grades(who, who, np.array([0.0, 10, 1, 9, 0, 11])), 3)
    assert found.of_annotator.tolist() == [0, 0, 0]
    assert not found.notes


def test_scales_and_merged_grades_are_told():
    who = np.repeat(np.arange(2, dtype=np.int32), 60)
    grade = np.r_[np.arange(60) % 5, np.arange(60) * 1.5].astype(float)
    notes = " ".join(scales_of(Grades(who, who, grade), 2).notes)
    assert "1 with grades up to 4, 1 with grades up to 88.5" in notes
    assert "60 different grades are merged into 20 levels" in notes
