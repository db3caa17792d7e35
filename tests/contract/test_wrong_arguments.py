"""A file name or a data frame instead of judgments: the error says what to pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import crowdrank as cr

FRAME = pl.DataFrame({"annotator": ["ann"], "left": ["a"], "right": ["b"], "winner": ["a"]})
GIVEN = [
    pytest.param("votes.csv", r"read it with cr\.read\('votes\.csv'\)", id="name"),
    pytest.param(Path("votes.csv"), r"read it with cr\.read\('votes\.csv'\)", id="path"),
    pytest.param(FRAME, r"not DataFrame: make them from a data frame with cr\.judgments\(frame\)", id="frame"),
]


@pytest.mark.parametrize(("given", "advice"), GIVEN)
@pytest.mark.parametrize("name", cr.METHODS)
def test_fit_needs_judgments(name, given, advice):
    with pytest.raises(cr.JudgmentError, match=f"judgments are needed, .*{advice}"):
        cr.METHODS[name]().fit(given)


@pytest.mark.parametrize(("given", "advice"), GIVEN)
@pytest.mark.parametrize("name", cr.SUPERVISED)
def test_train_needs_judgments(name, given, advice):
    with pytest.raises(cr.JudgmentError, match=f"judgments are needed, .*{advice}"):
        cr.SUPERVISED[name]().train(given, cr.gold({"item": ["a"], "grade": [1]}))


VOTES = cr.simulate.pairs(items=5, annotators=3, votes=60, seed=0)


def test_a_method_with_its_settings_can_be_fitted():
    fitted = cr.fit(cr.BradleyTerry(prior=0.5), VOTES.judgments)
    assert fitted.score.tolist() == cr.fit("bradley-terry", VOTES.judgments, prior=0.5).score.tolist()
    with pytest.raises(cr.SettingError, match=r"give the settings to the method itself: BradleyTerry\(prior=…\)"):
        cr.fit(cr.BradleyTerry(), VOTES.judgments, prior=0.5)
    for wrong in (cr.BradleyTerry, 7, None, fitted):
        for call in (cr.fit, cr.statistics.fragility):
            with pytest.raises(cr.SettingError, match=r"a method is needed, by its name or as cr\.CrowdBT\(\)"):
                call(wrong, VOTES.judgments)


def test_a_method_may_be_named_where_one_is_needed():
    by_name, by_class = (cr.statistics.fragility(each, VOTES.judgments) for each in ("elo", cr.Elo()))
    assert by_name.removed.tolist() == by_class.removed.tolist()


def test_other_things_than_gold_are_refused():
    consensus = cr.fit("elo", VOTES.judgments)
    with pytest.raises(cr.JudgmentError, match=r"gold is needed, not judgments.*cr\.gold\(frame\)"):
        cr.evaluate(consensus, VOTES.judgments)
    with pytest.raises(cr.JudgmentError, match="judgments are no ranking: fit a method first"):
        cr.evaluate(VOTES.judgments, VOTES.gold)
    with pytest.raises(cr.JudgmentError, match="gold is needed, not NoneType"):
        cr.compare(VOTES.judgments, None)
    with pytest.raises(cr.JudgmentError, match="gold is needed, not NoneType"):
        cr.train("crf", VOTES.judgments, None)
    with pytest.raises(cr.JudgmentError, match="judgments are needed, not Gold"):
        cr.replay(VOTES.gold, VOTES.judgments)
    with pytest.raises(cr.JudgmentError, match="gold is needed, not Consensus"):
        cr.replay(VOTES.judgments, consensus)


def test_a_consensus_is_written_not_saved(tmp_path):
    with pytest.raises(cr.JudgmentError, match=r"not a Consensus; cr\.write\(consensus, 'ranking\.csv'\)"):
        cr.save(cr.fit("elo", VOTES.judgments), tmp_path / "model.json")


def test_numpy_numbers_are_numbers(tmp_path):
    assert cr.BradleyTerry(prior=np.float64(0.5), max_iter=np.int64(50)).fit(VOTES.judgments).fit.converged
    trained = cr.train("crf", VOTES.judgments, VOTES.gold, max_iter=np.int32(6), seed=np.int64(1))
    cr.save(trained, tmp_path / "model.json")
    assert cr.load(tmp_path / "model.json").method == trained.method
    with pytest.raises(cr.SettingError, match="max_iter is "):
        cr.BradleyTerry(max_iter=np.bool_(True))


def test_flags_of_numpy_are_flags():
    assert cr.fit("bradley-terry", VOTES.judgments, intervals=np.bool_(False)).low is None
    for wrong in (np.int64(1), np.array([True]), "yes"):
        with pytest.raises(cr.SettingError, match=r"intervals is .*; it must be true or false"):
            cr.BradleyTerry(intervals=wrong)


@pytest.mark.parametrize("seed", [-1, 0.5, "7", True])
def test_seeds_that_are_none_are_refused(seed):
    calls = (
        lambda: cr.simulate.pairs(items=3, annotators=2, votes=9, seed=seed),
        lambda: cr.bootstrap("elo", VOTES.judgments, rounds=2, seed=seed),
        lambda: cr.next_questions(VOTES.judgments, seed=seed),
        lambda: cr.Mallows(seed=seed),
    )
    for call in calls:
        with pytest.raises(cr.SettingError, match=r"seed is .*; it must be a whole number of at least 0"):
            call()


@pytest.mark.parametrize("frame", ["polars", "pandas"])
def test_results_cannot_be_changed_by_accident(frame):
    make = pytest.importorskip(frame).DataFrame
    judgments = cr.judgments(make({"left": ["a", "b"], "right": ["b", "c"], "winner": ["a", "b"]}))
    consensus = cr.fit("elo", judgments)
    gold = cr.gold({"item": list("abc"), "grade": [2, 1, 0]})
    for read in (
        lambda: consensus.ranking,
        lambda: consensus.annotators,
        lambda: cr.evaluate(consensus, gold, "acc").per_task,
    ):
        before = str(read())
        changed = read()
        column = changed.columns[-1]
        if frame == "polars":
            changed[0, column] = None
        else:
            changed[column] = 0
        assert str(read()) == before


@pytest.mark.parametrize("name", ["score", "rank", "low", "high", "rank_low"])
def test_arrays_of_results_cannot_be_changed_either(name):
    """`score -= score.mean()` would change what `ranking` says afterwards."""
    for consensus in (cr.fit("bradley-terry", VOTES.judgments), replace(cr.fit("bradley-terry", VOTES.judgments))):
        with pytest.raises(ValueError, match="read-only"):
            getattr(consensus, name)[:] = 0
