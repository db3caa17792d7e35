import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crowdrank.evaluation.evaluate import evaluate
from crowdrank.evaluation.matching import match
from crowdrank.study import JudgmentError

COLUMNS = {"task": ["q1", "q1", "q2", "q1"], "item": ["a", "b", "a", "c"], "score": [0.5, 2.0, 1.0, None]}
GOLD = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}}


@pytest.mark.parametrize("kind", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, pa.table, dict])
def test_any_data_frame_is_a_ranking(ranking, truth, kind):
    found = evaluate(kind(COLUMNS), truth(GOLD), ["map", "mrr", "acc"])
    same = evaluate(
        ranking({"q1": {"a": 0.5, "b": 2.0, "c": np.nan}, "q2": {"a": 1.0}}), truth(GOLD), ["map", "mrr", "acc"]
    )
    np.testing.assert_array_equal(found.values, same.values)
    # q1: b, a, and c not retrieved: one relevant of two, at the second place.
    assert found.mean["map"] == pytest.approx((0.25 + 1) / 2)
    kinds = {pl.LazyFrame: pl.DataFrame, dict: pl.DataFrame, pa.table: pa.Table}
    assert isinstance(found.per_task, kinds.get(kind, kind))


def test_ranks_do_for_scores_and_scores_come_first(truth):
    gold = truth({"q": {"a": 1, "b": 0, "c": 0}})
    by_rank = evaluate({"item": ["a", "b", "c"], "rank": [3, 1, 2]}, gold, "mrr")
    both = evaluate({"item": ["a", "b", "c"], "rank": [3, 1, 2], "score": [9, 1, 1]}, gold, "mrr")
    assert by_rank.mean["mrr"] == pytest.approx(1 / 3)
    assert both.mean["mrr"] == 1


def test_ids_match_by_their_text(truth):
    gold = truth({"7": {"1": 1, "2": 0}})
    assert evaluate(pl.DataFrame({"task": [7, 7], "item": [2, 1], "rank": [1, 2]}), gold, "mrr").mean["mrr"] == 0.5


def test_a_ranking_without_task_is_of_the_only_one(ranking, truth):
    assert evaluate({"item": ["a", "b"], "rank": [2, 1]}, truth({"q": {"a": 1, "b": 0}}), "mrr").mean["mrr"] == 0.5
    assert evaluate(ranking({"all": {"a": 2, "b": 1}}), truth({"q": {"a": 1, "b": 0}}), "mrr").mean["mrr"] == 1


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"item": ["a"], "rank": [1]}, "the ranking has no column task, but gold has 2 tasks"),
        ({"task": ["q1"], "rank": [1]}, "needs item and one of score, rank"),
        (
            {"task": ["Q1"], "item": ["a"], "rank": [1]},
            "share no task; tasks of the ranking are for example 'Q1', those of gold 'q1', 'q2'",
        ),
        (
            {"task": ["q1"], "item": ["A"], "rank": [1]},
            "no ranked item has gold; items of the ranking are for example 'A', those of gold 'a'",
        ),
        ({"task": [], "item": [], "rank": []}, "share no task; tasks of the ranking are for example (none)"),
    ],
)
def test_rankings_that_cannot_be_used_say_why(truth, columns, says):
    with pytest.raises(JudgmentError) as refused:
        evaluate(columns, truth(GOLD))
    assert says in str(refused.value)


def test_what_is_no_ranking_is_refused(truth):
    with pytest.raises(JudgmentError, match="not int"):
        evaluate(7, truth(GOLD))


def test_ties_are_ordered_by_id_backwards_and_unscored_items_left_out(ranking, truth):
    run = ranking({"q": {"a": 1, "b": 1, "c": 2, "d": np.nan, "e": 1}, "r": {"b": 0, "a": 0}})
    matching = match(run.vocabulary, truth({"q": {"a": 1}, "r": {"a": 1}}))
    items = run.vocabulary.items[run.vocabulary.entry_item[matching.entry[matching.order(run.rank)]]]
    assert items.tolist() == ["c", "e", "b", "a", "b", "a"]
