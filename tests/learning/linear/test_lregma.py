"""Regression from crowds, against least squares and known noise."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr


def lists(noise, tasks=60, size=15, seed=0):
    """Features in the plane, and lists of annotators who see y = x1 + 10 x2 with noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(tasks, size, 2))
    truth, rows = x @ np.array([1.0, 10.0]), []
    for task in range(tasks):
        for who, spread in enumerate(noise):
            order = np.argsort(-(truth[task] + spread * rng.normal(size=size)))
            rows += [(task, f"a{who}", int(item), place) for place, item in enumerate(order, 1)]
    names = pl.DataFrame({"task": np.repeat(np.arange(tasks), size), "item": np.tile(np.arange(size), tasks)})
    features = names.with_columns(one=x.reshape(-1, 2)[:, 0], two=x.reshape(-1, 2)[:, 1])
    ranked = pl.DataFrame(rows, schema=["task", "annotator", "item", "rank"], orient="row")
    return cr.features(features), cr.judgments(ranked)


def test_with_one_annotator_it_is_least_squares():
    features, judgments = lists([3.0])
    ranker = cr.LRegMA(prior=0.0, penalty=0.0).learn(features, judgments)
    given = judgments.rankings
    y = np.zeros(len(features))
    y[given.entry] = 0.5 - (given.position - 1) / 14
    x = features.value - features.value.mean(axis=0)
    slope = np.linalg.lstsq(x, y, rcond=None)[0]
    assert ranker.model.weight / ranker.model.spread == pytest.approx(slope, rel=1e-9)
    left = y - ranker.model.score(features.value)
    assert ranker.annotators["noise"].to_list() == pytest.approx([np.sqrt(np.mean(left**2))])


def test_who_is_noisy_counts_less():
    features, judgments = lists([2.0, 5.0, 10.0, 30.0, 30.0, 30.0, 30.0], tasks=30)
    ranker = cr.LRegMA().learn(features, judgments)
    noise = ranker.annotators["noise"].to_list()
    assert noise[:4] == sorted(noise[:4])
    assert ranker.fit.converged
    ratio = ranker.model.weight[1] / ranker.model.spread[1] / (ranker.model.weight[0] / ranker.model.spread[0])
    alone = lists([2.0], tasks=30)
    best = cr.LRegMA().learn(alone[0], alone[1]).model
    assert ratio == pytest.approx(best.weight[1] / best.spread[1] / (best.weight[0] / best.spread[0]), rel=0.25)


def test_grades_are_lists_with_ties():
    frame = pl.DataFrame({"item": list("wxyz"), "age": [1.0, 2.0, 3.0, 4.0], "same": 7.0})
    grades = cr.judgments({"annotator": ["ann"] * 4, "item": list("wxyz"), "grade": [3, 3, 1, 0]})
    ranks = cr.judgments({"annotator": ["ann"] * 4, "item": list("wxyz"), "rank": [1, 1, 3, 4]})
    features = cr.features(frame)
    first, second = (cr.LRegMA().learn(features, ranked) for ranked in (grades, ranks))
    assert first.model.weight == pytest.approx(second.model.weight)
    assert first.model.weight[1] == 0
    assert any("1 columns not used" in note for note in first.notes)


def test_what_cannot_be_learned_is_refused():
    features = cr.features({"item": ["x", "y"], "age": [1, 2]})
    with pytest.raises(cr.JudgmentError, match="nobody ranked or graded two items of a task"):
        cr.LRegMA().learn(features, cr.judgments({"annotator": ["a", "b"], "item": ["x", "y"], "grade": [1, 2]}))
    with pytest.raises(cr.JudgmentError, match="lregma needs grades or rankings"):
        cr.LRegMA().learn(features, cr.judgments({"annotator": ["a"], "left": ["x"], "right": ["y"], "winner": ["x"]}))


def test_saved_and_loaded(tmp_path):
    features, judgments = lists([3.0, 5.0], tasks=5)
    ranker = cr.LRegMA().learn(features, judgments)
    cr.save(ranker, tmp_path / "r.json")
    assert np.array_equal(cr.load_ranker(tmp_path / "r.json").rank(features).score, ranker.rank(features).score)
