"""What every supervised method must do, on a crowd of which the truth is known."""

from __future__ import annotations

import pickle
import sys
from dataclasses import fields

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.methods.catalogue import supervised

QUICK = {
    "max_iter": 30,
    "rounds": 30,
    "models": 2,
    "k": 2.0,
}  # in lists of eight, k = 60 gives the first and the last nearly the same
NOISE = {"good": 0.5, "fair": 1.5, "reversed": -0.5, "random": None}


def lists(tasks, annotators=NOISE, *, seed=0, items=8, prefix="q", share=0.8):
    """Each annotator ranks most items of every task: by the grade with noise, in reverse, or at random."""
    rng = np.random.default_rng(seed)
    rows, gold = [], []
    for task in (f"{prefix}{number:03}" for number in range(tasks)):
        grade = rng.choice([0, 0, 1, 2], items)
        gold += [(task, f"{task}-{item}", int(value)) for item, value in enumerate(grade)]
        for name, noise in annotators.items():
            seen = (
                rng.normal(size=items) if noise is None else np.sign(noise) * (grade + rng.normal(0, abs(noise), items))
            )
            listed = np.flatnonzero(rng.random(items) < share)
            order = listed[np.argsort(-seen[listed])]
            rows += [(task, name, f"{task}-{item}", rank) for rank, item in enumerate(order.tolist(), 1)]
    return (
        pl.DataFrame(rows, schema=["task", "annotator", "item", "rank"], orient="row"),
        pl.DataFrame(gold, schema=["task", "item", "grade"], orient="row"),
    )


@pytest.fixture(scope="module", params=cr.SUPERVISED)
def method(request):
    kind = cr.SUPERVISED[request.param]
    return kind(**{name: value for name, value in QUICK.items() if name in {field.name for field in fields(kind)}})


TRAIN, TRAIN_GOLD = lists(40)
TEST, TEST_GOLD = lists(20, seed=1, prefix="t")


@pytest.fixture(scope="module")
def trained(method):
    return method.train(cr.judgments(TRAIN), cr.gold(TRAIN_GOLD))


def ndcg(consensus, gold=TEST_GOLD):
    return cr.evaluate(consensus, cr.gold(gold), ["ndcg@5"]).mean["ndcg@5"]


def test_what_was_learned_ranks_new_tasks_better_than_a_method_that_believes_everybody(trained):
    test = cr.judgments(TEST)
    assert ndcg(trained.fit(test)) > ndcg(cr.fit("borda", test)) + 0.1
    assert trained.fit(test).method == trained.name


def test_a_fit_knows_no_gold(method, trained):
    """Other gold on the test tasks changes nothing, though it is in the same file as that of the training tasks."""
    both = cr.judgments(pl.concat([TRAIN, TEST]))
    plain = trained.fit(cr.judgments(TEST)).ranking
    shuffled = TEST_GOLD.with_columns(pl.col("grade").shuffle(seed=1))
    fold = {**dict.fromkeys(TRAIN["task"], "a"), **dict.fromkeys(TEST["task"], "b")}
    from crowdrank.evaluation.folds import cross_fitted, folds_of

    found = []
    for gold in (TEST_GOLD, shuffled):
        known = cr.gold(pl.concat([TRAIN_GOLD, gold]))
        consensus = cross_fitted(method, both, known, folds_of(fold, both, known, seed=0))
        found.append(consensus.ranking.filter(pl.col("task").str.starts_with("t")))
    assert found[0].equals(found[1])
    assert found[0]["item"].to_list() == plain["item"].to_list()


def test_annotators_missing_at_test_time(trained):
    """Those who are there still count as they were learned to."""
    without = trained.fit(cr.judgments(TEST.filter(pl.col("annotator") != "good")))
    assert ndcg(without) > 0.6
    assert set(without.annotators["annotator"]) == {"fair", "random", "reversed"}


def test_new_annotators_at_test_time(trained):
    """They are ranked with, and hurt little."""
    new, _ = lists(20, {"new": None, "newer": 0.5}, seed=1, prefix="t")
    found = trained.fit(cr.judgments(pl.concat([TEST, new])))
    assert ndcg(found) > 0.7
    assert set(found.annotators["annotator"]) >= {"new", "newer"}


def test_new_annotators_alone_are_ranked_with(trained):
    new, _ = lists(20, {"new": 0.5, "newer": 0.5}, seed=4, prefix="t")
    found = trained.fit(cr.judgments(new))
    assert found.ranking["rank"].null_count() == 0


