"""GDA-PW-MART on simulated crowds: better than trees on labels if annotators differ, no worse if all are right."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.learning.trees.gda_pw_mart import _gains
from crowdrank.methods.grades.curves.curves import CurveFit
from crowdrank.methods.grades.curves.relevance import prepare
from crowdrank.methods.supervised.cells.target_measure import target


@pytest.fixture(scope="module")
def unseen(graded):
    return graded.items(100, seed=9, prefix="t")


def test_better_than_trees_on_labels_of_a_crowd_with_spammers(graded, unseen):
    """Mean of five crowds."""
    gain = {"mean": [], "random": []}
    for seed in range(5):
        features, gold = graded.training_set(graded.items(60, seed=seed))
        judgments = graded.crowd(gold, seed)
        ours = graded.ndcg(cr.GDAPWMART().learn(features, judgments), unseen)
        for labels, gains in gain.items():
            gains.append(ours - graded.ndcg(cr.LambdaMART(labels=labels).learn(features, judgments), unseen))
    for gains in gain.values():
        assert np.mean(gains) > 2 * np.std(gains, ddof=1) / np.sqrt(5)
    assert np.mean(gain["random"]) > 0.05


def test_no_worse_on_labels_as_good_as_gold(graded, unseen):
    frame = graded.items(60)
    features, gold = graded.training_set(frame)
    ours = graded.ndcg(cr.GDAPWMART().learn(features, graded.unanimous(frame)), unseen)
    assert ours > graded.ndcg(cr.LambdaMART().learn(features, gold), unseen) - 0.02


def test_spammers_are_less_informative(graded):
    features, gold = graded.training_set(graded.items(60))
    study = cr.simulate.regrade(gold, annotators=20, labels=4, noise=0.4, spammers=0.5, seed=1)
    found = cr.GDAPWMART(rounds=1).learn(features, study.judgments).annotators
    spammer = study.annotators["kind"] == "spammer"
    informativeness = found["informativeness"].to_numpy()
    assert informativeness[spammer].max() < informativeness[~spammer].min()


@pytest.mark.parametrize("measure", ["ndcg@5", "map", "err", "p@3"])
def test_any_measure_can_be_learned_for(measure, graded, unseen):
    features, gold = graded.training_set(graded.items(60))
    ranker = cr.GDAPWMART(measure=measure, rounds=50).learn(features, graded.crowd(gold, spammers=0.0, noise=0.4))
    assert graded.ndcg(ranker, unseen) > 0.7


def test_gains_are_those_of_grades_as_frequent_as_the_crowds(graded):
    """Over all entries, the expected shares of the grades are those given; entries graded high gain more."""
    _, gold = graded.training_set(graded.items(60))
    study = prepare(graded.crowd(gold, noise=0.3, spammers=0.0), "study")
    curves = CurveFit(study.rows, study.scales, 1.0, ordered=False, difficulty=False).run(200, 1e-3)
    wanted = target("p@1")
    mean, variance = _gains(wanted, curves, study)
    assert mean.mean() == pytest.approx((study.rows.level >= 1).mean(), abs=0.08)
    assert variance == pytest.approx(mean * (1 - mean))  # relevant or not
    assert np.corrcoef(mean, gold.value)[0, 1] > 0.5


def test_judgments_of_other_kinds_are_not_used(graded):
    frame = graded.items(10)
    features, gold = graded.training_set(frame)
    judgments = graded.crowd(gold)
    words, given = judgments.vocabulary, judgments.grades
    grades = {
        "task": words.tasks[words.entry_task[given.entry]].tolist(),
        "item": words.items[words.entry_item[given.entry]].tolist(),
        "annotator": words.annotators[given.annotator].tolist(),
        "grade": given.grade,
    }
    vote = {
        "task": ["q009"],
        "annotator": ["annotator01"],
        "left": ["q009-00"],
        "right": ["q009-09"],
        "winner": ["q009-00"],
    }
    both = cr.GDAPWMART(rounds=5).learn(features, cr.judgments(grades, vote))
    alone = cr.GDAPWMART(rounds=5).learn(features, judgments)
    assert np.array_equal(both.model.score(features.value), alone.model.score(features.value))
    assert any("1 pairs not used" in note for note in both.notes)


def test_settings_are_checked():
    with pytest.raises(cr.SettingError, match="rest is -1; it must be a number of at least 0"):
        cr.GDAPWMART(rest=-1)
    with pytest.raises(cr.SettingError, match="shrinkage is -1; it must be a number of at least 0"):
        cr.GDAPWMART(shrinkage=-1)
    with pytest.raises(cr.SettingError, match="partners is 0"):
        cr.GDAPWMART(partners=0)
    with pytest.raises(cr.SettingError, match="measure is 'tau'"):
        cr.GDAPWMART(measure="tau")
    with pytest.raises(cr.SettingError, match="leaves is 1; it must be a whole number of at least 2"):
        cr.GDAPWMART(leaves=1)
