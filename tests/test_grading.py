"""Grades recovered from scores."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import crowdrank as cr
from crowdrank.consensus import Consensus


def graded(build, rows, score, **more) -> Consensus:
    """A consensus with scores of our own on a study of grades: (task, annotator, item, grade)."""
    study = build.judgments(grades=rows)
    return Consensus(study.vocabulary, "test", np.asarray(score, float), {}, grades=study.grades, **more)


def one_each(grades, task="t"):
    return [(task, "ann", f"d{number:02}", grade) for number, grade in enumerate(grades)]


def test_grades_without_noise_come_back(build):
    given = [0, 2, 1, 0, 0, 3, 1, 0]
    assert cr.labels(graded(build, one_each(given), given)).sort("item")["grade"].to_list() == given


def test_as_many_items_get_a_grade_as_grades_were_given(build):
    rng = np.random.default_rng(0)
    given = rng.choice([0, 1, 2, 3], 1000, p=[0.5, 0.25, 0.15, 0.1])
    rows = [("t", f"a{i}", f"d{n:03}", grade) for n, grade in enumerate(given) for i in range(1 + n % 3)]
    found = cr.labels(graded(build, rows, rng.normal(size=1000)))
    np.testing.assert_array_equal(np.bincount(found["grade"].cast(int)), np.bincount(given))
    assert found["grade"].is_sorted(descending=True)  # rows are best first


def test_an_item_judged_often_counts_as_one(build):
    """Nine of ten judgments are 2, but of one item out of two."""
    rows = [("t", f"a{i}", "x", 2) for i in range(9)] + [("t", "a0", "y", 0)]
    assert cr.labels(graded(build, rows, [1.0, 0.0]))["grade"].to_list() == [2, 0]


def test_each_task_has_its_own_shares(build):
    rows = one_each([1, 1, 1], "all relevant") + one_each([0, 0, 0], "none relevant")
    found = cr.labels(graded(build, rows, [3, 2, 1, 3, 2, 1]))
    assert found["grade"].to_list() == [1, 1, 1, 0, 0, 0]


def test_equal_scores_have_equal_labels(build):
    found = cr.labels(graded(build, one_each([0, 0, 1, 1]), [1, 1, 1, 1]))
    assert found["grade"].n_unique() == 1


def test_items_without_score_have_no_label(build):
    found = cr.labels(graded(build, one_each([0, 1, 2]), [0.1, np.nan, 0.9]))
    assert found["item"].to_list() == ["d02", "d00"]


def test_a_study_whose_items_have_no_score(build):
    assert cr.labels(graded(build, one_each([0, 1]), [np.nan, np.nan])).is_empty()


def test_a_task_without_grades_takes_the_shares_of_all(build):
    study = build.judgments(grades=one_each([0, 0, 1, 1]), lists=[("u", "bob", [["a"], ["b"]], False)])
    consensus = Consensus(study.vocabulary, "test", np.arange(6.0), {}, grades=study.grades)
    assert cr.labels(consensus)["grade"].to_list()[-2:] == [1, 0]


def test_negative_and_broken_grades_are_grades(build):
    given = [-2, -2, 0.5, 1]
    assert cr.labels(graded(build, one_each(given), given)).sort("item")["grade"].to_list() == given


def test_chances_are_those_of_normal_scores(build):
    """Four evenly spaced scores, half of each grade: the cut is in the middle, whatever the spread."""
    score, error = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.1, 0.5, 1.0, 2.0])
    reach = norm.ppf(0.975) * error
    found = cr.labels(graded(build, one_each([0, 0, 1, 1]), score, low=score - reach, high=score + reach)).sort("item")
    np.testing.assert_allclose(found["p_1"], norm.sf(1.5, score, error), atol=1e-6)
    np.testing.assert_allclose(found["p_0"] + found["p_1"], 1)


def test_chances_add_up_and_follow_the_label(build):
    rng = np.random.default_rng(1)
    given = rng.integers(0, 4, 60)
    score = given + rng.normal(0, 0.5, 60)
    found = cr.labels(graded(build, one_each(given), score, low=score - 0.01, high=score + 0.01))
    chances = found.select("p_0", "p_1", "p_2", "p_3").to_numpy()
    assert (chances >= 0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert (chances.argmax(axis=1) == found["grade"].to_numpy()).mean() > 0.95


def test_a_grade_that_no_item_gets_is_still_possible(build):
    """Two items, three grades: the middle one is nobody's label, and what is unsure may well be it."""
    rows = [("t", "a", "x", 2), ("t", "b", "x", 2), ("t", "a", "y", 0), ("t", "b", "y", 1), ("t", "a", "z", 0)]
    score = np.array([3.0, 1.0, 0.0])
    found = cr.labels(graded(build, rows, score, low=score - 1, high=score + 1))
    assert 1 not in found["grade"].to_list()
    assert found["p_1"][1] > 0.2


def test_without_intervals_there_are_no_chances(build):
    assert cr.labels(graded(build, one_each([0, 1]), [0, 1])).columns == ["task", "item", "grade"]


def test_a_study_without_grades_is_refused(build):
    consensus = cr.Borda().fit(build.judgments(lists=[("t", "k", [["a"], ["b"]], False)]))
    with pytest.raises(cr.JudgmentError, match="labels need a study with grades"):
        cr.labels(consensus)


def test_a_scale_of_too_many_grades_is_refused(build):
    with pytest.raises(cr.JudgmentError, match="take 50 values"):
        cr.labels(graded(build, one_each(range(50)), range(50)))


def test_qrels_of_a_consensus(build, tmp_path):
    consensus = graded(build, one_each([0, 2, 1]), [0.1, 0.9, 0.4])
    cr.write(consensus, tmp_path / "labels.qrels.gz")
    gold = cr.read_gold(tmp_path / "labels.qrels.gz")
    assert gold.value.tolist() == [0, 2, 1]
    broken = replace(consensus, grades=replace(consensus.grades, grade=np.array([0, 0.5, 1])))
    with pytest.raises(cr.JudgmentError, match="whole numbers"):
        cr.write(broken, tmp_path / "broken.qrels")
