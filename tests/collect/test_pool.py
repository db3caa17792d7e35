"""The lazily kept best question beside one found by trying them all."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.collect import pool as pools
from crowdrank.collect.gain_kernels import gains
from crowdrank.collect.limits import Limits
from crowdrank.collect.pool import Pool
from crowdrank.collect.state import State
from crowdrank.settings import InputError


def all_questions(words):
    pairs = [(i, j) for i in range(words.n_entries) for j in range(i) if words.entry_task[i] == words.entry_task[j]]
    left, right = np.array(pairs, dtype=np.int32).T
    n = len(words.annotators)
    return np.repeat(np.arange(n, dtype=np.int32), len(left)), np.tile(left, n), np.tile(right, n)


def brute_force(state, limits, gamma, whom=None, ties=None):
    who, left, right = all_questions(state.vocabulary)
    out = np.empty(len(who))
    gains(
        who,
        left,
        right,
        state.mean,
        state.variance,
        state.alpha,
        state.beta,
        state.ties if ties is None else ties,
        gamma,
        out,
    )
    out /= limits.cost[who]
    out[~limits.permits(who, left, right)] = -np.inf
    if whom is not None:
        out[~np.isin(who, whom)] = -np.inf
    return out.max()


def crowd(votes=150, ties=0.0, tasks=2, **settings):
    study = cr.simulate.pairs(items=8, annotators=6, votes=votes, tasks=tasks, ties=ties, seed=3).judgments
    return State.start(study.vocabulary, **settings).update(study), Limits.none(study.vocabulary).without_judged(
        study.pairs
    )


@pytest.mark.parametrize("gamma", [0.0, 1.0, 10.0])
@pytest.mark.parametrize(
    ("ties", "settings"), [(0.0, {}), (0.0, {"prior": 0.3}), (0.4, {"prior": 1.0, "quality_prior": (2.0, 1.0)})]
)
def test_best_of_all_while_beliefs_change(gamma, ties, settings):
    """Round after round the best question is answered, at random, by whom it was put to."""
    state, limits = crowd(ties=ties, **settings)
    rng = np.random.default_rng(0)
    limits = Limits(rng.random(limits.allowed.shape) < 0.9, rng.uniform(0.5, 2, 6), limits.asked)
    pool = Pool(state, limits, gamma)
    for _ in range(40):
        k, i, j, gain = pool.best()
        assert gain == pytest.approx(brute_force(state, limits, gamma, ties=pool.ties), rel=1e-4)
        assert pool.ties == pytest.approx(state.ties, rel=0.11)
        assert limits.permits(*(np.array([code], np.int32) for code in (k, i, j))).all()
        codes = [np.array([code]) for code in (k, i, j)]
        state = state.after(*codes, rng.choice([-1, 0, 1] if ties else [-1, 1], 1).astype(np.int8))
        limits = limits.without(*codes)
        pool.change(state, (i, j), k, limits)


def test_until_nothing_is_left():
    state, limits = crowd(votes=0, tasks=1)
    pool, asked = Pool(state, limits, 1.0), set()
    for _ in range(6 * 28):
        k, i, j, _ = pool.best()
        asked.add((k, i, j))
        limits = limits.without(*(np.array([code]) for code in (k, i, j)))
        pool.change(state, (i, j), k, limits)
    assert len(asked) == 6 * 28
    assert pool.best() is None


@pytest.mark.parametrize("whom", [[2], [5, 0]])
def test_some_annotators(whom):
    state, limits = crowd()
    k, _, _, gain = Pool(state, limits, 1.0, np.array(whom)).best()
    assert k in whom
    assert gain == pytest.approx(brute_force(state, limits, 1.0, whom), rel=1e-5)


def test_nobody_and_nothing():
    assert Pool(State.start(), Limits.none(State.start().vocabulary), 1.0).best() is None
    state, limits = crowd()
    nothing = Limits(np.zeros_like(limits.allowed), limits.cost, limits.asked)
    assert Pool(state, nothing, 1.0).best() is None


def test_too_many_to_choose_among(monkeypatch):
    monkeypatch.setattr(pools, "MOST_BOUNDS", 50)
    with pytest.raises(InputError, match="name the available annotators"):
        Pool(*crowd(), 1.0)


def test_limits():
    state, _ = crowd(votes=0, tasks=1)
    limits = (
        Limits.none(state.vocabulary).without(np.array([1, 1]), np.array([0, 3]), np.array([2, 4])).without_pair(5, 6)
    )

    def permits(k, i, j):
        return bool(limits.permits(*(np.array([code], np.int32) for code in (k, i, j)))[0])

    assert not permits(1, 0, 2)
    assert not permits(1, 2, 0)
    assert not permits(1, 4, 3)
    assert permits(0, 0, 2)
    assert permits(1, 0, 3)
    assert not permits(4, 6, 5)
    again = limits.without(np.array([1]), np.array([2]), np.array([0]))
    np.testing.assert_array_equal(again.asked, limits.asked)
