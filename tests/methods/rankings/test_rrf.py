import numpy as np
import pytest

import crowdrank as cr
from crowdrank.methods.rankings.rrf import RRF


def study(*lists):
    """Lists of items from the first to the last, by annotators ann, bob, …"""
    rows = [
        (who, item, rank)
        for who, items in zip(("ann", "bob", "cy"), lists, strict=False)
        for rank, item in enumerate(items, 1)
    ]
    return cr.judgments(dict(zip(("annotator", "item", "rank"), map(list, zip(*rows, strict=True)), strict=True)))


def test_by_hand():
    found = RRF().fit(study("abc", "ca", "d"))
    assert found.score == pytest.approx([1 / 61 + 1 / 62, 1 / 62, 1 / 61 + 1 / 63, 1 / 61])
    assert found.ranking["item"].to_list() == ["a", "c", "d", "b"]


def test_k_decides_how_much_the_first_place_counts():
    lists = study("xab", "yab", "bay")
    assert RRF(k=0.01).fit(lists).ranking["item"][0] in "bxy"
    assert RRF(k=1000).fit(lists).ranking["item"][0] in "ab"


def test_weights():
    lists = study("ab", "ba", "ba")
    assert RRF().fit(lists).ranking["item"][0] == "b"
    assert RRF(weights={"ann": 3}).fit(lists).ranking["item"][0] == "a"
    assert RRF(weights={"ann": 3}) == RRF(weights=(("ann", 3),))
    assert RRF(weights={"ann": 2}).fit(lists).score == pytest.approx([2 / 61 + 2 / 62] * 2)


@pytest.mark.parametrize(
    ("weights", "message"), [({"ann": 0}, "above 0"), ({"ann": float("nan")}, "above 0"), (3, "for each name")]
)
def test_bad_weights(weights, message):
    with pytest.raises(cr.SettingError, match=message):
        RRF(weights=weights)


def test_a_weight_for_nobody():
    with pytest.raises(cr.SettingError, match="no annotator 'bib' \\(did you mean 'bob'"):
        RRF(weights={"bib": 2}).fit(study("ab", "ba"))


def test_gaps_in_the_ranks_stay():
    gaps = cr.judgments({"annotator": ["k"] * 2, "item": ["a", "b"], "rank": [3, 40]})
    assert RRF().fit(gaps).score == pytest.approx([1 / 63, 1 / 100])


def test_grades_are_lists_without_ranks_of_their_own(build):
    graded = build.judgments(grades=[("t", "k", "a", 9), ("t", "k", "b", 0), ("t", "k", "c", 0)])
    assert RRF().fit(graded).score == pytest.approx([1 / 61, 1 / 62.5, 1 / 62.5])


def test_an_item_on_no_list_has_no_score(build):
    found = RRF().fit(build.judgments(lists=[("t", "k", [["a"]], True)], entries=[("t", "b")]))
    assert found.score[0] == pytest.approx(1 / 60)  # build.py counts places from 0
    assert np.isnan(found.score[1])
