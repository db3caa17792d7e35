import numpy as np
import pytest
import trueskill
from scipy import integrate, stats

from crowdrank import simulate
from crowdrank.methods.pairs.trueskill import TrueSkill, tie_update, win_update
from crowdrank.numerics.special import NORMAL_95
from crowdrank.settings import SettingError
from crowdrank.study import RIGHT, TIE


def vote_by_vote(pairs, n, env):
    """The package's two-player update, one vote after the other."""
    rating = [env.create_rating() for _ in range(n)]
    for i, j, outcome in zip(pairs.left, pairs.right, pairs.outcome, strict=True):
        if outcome == RIGHT:
            rating[j], rating[i] = trueskill.rate_1vs1(rating[j], rating[i], env=env)
        else:
            rating[i], rating[j] = trueskill.rate_1vs1(rating[i], rating[j], drawn=outcome == TIE, env=env)
    return np.array([[r.mu, r.sigma] for r in rating]).T


@pytest.mark.parametrize(
    "settings",
    [{}, {"draw_probability": 0.5}, {"mu": 0.0, "sigma": 1.0, "beta": 2.0, "tau": 0.0, "draw_probability": 0.02}],
)
def test_equals_the_package(settings):
    study = simulate.pairs(items=12, votes=400, ties=0.4, seed=1).judgments
    env = trueskill.TrueSkill(backend="scipy", **settings)
    mean, spread = vote_by_vote(study.pairs, 12, env)
    found = TrueSkill(**settings).fit(study)
    assert found.score == pytest.approx(mean, abs=1e-6)
    assert found.high - found.score == pytest.approx(NORMAL_95 * spread, abs=1e-6)
    assert found.score - found.low == pytest.approx(NORMAL_95 * spread, abs=1e-6)


def moments(low, high):
    """Mean and decrease in variance of a normal between bounds, by quadrature, the density scaled to its peak."""
    peak = min(max(0.0, low), high)
    x = np.linspace(max(low, peak - 12), min(high, peak + 12), 400_001)
    density = np.exp((peak**2 - x**2) / 2)
    total, first, second = (integrate.simpson((x - peak) ** power * density, x=x) for power in range(3))
    return peak + first / total, 1 - (second / total - (first / total) ** 2)


@pytest.mark.parametrize("x", [-200.0, -50.0, -8.0, -5.001, -4.999, -1.0, 0.0, 2.0])
def test_win_update_is_the_mean_of_a_normal_cut_off(x):
    v, w = win_update(x)
    # The difference of the two exceeds -x ... and its mean is v.
    assert (v, w) == pytest.approx(moments(-x, np.inf), rel=1e-6)


@pytest.mark.parametrize("margin", [1e-3, 0.1, 1.0, 6.0])
@pytest.mark.parametrize("lead", [0.0, 0.5, 5.0, 12.0, 100.0])
def test_tie_update_is_the_mean_of_a_normal_cut_off_on_both_sides(lead, margin):
    v, w = tie_update(lead, margin)
    mean, loss = moments(lead - margin, lead + margin)  # mirrored: what must be taken off the lead
    assert -v == pytest.approx(mean, rel=1e-6, abs=1e-9)
    assert w == pytest.approx(loss, rel=1e-5, abs=1e-8)


def test_updates_stay_finite_far_out():
    for x in (-1e8, -1e3, -38.0, 40.0, 1e8):
        v, w = win_update(x)
        assert np.isfinite(v)
        assert 0 <= w <= 1
        for margin in (0.0, 1e-9, 1e-6, 1.0, 50.0, 1e4):
            v, w = tie_update(abs(x), margin)
            assert np.isfinite(v)
            assert 0 <= w <= 1


def test_without_a_margin_a_tie_says_that_the_two_are_equal(build):
    rows = [("t", "k", "a", "b", "a"), ("t", "k", "a", "b", "tie")]
    found = TrueSkill(draw_probability=0.0, tau=0.0, sigma=1e4).fit(build.judgments(pairs=rows))
    assert found.score[0] == pytest.approx(found.score[1], abs=1e-2)


def test_intervals_hold_the_truth():
    # Strengths and votes drawn from the model itself, everybody equally good: no logistic, no quality.
    rng = np.random.default_rng(0)
    study = simulate.pairs(items=200, votes=20_000, seed=1).judgments
    strength = rng.normal(25, 25 / 3, 200)
    seen = strength[study.pairs.left] - strength[study.pairs.right] + rng.normal(0, 25 / 6 * np.sqrt(2), 20_000)
    margin = stats.norm.ppf(0.55) * np.sqrt(2) * 25 / 6
    study.pairs.outcome[:] = np.where(np.abs(seen) < margin, 0, np.sign(seen))
    found = TrueSkill().fit(study)
    covered = (found.low <= strength) & (strength <= found.high)
    assert covered.mean() > 0.85


def test_unseen_items_keep_the_prior(build):
    found = TrueSkill().fit(build.judgments(pairs=[("t", "k", "a", "b", "b")], entries=[("t", "c")]))
    assert (found.score[2], found.high[2]) == pytest.approx((25, 25 + NORMAL_95 * 25 / 3))
    assert found.rank.tolist() == [3, 1, 2]
    assert found.disconnected == {"t": 2}


@pytest.mark.parametrize("setting", [{"sigma": 0.0}, {"beta": 0.0}, {"tau": -1.0}, {"draw_probability": 1.0}])
def test_bad_settings(setting):
    with pytest.raises(SettingError, match=next(iter(setting))):
        TrueSkill(**setting)
