"""The middle of the posterior: against drawing from clouds, and against the truth of simulated crowds."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import beta, norm

import crowdrank as cr
from crowdrank import simulate
from crowdrank.convert import votes
from crowdrank.methods.pairs.crowd_bt import CrowdBT
from crowdrank.methods.pairs.votes.model import Priors, VoteModel, logistic
from crowdrank.methods.pairs.votes.posterior import as_beta, posterior_means
from crowdrank.numerics.newton import minimise

NORMAL = {"ties": (-0.4, 1.1), "bias": (0.2, 0.9)}
CASES = list(product(("logistic", "normal"), [("quality",), ("quality", "ties"), ("quality", "bias", "ties")]))


def model_of(study, link="logistic", free=("quality",), quality=(2.0, 2.0)):
    words = study.judgments.vocabulary
    table = votes(study.judgments.pairs, words, pooled=False, sides="bias" in free)
    priors = Priors(1.0, quality, {name: NORMAL[name] for name in free if name in NORMAL})
    return VoteModel(table, table.annotator, words.n_entries, len(words.annotators), link, free, priors)


@pytest.fixture
def cloud():
    def of(link, free):
        study = simulate.pairs(items=6, annotators=4, votes=80, ties=0.3 if "ties" in free else 0.0, seed=1)
        model = model_of(study, link, free)
        rng = np.random.default_rng(2)
        x = rng.normal(size=model.layout.size)
        model.variance = rng.uniform(0.02, 0.2, len(x))
        return model, x

    return of


@pytest.mark.parametrize(("link", "free"), CASES)
def test_derivatives_of_a_mean_agree_with_finite_differences(build, cloud, link, free):
    model, x = cloud(link, free)
    gradient = model.evaluate(x)[1]
    hessian, v = model.hessian(), np.random.default_rng(3).normal(size=len(x))
    assert model.hessian_product(v) == pytest.approx(hessian @ v, rel=1e-9, abs=1e-9)
    assert model.diagonal() == pytest.approx(np.diag(hessian), rel=1e-9, abs=1e-9)
    assert gradient == pytest.approx(build.slope(lambda at: model.evaluate(at)[0], x, step=1e-5), rel=1e-5, abs=1e-5)
    assert hessian == pytest.approx(build.slope(lambda at: model.evaluate(at)[1], x, step=1e-5), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(("link", "free"), CASES)
def test_a_mean_over_a_cloud_is_that_of_draws_from_it(cloud, link, free):
    model, x = cloud(link, free)
    value, gradient = model.evaluate(x)
    error, model.variance = np.sqrt(model.variance), None
    rng = np.random.default_rng(4)
    signs = error * rng.normal(size=(4000, len(x)))
    drawn = [model.evaluate(x + sign * away) for away in signs for sign in (1, -1)]
    values, gradients = np.array([each[0] for each in drawn]), np.array([each[1] for each in drawn])
    assert value == pytest.approx(
        values.mean(), abs=0.02 * (values.mean() - model.evaluate(x)[0]) + 4 * values.std() / 4000**0.5
    )
    assert gradient == pytest.approx(gradients.mean(axis=0), abs=4 * gradients.std(axis=0).max() / 4000**0.5)


def test_a_beta_distribution_is_found_again_from_its_approximation():
    """The normal approximation of Beta(a, b) on the logit scale: the averaged density has slope 0 at the mean."""
    a, b = 12.0, 3.0
    mean, variance = 1.4, 0.4
    for _ in range(200):
        points = norm(mean, np.sqrt(variance)).ppf((np.arange(4000) + 0.5) / 4000)
        eta = 1 / (1 + np.exp(-points))
        mean, variance = mean + 0.5 * (a * (1 - eta) - b * eta).mean(), 1 / ((a + b) * (eta * (1 - eta)).mean())
    found = as_beta(np.array([mean]), np.array([variance]))
    assert (found[0][0], found[1][0]) == pytest.approx((a, b), rel=0.01)


@pytest.mark.parametrize("quality", [(4.0, 2.0), (10.0, 1.0)])
def test_the_crowd_is_known_by_its_annotators(quality):
    study = simulate.pairs(items=60, annotators=300, votes=60_000, quality=quality, seed=3)
    model = model_of(study)
    mode = minimise(model, np.r_[study.gold.value, np.full(300, 1.5)], max_iter=100, tol=1e-6).x
    posterior_means(model, mode, None, None)
    found = beta(model.priors.quality[0] - 1, model.priors.quality[1] - 1)
    assert found.mean() == pytest.approx(study.quality.mean(), abs=0.02)
    assert found.std() == pytest.approx(study.quality.std(), rel=0.15)


def test_scores_of_a_weak_crowd_are_no_longer_too_close():
    """How many times as far apart as found items truly are: 1 is right."""
    at_mode, in_the_middle = [], []
    for seed in range(6):
        study = simulate.pairs(items=80, annotators=80, votes=8000, quality=(4, 2), seed=seed)
        model, truth = model_of(study), study.gold.value - study.gold.value.mean()
        mode = minimise(model, np.r_[study.gold.value, np.full(80, 1.0)], max_iter=100, tol=1e-6).x
        means = posterior_means(model, mode, None, None).x
        for found, x in ((at_mode, mode), (in_the_middle, means)):
            score = x[:80] - x[:80].mean()
            found.append(score @ truth / (score @ score))
    assert np.mean(at_mode) > 1.12
    assert np.mean(in_the_middle) == pytest.approx(1.0, abs=0.1)


def test_where_the_votes_tell_a_lot_the_middle_is_the_mode():
    study = simulate.pairs(items=8, annotators=5, votes=40_000, quality=(30, 10), spread=1.0, seed=2)
    model = model_of(study)
    mode = minimise(model, np.r_[study.gold.value, np.full(5, 1.0)], max_iter=100, tol=1e-8).x
    means = posterior_means(model, mode, None, None).x
    assert means == pytest.approx(mode, abs=0.5 / np.sqrt(model.diagonal().min()))


def test_given_priors_are_kept():
    study = simulate.pairs(items=30, annotators=20, votes=2000, seed=2)
    model = model_of(study)
    mode = minimise(model, np.r_[study.gold.value, np.full(20, 1.0)], max_iter=100, tol=1e-6).x
    posterior_means(model, mode, 0.7, (3.0, 2.0))
    # On the logit scale, where it is averaged, a density has one more of each.
    assert (model.priors.score, model.priors.quality) == (0.7, (4.0, 3.0))


def test_votes_that_tell_too_little_are_called_so():
    """Among neighbours, each of which wins nearly half the time, close items and bad annotators look the same."""
    study = simulate.pairs(items=100, annotators=50, votes=5000, neighbours=2, spread=1.0, seed=0).judgments
    consensus = CrowdBT(prior=0.01).fit(study)
    assert any("hardly separate" in note for note in consensus.notes)
    assert (consensus.low < consensus.score).all()
    clear = CrowdBT().fit(simulate.pairs(items=30, annotators=20, votes=3000, seed=1).judgments)
    assert not any("hardly separate" in note for note in clear.notes)


def test_logistic_is_its_own_mirror_image():
    x = np.linspace(-30, 30, 7)
    assert logistic(x) + logistic(-x) == pytest.approx(np.ones(7))


def test_rounds_that_do_not_settle_are_reported(monkeypatch):
    """By the status, and by a note of the method."""
    study = simulate.pairs(items=30, annotators=20, votes=3000, seed=1)
    model = model_of(study)
    mode = minimise(model, np.r_[study.gold.value, np.full(20, 1.0)], max_iter=100, tol=1e-6).x
    assert posterior_means(model_of(study), mode, None, None).status == "settled"
    assert not any("did not settle" in note for note in CrowdBT().fit(study.judgments).notes)
    monkeypatch.setattr("crowdrank.methods.pairs.votes.posterior.MAX_ROUNDS", 1)
    assert posterior_means(model_of(study), mode, None, None).status == "rounds used up"
    assert any("intervals did not settle" in note for note in CrowdBT().fit(study.judgments).notes)


def test_a_quality_that_rounds_to_one_has_a_beta_distribution():
    """1 − mean of a mean that rounds above 1 would be negative."""
    a, b = as_beta(np.array([45.0, -45.0, 0.0]), np.array([1.0, 1.0, 1e-9]))
    assert (a > 0).all()
    assert (b > 0).all()
    assert b[0] == pytest.approx(a[1])


@pytest.mark.parametrize("method", ["crowd-bt", "crowd-thurstone"])
@pytest.mark.parametrize(("annotators", "votes", "ties"), [(300, 1500, 0.3), (200, 400, 0.7), (100, 300, 0.5)])
def test_few_votes_with_ties_give_finite_intervals(method, annotators, votes, ties):
    """A tie across a wide gap is concave in quality: variances must not run away (warnings are errors here)."""
    for seed in (0, 2, 6):
        study = cr.simulate.pairs(items=33, annotators=annotators, votes=votes, ties=ties, seed=seed)
        consensus = cr.fit(method, study.judgments)
        assert np.isfinite(consensus.low).all()
        assert np.isfinite(consensus.high).all()
        assert consensus.annotators["quality_low"].null_count() == 0
