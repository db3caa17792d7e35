import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from crowdrank.methods.rankings.borda import Borda
from crowdrank.study import JudgmentError

TASKS, ITEMS = ["t", "u"], list("abcdef")
PLACES = st.dictionaries(st.sampled_from(ITEMS), st.integers(0, 3), min_size=1)
LISTS = st.lists(
    st.tuples(st.sampled_from(TASKS), st.sampled_from(["ann", "bob"]), PLACES, st.booleans()), min_size=1, max_size=6
)

GRADES = st.dictionaries(
    st.sampled_from(["ann", "bob", "cid"]), st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1
)


def in_groups(places):
    return [[item for item in ITEMS if places.get(item) == place] for place in sorted(set(places.values()))]


def share_beaten(places, item, taking_part):
    """Of the others that take part, the share the item beats; a tie is half a win. Items without a place come last."""
    others = [other for other in taking_part if other != item]
    gap = [places.get(other, 99) - places.get(item, 99) for other in others]
    return np.mean([(np.sign(g) + 1) / 2 for g in gap])


@given(lists=LISTS)
def test_agrees_with_the_definition(build, lists):
    rows = [(task, who, in_groups(places), below) for task, who, places, below in lists]
    study = build.judgments(lists=rows, entries=[(task, item) for task in TASKS for item in ITEMS])
    score = Borda().fit(study).score.reshape(len(TASKS), len(ITEMS))
    for t, task in enumerate(TASKS):
        for i, item in enumerate(ITEMS):
            shares = []
            for list_task, _, places, below in lists:
                taking_part = ITEMS if below else list(places)
                if list_task == task and item in taking_part and len(taking_part) > 1:
                    shares.append(share_beaten(places, item, taking_part))
            expected = np.mean(shares) if shares else np.nan
            assert score[t, i] == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(grades=GRADES)
def test_grades_are_ranked_first(build, grades):
    study = build.judgments(
        grades=[("t", who, i, g) for who, given in grades.items() for i, g in zip("abcd", given, strict=True)]
    )
    expected = np.mean([(rankdata(given) - 1) / 3 for given in grades.values()], axis=0)
    assert Borda().fit(study).score == pytest.approx(expected, abs=1e-12)


def test_top_lists_put_the_unlisted_below(build):
    study = build.judgments(lists=[("t", "ann", [["a"], ["b"]], True)], entries=[("t", item) for item in "abcde"])
    # b beats the three unlisted of four others; those share the last three places, beating one other each on average.
    assert Borda().fit(study).score.tolist() == [1.0, 0.75, 0.25, 0.25, 0.25]


def test_a_list_of_one_says_nothing_unless_others_are_below_it(build):
    alone = build.judgments(lists=[("t", "ann", [["a"]], False)], entries=[("t", "b")])
    consensus = Borda().fit(alone)
    assert np.isnan(consensus.score).all()
    assert consensus.rank.tolist() == [0, 0]
    assert consensus.annotators["quality"].to_list() == [None]
    best = build.judgments(lists=[("t", "ann", [["a"]], True)], entries=[("t", "b")])
    assert Borda().fit(best).score.tolist() == [1.0, 0.0]


def test_long_and_short_lists_count_the_same(build):
    lists = [("t", "ann", [["a"], ["b"], ["c"], ["d"], ["e"]], False), ("t", "bob", [["b"], ["a"]], False)]
    score = Borda().fit(build.judgments(lists=lists)).score
    assert score.tolist() == [0.5, 0.875, 0.5, 0.25, 0.0]


def test_a_study_of_pairs_is_refused(build):
    with pytest.raises(JudgmentError, match="borda needs rankings or grades"):
        Borda().fit(build.judgments(pairs=[("t", "k", "a", "b", "a")]))


def test_a_weight_is_as_many_lists(build):
    lists = [("t", "ann", [["a"], ["b"], ["c"]], False), ("t", "bob", [["c"], ["b"]], True)]
    weighted = Borda(weights={"bob": 3}).fit(build.judgments(lists=lists, entries=[("t", "d")])).score
    repeated = Borda().fit(build.judgments(lists=[lists[0], *[lists[1]] * 3], entries=[("t", "d")])).score
    assert weighted.tolist() == pytest.approx(repeated.tolist())