def test_training_tasks_without_gold_or_with_one_grade_change_nothing(method, trained):
    more, _ = lists(5, seed=7, prefix="more")
    flat, flat_gold = lists(5, seed=8, prefix="flat")
    gold = pl.concat([TRAIN_GOLD, flat_gold.with_columns(grade=pl.lit(1, pl.Int64))])
    again = method.train(cr.judgments(pl.concat([TRAIN, more, flat])), cr.gold(gold))
    assert again.fit(cr.judgments(TEST)).score == pytest.approx(trained.fit(cr.judgments(TEST)).score, abs=1e-9)


def test_nothing_to_learn_is_said(method):
    with pytest.raises(cr.JudgmentError, match="nothing to learn"):
        method.train(cr.judgments(TRAIN), cr.gold(TRAIN_GOLD.with_columns(grade=pl.lit(1))))


def test_saved_and_loaded(trained, tmp_path):
    cr.save(trained, tmp_path / "model.json")
    again = cr.load(tmp_path / "model.json")
    before, after = trained.fit(cr.judgments(TEST)), again.fit(cr.judgments(TEST))
    assert after.ranking.equals(before.ranking)
    assert after.annotators.equals(before.annotators)
    assert again.method == trained.method


def test_the_same_seed_and_any_order_of_rows_give_the_same(method, trained):
    order = np.random.default_rng(0).permutation(len(TRAIN))
    again = method.train(cr.judgments(TRAIN[order]), cr.gold(TRAIN_GOLD.reverse()))
    assert (again.fit(cr.judgments(TEST)).score == trained.fit(cr.judgments(TEST)).score).all()


def test_the_named_validation_tasks_are_not_learned_from(method):
    """Their gold may choose settings; the weights of those settings come from the other tasks alone."""
    judgments, apart = cr.judgments(TRAIN), sorted(set(TRAIN["task"]))[:8]
    known = method.train(judgments, cr.gold(TRAIN_GOLD), validation=apart)
    assert ndcg(known.fit(cr.judgments(TEST))) > 0.7


def test_few_tasks_are_enough_to_say_something(method):
    few = TRAIN.filter(pl.col("task") < "q003")
    trained = method.train(cr.judgments(few), cr.gold(TRAIN_GOLD))
    assert trained.fit(cr.judgments(TEST)).ranking["rank"].null_count() == 0


def test_empty_and_one_item_studies_are_ranked(trained):
    empty = trained.fit(cr.judgments(TEST.clear()))
    assert empty.ranking.is_empty()
    assert trained.fit(cr.judgments(TEST.head(1))).ranking["rank"].to_list() == [1]


def test_every_kind_a_method_takes(method):
    """Grades, and pairs made of the lists, teach as lists do."""
    graded = TRAIN.with_columns(grade=10 - pl.col("rank")).drop("rank")
    pairs = TRAIN.join(TRAIN, on=["task", "annotator"], suffix="_b").filter(pl.col("rank") < pl.col("rank_b"))
    votes = pairs.select(
        "task", "annotator", pl.col("item").alias("left"), pl.col("item_b").alias("right"), winner="item"
    )
    for kind, frame in (("grades", graded), ("pairs", votes)):
        if kind in method.description.takes:
            judgments = cr.judgments(frame)
            assert ndcg(method.train(judgments, cr.gold(TRAIN_GOLD)).fit(judgments), TRAIN_GOLD) > 0.75
        else:
            with pytest.raises(cr.JudgmentError, match=f"{method.description.name} needs"):
                method.train(cr.judgments(frame), cr.gold(TRAIN_GOLD))


def test_gold_of_scores(method):
    """Gold need not be grades."""
    scored = cr.gold(TRAIN_GOLD.with_columns(score=pl.col("grade") * 1.5).drop("grade"))
    assert ndcg(method.train(cr.judgments(TRAIN), scored).fit(cr.judgments(TEST))) > 0.7


def test_fitting_without_training_says_what_to_do(method):
    with pytest.raises(cr.SettingError, match=f"{method.description.name} learns from gold before it ranks"):
        cr.fit(method.description.name, cr.judgments(TEST))


