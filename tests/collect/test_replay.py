import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.collect import replay as module
from crowdrank.collect.policies import POLICIES, InformationGain


@pytest.fixture(scope="module")
def study():
    return cr.simulate.pairs(items=30, annotators=30, votes=2500, spammers=0.3, seed=4)


def last(frame):
    return dict(
        frame.group_by("policy").agg(pl.col("acc").filter(pl.col("votes") == pl.col("votes").max()).mean()).iter_rows()
    )


def test_columns_and_checkpoints(study):
    found = cr.replay(
        study.judgments, study.gold, ["random", "least-compared"], budget=120, every=40, seeds=[3, 5], refit=False
    )
    assert found.columns == ["policy", "seed", "votes", "acc"]
    assert found["policy"].to_list() == ["random"] * 6 + ["least-compared"] * 6
    assert found["seed"].to_list() == [3, 3, 3, 5, 5, 5] * 2
    assert found["votes"].to_list() == [40, 80, 120] * 4


def test_each_answer_is_used_once(study, monkeypatch):
    runs = []
    original = module._Collection.__init__

    def remember(self, *arguments):
        original(self, *arguments)
        runs.append(self)

    monkeypatch.setattr(module._Collection, "__init__", remember)
    small = cr.simulate.pairs(items=8, annotators=4, votes=200, seed=0)
    cr.replay(small.judgments, small.gold, ["mutual-information", "thompson"], every=100, refit=False)
    for run in runs:
        assert sorted(run.asked) == list(range(200))
        np.testing.assert_array_equal(np.sort(run.order), np.arange(200))
        assert run.compared.sum() == 400


def test_all_answers_are_all_judgments():
    """Once everything is asked, the order no longer matters to a refit."""
    small = cr.simulate.pairs(items=8, annotators=4, votes=200, seed=0)
    given = {"prior": 4.0, "quality_prior": (30.0, 2.0)}
    start = cr.State.start(small.judgments.vocabulary, **given)
    found = cr.replay(small.judgments, small.gold, ["mutual-information", "random"], every=200, start=start)
    assert found["acc"].n_unique() == 1
    fit = cr.CrowdBT(**given).fit(small.judgments)
    assert found["acc"][0] == pytest.approx(cr.evaluate(fit, small.gold, ["acc"]).mean["acc"])


@pytest.mark.parametrize("policy", [name for name, policy in POLICIES.items() if policy.asks == "pairs"])
def test_the_same_seed_the_same_curve(study, policy):
    one, two = (cr.replay(study.judgments, study.gold, policy, budget=50, seeds=[7], refit=False) for _ in range(2))
    assert one.equals(two)


def test_information_beats_chance_among_spammers(study):
    names = ["mutual-information", "random"]
    found = cr.replay(study.judgments, study.gold, names, budget=400, every=400, seeds=6, refit=False)
    assert last(found)["mutual-information"] > last(found)["random"] + 0.02


def test_settings_side_by_side(study):
    policies = {f"gamma {gamma}": InformationGain(gamma=gamma, epsilon=0.1) for gamma in (0.0, 20.0)}
    policies["halved"] = InformationGain(gamma=20.0, halve_every=0.25)
    found = cr.replay(study.judgments, study.gold, policies, budget=100, refit=False)
    assert found["policy"].unique(maintain_order=True).to_list() == list(policies)


def test_without_refit_it_is_online_crowd_bt():
    small = cr.simulate.pairs(items=8, annotators=4, votes=100, seed=0)
    start = cr.State.start(small.judgments.vocabulary, prior=2.0, quality_prior=(2.0, 1.0))
    found = cr.replay(small.judgments, small.gold, "random", every=100, refit=False, start=start)
    assert 0.5 < found["acc"][0] <= 1


def test_rankings_are_replayed_as_pairs():
    lists = {"annotator": ["a"] * 4 + ["b"] * 4, "item": list("wxyz") * 2, "rank": [1, 2, 3, 4, 2, 1, 3, 4]}
    found = cr.replay(cr.judgments(lists), cr.gold({"item": list("wxyz"), "score": [4, 3, 2, 1]}), every=6)
    assert found["votes"].to_list() == [6, 12]


def test_mistakes(study, build):
    with pytest.raises(cr.SettingError, match="named twice"):
        cr.replay(study.judgments, study.gold, ["random", "random"])
    with pytest.raises(cr.SettingError, match="replay asks for pairs"):
        cr.replay(study.judgments, study.gold, "grades")
    with pytest.raises(cr.SettingError, match="budget"):
        cr.replay(study.judgments, study.gold, budget=10)
    with pytest.raises(cr.SettingError, match="every"):
        cr.replay(study.judgments, study.gold, every=0)
    with pytest.raises(cr.JudgmentError, match="needs pairs"):
        cr.replay(build.judgments(), study.gold)
