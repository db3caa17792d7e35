"""What is learned from: which tasks, and samples of their items."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.methods.supervised.cells.training_set import grades_of, sampled, training_set


def study(tasks, items=3):
    names = [f"q{number:02}" for number in range(tasks) for _ in range(items)]
    columns = {"task": names, "item": [*range(items)] * tasks}
    return cr.judgments(pl.DataFrame({**columns, "annotator": "ann", "rank": [*range(1, items + 1)] * tasks})), columns


def test_tasks_without_gold_and_with_one_grade_are_not_learned_from():
    judgments, columns = study(4)
    grade = [0, 1, 2, 1, 1, 1, None, None, None, 0, 0, 1]
    known = pl.DataFrame({**columns, "grade": grade}).drop_nulls()
    found = training_set(judgments, cr.gold(known), None, seed=0)
    assert [entries.tolist() for entries in found.tasks] == [[0, 1, 2], [9, 10, 11]]
    assert found.validation == ()


def test_some_tasks_are_held_back_where_there_are_enough():
    judgments, columns = study(40)
    found = training_set(judgments, cr.gold({**columns, "grade": [0, 1, 2] * 40}), None, seed=0)
    assert (len(found.tasks), len(found.validation)) == (32, 8)
    assert len(found.whole.tasks) == 40


def test_named_tasks_are_never_learned_from():
    judgments, columns = study(5)
    found = training_set(judgments, cr.gold({**columns, "grade": [0, 1, 2] * 5}), ["q01"], seed=0)
    assert [entries[0] for entries in found.validation] == [3]
    assert found.whole is found
    with pytest.raises(cr.JudgmentError, match="'nowhere', which is not a task"):
        training_set(judgments, cr.gold({**columns, "grade": [0, 1, 2] * 5}), ["nowhere"], seed=0)
    with pytest.raises(cr.JudgmentError, match="every task"):
        training_set(judgments, cr.gold({**columns, "grade": [0, 1, 2] * 5}), [f"q0{n}" for n in range(5)], seed=0)


@pytest.mark.parametrize(
    ("grade", "message"), [([1, 1, 1], "no task has items of different gold"), ([], "share no item")]
)
def test_gold_that_teaches_nothing_is_refused(grade, message):
    judgments, columns = study(1)
    known = {**columns, "grade": grade} if grade else {"task": ["q00"], "item": ["unknown"], "grade": [1]}
    with pytest.raises(cr.JudgmentError, match=message):
        training_set(judgments, cr.gold(known), None, seed=0)


def test_samples_hold_every_grade_and_no_item_twice():
    rng = np.random.default_rng(0)
    grade = np.r_[np.zeros(40), 1.0, 2.0, 0.0, 1.0]
    tasks = [np.arange(42), np.arange(42, 44)]
    seen = set()
    for _ in range(200):
        rows, sizes = sampled(grade, tasks, rng)
        assert sizes.tolist() == [6, 2]
        assert {40, 41} <= set(rows[0])
        assert len(set(rows[0])) == 6
        assert set(rows[1, :2]) == {42, 43}
        seen |= set(rows[0])
    assert seen == set(range(42))


def test_scores_and_ranks_are_cut_into_levels_by_task():
    judgments, columns = study(2, items=5)
    scores = [10, 20, 30, 40, 50, 7, 7, 7, 9, 9]
    assert grades_of(cr.gold({**columns, "score": scores}), judgments.vocabulary).tolist() == [
        0,
        1,
        2,
        3,
        4,
        0,
        0,
        0,
        3,
        3,
    ]
    ranks = [5, 4, 3, 2, 1, 2, 2, 2, 1, 1]
    assert grades_of(cr.gold({**columns, "rank": ranks}), judgments.vocabulary).tolist() == [
        0,
        1,
        2,
        3,
        4,
        0,
        0,
        0,
        3,
        3,
    ]