def test_settings_are_checked(method):
    kind = cr.SUPERVISED[method.description.name]
    with pytest.raises(cr.SettingError, match="has no setting 'nonsense'"):
        supervised(method.description.name, nonsense=1)
    for name, value in {
        "max_iter": 0,
        "rounds": 0,
        "models": 0,
        "seed": -1,
        "measure": "x",
        "weights": "x",
        "k": -1.0,
    }.items():
        if name in {field.name for field in fields(kind)}:
            with pytest.raises(cr.SettingError, match=name):
                kind(**{name: value})


def test_methods_that_do_not_learn_cannot_be_trained():
    with pytest.raises(cr.SettingError, match="borda is not trained"):
        cr.train("borda", cr.judgments(TRAIN), cr.gold(TRAIN_GOLD))
    with pytest.raises(cr.SettingError, match=r"no method 'crff'.*'crf'"):
        cr.train("crff", cr.judgments(TRAIN), cr.gold(TRAIN_GOLD))


@pytest.mark.parametrize(
    ("content", "message"),
    [("{}", "is damaged"), ("nonsense", "is damaged"), ('{"format": "crowdrank model 9"}', "this version reads")],
)
def test_files_that_hold_no_model(tmp_path, content, message):
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(cr.JudgmentError, match=message):
        cr.load(tmp_path / "model.json")


def test_a_missing_file(tmp_path):
    with pytest.raises(cr.JudgmentError, match="No such file"):
        cr.load(tmp_path / "model.json")


@pytest.mark.parametrize("name", ["boosted", "ensemble"])
def test_without_lightgbm_it_is_said_how_to_get_it(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(cr.SettingError, match=r"pip install 'crowdrank\[learn\]'"):
        cr.train(name, cr.judgments(TRAIN), cr.gold(TRAIN_GOLD))


ODD_NAMES = ['say "hi"', "a,b", "two\nlines", "🦊 emoji", "two  spaces", "'", "Ünïcödé", "-1"]


def test_results_have_the_columns_of_every_consensus(trained):
    consensus = trained.fit(cr.judgments(TEST))
    assert consensus.ranking.columns[:6] == ["task", "item", "rank", "score", "low", "high"]
    assert consensus.annotators.columns[:4] == ["annotator", "judgments", "quality", "verdict"]
    assert consensus.annotators["quality"].is_between(0, 1).all()
    assert consensus.annotators["judgments"].sum() == len(TEST)
    assert trained.name in repr(consensus)


def test_ranks_follow_scores(trained):
    for _, task in trained.fit(cr.judgments(TEST)).ranking.group_by("task"):
        score = task["score"].to_numpy()
        assert task["rank"].to_list() == [1 + int((score > own + 1e-9).sum()) for own in score]


def test_trained_methods_and_their_results_pickle(trained):
    again = pickle.loads(pickle.dumps(trained))
    one, two = trained.fit(cr.judgments(TEST)), again.fit(cr.judgments(TEST))
    assert one.score.tobytes() == two.score.tobytes()
    assert pickle.loads(pickle.dumps(one)).ranking.equals(one.ranking)


def test_threads_change_nothing(method, trained, monkeypatch):
    monkeypatch.setenv("CROWDRANK_THREADS", "1")
    again = method.train(cr.judgments(TRAIN), cr.gold(TRAIN_GOLD))
    assert again.fit(cr.judgments(TEST)).score.tobytes() == trained.fit(cr.judgments(TEST)).score.tobytes()


def test_the_input_is_untouched(trained, studies):
    judgments = cr.judgments(TEST)
    before = [array.copy() for array in studies.arrays(judgments)]
    for array in studies.arrays(judgments):
        array.flags.writeable = False
    trained.fit(judgments)
    for array, copy in zip(studies.arrays(judgments), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_odd_names_are_ranked(trained):
    names = {f"t000-{number}": name for number, name in enumerate(ODD_NAMES)}
    first = TEST.filter(pl.col("task") == "t000")
    odd = first.with_columns(pl.col("item").replace(names), pl.col("annotator") + '",\n🦉')
    plain, found = trained.fit(cr.judgments(first)), trained.fit(cr.judgments(odd))
    assert set(found.ranking["item"]) == {names[item] for item in plain.ranking["item"]}


def test_lists_that_are_all_ties_share_the_first_rank(trained):
    tied = TEST.with_columns(rank=pl.lit(1)).filter(pl.col("annotator") == "good")
    everything = tied.select("task", "item").unique(maintain_order=True)
    full = everything.with_columns(annotator=pl.lit("good"), rank=pl.lit(1))
    assert set(trained.fit(cr.judgments(full)).ranking["rank"]) == {1}
