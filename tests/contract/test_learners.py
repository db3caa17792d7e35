"""What every learner must satisfy."""

import pickle
from dataclasses import FrozenInstanceError, fields, is_dataclass

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.learning.catalogue import LEARNERS, learner
from crowdrank.settings import InputError, SettingError
from crowdrank.study import KINDS

NEEDS = {
    "ltrma-s1": cr.Side(ranges=(cr.Range("annotator1", -2.0, -2.0),)),
    "ltrma-s2": cr.Side(ranges=(cr.Range("annotator1", -3.0, -0.1),)),
    "ltrma-s3": cr.Side(orders=(cr.Better("annotator1"),)),
}


def made(tasks=25, items=8, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(tasks * items, 3))
    names = {"task": np.repeat(np.arange(tasks), items).tolist(), "item": np.tile(np.arange(items), tasks).tolist()}
    table = pl.DataFrame({**names, "a": x[:, 0], "b": x[:, 1], "c": x[:, 2]})
    return table, pl.DataFrame({**names, "grade": np.clip(np.rint(1 + x @ [1.0, 2.0, 0.0] / 2), 0, 3)})


def crowd(gold, annotators=4):
    """Grades by a crowd of which the last are the worst."""
    rng = np.random.default_rng(1)
    parts = []
    for number in range(1, annotators + 1):
        heard = np.clip(np.rint(gold["grade"] + rng.normal(0, 0.4 * number, len(gold))), 0, 3)
        parts.append(gold.with_columns(grade=heard, annotator=pl.lit(f"annotator{number}")))
    return pl.concat(parts)


@pytest.fixture(scope="module")
def trained():
    table, gold = made()
    given = crowd(gold)
    rankers = {name: cr.learn(name, cr.features(table), cr.judgments(given), side=NEEDS.get(name)) for name in LEARNERS}
    return table, given, rankers


every_learner = pytest.mark.parametrize("name", LEARNERS)


@every_learner
def test_settings_are_frozen_and_say_what_they_are(name):
    assert is_dataclass(LEARNERS[name])
    assert LEARNERS[name].description.name == name
    with pytest.raises((FrozenInstanceError, TypeError)):
        learner(name).description = "other"
    with pytest.raises(SettingError, match="no setting 'no_such'"):
        learner(name, no_such=1)


@every_learner
def test_it_ranks_items_that_nobody_judged(name, trained):
    _, _, rankers = trained
    table, gold = made(seed=7)
    consensus = rankers[name].rank(cr.features(table))
    assert consensus.method == name
    assert not np.isnan(consensus.score).any()
    assert cr.evaluate(consensus, cr.gold(gold), ["ndcg@5"]).mean["ndcg@5"] > 0.8


@every_learner
def test_the_same_seed_gives_the_same_ranker_whatever_the_order_of_the_rows(name, trained):
    table, given, rankers = trained
    shuffled = (
        cr.features(table.sample(fraction=1, shuffle=True, seed=1)),
        cr.judgments(given.sample(fraction=1, shuffle=True, seed=2)),
    )
    again = cr.learn(name, *shuffled, side=NEEDS.get(name))
    features = cr.features(table)
    np.testing.assert_array_equal(again.rank(features).score, rankers[name].rank(features).score)


@every_learner
def test_saved_and_loaded_it_is_the_same(name, trained, tmp_path):
    table, _, rankers = trained
    cr.save(rankers[name], tmp_path / "ranker.json")
    loaded = cr.load_ranker(tmp_path / "ranker.json")
    features = cr.features(table)
    np.testing.assert_array_equal(loaded.rank(features).score, rankers[name].rank(features).score)
    assert loaded.annotators.equals(rankers[name].annotators)
    assert (loaded.method, loaded.fit, loaded.notes) == (rankers[name].method, rankers[name].fit, rankers[name].notes)
    with pytest.raises(cr.JudgmentError, match="is a ranker"):
        cr.load(tmp_path / "ranker.json")


@every_learner
def test_other_columns_are_refused(name, trained):
    table, _, rankers = trained
    with pytest.raises(
        cr.JudgmentError, match="trained on other columns: these features lack c and have d in addition"
    ):
        rankers[name].rank(cr.features(table.rename({"c": "d"})))


@every_learner
def test_annotators_have_the_columns_of_a_consensus(name, trained):
    _, _, rankers = trained
    columns = rankers[name].annotators.columns
    assert not columns or columns[:4] == ["annotator", "judgments", "quality", "verdict"]
    assert repr(rankers[name]).startswith(f"Ranker by {name}")


