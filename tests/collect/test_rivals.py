"""Policies of other papers, beside what the papers say."""

import numpy as np
import pytest
from scipy import stats
from scipy.sparse.csgraph import connected_components

import crowdrank as cr
from crowdrank.collect.protocols import Known
from crowdrank.collect.rivals import Asap, HybridMst, Sorting, Swiss, _bradley_terry, _gain, _messages, _quadrature
from crowdrank.collect.state import State


def codes(*values):
    return np.array(values, np.int32).tobytes()


def known(n, answers):
    words = cr.simulate.pairs(items=n, annotators=2, votes=2 * n, seed=0).judgments.vocabulary
    left, right = np.array(answers, np.int32).reshape(-1, 2).T
    compared = np.bincount(np.r_[left, right], minlength=n)
    return Known(State.start(words), compared, 0.0, None, left, right, np.ones(len(left), np.int8))


def every(policy, what):
    n = what.state.vocabulary.n_entries
    left, right = (side.astype(np.int32) for side in np.triu_indices(n, 1))
    worth = policy.worth(what, np.zeros(len(left), np.int32), left, right, np.random.default_rng(0))
    return left, right, worth


def test_message_passing_agrees_with_quadrature():
    """One comparison: the posterior of a pair of standard normal scores given Φ(gap), exactly."""
    mean, variance = _messages(codes(0), codes(1), 2)
    x = np.linspace(-8, 8, 801)
    density = stats.norm.pdf(x)[:, None] * stats.norm.pdf(x) * stats.norm.cdf(x[:, None] - x)
    of_first = density.sum(axis=1) / density.sum()
    assert mean[0] == pytest.approx(of_first @ x, abs=1e-3)
    assert variance[0] == pytest.approx(of_first @ x**2 - (of_first @ x) ** 2, abs=1e-3)
    assert mean[1] == pytest.approx(-mean[0])


def test_bradley_terry_and_its_covariance():
    winner, loser = np.array([0, 0, 1, 1, 2, 0]), np.array([1, 1, 0, 2, 1, 2])
    score, covariance = _bradley_terry(codes(*winner), codes(*loser), 3)

    def gradient(s):
        wrong = 1 / (1 + np.exp(s[winner] - s[loser]))
        return np.bincount(winner, wrong, 3) - np.bincount(loser, wrong, 3) - 0.1 * s

    np.testing.assert_allclose(gradient(score), 0, atol=1e-6)
    step = 1e-5 * np.eye(3)
    hessian = np.array([(gradient(score + h) - gradient(score - h)) / 2e-5 for h in step])
    np.testing.assert_allclose(covariance, np.linalg.inv(-hessian), rtol=1e-4)


def test_gains_fall_with_the_gap_and_rise_with_the_variance():
    ones = np.ones(3)
    gain = _gain(np.array([0.0, 1.0, 3.0]), ones, ones)
    assert (np.diff(gain) < 0).all()
    assert _gain(np.zeros(1), 2 * np.ones(1), np.ones(1)) > gain[0]
    information = _quadrature(np.array([0.0, 2.0]), ones[:2])
    assert 0 < information[1] < information[0] < np.log(2)


@pytest.mark.parametrize("policy", [Asap(), HybridMst()])
def test_batches_are_spanning_trees(policy):
    left, right, worth = every(policy, known(8, [(0, 1), (2, 3), (4, 5), (6, 7), (0, 2)]))
    first = np.argsort(-worth)[:7]
    graph = np.zeros((8, 8))
    graph[left[first], right[first]] = 1
    assert connected_components(graph, directed=False)[0] == 1


def test_quicksort_compares_everything_with_a_pivot_first():
    left, right, worth = every(Sorting(), known(6, []))
    asked = worth >= 1
    assert asked.sum() == 5
    pivot = np.bincount(np.r_[left[asked], right[asked]]).argmax()
    assert ((left == pivot) | (right == pivot))[asked].all()


def test_quicksort_sorts():
    """Answered truly, one run ends after at most n(n − 1)/2 questions, and another one begins."""
    answers = []
    for _ in range(16):
        left, right, worth = every(Sorting(), known(6, answers))
        best = int(np.argmax(worth))
        assert worth[best] >= 1
        answers.append((min(left[best], right[best]), max(left[best], right[best])))
    assert len(set(answers)) < len(answers)


def test_swiss_rounds_pair_those_with_the_fewest_judgments():
    what = known(6, [(0, 1), (2, 3)])
    left, right, worth = every(Swiss(), what)
    best = int(np.argmax(worth))
    assert {left[best], right[best]} == {4, 5}
