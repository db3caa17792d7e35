from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdrank import simulate
from crowdrank.methods.pairs.greedy_order import GreedyOrder


def preferences(study):
    """Share of wins less share of losses of each entry against each other."""
    n, pairs = study.vocabulary.n_entries, study.pairs
    lead, count = np.zeros((n, n)), np.zeros((n, n))
    for i, j, outcome in zip(pairs.left, pairs.right, pairs.outcome, strict=True):
        lead[i, j] += outcome
        lead[j, i] -= outcome
        count[i, j] += 1
        count[j, i] += 1
    return lead / np.maximum(count, 1)


def greedy(net):
    """The paper's algorithm, written out; None where a choice is not unique."""
    left, order = list(range(len(net))), []
    while left:
        potential = {v: sum(net[v, u] for u in left) for v in left}
        best = [v for v in left if potential[v] > max(potential.values()) - 1e-9]
        if len(best) > 1:
            return None
        order += best
        left.remove(best[0])
    return order


def agreement(net, rank):
    """Preferences that the order shares, the preference for i over j being (1 + net) / 2; ties share half of both."""
    better, same = np.less.outer(rank, rank), np.equal.outer(rank, rank)
    return ((1 + net) / 2 * (better + same / 2))[~np.eye(len(rank), dtype=bool)].sum()


@settings(max_examples=60)
@given(st.integers(0, 2**31), st.integers(10, 300))
def test_equals_the_algorithm_written_out(seed, votes):
    study = simulate.pairs(items=8, votes=votes, ties=0.1, seed=seed).judgments
    order = greedy(preferences(study))
    if order is not None:
        assert np.argsort(GreedyOrder().fit(study).rank).tolist() == order


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.integers(1, 40))
def test_agrees_with_half_of_what_the_best_order_agrees_with(seed, votes):
    study = simulate.pairs(items=5, votes=votes, ties=0.2, spread=0.5, seed=seed).judgments
    net = preferences(study)
    best = max(agreement(net, np.array(order)) for order in permutations(range(5)))
    assert agreement(net, GreedyOrder().fit(study).rank) >= best / 2 - 1e-9


def test_what_beats_the_rest_is_taken_even_if_it_lost_to_what_is_gone(build):
    # c loses to a, b to nobody but a as well; once a is taken, b and c are equal but for their own contest.
    rows = [("t", "k", "a", "b", "a"), ("t", "k", "a", "c", "a"), ("t", "k", "b", "c", "c")]
    assert GreedyOrder().fit(build.judgments(pairs=rows)).score.tolist() == [2, 0, 1]


def test_equal_potentials_are_ordered_by_their_own_contest(build):
    # a and b both have potential 1: b beat a, but lost to c, whom a beat twice over d.
    rows = [
        ("t", "k", "b", "a", "b"),
        ("t", "k", "a", "c", "a"),
        ("t", "k", "a", "d", "a"),
        ("t", "k", "b", "d", "tie"),
    ]
    found = GreedyOrder().fit(build.judgments(pairs=rows))
    assert found.rank.tolist()[:2] == [2, 1]


def test_a_circle_is_a_tie(build):
    rows = [("t", "k", "a", "b", "a"), ("t", "k", "b", "c", "b"), ("t", "k", "c", "a", "c")]
    assert GreedyOrder().fit(build.judgments(pairs=rows)).rank.tolist() == [1, 1, 1]


def test_tasks_do_not_mix(build):
    study = simulate.pairs(items=10, votes=600, tasks=3, ties=0.1, seed=2).judgments
    score = GreedyOrder().fit(study).score
    task = study.vocabulary.entry_task
    for number in range(3):
        of = task[study.pairs.left] == number
        columns = {name: getattr(study.pairs, name)[of] for name in ("annotator", "left", "right", "outcome")}
        alone = GreedyOrder().fit(build.with_pairs(study, **columns)).score
        assert score[task == number].tolist() == alone[task == number].tolist()


def test_finds_the_order(build):
    study = simulate.pairs(items=30, votes=9000, seed=3)
    found = GreedyOrder().fit(study.judgments)
    assert build.pair_accuracy(found.score, study.gold.value) > 0.93
    assert found.annotators["quality"].mean() == pytest.approx(0.8, abs=0.15)
