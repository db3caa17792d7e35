from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdrank.numerics.agreement import (
    concordance,
    concordance_of_ranks,
    count_answers,
    pair_agreement,
    preference_variance,
)
from crowdrank.study import Pairs

# Few values, so that positions and scores are often equal.
LISTS = st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), max_size=12), min_size=1, max_size=5)


def slowly(rows):
    pairs = agree = 0.0
    for (place, score), (other_place, other_score) in combinations(rows, 2):
        if place != other_place:
            pairs += 1
            agree += 0.5 if score == other_score else float((place < other_place) == (score > other_score))
    return pairs, agree


@given(LISTS)
def test_agrees_with_looking_at_every_pair(lists):
    lists = [sorted(rows, key=lambda row: row[0]) for rows in lists]
    starts = np.cumsum([0, *map(len, lists)])
    flat = np.array([row for rows in lists for row in rows], dtype=float).reshape(-1, 2)
    pairs, agree = concordance(starts, flat[:, 0], 4 - flat[:, 1].astype(int))  # the best score, 3, has rank 1
    assert list(zip(pairs, agree, strict=True)) == [slowly(rows) for rows in lists]


@pytest.mark.parametrize(("step", "share"), [(1, 1.0), (-1, 0.0), (0, 0.5)])
def test_a_long_list_forwards_backwards_and_all_tied(step, share):
    n = 20_000
    pairs, agree = concordance(np.array([0, n]), np.arange(n, dtype=float), n + step * np.arange(n))
    assert pairs[0] == n * (n - 1) / 2
    assert agree[0] == share * pairs[0]


@given(LISTS)
def test_ranks_agree_with_looking_at_every_pair(lists):
    lists = [sorted(rows, key=lambda row: row[0]) for rows in lists]
    ranked = [[(place, 1 + sum(other > score for _, other in rows)) for place, score in rows] for rows in lists]
    starts = np.cumsum([0, *map(len, lists)])
    flat = np.array([row for rows in ranked for row in rows], dtype=np.int64).reshape(-1, 2)
    pairs, agree = concordance_of_ranks(starts, flat[:, 0].copy(), flat[:, 1].copy())
    clear = [[(a, b) for a, b in combinations(rows, 2) if a[0] != b[0] and a[1] != b[1]] for rows in ranked]
    assert pairs.tolist() == [len(each) for each in clear]
    assert agree.tolist() == [sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in each) for each in clear]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4), st.integers(-1, 1), st.integers(1, 3)),
        max_size=20,
    ),
    st.booleans(),
)
def test_votes_agree_with_looking_at_each(rows, weighted):
    score = np.array([0.5, 2.0, 0.5, np.nan, -1.0])
    annotator, left, right, outcome, weight = np.array(rows, dtype=np.int32).reshape(-1, 5).T.copy()
    pairs = Pairs(annotator, left, right, outcome.astype(np.int8), weight=weight.astype(float) if weighted else None)
    total, agree = pair_agreement(pairs, score, 3)
    decided = [row for row in rows if row[3] and 3 not in row[1:3]]
    for who in range(3):
        own = [
            (np.sign(score[a] - score[b]) * outcome, w if weighted else 1)
            for k, a, b, outcome, w in decided
            if k == who
        ]
        assert total[who] == sum(w for _, w in own)
        assert agree[who] == sum(w * (same + 1) / 2 for same, w in own)
        assert count_answers(pairs, 3)[who].tolist() == [
            sum(k == who and o == said for k, _, _, o, _ in rows) for said in (-1, 0, 1)
        ]


@pytest.mark.parametrize("position", [[1, 2], [1, 2, 3, 4, 5], [1, 1, 2, 3, 3], [1, 1, 1], [4, 5, 5, 5, 6], [7]])
def test_how_far_agreement_with_orders_at_random_spreads(position):
    """All orders written out; a single vote is right or wrong, which has a variance of a quarter."""
    pairs = [(a, b) for a in range(len(position)) for b in range(a) if position[a] != position[b]]
    orders = list(permutations(range(len(position))))
    shared = [sum((position[a] - position[b]) * (order[a] - order[b]) > 0 for a, b in pairs) for order in orders]
    preferences, variance = preference_variance(
        np.array([0, len(position), len(position)]), np.array(position, dtype=float)
    )
    assert preferences.tolist() == [len(pairs), 0]
    assert variance == pytest.approx([4 * np.var(shared), 0])
