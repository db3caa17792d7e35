"""Boosted trees: what a weighted sum cannot learn."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.methods.supervised.cells.cells import standardised


def either_or(tasks, seed, prefix):
    """`guide` puts an item first or last at random; `scout` is right where the guide put it first, else reversed."""
    rng = np.random.default_rng(seed)
    rows, gold = [], []
    for task in (f"{prefix}{number:03}" for number in range(tasks)):
        grade, first = rng.integers(0, 3, 12), rng.random(12) < 0.5
        seen = np.where(first, grade, 2 - grade)
        for item in range(12):
            gold.append((task, item, int(grade[item])))
            rows.append((task, "guide", item, 1 if first[item] else 2))
            rows.append((task, "scout", item, 3 - int(seen[item])))
    schema = {"schema": ["task", "annotator", "item", "rank"], "orient": "row"}
    return cr.judgments(pl.DataFrame(rows, **schema)), cr.gold(
        pl.DataFrame(gold, schema=["task", "item", "grade"], orient="row")
    )


def test_trees_learn_whom_to_believe_where():
    train, test = either_or(60, 0, "q"), either_or(20, 1, "t")
    linear, trees = cr.CRF(max_iter=15), cr.Boosted(rounds=60, models=2)
    worth = {
        method.description.name: cr.evaluate(method.train(*train).fit(test[0]), test[1], ["ndcg@5"]).mean["ndcg@5"]
        for method in (linear, trees)
    }
    assert worth["boosted"] > 0.9
    assert worth["boosted"] > worth["crf"] + 0.1


def test_importance_is_a_share():
    judgments, gold = either_or(40, 0, "q")
    known = cr.Boosted(rounds=20, models=1).train(judgments, gold).fit(judgments).annotators
    assert 0 < known["importance"].sum() <= 1
    assert known["importance"].min() > 0


def test_standardised_within_tasks():
    judgments, _ = either_or(5, 0, "q")
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(3, 2, 60), np.full(60, 7.0)], axis=1)
    found = standardised(values, judgments.vocabulary).reshape(5, 12, 2)
    assert found.mean(axis=1) == pytest.approx(np.zeros((5, 2)), abs=1e-12)
    assert found.std(axis=1) == pytest.approx(np.tile([1.0, 0.0], (5, 1)))


def test_what_nobody_judged_has_no_part_in_standardising():
    judgments, _ = either_or(1, 0, "q")
    values = np.r_[np.nan, 7.0, 1.0, 3.0, np.full(8, np.nan)][:, None]
    found = standardised(values, judgments.vocabulary)[:, 0]
    assert found[1:4] == pytest.approx((np.array([7, 1, 3]) - 11 / 3) / np.std([7, 1, 3]))
    assert np.isnan(found).tolist() == np.isnan(values[:, 0]).tolist()


def test_lists_and_grades_are_learned_in_turn():
    judgments, gold = either_or(10, 0, "q")
    trained = cr.Boosted(rounds=3, models=4).train(judgments, gold)
    objectives = [model.params["objective"] for model in trained.models]
    assert objectives == ["rank_xendcg", "regression"] * 2


def test_any_number_of_threads_gives_the_same(monkeypatch):
    judgments, gold = either_or(30, 0, "q")
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("CROWDRANK_THREADS", threads)
        found.append(cr.Boosted(rounds=20, models=4).train(judgments, gold).fit(judgments).score)
    assert (found[0] == found[1]).all()
