import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from crowdrank.evaluation.evaluate import evaluate
from crowdrank.evaluation.order import inversions

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(-2, 9)), min_size=1, max_size=25)
NAMES = ["acc", "tau", "spearman"]


def slow_accuracy(score, gold):
    pairs = [(i, j) for i in range(len(gold)) for j in range(len(gold)) if gold[i] > gold[j]]
    return np.mean([score[i] > score[j] for i, j in pairs]) if pairs else np.nan


def by_scipy(function, score, gold):
    if len(set(gold)) < 2:
        return np.nan
    return function(score, gold).statistic if len(set(score)) > 1 else 0.0


@given(st.lists(PAIRS, min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_as_scipy_in_every_task(ranking, truth, tasks):
    run = {f"q{t}": {f"d{i:02}": score for i, (score, _) in enumerate(rows)} for t, rows in enumerate(tasks)}
    gold = {f"q{t}": {f"d{i:02}": value for i, (_, value) in enumerate(rows)} for t, rows in enumerate(tasks)}
    found = evaluate(ranking(run), truth(gold, "score"), NAMES)
    for t, rows in enumerate(tasks):
        score, value = zip(*rows, strict=True)
        expected = [
            slow_accuracy(score, value),
            by_scipy(stats.kendalltau, score, value),
            by_scipy(stats.spearmanr, score, value),
        ]
        np.testing.assert_allclose(found.values[t], expected, atol=1e-12)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), max_size=40))
@settings(max_examples=100, deadline=None)
def test_inversions_are_those_counted_one_by_one(rows):
    rows.sort(key=lambda row: row[0])
    task, level = (np.array([row[at] for row in rows], dtype=np.int64) for at in (0, 1))
    expected = np.zeros(4, dtype=int)
    for i in range(len(rows)):
        for j in range(i):
            expected[task[i]] += task[i] == task[j] and level[j] > level[i]
    assert inversions(level, task, 4).tolist() == expected.tolist()


def test_a_large_task_of_continuous_scores(ranking, truth):
    rng = np.random.default_rng(0)
    score = rng.normal(size=3000)
    gold = score + rng.normal(size=3000)
    names = [f"d{i}" for i in range(3000)]
    found = evaluate(
        ranking({"q": dict(zip(names, score, strict=True))}),
        truth({"q": dict(zip(names, gold, strict=True))}, "score"),
        NAMES,
    )
    tau = stats.kendalltau(score, gold).statistic
    assert list(found.mean.values()) == pytest.approx([(tau + 1) / 2, tau, stats.spearmanr(score, gold).statistic])


def test_floating_noise_does_not_break_ties(ranking, truth):
    gold = truth({"q": {"a": 1, "b": 2, "c": 3}}, "score")
    noisy = evaluate(ranking({"q": {"a": 0.3, "b": 0.1 + 0.2, "c": 0.6}}), gold, NAMES)
    exact = evaluate(ranking({"q": {"a": 1, "b": 1, "c": 2}}), gold, NAMES)
    assert noisy.mean == exact.mean
    assert exact.mean["acc"] == pytest.approx(2 / 3)  # a tie of different gold is wrong


def test_only_items_in_both_count(ranking, truth):
    run = {"q": {"a": 3, "b": 2, "c": 1, "x": 9, "z": np.nan}}
    gold = truth({"q": {"a": 2, "b": 3, "c": 1, "y": 9, "z": 9}}, "score")
    assert evaluate(ranking(run), gold, NAMES).mean == pytest.approx({"acc": 2 / 3, "tau": 1 / 3, "spearman": 0.5})


def test_equal_gold_is_undefined_and_left_out(ranking, truth):
    run = {"q1": {"a": 2, "b": 1}, "q2": {"a": 2, "b": 1}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = evaluate(ranking(run), truth({"q1": {"a": 1, "b": 1}, "q2": {"a": 1, "b": 0}}, "score"), NAMES)
    assert np.isnan(found.values[0]).all()
    assert found.mean == {"acc": 1.0, "tau": 1.0, "spearman": 1.0}
    assert found.notes == (
        "1 of 2 tasks have no two ranked items of different gold: acc, tau, spearman undefined there",
    )
