import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdrank.methods.grades.levels import grade_levels


@given(grades=st.lists(st.sampled_from([-3.0, -0.25, 0.0, 1.0, 2.5, 7.0, 1e6]), min_size=1, max_size=30))
def test_the_levels_of_grades_are_their_different_values(build, grades):
    levels = grade_levels(build.judgments(grades=[("t", "k", f"i{n}", g) for n, g in enumerate(grades)]).grades)
    assert levels.value.tolist() == sorted(set(grades))
    assert sorted(levels.value[levels.code].tolist()) == sorted(grades)
    assert levels.notes == ()


def test_whole_grades_from_anywhere(build):
    study = build.judgments(grades=[("t", "k", f"i{n}", g) for n, g in enumerate([-2, 5, 5, 1000, 999])])
    levels = grade_levels(study.grades)
    assert levels.value.tolist() == [-2, 5, 999, 1000]
    assert levels.value[levels.code].tolist() == study.grades.grade.tolist()


def test_thousands_of_grades_are_taken_together(build):
    rng = np.random.default_rng(0)
    grades = rng.normal(size=5000)
    levels = grade_levels(build.judgments(grades=[("t", "k", f"i{n:04}", g) for n, g in enumerate(grades)]).grades)
    assert len(levels) == 32
    assert levels.notes[0].startswith("5,000 different grades are merged into 32 levels")
    counts = np.bincount(levels.code)
    assert (counts.min(), counts.max()) == (156, 157)
    for step in range(32):
        assert levels.value[step] == pytest.approx(grades[levels.code == step].mean())
    assert (np.diff(levels.code[np.argsort(grades)]) >= 0).all()


def test_no_grades_have_one_level(build):
    assert len(grade_levels(build.judgments().grades)) == 1
