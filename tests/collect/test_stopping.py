import numpy as np
import pytest
from scipy import stats

import crowdrank as cr
from crowdrank.collect.stopping import top_decided, widest


@pytest.fixture(scope="module")
def study():
    return cr.simulate.pairs(items=20, annotators=10, votes=600, spread=1.0, seed=0)


def test_rules(study):
    found = cr.stopping(study.judgments, budget=1000, width=100.0, top_k=20)
    assert found.columns == ["rule", "wanted", "now", "reached", "more", "more_low", "more_high"]
    assert found["rule"].to_list() == ["budget", "width", "top 20"]
    assert found["reached"].to_list() == [False, True, True]
    assert found["more"].to_list() == [400, 0, 0]
    assert found["now"][2] == 1.0


def test_widest_and_top_decided():
    study = cr.simulate.pairs(items=3, annotators=2, votes=30, seed=0)
    state = cr.State.start().update(study.judgments)
    assert widest(state) == pytest.approx(np.max(state.consensus().high - state.consensus().low))
    edge = np.sort(state.mean)[-2:].mean()
    chance = stats.norm.cdf(np.abs(state.mean - edge) / np.sqrt(state.variance))
    assert top_decided(state, 1) == pytest.approx(np.prod(chance))


def test_the_forecast_of_a_width_comes_true(study):
    """Asked on by the policy, the collection needs about as many judgments as were forecast."""
    state = cr.State.start(quality_prior=(30.0, 2.0)).refit(study.judgments)
    row = cr.stopping(state, width=1.2).row(0, named=True)
    assert not row["reached"]
    assert row["more_low"] <= row["more"] <= row["more_high"]
    rng, needed = np.random.default_rng(1), 0
    truth = dict(zip(study.judgments.vocabulary.items, study.gold.value, strict=True))
    while widest(state) > 1.2:
        entry = int(np.argmax(state.variance))
        other = int(np.argmin(np.where(np.arange(20) == entry, np.inf, np.abs(state.mean - state.mean[entry]))))
        one, two = (state.vocabulary.items[code] for code in (entry, other))
        k = rng.integers(10)
        right = rng.random() < study.quality[k]
        better = rng.random() < 1 / (1 + np.exp(truth[two] - truth[one]))
        state = state.answer(state.vocabulary.annotators[k], one, two, one if better == right else two, task="task1")
        needed += 1
    assert needed == pytest.approx(row["more"], rel=0.35)


def test_top_decided_means_what_it_says():
    """Where the best three are called decided with a chance of .8, they are right about that often."""
    called, right = 0, 0
    for seed in range(40):
        study = cr.simulate.pairs(items=10, annotators=10, votes=1500, spread=1.5, seed=seed)
        state = cr.State.start().refit(study.judgments)
        if top_decided(state, 3) >= 0.8:
            called += 1
            right += set(np.argsort(-state.mean)[:3]) == set(np.argsort(-study.gold.value)[:3])
    assert called >= 10
    assert right / called >= 0.75


def test_more_votes_bring_it_nearer(study):
    less = cr.stopping(study.judgments, width=0.9)["more"][0]
    more = cr.stopping(cr.simulate.pairs(items=20, annotators=10, votes=1200, spread=1.0, seed=0).judgments, width=0.9)[
        "more"
    ][0]
    assert 0 < more < less


def test_the_same_seed_the_same_forecast(study):
    one, two = (cr.stopping(study.judgments, width=0.9, top_k=5, seed=3) for _ in range(2))
    assert one.equals(two)


def test_out_of_sight(study):
    assert cr.stopping(study.judgments, width=1e-3)["more"].to_list() == [None]


def test_bad_rules(study):
    with pytest.raises(cr.SettingError, match="name a rule"):
        cr.stopping(study.judgments)
    for bad in ({"budget": -1}, {"width": 0.0}, {"top_k": 0}, {"top_k": 3, "probability": 1.0}):
        with pytest.raises(cr.SettingError):
            cr.stopping(study.judgments, **bad)
