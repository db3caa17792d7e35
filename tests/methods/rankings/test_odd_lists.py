"""Lists as they come: each method of fusion works on them, or says what is wrong."""

import numpy as np
import pytest

import crowdrank as cr

METHODS = ["borda", "median-rank", "rrf", "condorcet", "plackett-luce", "mallows", "cps"]


def study(text: str, **options) -> cr.Judgments:
    """Rows like 'ann x 1', separated by commas."""
    who, item, rank = zip(*(row.split() for row in text.split(",")), strict=True)
    return cr.judgments({"annotator": list(who), "item": list(item), "rank": [float(each) for each in rank]}, **options)


def order(method, judgments):
    return cr.fit(method, judgments).ranking.drop_nulls("rank")["item"].to_list()


@pytest.mark.parametrize("method", METHODS)
def test_ranks_with_gaps(method):
    assert order(method, study("ann x 3, ann y 17, ann z 200, bob x 1, bob y 4, bob z 9")) == ["x", "y", "z"]


@pytest.mark.parametrize("method", METHODS)
def test_unequal_lengths(method):
    lists = "ann a 1, ann b 2, ann c 3, ann d 4, bob a 1, bob b 2, cy b 1, cy c 2, cy d 3"
    assert order(method, study(lists, top_k=True))[-2:] == ["c", "d"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("top_k", [False, True])
def test_one_item_lists_change_nothing_but_top_k(method, top_k):
    """But with rrf, by which an item gains from every list that has it."""
    consensus = cr.fit(method, study("ann a 1, ann b 2, bob a 1, bob b 2, cy b 1", top_k=top_k))
    assert consensus.ranking["item"][0] == "a" or top_k or method == "rrf"
    assert np.isfinite(consensus.score[:2]).all()


@pytest.mark.parametrize("method", METHODS)
def test_only_one_item_lists(method):
    consensus = cr.fit(method, study("ann a 1, bob b 1"))
    assert len(consensus.ranking) == 2
    assert set(consensus.ranking["rank"]) <= {1, None}


@pytest.mark.parametrize("method", METHODS)
def test_an_item_that_only_one_annotator_ranked(method):
    found = order(method, study("ann a 1, ann b 2, ann c 3, bob a 1, bob b 2, cy a 1, cy b 2", top_k=True))
    assert found == ["a", "b", "c"]


@pytest.mark.parametrize("method", METHODS)
def test_an_item_repeated_at_the_same_rank_is_dropped_with_a_note(method):
    judgments = study("ann a 1, ann b 2, ann a 1")
    assert order(method, judgments) == ["a", "b"]
    assert any("repeat an item" in note for note in cr.fit(method, judgments).notes)


def test_an_item_repeated_at_another_rank_is_refused():
    with pytest.raises(cr.JudgmentError, match="row 2: 'a' has another rank in the same list"):
        study("ann a 1, ann b 2, ann a 3")


@pytest.mark.parametrize("method", METHODS)
def test_an_item_graded_twice(method, build):
    grades = [("t", "k", "a", 2), ("t", "k", "a", 3), ("t", "k", "b", 1), ("t", "l", "a", 1), ("t", "l", "b", 0)]
    assert order(method, build.judgments(grades=grades)) == ["a", "b"]


@pytest.mark.parametrize("method", METHODS)
def test_all_tied_and_long(method):
    rows = ", ".join(f"k{k} i{n:03} 1" for k in range(3) for n in range(50))
    assert set(cr.fit(method, study(rows)).ranking["rank"]) == {1}


@pytest.mark.parametrize("method", METHODS)
def test_lists_that_never_connect_get_a_note(method):
    apart = cr.fit(method, study("ann a 1, ann b 2, bob c 1, bob d 2"))
    assert apart.disconnected == {"all": 2}
    assert any("comparisons do not connect all items: they fall into 2 parts" in note for note in apart.notes)
    together = study("ann a 1, ann b 2, bob c 1, bob d 2, cy b 1, cy c 2")
    assert cr.fit(method, together).disconnected == {}
    assert cr.fit(method, study("ann a 1, ann b 2, bob c 1, bob d 2", top_k=True)).disconnected == {}


@pytest.mark.parametrize("method", ["borda", "rrf"])
def test_pairs_that_a_method_leaves_aside_connect_nothing(method, build):
    lists = [("t", "k", [["a"], ["b"]], False), ("t", "l", [["c"], ["d"]], False)]
    assert cr.fit(method, build.judgments(lists=lists, pairs=[("t", "k", "b", "c", "b")])).disconnected == {"t": 2}
