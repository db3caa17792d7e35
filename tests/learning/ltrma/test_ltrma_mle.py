"""Rankers learned together with true orders and expertise."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

import crowdrank as cr
from crowdrank.settings import SettingError

CROWDS = {
    "full lists": {},
    "parts of the items": {"length": 5, "tasks": 200},
    "some of the tasks": {"share": 0.4, "tasks": 100},
    "top-k lists": {"top_k": 3, "tasks": 100},
}


@pytest.mark.parametrize("crowd", CROWDS)
def test_joint_learning_finds_ranker_and_annotators(crowd, made, tau):
    features, gold, study = made(**CROWDS[crowd])
    test, truth, _ = made(seed=99)
    joint = cr.learn("ltrma-mle", features, study.judgments)
    apart = cr.learn("ltrma-d", features, study.judgments)
    best = tau(cr.learn("listmle", features, gold), test, truth)
    assert tau(joint, test, truth) > best - 0.03
    assert tau(joint, test, truth) > tau(apart, test, truth) - 0.01
    assert spearmanr(joint.annotators["theta"], study.annotators["theta"]).statistic > 0.9
    assert joint.fit.converged


def test_theta_and_quality_are_those_of_the_crowd(made):
    theta = np.array([-1.5, -0.8, -0.4, -0.1, 0.3])
    features, _, study = made(tasks=300, annotators=5, theta=theta)
    found = cr.learn("ltrma-mle", features, study.judgments).annotators
    np.testing.assert_allclose(found["theta"], theta, rtol=0.06, atol=0.03)
    np.testing.assert_allclose(found["quality"], study.quality, atol=0.015)
    assert found["verdict"].to_list()[-1] == "reversed"


def test_only_the_first_places(made, tau):
    features, gold, study = made(tasks=80, annotators=8, theta=np.linspace(-0.8, 0.0, 8))
    test, truth, _ = made(seed=99)
    ranker = cr.learn("ltrma-mle", features, study.judgments, top=4)
    assert tau(ranker, test, truth) > tau(cr.learn("listmle", features, gold), test, truth) - 0.03
    assert spearmanr(ranker.annotators["theta"], study.annotators["theta"]).statistic > 0.9
    guesser = ranker.annotators["quality"].to_list()[-1]
    assert guesser == pytest.approx(0.5, abs=0.05)  # though most pairs are below the first places


def test_grades_are_lists_with_ties(made, tau):
    features, gold, _ = made(tasks=80)
    rng = np.random.default_rng(1)
    noise = np.array([0.3, 0.5, 1.0, 3.0])
    words, rows = gold.vocabulary, []
    for who, spread in enumerate(noise):
        heard = gold.value + rng.normal(0, spread * 3, len(gold.value))
        grade = np.digitize(heard, [-2, 2])
        rows.append({"task": words.tasks[words.entry_task].tolist(), "item": words.items[words.entry_item].tolist()})
        rows[-1] |= {"annotator": [f"k{who}"] * len(grade), "grade": grade.tolist()}
    judgments = cr.judgments(pl.concat([pl.DataFrame(row) for row in rows]))
    ranker = cr.learn("ltrma-mle", features, judgments)
    test, truth, _ = made(seed=99)
    assert tau(ranker, test, truth) > 0.9
    assert ranker.annotators["theta"].to_list() == sorted(ranker.annotators["theta"])


def test_sparse_lists_are_followed_to_the_end(made):
    """Five of fifteen items in each list: steps are short, and must not count as converged.

    True side information leads to the same estimates.
    """
    theta = np.array([-0.45, -0.35, -0.15, 0.0, 0.05])
    features, _, study = made(items=15, tasks=80, annotators=5, theta=theta, length=5)
    best = str(study.judgments.vocabulary.annotators[0])
    stopped = cr.learn("ltrma-mle", features, study.judgments)
    longer = cr.learn("ltrma-mle", features, study.judgments, samples=50, seed=1)
    helped = cr.learn("ltrma-s3", features, study.judgments, side=cr.Side(orders=(cr.Better(best),)))
    assert stopped.fit.converged
    for ranker in (stopped, helped):
        np.testing.assert_allclose(ranker.annotators["theta"], longer.annotators["theta"], atol=0.06)
        np.testing.assert_allclose(
            ranker.model.weight, longer.model.weight, atol=0.25 * np.abs(longer.model.weight).max()
        )


@pytest.mark.parametrize(
    "known", [{"ranges": (cr.Range("a1", -0.9, 0.1, 20.0),)}, {"orders": (cr.Better("a1", None, 20.0),)}]
)
def test_one_annotator_known_to_be_good_outweighs_the_others(known, made):
    features, _, study = made(tasks=60, annotators=5, theta=np.array([-0.4, 0.4, 0.3, 0.2, 0.1]), length=6)
    names = [str(name) for name in study.judgments.vocabulary.annotators]
    kind, (one,) = next(iter(known.items()))
    side = cr.Side(**{kind: (replace(one, annotator=names[0]),)})
    helped, alone = (cr.learn("ltrma-mle", features, study.judgments, side=each) for each in (side, None))
    np.testing.assert_allclose(helped.annotators["theta"], study.annotators["theta"], atol=0.25)
    assert np.corrcoef(alone.annotators["theta"], study.annotators["theta"])[0, 1] < 0


def test_side_information_is_refused_where_it_has_no_use(made):
    features, gold, _ = made(tasks=3)
    with pytest.raises(SettingError, match=r"listmle does not use side information; .*ltrma-mle"):
        cr.learn("listmle", features, gold, side=cr.Side())


def test_annotators_without_lists_have_no_theta():
    features = cr.features({"item": list("xyz"), "a": [1.0, 2.0, 3.0]})
    lists = {"annotator": ["ann", "ann", "bob"], "item": ["x", "y", "x"], "rank": [1, 2, 1]}
    found = cr.learn("ltrma-mle", features, cr.judgments(lists)).annotators
    assert found["theta"].is_null().to_list() == [False, True]


def test_lists_without_an_order_are_refused():
    features = cr.features({"item": list("xyz"), "a": [1.0, 2.0, 3.0]})
    lists = {"annotator": ["ann", "ann", "bob"], "item": ["x", "y", "x"], "rank": [1, 1, 1]}
    with pytest.raises(cr.JudgmentError, match="no list puts one item before another"):
        cr.learn("ltrma-mle", features, cr.judgments(lists))


@pytest.mark.parametrize("given", [{"samples": 0}, {"sweeps": 0}, {"top": -1}, {"seed": -1}, {"penalty": -1.0}])
def test_bad_settings_are_refused(given):
    with pytest.raises(SettingError):
        cr.LTRMAMLE(**given)


def test_long_lists_of_weak_annotators_are_not_reversed(made):
    """θ of lists of a hundred items is much closer to 0 than the first θ: momentum must not carry it across."""
    theta = np.array([0.02, -0.3, -0.14, -0.03, -0.07])
    features, _, study = made(items=100, tasks=12, annotators=5, theta=theta)
    found = cr.learn("ltrma-mle", features, study.judgments)
    np.testing.assert_allclose(found.annotators["theta"], theta, rtol=0.2, atol=0.01)
