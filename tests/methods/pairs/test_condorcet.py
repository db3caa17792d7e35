from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdrank import simulate
from crowdrank.methods.pairs.condorcet import Condorcet
from crowdrank.methods.pairs.votes import contests as contests_module
from crowdrank.methods.pairs.votes.contests import contests

ITEMS = "abcdef"


def random_study(build, seed, items=5, votes=30, ties=0.2):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(votes):
        left, right = rng.choice(list(ITEMS[:items]), 2, replace=False)
        winner = "tie" if rng.random() < ties else min(left, right) if rng.random() < 0.65 else max(left, right)
        rows.append(("t", "k", str(left), str(right), str(winner)))
    return build.judgments(pairs=rows, entries=[("t", item) for item in ITEMS[:items]])


def margins(study):
    """Wins less losses of each entry against each other, counted one by one."""
    n, pairs = study.vocabulary.n_entries, study.pairs
    margin = np.zeros((n, n))
    for i, j, outcome in zip(pairs.left, pairs.right, pairs.outcome, strict=True):
        margin[i, j] += outcome
        margin[j, i] -= outcome
    return margin


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_an_order_that_all_contests_agree_on_is_found(build, seed):
    study = random_study(build, seed, items=4, votes=60, ties=0.1)
    margin = margins(study)
    agreed = [order for order in permutations(range(4)) if all(margin[i, j] > 0 for i, j in combinations(order, 2))]
    if agreed:
        assert np.argsort(Condorcet().fit(study).rank).tolist() == list(agreed[0])


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_nobody_stands_right_behind_an_item_it_beats(build, seed):
    study = random_study(build, seed)
    margin, rank = margins(study), Condorcet().fit(study).rank
    order = np.argsort(rank, kind="stable")
    for above, below in pairwise(order):
        alone = (rank == rank[above]).sum() == (rank == rank[below]).sum() == 1
        assert margin[below, above] <= 0 or not alone


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_items_that_beat_all_others_come_first(build, seed):
    study = random_study(build, seed, votes=60)
    margin, rank = margins(study), Condorcet().fit(study).rank
    for size in range(1, 5):
        for top in combinations(range(5), size):
            rest = [item for item in range(5) if item not in top]
            if all(margin[i, j] > 0 for i in top for j in rest):
                assert max(rank[list(top)]) < min(rank[rest])


def test_a_circle_is_a_tie_and_more_votes_open_it(build):
    circle = [("t", "k", "a", "b", "a"), ("t", "k", "b", "c", "b"), ("t", "k", "c", "a", "c")]
    assert Condorcet().fit(build.judgments(pairs=circle)).rank.tolist() == [1, 1, 1]
    # By votes a (+1) is before c (0) and b (-1); c moves up past a, which it beats; b stays behind a, which beat it.
    more = Condorcet().fit(build.judgments(pairs=[*circle, ("t", "l", "a", "b", "a")]))
    assert more.score.tolist() == [1, 0, 2]


def test_condorcet_winner_is_not_the_borda_winner(build):
    # Of five lists, three put a first; b is second or first in all and has the higher mean place.
    lists = [("t", f"k{k}", [["a"], ["b"], ["c"], ["d"]], False) for k in range(3)]
    lists += [("t", f"l{k}", [["b"], ["c"], ["d"], ["a"]], False) for k in range(2)]
    assert Condorcet().fit(build.judgments(lists=lists)).score.tolist() == [3, 2, 1, 0]


def test_all_kinds_are_counted_as_their_pairs(build):
    rows = [("t", "ann", "a", "b", "a"), ("t", "ann", "a", "c", "a"), ("t", "ann", "b", "c", "tie")]
    unlisted = [("t", "ann", "a", "d", "a"), ("t", "ann", "b", "d", "b"), ("t", "ann", "c", "d", "c")]
    grades = build.judgments(grades=[("t", "ann", "a", 3), ("t", "ann", "b", 2), ("t", "ann", "c", 2)])
    lists = build.judgments(lists=[("t", "ann", [["a"], ["b", "c"]], True)], entries=[("t", "d")])
    for study, votes in ((grades, rows), (lists, rows + unlisted)):
        one, other = contests(study), contests(build.judgments(pairs=votes))
        for name in ("starts", "other", "won", "lost"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist()


@pytest.mark.parametrize("tasks", [1, 3])
def test_contests_by_sorting_are_the_same_and_are_right(build, monkeypatch, tasks):
    study = simulate.pairs(items=12, votes=300, tasks=tasks, ties=0.3, seed=1).judgments
    tables = contests(study)
    monkeypatch.setattr(contests_module, "MOST_CELLS", 0)
    for name in ("starts", "other", "won", "lost"):
        assert getattr(contests(study), name).tolist() == getattr(tables, name).tolist()
    margin = margins(study)
    entry = np.repeat(np.arange(12 * tasks), np.diff(tables.starts))
    assert ((tables.won - tables.lost) / 2).tolist() == margin[entry, tables.other].tolist()
    assert (tables.won + tables.lost).sum() == 4 * len(study.pairs)
    empty = contests(build.judgments(entries=[("t", "a")]))
    assert empty.starts.tolist() == [0, 0]


def test_nothing_compared(build):
    consensus = Condorcet().fit(build.judgments(entries=[("t", "a"), ("t", "b"), ("u", "a")]))
    assert consensus.rank.tolist() == [1, 1, 1]
    assert consensus.disconnected == {"t": 2}