@every_learner
def test_items_and_tasks_that_only_one_side_has_are_not_used(name, trained):
    table, given, _ = trained
    features = cr.features(table.filter(pl.col("item") > 0))
    judgments = cr.judgments(given.filter(pl.col("task") < 20))
    ranker = cr.learn(name, features, judgments, side=NEEDS.get(name))
    assert any("without features" in note for note in ranker.notes)
    assert any("5 tasks have features and no judgments" in note for note in ranker.notes)
    with pytest.raises(cr.JudgmentError, match="share no item"):
        cr.learn(name, cr.features(table.with_columns(task=pl.col("task") + 1000)), judgments, side=NEEDS.get(name))


@every_learner
def test_constant_columns_do_no_harm(name, trained):
    table, given, _ = trained
    features = cr.features(table.with_columns(same=pl.lit(3.5)))
    score = cr.learn(name, features, cr.judgments(given), side=NEEDS.get(name)).rank(features).score
    assert np.isfinite(score).all()


@every_learner
def test_side_information_is_taken_or_refused(name, trained):
    table, given, _ = trained
    if not LEARNERS[name].description.takes_side_information:
        with pytest.raises(SettingError, match="does not use side information"):
            cr.learn(name, cr.features(table), cr.judgments(given), side=cr.Side())


def test_unknown_learners_are_named_with_the_nearest():
    with pytest.raises(SettingError, match="did you mean 'ltrma-mle'"):
        learner("ltrma-mel")


def test_every_setting_has_a_default():
    for name in LEARNERS:
        assert all(field.default is not None or "None" in str(field.type) for field in fields(LEARNERS[name]))


@pytest.mark.parametrize("aggregator", ["mean", "gda", "dawid-skene", "borda", "bradley-terry"])
def test_any_aggregator_gives_labels(aggregator, trained):
    table, given, _ = trained
    features, judgments = cr.features(table), cr.judgments(given)
    direct = cr.learn("listmle", features, judgments, labels=aggregator)
    before = cr.learn("listmle", features, cr.fit(aggregator, judgments))
    np.testing.assert_allclose(direct.rank(features).score, before.rank(features).score, atol=1e-9)
    assert direct.annotators["annotator"].len() == 4


@every_learner
def test_rankings_have_the_columns_of_every_consensus_and_ranks_follow_scores(name, trained):
    table, _, rankers = trained
    ranking = rankers[name].rank(cr.features(table)).ranking
    assert ranking.columns[:6] == ["task", "item", "rank", "score", "low", "high"]
    for _, task in ranking.group_by("task"):
        score = task["score"].to_numpy()
        assert task["rank"].to_list() == [1 + int((score > own + 1e-9).sum()) for own in score]


@every_learner
def test_rankers_pickle(name, trained):
    table, _, rankers = trained
    again, features = pickle.loads(pickle.dumps(rankers[name])), cr.features(table)
    assert again.rank(features).score.tobytes() == rankers[name].rank(features).score.tobytes()


@every_learner
def test_the_same_data_on_one_thread_give_the_same_ranker(name, trained, monkeypatch):
    table, given, rankers = trained
    monkeypatch.setenv("CROWDRANK_THREADS", "1")
    again, features = cr.learn(name, cr.features(table), cr.judgments(given), side=NEEDS.get(name)), cr.features(table)
    assert again.rank(features).score.tobytes() == rankers[name].rank(features).score.tobytes()


@every_learner
def test_kinds_that_a_learner_cannot_use_are_refused(name, studies):
    takes = LEARNERS[name].description.takes
    for kind in set(KINDS) - set(takes):
        judgments = studies.study(studies.table(kind))
        names = {"task": ["task0"] * 6, "item": [f"item{number:02}" for number in range(1, 7)]}
        features = cr.features(pl.DataFrame({**names, "a": range(6)}))
        with pytest.raises(cr.JudgmentError, match=f"{name} needs .*only {kind}"):
            cr.learn(name, features, judgments, side=NEEDS.get(name))


@every_learner
def test_learners_say_what_to_pass_instead_of_a_file(name, trained):
    table, _, _ = trained
    with pytest.raises(InputError, match="judgments"):
        cr.learn(name, cr.features(table), "votes.csv", side=NEEDS.get(name))
