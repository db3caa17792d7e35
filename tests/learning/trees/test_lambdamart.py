"""Boosted trees on labels: what they can learn from, and that data and seed alone determine the result."""

import sys

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.learning.trees.lambdamart import _random

LEARNERS = [cr.LambdaMART(rounds=20), cr.LambdaMART(rounds=20, soft=True), cr.GDAPWMART(rounds=20, measure="ndcg")]


@pytest.fixture(scope="module")
def frame(graded):
    return graded.items(40)


@pytest.fixture(scope="module")
def unseen(graded):
    return graded.items(60, seed=9, prefix="t")


@pytest.fixture(scope="module")
def study(graded, frame):
    features, gold = graded.training_set(frame)
    return features, gold, graded.crowd(gold)


def test_trees_learn_what_no_weighted_sum_can(study, unseen, graded):
    features, gold, _ = study
    trees, linear = (graded.ndcg(cr.learn(name, features, gold), unseen) for name in ("lambdamart", "listmle"))
    assert trees > 0.8
    assert trees > linear + 0.2


def test_any_consensus_is_a_label(study):
    features, _, judgments = study
    own, given = cr.LambdaMART(labels="mean", rounds=5), cr.LambdaMART(rounds=5)
    first, second = own.learn(features, judgments), given.learn(features, cr.fit("mean", judgments))
    assert np.array_equal(first.model.score(features.value), second.model.score(features.value))
    assert first.annotators["annotator"].to_list() == second.annotators["annotator"].to_list()


def test_a_random_label_is_one_of_those_given(study):
    features, _, judgments = study
    drawn = [_random(features, judgments, cr.LambdaMART(labels="random", seed=seed)).value for seed in (0, 0, 1)]
    given = {(entry, grade) for entry, grade in zip(judgments.grades.entry, judgments.grades.grade, strict=True)}
    assert {(entry, grade) for entry, grade in enumerate(drawn[0])} <= given
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


def test_chances_without_doubt_are_labels(graded, frame, unseen):
    """Where everybody agrees, soft preferences are hard ones: the ranker is about as good as one from the labels."""
    features, judgments = graded.training_set(frame)[0], graded.unanimous(frame)
    soft, hard = (graded.ndcg(cr.LambdaMART(soft=soft).learn(features, judgments), unseen) for soft in (True, False))
    assert soft == pytest.approx(hard, abs=0.04)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_a_ranker_is_the_same_after_saving(learner, study, unseen, graded, tmp_path):
    features, _, judgments = study
    ranker = learner.learn(features, judgments)
    cr.save(ranker, tmp_path / "ranker.json")
    again = cr.load_ranker(tmp_path / "ranker.json")
    new, _ = graded.training_set(unseen)
    assert np.array_equal(again.rank(new).score, ranker.rank(new).score)
    assert again.method == learner
    assert again.annotators.equals(ranker.annotators)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_the_order_of_rows_does_not_matter(learner, study, frame):
    features, _, judgments = study
    words, given = judgments.vocabulary, judgments.grades
    grades = pl.DataFrame(
        {
            "task": words.tasks[words.entry_task[given.entry]],
            "item": words.items[words.entry_item[given.entry]],
            "annotator": words.annotators[given.annotator],
            "grade": given.grade,
        }
    )
    shuffled = cr.features(frame.drop("grade").sample(fraction=1.0, shuffle=True, seed=1))
    again = cr.judgments(grades.sample(fraction=1.0, shuffle=True, seed=2))
    scores = [learner.learn(*both).rank(features).score for both in ((features, judgments), (shuffled, again))]
    assert np.array_equal(*scores)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_the_number_of_threads_does_not_matter(learner, study, monkeypatch):
    features, _, judgments = study
    monkeypatch.setattr("crowdrank.learning.trees.model.WORTH_THREADS", 0)
    scores = []
    for threads in "12":
        monkeypatch.setenv("CROWDRANK_THREADS", threads)
        scores.append(learner.learn(features, judgments).model.score(features.value))
    assert np.array_equal(*scores)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_without_lightgbm_the_error_says_how_to_install_it(learner, study, monkeypatch):
    features, _, judgments = study
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(cr.SettingError, match=r"LightGBM.*pip install 'crowdrank\[learn\]'"):
        learner.learn(features, judgments)


def test_a_file_that_is_not_whole_is_refused(study, tmp_path, monkeypatch):
    features, gold, _ = study
    path = tmp_path / "ranker.json"
    cr.save(cr.LambdaMART(rounds=2).learn(features, gold), path)
    whole = path.read_text()
    for part in (whole[: len(whole) // 2], whole.replace("max_feature_idx", "nothing")):
        path.write_text(part)
        with pytest.raises(cr.JudgmentError, match=r"is no trained model|its checksum is wrong"):
            cr.load_ranker(path)
    path.write_text(whole)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(cr.SettingError, match=r"ranker.json: boosted trees need LightGBM"):
        cr.load_ranker(path)


def test_items_without_labels_are_not_used(study, graded, frame):
    """They are ranked all the same."""
    features, _, judgments = study
    more = cr.features(frame.drop("grade"), graded.items(5, seed=3, prefix="z").drop("grade"))
    for learner in LEARNERS:
        ranker = learner.learn(more, judgments)
        assert np.array_equal(
            ranker.model.score(features.value), learner.learn(features, judgments).model.score(features.value)
        )
        assert not np.isnan(ranker.rank(more).score).any()
        assert any("5 tasks have features and no judgments" in note for note in ranker.notes)


def test_what_cannot_be_learned_is_refused(study, frame):
    features, gold, judgments = study
    same = cr.judgments(frame.select("task", "item").with_columns(annotator=pl.lit("ann"), grade=1))
    with pytest.raises(cr.JudgmentError, match="nothing to learn: no task has items of different labels"):
        cr.LambdaMART(labels="mean").learn(features, same)
    with pytest.raises(cr.JudgmentError, match="nothing to learn: all grades are the same"):
        cr.GDAPWMART().learn(features, same)
    with pytest.raises(cr.JudgmentError, match="nothing to learn: all grades are the same"):
        cr.LambdaMART(soft=True).learn(features, same)
    with pytest.raises(
        cr.SettingError, match="soft learns from grades, or from a consensus with probabilities of grades"
    ):
        cr.LambdaMART(soft=True).learn(features, gold)
    with pytest.raises(cr.SettingError, match="labels is 'mean'; it must be dawid-skene where soft is true"):
        cr.LambdaMART(labels="mean", soft=True)
    with pytest.raises(cr.SettingError, match="rate is 0; it must be a number above 0"):
        cr.LambdaMART(rate=0)
    with pytest.raises(
        cr.SettingError, match="gda-pw-mart learns from the judgments of annotators, not from a Consensus"
    ):
        cr.GDAPWMART().learn(features, cr.fit("mean", judgments))
