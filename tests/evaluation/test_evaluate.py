import pickle

import numpy as np
import pytest

from crowdrank.evaluation.evaluate import evaluate
from crowdrank.settings import SettingError

RUN = {"q1": {"a": 3, "x": 4, "b": 2}, "q2": {"a": 1, "b": 2}, "q3": {"a": 1}}
GOLD = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 0, "b": 0}, "q4": {"a": 1}}


def test_means_are_over_the_tasks_in_both_and_the_rest_is_said(ranking, truth):
    found = evaluate(ranking(RUN), truth(GOLD), ["p@2", "map", "mrr"])
    assert found.tasks.tolist() == ["q1", "q2"]
    # q1: x (no gold), a (relevant), b; c is missed. q2 has nothing to find.
    np.testing.assert_allclose(found.values, [[0.5, 0.25, 0.5], [0, 0, 0]])
    assert found.mean == pytest.approx({"p@2": 0.25, "map": 0.125, "mrr": 0.25})
    assert found.notes == (
        "1 ranked task without gold: not evaluated",
        "1 task of the gold not ranked: not evaluated",
        "1 of 5 ranked items have no gold: treated as not relevant",
        "1 of 5 items with gold are not ranked: they count as not retrieved",
        "1 of 2 tasks have no relevant item: they count 0",
    )


def test_unjudged_items_may_be_left_out_of_the_lists(ranking, truth):
    found = evaluate(ranking(RUN), truth(GOLD), ["p@2", "map", "mrr"], unjudged="ignore")
    np.testing.assert_allclose(found.values[0], [0.5, 0.5, 1])
    assert "1 of 5 ranked items have no gold: removed from the lists" in found.notes
    with pytest.raises(SettingError, match="unjudged is 'drop'; it must be one of nonrelevant, ignore"):
        evaluate(ranking(RUN), truth(GOLD), unjudged="drop")


def test_tasks_without_relevant_item_may_be_left_out_of_the_mean(ranking, truth):
    run = {**RUN, "q2": {"a": 1, "b": 2}}
    gold = {**GOLD, "q2": {"a": 0, "b": -1}}
    found = evaluate(ranking(run), truth(gold), ["map", "acc"], skip_empty=True)
    assert np.isnan(found.values[1, 0])
    assert found.mean["map"] == 0.25
    assert found.values[1, 1] == 0  # the order of a and b is still known, and wrong
    assert "1 of 2 tasks have no relevant item: excluded from the mean" in found.notes


def test_a_measure_defined_nowhere_is_nan_without_a_warning(ranking, truth):
    found = evaluate(ranking({"q": {"a": 1}}), truth({"q": {"a": 0}}), ["map", "tau"], skip_empty=True)
    assert np.isnan(list(found.mean.values())).all()


def test_unscored_items_are_not_retrieved(ranking, truth):
    gold = truth({"q": {"a": 1, "b": 1}})
    found = evaluate(ranking({"q": {"a": np.nan, "b": 1}}), gold, ["map", "p@2"])
    assert found.mean == {"map": 0.5, "p@2": 0.5}
    nothing = evaluate(ranking({"q": {"a": np.nan, "b": np.nan}}), gold)
    assert [nothing.mean[name] for name in ("ndcg@10", "map")] == [0, 0]
    assert np.isnan(nothing.mean["acc"])


def test_one_study_after_another(ranking, truth):
    # What a vocabulary and gold share is remembered for the last of them, and must never be mixed up.
    first, second = ranking({"q": {"a": 2, "b": 1}}), ranking({"q": {"a": 1, "b": 2}})
    one, other = truth({"q": {"a": 1, "b": 0}}), truth({"q": {"a": 0, "b": 1}})
    got = [evaluate(run, gold, "mrr").mean["mrr"] for run in (first, second) for gold in (one, other)]
    assert got == [1, 0.5, 0.5, 1]


@pytest.mark.parametrize("frame", ["polars", "pandas", "pyarrow"])
def test_per_task_is_a_frame_of_the_rankings_kind(ranking, truth, frame):
    found = evaluate(ranking(RUN, frame), truth(GOLD), ["map", "tau"])
    assert type(found.per_task).__module__.startswith(frame)
    columns = list(found.per_task.column_names if frame == "pyarrow" else found.per_task.columns)
    assert columns == ["task", "map", "tau"]


def test_it_prints_and_pickles(ranking, truth):
    found = evaluate(ranking(RUN), truth(GOLD), ["map", "p@2"])
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)
    assert str(found).splitlines()[:3] == ["Evaluation: mean of 2 tasks", "  map  0.1250", "  p@2  0.2500"]
    assert "note: 1 ranked task without gold: not evaluated" in str(found)


def test_the_usual_measures_follow_the_gold(ranking, truth):
    assert list(evaluate(ranking(RUN), truth(GOLD)).mean) == ["ndcg@10", "map", "acc", "tau"]
    assert list(evaluate(ranking(RUN), truth(GOLD, "score")).mean) == ["acc", "tau", "spearman"]
