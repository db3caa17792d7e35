"""θ of some annotators, or the true order of some tasks, is known."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.settings import SettingError


def test_the_true_order_of_some_tasks_shows_whom_to_believe(made, tau):
    """Two good annotators among six of whom four reverse the order cannot be found without side information."""
    features, gold, study = made(tasks=40, annotators=6, theta=np.array([-0.5, -0.5, 0.25, 0.25, 0.25, 0.25]))
    vocabulary = gold.vocabulary
    side = cr.Side(truth=cr.Gold(vocabulary, np.where(vocabulary.entry_task < 5, gold.value, np.nan), "score"))
    test, truth, _ = made(seed=99)
    assert tau(cr.learn("ltrma-mle", features, study.judgments), test, truth) < 0
    assert tau(cr.learn("ltrma-s1", features, study.judgments, side=side), test, truth) > 0.8


def test_tasks_with_truth_need_no_crowd(made, tau):
    features, gold, study = made(tasks=20)
    ten = [str(task) for task in range(10)]
    rest = study.judgments.vocabulary.tasks
    some = cr.Gold(
        gold.vocabulary,
        np.where(np.isin(rest[gold.vocabulary.entry_task].astype(str), ten), gold.value, np.nan),
        "score",
    )
    ranker = cr.learn("ltrma-s1", features, study.judgments, side=cr.Side(truth=some))
    assert tau(ranker, features, gold) > 0.9
    other = cr.gold({"task": ["nowhere"], "item": ["x"], "grade": [1]})
    with pytest.raises(cr.JudgmentError, match="about no item with features"):
        cr.learn("ltrma-s1", features, study.judgments, side=cr.Side(truth=other))


def test_a_known_theta_is_fixed(made):
    features, _, study = made(tasks=20)
    first, *_ = study.judgments.vocabulary.annotators.tolist()
    side = cr.Side(ranges=(cr.Range(first, -0.123, -0.123),))
    assert cr.learn("ltrma-s1", features, study.judgments, side=side).annotators["theta"][0] == -0.123


def test_it_must_be_given(made):
    features, _, study = made(tasks=3)
    with pytest.raises(SettingError, match=r"ltrma-s1 needs .* as side information"):
        cr.learn("ltrma-s1", features, study.judgments)
    with pytest.raises(SettingError, match=r"ltrma-s1 needs .* as side information"):
        cr.learn("ltrma-s1", features, study.judgments, side=cr.Side(orders=(cr.Better("annotator1"),)))
