import pickle

import numpy as np
import pytest
from scipy.stats import entropy

from crowdrank.evaluation.measures import FAMILIES, choose, known_names, measure, quality_divergence
from crowdrank.settings import SettingError
from crowdrank.study import JudgmentError


@pytest.mark.parametrize(
    ("name", "depth", "persistence"),
    [
        ("ndcg", None, None),
        ("NDCG@10", 10, None),
        (" letor-ndcg@5 ", 5, None),
        ("p@1", 1, None),
        ("rbp", None, 0.8),
        ("rbp.95", None, 0.95),
        ("rbp.5@20", 20, 0.5),
        ("tau", None, None),
    ],
)
def test_names_say_depth_and_persistence(name, depth, persistence):
    found = measure(name)
    assert (found.depth, found.persistence) == (depth, persistence)
    assert found.name == name.strip().lower()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ndgc@10", "'ndcg@10'"),
        ("kendal-tau", "tau"),
        ("map.5", "'map'"),
        ("qwxz", "no measure 'qwxz'; the measures are ndcg"),
        ("", "no measure ''"),
        ("p", "'p' needs a depth; write for example p@10"),
        ("ndcg@0", "the depth of 'ndcg@0' is 0; the smallest is 1, as in ndcg@1"),
        ("recall", "'recall' needs a depth; write for example recall@10"),
        ("tau@5", "tau has no depth"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest_known(name, says):
    with pytest.raises(SettingError) as refused:
        measure(name)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("ndcg_cut_10", "trec-ndcg@10"),
        ("ndcg_cut.10", "trec-ndcg@10"),
        ("P_10", "p@10"),
        ("P.5", "p@5"),
        ("recall_100", "recall@100"),
        ("recall.1000", "recall@1000"),
        ("map_cut_5", "map@5"),
        ("recip_rank", "mrr"),
        ("AP@10", "map@10"),
        ("RR", "mrr"),
        ("R@10", "recall@10"),
    ],
)
def test_names_of_trec_eval_and_ir_measures(theirs, ours):
    assert measure(theirs) == measure(ours)
    assert measure(theirs).name == ours


def test_every_family_is_listed_and_parses_and_pickles():
    assert len(known_names()) == len(FAMILIES)
    for name in known_names():
        parsed = measure(name.replace("[", "").replace("]", "").replace("@k", "@3"))
        assert repr(pickle.loads(pickle.dumps(parsed))) == repr(parsed)


@pytest.mark.parametrize("kind", ["score", "rank"])
def test_gain_needs_grades(truth, kind):
    gold = truth({"q": {"a": 1, "b": 2}}, kind)
    assert [each.name for each in choose(None, gold)] == ["acc", "tau", "spearman"]
    with pytest.raises(JudgmentError, match=f"map needs gold grades; this gold has {kind}s: use acc, tau, spearman"):
        choose(["acc", "map"], gold)


def test_usual_measures_one_name_and_names_named_twice(truth):
    gold = truth({"q": {"a": 1}})
    assert [each.name for each in choose(None, gold)] == ["ndcg@10", "map", "acc", "tau"]
    assert [each.name for each in choose("map", gold)] == ["map"]
    assert [each.name for each in choose(["map", "tau", "map"], gold)] == ["map", "tau"]
    assert [each.name for each in choose(["p@5", "P_5"], gold)] == ["p@5"]
    with pytest.raises(SettingError, match="no measure is named"):
        choose([], gold)


def test_quality_divergence_is_the_relative_entropy_of_the_histograms():
    truth, estimated = np.array([0.95, 0.9, 0.55, 1.0, np.nan]), np.array([0.1, 0.97, 0.5])
    # Half an annotator in every one of four bins: [0, ¼), [¼, ½), [½, ¾), [¾, 1].
    expected = entropy([0.5, 0.5, 1.5, 3.5], [1.5, 0.5, 1.5, 1.5])
    assert quality_divergence(estimated, truth, bins=4) == pytest.approx(expected)
    assert quality_divergence(truth, truth) == 0


def test_quality_divergence_refuses_what_is_no_quality():
    with pytest.raises(SettingError, match="between 0 and 1"):
        quality_divergence(np.array([1.5]), np.array([0.5]))
    with pytest.raises(SettingError, match="bins is 0"):
        quality_divergence(np.array([0.5]), np.array([0.5]), bins=0)
