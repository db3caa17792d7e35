import numpy as np
import pytest

from crowdrank import evaluate, simulate
from crowdrank.methods.pairs.bradley_terry import BradleyTerry
from crowdrank.methods.pairs.online_crowd_bt import OnlineCrowdBT
from crowdrank.numerics.special import NORMAL_95
from crowdrank.settings import SettingError
from crowdrank.study import TIE


def accuracy(method, study):
    return evaluate(method.fit(study.judgments), study.gold, ["acc"]).mean["acc"]


def test_two_votes_by_hand(build):
    """σ² = 1, Beta(2, 1): a vote at gap 0 has slope ⅔ − ½ and curvature 2/9 − ¼; it says nothing about quality."""
    found = OnlineCrowdBT(prior=2.0, quality_prior=(2.0, 1.0)).fit(build.judgments(pairs=[("t", "k", "a", "b", "a")]))
    assert found.score == pytest.approx([1 / 6, -1 / 6])
    assert (found.high - found.score)[0] == pytest.approx(NORMAL_95 * np.sqrt(1 + 2 / 9 - 1 / 4))
    assert found.annotator_columns["quality"] == pytest.approx([2 / 3])


def test_a_vote_between_known_items_tells_about_the_annotator(build):
    known = [("t", "ann", "a", "b", "a")] * 20
    right = OnlineCrowdBT().fit(build.judgments(pairs=[*known, ("t", "bob", "a", "b", "a")]))
    wrong = OnlineCrowdBT().fit(build.judgments(pairs=[*known, ("t", "bob", "a", "b", "b")]))
    assert wrong.annotator_columns["quality"][1] < 2 / 3 < right.annotator_columns["quality"][1]


def test_hostile_votes_are_turned_around():
    study = simulate.pairs(items=50, annotators=40, votes=8000, spammers=0.3, malicious=0.2, seed=1)
    assert accuracy(OnlineCrowdBT(), study) > accuracy(BradleyTerry(prior=1.0, intervals=False), study) + 0.05
    quality = OnlineCrowdBT().fit(study.judgments).annotator_columns["quality"]
    assert np.corrcoef(quality, study.quality)[0, 1] > 0.9
    assert set(OnlineCrowdBT().fit(study.judgments).annotator_columns["verdict"][study.quality == 0]) == {"reversed"}


def test_ties_bring_items_together(build):
    won, tied = [("t", "k", "a", "b", "a")] * 5, [("t", "k", "a", "b", "tie")] * 5
    apart = OnlineCrowdBT().fit(build.judgments(pairs=won)).score
    near = OnlineCrowdBT().fit(build.judgments(pairs=won + tied)).score
    assert 0 < near[0] - near[1] < apart[0] - apart[1]


def test_ties_help(build):
    """Simulated votes of which a third are ties rank better with their ties than without."""
    with_ties, without = [], []
    for seed in range(5):
        study = simulate.pairs(items=40, annotators=20, votes=3000, ties=0.6, seed=seed)
        decided = build.rows_of(study.judgments, np.flatnonzero(study.judgments.pairs.outcome != TIE))
        truth = study.gold.value
        with_ties.append(np.corrcoef(OnlineCrowdBT().fit(study.judgments).score, truth)[0, 1])
        without.append(np.corrcoef(OnlineCrowdBT().fit(decided).score, truth)[0, 1])
    assert np.mean(with_ties) > np.mean(without)


def test_intervals_hold_most_of_the_truth():
    """Scores are independent and treat each other's means as exact: 95 % intervals are somewhat too short."""
    inside = []
    for seed in range(5):
        study = simulate.pairs(items=60, annotators=30, votes=3000, spread=1.0, seed=seed)
        found = OnlineCrowdBT(quality_prior=(10.0, 1.0)).fit(study.judgments)
        truth = study.gold.value - study.gold.value.mean() + found.score.mean()
        inside.append(np.mean((found.low <= truth) & (truth <= found.high)))
    assert np.mean(inside) > 0.75


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ({"prior": 0.0}, "prior"),
        ({"prior": float("inf")}, "prior"),
        ({"quality_prior": None}, "quality_prior"),
        ({"quality_prior": (0.5, 1.0)}, "quality_prior"),
    ],
)
def test_bad_settings(setting, named):
    with pytest.raises(SettingError, match=named):
        OnlineCrowdBT(**setting)
