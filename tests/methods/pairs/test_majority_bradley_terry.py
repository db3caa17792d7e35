from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdrank import simulate
from crowdrank.methods.pairs.bradley_terry import BradleyTerry
from crowdrank.methods.pairs.majority_bradley_terry import MajorityBradleyTerry
from crowdrank.settings import SettingError

ITEMS = "abcd"
VOTES = st.lists(
    st.tuples(st.sampled_from("tu"), st.sampled_from(["ann", "bob"]), st.permutations(ITEMS), st.integers(0, 2)).map(
        lambda row: (row[0], row[1], row[2][0], row[2][1], [row[2][0], row[2][1], "tie"][row[3]])
    ),
    min_size=1,
    max_size=30,
)


def majorities(rows, weights=None):
    """One vote for each two items that met, by counting: whoever has more, or a tie."""
    lead = Counter()
    for (task, _, left, right, winner), weight in zip(rows, weights or [1] * len(rows), strict=True):
        first, second = sorted((left, right))
        lead[task, first, second] += weight * {first: 1, second: -1, "tie": 0}[winner]
    return [(t, "all", x, y, "tie" if d == 0 else x if d > 0 else y) for (t, x, y), d in lead.items()]


@settings(max_examples=40)
@given(rows=VOTES)
def test_every_two_items_vote_once_as_most_votes_did(build, rows):
    entries = [(task, item) for task in "tu" for item in ITEMS]
    found = MajorityBradleyTerry(prior=0.5).fit(build.judgments(pairs=rows, entries=entries))
    expected = BradleyTerry(prior=0.5).fit(build.judgments(pairs=majorities(rows), entries=entries))
    for column in ("score", "low", "high"):
        assert getattr(found, column) == pytest.approx(getattr(expected, column), abs=1e-6)
    assert found.disconnected == expected.disconnected


def test_weights_count(build):
    rows = [("t", "k", "a", "b", "a"), ("t", "k", "a", "b", "a"), ("t", "k", "b", "a", "b"), ("t", "k", "b", "c", "b")]
    study = build.with_pairs(build.judgments(pairs=rows), weight=np.array([1.0, 1.0, 2.5, 1.0]))
    expected = build.judgments(pairs=majorities(rows, [1.0, 1.0, 2.5, 1.0]))
    assert MajorityBradleyTerry(prior=1.0).fit(study).score == pytest.approx(
        BradleyTerry(prior=1.0).fit(expected).score
    )
    assert MajorityBradleyTerry(prior=1.0).fit(study).rank.tolist() == [2, 1, 2]


def test_annotators_are_judged_by_all_their_votes(build):
    rows = [("t", "p", "a", "b", "a")] * 3 + [("t", "q", "a", "b", "b")] * 2
    annotators = MajorityBradleyTerry().fit(build.judgments(pairs=rows)).annotators
    assert annotators["quality"].to_list() == [1.0, 0.0]
    assert annotators["judgments"].to_list() == [3, 2]


def test_a_clear_majority_is_no_more_than_a_bare_one(build):
    study = simulate.pairs(items=20, annotators=30, votes=6000, votes_per_pair=15, spread=1.0, seed=1)
    found, plain = (method().fit(study.judgments) for method in (MajorityBradleyTerry, BradleyTerry))
    truth = study.gold.value
    assert 0.8 < build.pair_accuracy(found.score, truth) <= build.pair_accuracy(plain.score, truth)


def test_bad_settings():
    with pytest.raises(SettingError, match="prior is -1"):
        MajorityBradleyTerry(prior=-1)
