"""The likelihood with quality integrated out: beside the obvious sum, and its derivatives by finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdrank.convert import TIED, WON_LEFT, WON_RIGHT, Votes
from crowdrank.methods.pairs.votes import few_votes
from crowdrank.methods.pairs.votes.crowd import crowd_of
from crowdrank.methods.pairs.votes.hyperparameters import SCORE_VARIANCE, Hyperparameters
from crowdrank.methods.pairs.votes.marginal import RIDGE, MarginalModel
from crowdrank.methods.pairs.votes.marginal_kernels import BLOCK

N_ENTRIES, N_PROFILES = 5, 3
SHARPNESS = 1.6
VARIANTS = [(), ("ties",), ("ties", "bias"), ("bias",)]
HYPER = Hyperparameters(spread=1.5, ties=(-0.5, 0.7), bias=(0.1, 0.8))


def votes(seed, free, n=40):
    rng = np.random.default_rng(seed)
    winner = rng.integers(0, N_ENTRIES, n)
    loser = (winner + rng.integers(1, N_ENTRIES, n)) % N_ENTRIES
    kinds = [WON_LEFT, WON_RIGHT] if "bias" in free else [WON_LEFT]
    kind = rng.choice([*kinds, TIED] if "ties" in free else kinds, n)
    weight = rng.choice([1.0, 2.0, 0.5, 30.0], n)
    annotator = rng.integers(0, N_PROFILES, n)
    codes = (column.astype(np.int32) for column in (annotator, winner, loser))
    return Votes(*codes, kind.astype(np.int8), weight)


def crowd(finely):
    """Qualities over the whole scale, or closely around an estimate; ties are rarer with the gap than Davidson's."""
    error = np.full(N_PROFILES, 0.03 if finely else np.inf)
    return replace(crowd_of(np.array([0.5, 0.0, -0.3]), error, None), tie_sharpness=SHARPNESS)


def model_of(table, free, normal):
    return MarginalModel(table, table.annotator, N_ENTRIES, N_PROFILES, normal, free)


def point(model, seed):
    return np.random.default_rng(seed).normal(0, 0.8, model.layout.size)


def plain_log_likelihood(table, x, possible, ties=None):
    """Without biases, as the formula says; `ties` are log thresholds."""
    total, rows = 0.0, (table.annotator, table.winner, table.loser, table.kind, table.weight)
    for k in range(N_PROFILES):
        first, step, share = (each[k] for each in possible[:3])
        rate = first + step * np.arange(len(share))
        log_chance = np.log(share)
        for who, won, lost, kind, weight in zip(*rows, strict=True):
            if who == k:
                gap, eta = x[won] - x[lost], (1 + rate) / 2
                chance = eta / (1 + np.exp(-gap)) + (1 - eta) / (1 + np.exp(gap))
                if ties is not None:
                    tau, both = np.exp(ties[k]), 2 * np.cosh(SHARPNESS * rate * gap / 2)
                    chance = (tau if kind == TIED else chance * both) / (tau + both)
                log_chance = log_chance + weight * np.log(chance)
        total += np.logaddexp.reduce(log_chance)
    return total


def test_spread_and_means_are_integrated_out():
    """Differences of the log-density beside numerical integration over the spread and the mean."""
    rng, (shape, scale), (_, error) = np.random.default_rng(0), SCORE_VARIANCE, HYPER.ties
    variance, mean = np.exp(np.linspace(-8, 12, 4001)), np.linspace(-8, 8, 4001)
    hyper, densities, terms = replace(HYPER, integrated=True), [], []
    for score, ties in zip(rng.normal(0, 2, (2, N_ENTRIES)), rng.normal(-0.5, 1, (2, N_PROFILES)), strict=True):
        of_variance = -(shape + N_ENTRIES / 2) * np.log(variance) - (scale + (score**2).sum() / 2) / variance
        of_mean = -((ties[:, None] - mean) ** 2).sum(axis=0) / (2 * error**2) - (mean - HYPER.usual_ties) ** 2 / 2
        densities.append(np.log(np.exp(of_variance).sum()) + np.log(np.exp(of_mean).sum()))
        slope, _ = hyper.profile_terms("ties", ties)
        value, _ = hyper.score_terms((score**2).sum(), N_ENTRIES)
        terms.append(-value - slope @ (ties - hyper.centre("ties")) / 2)
    assert terms[0] - terms[1] == pytest.approx(densities[0] - densities[1], rel=1e-6)


@given(st.integers(0, 1000), st.booleans())
def test_the_value_is_the_formula(seed, finely):
    table, possible = votes(seed, ()), crowd(finely).qualities
    model = model_of(table, (), False)
    x = point(model, seed)
    prior = (x**2).sum() / (2 * HYPER.spread**2)
    expected = prior - plain_log_likelihood(table, x, possible)
    assert model.evaluate(x, possible, HYPER).value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("finely", [False, True])
