import numpy as np
import pytest

import crowdrank as cr
from crowdrank.collect.forecast import ComingAnnotators, Path, beliefs_of, same_top
from crowdrank.collect.stopping import top_decided, widest


@pytest.fixture(scope="module")
def study():
    return cr.simulate.pairs(items=20, annotators=10, votes=600, spread=1.0, seed=0)


@pytest.fixture(scope="module")
def state(study):
    return cr.State.start().refit(study.judgments)


def test_rules(state):
    found = cr.stopping(state, budget=1000, width=100.0, top_k=20)
    assert found.columns == ["rule", "wanted", "now", "reached", "more", "more_low", "more_high", "note"]
    assert found["rule"].to_list() == ["budget", "width", "top 20"]
    assert found["reached"].to_list() == [False, True, True]
    assert found["more"].to_list() == [400, 0, 0]
    assert found["now"][2] == 1.0


def test_widths_are_those_that_crowd_bt_reports(study):
    full = cr.CrowdBT().fit(study.judgments)
    assert cr.stopping(study.judgments, width=1.0)["now"][0] == pytest.approx(np.max(full.high - full.low))


def test_the_chance_of_the_best_is_that_of_the_draws(study, state):
    full = cr.CrowdBT().fit(study.judgments)
    best = set(np.argsort(-full.score)[:3])
    share = np.mean([set(np.argsort(-draw)[:3]) == best for draw in full.draws])
    assert top_decided(state, 3) == pytest.approx(share, abs=0.01)
    assert same_top(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0]]), np.array([2.0, 1.0, 0.0]), 1) == pytest.approx(0.5)


def test_one_vote_reaches_nothing():
    one = cr.simulate.pairs(items=30, annotators=30, votes=1, seed=1).judgments
    found = cr.stopping(one, width=2.8, top_k=3)
    assert found["reached"].to_list() == [False, False]
    assert found["more"].to_list() == [None, None]
    assert found["note"].to_list() == ["too early to say"] * 2


def test_top_decided_means_what_it_says():
    """Where the best two are called decided with a chance of .8, they are right about that often."""
    called, right = 0, 0
    for seed in range(10):
        study = cr.simulate.pairs(items=6, annotators=8, votes=520, spread=1.5, seed=seed)
        state = cr.State.start().refit(study.judgments)
        if top_decided(state, 2) >= 0.8:
            called += 1
            right += set(np.argsort(-state.mean)[:2]) == set(np.argsort(-study.gold.value)[:2])
    assert called >= 3
    assert right / called >= 0.75


def test_information_of_a_vote():
    """Fisher information about the gap: the mean square of the slope of the log-chance."""
    study = cr.simulate.pairs(items=4, annotators=1, votes=40, seed=0)
    crowd = ComingAnnotators(cr.State.start().update(study.judgments), np.random.default_rng(0))
    for gap in (-1.0, 0.0, 2.0):
        p = 1 / (1 + np.exp(-gap))
        chance = 0.5 + crowd.rate * (p - 0.5)
        expected = crowd.share @ ((crowd.rate * p * (1 - p)) ** 2 / (chance * (1 - chance)))
        assert crowd.information(np.array([gap]))[0] == pytest.approx(expected)


def test_a_path_narrows_as_the_information_says(state):
    """Without new judgments a path is where the state is; its precision grows by what the votes tell."""
    path = Path(beliefs_of(state), 0, False, ComingAnnotators(state, np.random.default_rng(0)))
    assert path.widest() == pytest.approx(widest(state), rel=0.05)
    before = np.trace(path.precision[0])
    gap = path.truth[0][:, None] - path.truth[0]
    each = path.crowd.information(gap[np.triu_indices(20, 1)])
    path.step(190.0)
    assert np.trace(path.precision[0]) - before == pytest.approx(2 * each.sum())


def test_the_forecast_is_about_right(study, state):
    """The number of votes that a study of that size needs, from ten times as many votes of the same crowd."""
    wanted = 0.75 * widest(state)
    row = cr.stopping(state, width=wanted, policy="random").row(0, named=True)
    assert 0 < row["more_low"] <= row["more"] <= row["more_high"]
    longer = cr.simulate.pairs(items=20, annotators=10, votes=6000, spread=1.0, seed=0)
    full = cr.CrowdBT().fit(longer.judgments)
    at_6000 = np.max(full.high - full.low)
    rate = np.log(at_6000 / widest(state)) / np.log(10)  # the width falls about as a power of the number of votes
    needed = 600 * (0.75 ** (1 / rate) - 1)
    assert row["more_low"] / 2 < needed < 2 * row["more_high"]


def test_a_policy_that_asks_where_little_is_known_needs_fewer(state):
    wanted = 0.6 * widest(state)
    by_lot, chosen = (cr.stopping(state, width=wanted, policy=name)["more"][0] for name in ("random", "uncertainty"))
    assert chosen < by_lot


def test_the_same_seed_the_same_forecast(state):
    one, two = (cr.stopping(state, width=0.9, top_k=5, seed=3) for _ in range(2))
    assert one.equals(two)


def test_out_of_sight(state):
    found = cr.stopping(state, width=1e-3)
    assert found["more"].to_list() == [None]
    assert "further away" in found["note"][0]


def test_several_tasks():
    study = cr.simulate.pairs(items=5, annotators=6, votes=300, tasks=3, seed=0)
    found = cr.stopping(study.judgments, width=0.8, top_k=2)
    assert (found["more_low"] <= found["more"]).all()


def test_bad_rules(study):
    with pytest.raises(cr.SettingError, match="name a rule"):
        cr.stopping(study.judgments)
    for bad in ({"budget": -1}, {"width": 0.0}, {"top_k": 0}, {"top_k": 3, "probability": 1.0}, {"policy": "x"}):
        with pytest.raises(cr.SettingError):
            cr.stopping(study.judgments, **{"width": 1.0, **bad})
