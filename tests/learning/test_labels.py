import numpy as np
import pytest

import crowdrank as cr
from crowdrank.learning.catalogue import LEARNERS
from crowdrank.learning.labels import judgments_over, labels_over
from crowdrank.settings import SettingError

FEATURES = cr.features({"task": ["a", "a", "a", "b", "b"], "item": list("xyzxy"), "age": [1, 2, 3, 4, 5]})


LISTMLE = LEARNERS["listmle"].description  # which takes all kinds of judgment


def over(judgments):
    return judgments_over(FEATURES, judgments, LISTMLE)


def test_judgments_get_the_codes_of_the_features():
    given = cr.judgments(
        {"task": ["b", "a", "a"], "annotator": ["k", "k", "k"], "item": ["y", "z", "x"], "grade": [2, 1, 0]}
    )
    grades = over(given).grades
    assert dict(zip(grades.entry.tolist(), grades.grade.tolist(), strict=True)) == {4: 2, 2: 1, 0: 0}


def test_judgments_without_features_are_not_used_and_noted():
    given = cr.judgments(
        {"task": ["a"] * 4 + ["c"], "annotator": ["k"] * 5, "item": ["w", "y", "z", "x", "x"], "rank": [1, 2, 3, 4, 1]}
    )
    kept = over(given)
    assert kept.rankings.entry.tolist() == [1, 2, 0]
    assert kept.rankings.list_task.tolist() == [0]
    assert any("2 judgments are of items without features" in note for note in kept.notes)
    assert any("1 tasks have features and no judgments" in note for note in kept.notes)


def test_pairs_need_both_items():
    given = cr.judgments(
        {"task": ["a", "a"], "left": ["x", "x"], "right": ["y", "w"], "winner": ["y", "w"], "weight": [2.0, 3.0]}
    )
    kept = over(given)
    assert len(kept.pairs) == 1
    assert kept.pairs.weight.tolist() == [2.0]


def test_nothing_in_common_is_an_error_with_an_example():
    given = cr.judgments({"task": ["A"], "annotator": ["k"], "item": ["X"], "grade": [1]})
    with pytest.raises(
        cr.JudgmentError, match="share no item: the features have task 'a', item 'x', the others task 'A', item 'X'"
    ):
        over(given)


def test_learners_of_crowds_take_judgments_alone():
    with pytest.raises(SettingError, match="not from a Gold; give it judgments"):
        over(cr.gold({"task": ["a"], "item": ["x"], "grade": [1]}))


def test_labels_of_gold_of_a_consensus_and_of_judgments():
    gold = cr.gold({"task": ["a", "a"], "item": ["x", "y"], "grade": [2, 0]})
    np.testing.assert_array_equal(labels_over(FEATURES, gold, LISTMLE, None).value, [2, 0, np.nan, np.nan, np.nan])
    given = cr.judgments({"task": ["a"] * 4, "annotator": list("jjkk"), "item": list("xyxy"), "grade": [2, 0, 2, 1]})
    consensus = cr.fit("mean", given)
    found = labels_over(FEATURES, consensus, LISTMLE, None)
    np.testing.assert_array_equal(found.value, [2, 0.5, np.nan, np.nan, np.nan])
    assert found.grade[0] == 2
    again = labels_over(FEATURES, given, LISTMLE, "mean")
    np.testing.assert_array_equal(again.value, found.value)
    assert list(again.annotator_columns["annotator"]) == ["j", "k"]