def test_the_likelihood_of_ties_is_the_formula(finely, few, monkeypatch):
    monkeypatch.setattr(few_votes, "are_few", lambda *_: few)
    table, possible = votes(3, ("ties",)), crowd(finely).qualities
    model = model_of(table, ("ties",), False)
    x = point(model, 3)
    expected = -plain_log_likelihood(table, x, possible, x[N_ENTRIES:])
    assert model.likelihood_value(x, possible) == pytest.approx(expected, rel=1e-9)


def test_a_prior_of_gaps_is_the_formula():
    """The value and the curvature: a ridge, and a term for every vote by how often items are compared."""
    table, possible, hyper = votes(3, ()), crowd(False).qualities, replace(HYPER, of_gaps=True)
    model = model_of(table, (), False)
    x = point(model, 3)
    degree = 2 * table.weight.sum() / N_ENTRIES
    matrix = RIDGE * np.eye(N_ENTRIES)
    for won, lost, weight in zip(table.winner, table.loser, table.weight, strict=True):
        step = np.eye(N_ENTRIES)[won] - np.eye(N_ENTRIES)[lost]
        matrix += weight / degree * np.outer(step, step)
    expected = x @ matrix @ x / (2 * HYPER.spread**2) - plain_log_likelihood(table, x, possible)
    assert model.evaluate(x, possible, hyper, curved=True).value == pytest.approx(expected, rel=1e-9)
    of_votes = model.diagonal()
    model.evaluate(x, possible, replace(hyper, spread=1e6), curved=True)
    assert of_votes - model.diagonal() == pytest.approx(np.diag(matrix) / HYPER.spread**2, rel=1e-6)


