import numpy as np
import pytest
from scipy import stats

import crowdrank as cr
from crowdrank.collect.policies import (
    POLICIES,
    InformationGain,
    Known,
    LeastCompared,
    Random,
    Thompson,
    TopK,
    Uncertainty,
    chance_of_top,
    policy_of,
)
from crowdrank.collect.state import State
from crowdrank.study import Vocabulary, ids


def known(mean, variance, alpha=(30.0,), beta=(2.0,), compared=None):
    n = len(mean)
    words = Vocabulary(
        ids(["t"]), ids(range(n)), ids(range(len(alpha))), np.zeros(n, np.int32), np.arange(n, dtype=np.int32)
    )
    arrays = (np.array(values, dtype=float) for values in (mean, variance, alpha, beta, (1, 0)))
    return Known(
        State(words, *arrays, 4.0, (30.0, 2.0)), np.zeros(n, np.int64) if compared is None else np.array(compared)
    )


def worth(policy, what, questions, seed=0):
    who, left, right = (np.array(codes, np.int32) for codes in zip(*questions, strict=True))
    return policy.worth(what, who, left, right, np.random.default_rng(seed))


def test_random_is_fair():
    what = known([0.0] * 3, [1.0] * 3)
    firsts = [int(np.argmax(worth(Random(), what, [(0, 0, 1), (0, 0, 2), (0, 1, 2)], seed))) for seed in range(300)]
    assert stats.chisquare(np.bincount(firsts)).pvalue > 0.01


def test_least_compared():
    what = known([0.0] * 3, [1.0] * 3, compared=[5, 1, 2])
    assert worth(LeastCompared(), what, [(0, 0, 1), (0, 0, 2), (0, 1, 2)]).tolist() == [-6, -7, -3]


def test_uncertainty_is_the_chance_to_be_wrong():
    what = known([0.0, 1.0, -2.0], [0.5, 0.5, 0.1])
    expected = stats.norm.cdf([-1 / np.sqrt(1.0), -2 / np.sqrt(0.6)])
    assert worth(Uncertainty(), what, [(0, 0, 1), (0, 0, 2)]) == pytest.approx(expected)


def test_thompson_leaves_out_what_is_sure_and_those_who_guess():
    what = known([0.0, 0.1, 9.0], [0.5, 0.5, 0.5], alpha=(300.0, 300.0), beta=(2.0, 300.0))
    questions = [(0, 0, 1), (0, 0, 2), (1, 0, 1)]
    assert all(np.argmax(worth(Thompson(), what, questions, seed)) == 0 for seed in range(20))
    assert not np.array_equal(worth(Thompson(), what, questions, 1), worth(Thompson(), what, questions, 2))


def test_top_k_asks_at_the_edge():
    what = known([4.0, 3.9, 2.0, 1.9, 0.0, -0.1], [0.1] * 6)
    pairs = [(0, 0, 1), (0, 2, 3), (0, 4, 5)]
    assert np.argmax(worth(TopK(k=3), what, pairs)) == 1
    assert np.argmax(worth(TopK(k=1), what, pairs)) == 0
    assert np.argmax(worth(TopK(k=5), what, pairs)) == 2


def test_chance_of_top():
    what = known([2.0, 1.0, 0.0], [1.0, 0.25, 1.0])
    assert chance_of_top(what.state, 1) == pytest.approx(stats.norm.cdf([0.5, -1.0, -1.5]))
    assert chance_of_top(what.state, 3).tolist() == [1, 1, 1]


def test_halving():
    policy = InformationGain(gamma=8.0, halve_every=0.25)
    assert [policy.gamma_at(spent) for spent in (0, 0.24, 0.25, 0.5, 0.99, 1.0)] == [8, 8, 4, 2, 1, 0.5]
    assert InformationGain(gamma=3).gamma_at(0.9) == 3.0
    what = known([0.0, 3.0], [0.1, 0.1], alpha=(2.0,), beta=(1.0,))
    later = Known(what.state, what.compared, spent=0.5)
    assert worth(policy, later, [(0, 0, 1)]) == worth(InformationGain(gamma=2.0), what, [(0, 0, 1)])


def test_by_name():
    assert policy_of("top-k", {"k": 3}) == TopK(k=3)
    assert policy_of(TopK(k=4)) == TopK(k=4)
    assert list(POLICIES) == [
        "mutual-information",
        "information-gain",
        "random",
        "least-compared",
        "uncertainty",
        "thompson",
        "top-k",
        "asap",
        "hybrid-mst",
        "sorting",
        "swiss",
        "grades",
        "rankings",
    ]
    with pytest.raises(cr.SettingError, match="k is 0"):
        policy_of("top-k", {"k": 0})
