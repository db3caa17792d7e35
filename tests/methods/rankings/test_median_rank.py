import numpy as np
import pytest

from crowdrank.methods.rankings.median_rank import MedianRank
from crowdrank.study import JudgmentError


def test_full_lists_are_ordered_by_their_median_ranks(build):
    rng = np.random.default_rng(0)
    names = list("abcdefg")
    orders = [rng.permutation(names) for _ in range(9)]
    study = build.judgments(lists=[("t", f"k{n}", [[item] for item in order], False) for n, order in enumerate(orders)])
    median = [np.median([list(order).index(item) for order in orders]) for item in names]
    np.testing.assert_allclose(MedianRank().fit(study).score, 1 - np.array(median) / 6)


def test_of_two_middle_places_the_mean(build):
    lists = [("t", "k", [["a"], ["b"], ["c"]], False), ("t", "l", [["b"], ["a"], ["c"]], False)]
    assert MedianRank().fit(build.judgments(lists=lists)).score.tolist() == [0.75, 0.75, 0.0]


def test_one_list_that_is_far_off_moves_nothing(build):
    agreed = [("t", f"k{n}", [["a"], ["b"], ["c"]], False) for n in range(2)]
    off = ("t", "z", [["c"], ["b"], ["a"]], False)
    assert MedianRank().fit(build.judgments(lists=[*agreed, off])).score.tolist() == [1.0, 0.5, 0.0]


def test_what_top_k_lists_leave_out_shares_the_last_places(build):
    lists = [("t", "k", [["a"]], True), ("t", "l", [["b"], ["a"], ["c"], ["d"]], False)]
    score = MedianRank().fit(build.judgments(lists=lists)).score  # of the first list: 1, and 1/3 for each of the others
    np.testing.assert_allclose(score, [(1 + 2 / 3) / 2, (1 / 3 + 1) / 2, (1 / 3 + 1 / 3) / 2, (1 / 3 + 0) / 2])


def test_a_weight_is_as_many_lists(build):
    lists = [
        ("t", "ann", [["a"], ["b"], ["c"]], False),
        ("t", "bob", [["c"], ["b"], ["a"]], True),
        ("t", "cy", [["b"], ["a"]], True),
    ]
    weighted = MedianRank(weights={"ann": 2, "cy": 3}).fit(build.judgments(lists=lists)).score
    repeated = MedianRank().fit(build.judgments(lists=[lists[0]] * 2 + [lists[1]] + [lists[2]] * 3)).score
    np.testing.assert_allclose(weighted, repeated)


def test_ties_unequal_lengths_and_items_nobody_compared(build):
    lists = [("t", "k", [["a", "b"], ["c"]], False), ("t", "l", [["d"]], False), ("u", "k", [["x"], ["y"]], False)]
    score = MedianRank().fit(build.judgments(lists=lists)).score
    np.testing.assert_array_equal(score, [0.75, 0.75, 0.0, np.nan, 1.0, 0.0])


def test_a_study_of_pairs_is_refused(build):
    with pytest.raises(JudgmentError, match="median-rank needs rankings or grades"):
        MedianRank().fit(build.judgments(pairs=[("t", "k", "a", "b", "a")]))