@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("free", VARIANTS)
@pytest.mark.parametrize("finely", [False, True])
@pytest.mark.parametrize("prior", [{}, {"integrated": True}, {"of_gaps": True}, {"of_gaps": True, "integrated": True}])
def test_the_gradient_is_that_of_finite_differences(free, normal, finely, prior):
    table, possible, hyper = votes(7, free), crowd(finely).qualities, replace(HYPER, **prior)
    model = model_of(table, free, normal)
    x = point(model, 7)
    gradient = model.evaluate(x, possible, hyper).gradient
    for i in range(len(x)):
        step = 1e-5 * (np.arange(len(x)) == i)
        ends = (model.evaluate(x + sign * step, possible, hyper).value for sign in (1, -1))
        assert gradient[i] == pytest.approx(np.subtract(*ends) / 2e-5, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("free", VARIANTS)
def test_the_value_alone_is_that_of_an_evaluation(free, normal, few, monkeypatch):
    monkeypatch.setattr(few_votes, "are_few", lambda *_: few)
    model = model_of(votes(9, free), free, normal)
    for finely in (False, True):
        x, possible = point(model, 9), crowd(finely).qualities
        assert model.value(x, possible, HYPER) == pytest.approx(model.evaluate(x, possible, HYPER).value, rel=1e-12)


def test_votes_in_several_blocks_are_those_of_one(monkeypatch):
    """Exponentials are computed for blocks of votes: those of profiles around the end of one must not be mixed up."""
    rng, n = np.random.default_rng(2), 3 * BLOCK
    counts = np.array([BLOCK - 5, 3, 4, BLOCK + 200, 1, n - 2 * BLOCK - 203])
    who, winner = np.repeat(np.arange(6), counts), rng.integers(0, N_ENTRIES, n)
    loser, kind = (winner + rng.integers(1, N_ENTRIES, n)) % N_ENTRIES, rng.choice([WON_LEFT, TIED], n)
    for free, kinds in (((), np.full(n, WON_LEFT)), (("ties",), kind)):
        codes = (column.astype(np.int32) for column in (who, winner, loser))
        table, found = Votes(*codes, kinds.astype(np.int8), np.ones(n)), []
        possible = crowd_of(np.zeros(6), np.full(6, np.inf), None).qualities
        for few in (False, True):
            monkeypatch.setattr(few_votes, "are_few", lambda *_: few)  # noqa: B023
            model = MarginalModel(table, table.annotator, N_ENTRIES, 6, False, free)
            found.append(model.evaluate(point(model, 3), possible, HYPER, curved=True))
        for one, other in zip(*found, strict=True):
            assert other == pytest.approx(one, rel=1e-9, abs=1e-12)


def test_virtual_wins_and_losses_have_the_gradient_of_finite_differences():
    table, possible, hyper = votes(3, ()), crowd(False).qualities, Hyperparameters(virtual=0.7)
    model = model_of(table, (), False)
    x = point(model, 3)
    gradient = model.evaluate(x, possible, hyper).gradient
    for i in range(len(x)):
        step = 1e-5 * (np.arange(len(x)) == i)
        ends = (model.evaluate(x + sign * step, possible, hyper).value for sign in (1, -1))
        assert gradient[i] == pytest.approx(np.subtract(*ends) / 2e-5, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("free", VARIANTS)
def test_other_logistic_cases_agree_with_the_plain_one_where_they_coincide(free):
    """Without ties and with biases of 0 the general kernel is the plain one."""
    table, possible = votes(5, ()), crowd(False).qualities
    plain, general = model_of(table, (), False), model_of(table, ("bias",), False)
    x = point(plain, 5)
    hyper = Hyperparameters(spread=1.5)
    one = plain.evaluate(x, possible, hyper)
    other = general.evaluate(np.r_[x, np.zeros(N_PROFILES)], possible, hyper)
    assert other.value == pytest.approx(one.value)
    assert other.gradient[:N_ENTRIES] == pytest.approx(one.gradient)
    assert other.posterior == pytest.approx(one.posterior)


@pytest.mark.parametrize("free", VARIANTS)
@pytest.mark.parametrize("finely", [False, True])
def test_few_votes_without_kernels_give_the_same(free, finely, monkeypatch):
    table, possible = votes(11, free), crowd(finely).qualities
    found = []
    for limit in (0, 1000):
        monkeypatch.setattr(few_votes, "are_few", lambda count, *_: count <= limit)  # noqa: B023
        model = model_of(table, free, False)
        steep = point(model, 11) * [40.0 if k < N_ENTRIES else 1.0 for k in range(model.layout.size)]
        flat = [model.evaluate(x, possible, HYPER) for x in (point(model, 12), steep)]
        result = model.evaluate(point(model, 11), possible, HYPER, curved=True)
        found.append((*flat[0], *flat[1], *result, model.gap_curvature, model.gap_quality, model.diagonal()))
    for one, other in zip(*found, strict=True):
        assert other == pytest.approx(one, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("weight", [1e4, 1e6])
def test_votes_that_count_a_million_times_leave_a_posterior_of_quality(weight, monkeypatch):
    """Close to good annotators there is none who guesses, however often these answered against the scores."""
    table = votes(11, ("ties",))
    table = replace(table, weight=np.full(len(table), weight))
    found = []
    for limit in (0, 1000):
        monkeypatch.setattr(few_votes, "are_few", lambda count, *_: count <= limit)  # noqa: B023
        model = model_of(table, ("ties",), False)
        found.append(model.evaluate(2 * point(model, 11), crowd(finely=True).qualities, HYPER).posterior)
    np.testing.assert_allclose(found[0].sum(axis=1), 1)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-9)


def test_all_fits_of_a_process_take_the_same_way(monkeypatch):
    """NumPy and kernels round differently: a fit must not change because another one compiled these."""
    kernel = object()
    monkeypatch.setattr(few_votes, "is_compiled", lambda _: False)
    assert few_votes.are_few(few_votes.FEW, (), kernel)
    assert few_votes.are_few(few_votes.FEW_WITH_TIES, ("ties",), kernel)
    assert not few_votes.are_few(few_votes.FEW_WITH_TIES + 1, ("ties",), kernel)
    assert not few_votes.are_few(few_votes.FEW_WITH_BIAS + 1, ("ties", "bias"), kernel)
    monkeypatch.setattr(few_votes, "is_compiled", lambda _: True)
    assert few_votes.are_few(few_votes.FEW, (), kernel)
    assert not few_votes.are_few(1, (), object())  # compiled before


def test_the_posterior_of_quality_is_bayes_theorem():
    """One annotator who is right on nine of ten pairs with a wide gap."""
    kind, weight = np.full(2, WON_LEFT, np.int8), np.array([9.0, 1.0])
    who = np.zeros(2, np.int32)
    table = Votes(who, np.array([0, 1], np.int32), np.array([1, 0], np.int32), kind, weight)
    model = MarginalModel(table, who, 2, 1, False, ())
    possible = crowd_of(np.zeros(1), np.full(1, np.inf), (1.0, 1.0))
    posterior = model.evaluate(np.array([20.0, -20.0]), possible.qualities, HYPER).posterior[0]
    expected = possible.quality[0] ** 9 * (1 - possible.quality[0])
    assert posterior == pytest.approx(expected / expected.sum(), abs=1e-9)


@pytest.mark.parametrize("limit", [0, 1000])
def test_no_number_is_too_large(limit, monkeypatch):
    monkeypatch.setattr(few_votes, "are_few", lambda count, *_: count <= limit)
    table = votes(1, ("ties",), n=200)
    model = model_of(table, ("ties",), False)
    x = np.r_[np.array([-1e4, -300.0, 0.0, 300.0, 1e4]), np.full(N_PROFILES, 5.0)]
    found = model.evaluate(x, crowd(False).qualities, HYPER, curved=True)
    assert np.isfinite(found.value)
    assert np.isfinite(found.gradient).all()
    assert np.isfinite(model.diagonal()).all()
