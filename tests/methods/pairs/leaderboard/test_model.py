"""The mixed model of votes: against scikit-learn, finite differences, and itself computed in another way."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from crowdrank.methods.pairs.leaderboard import model as models
from crowdrank.methods.pairs.leaderboard import scale
from crowdrank.methods.pairs.leaderboard.covariates import standardised
from crowdrank.methods.pairs.leaderboard.effect_kernels import EffectValues
from crowdrank.methods.pairs.leaderboard.model import EffectModel, Effects, Factor
from crowdrank.methods.pairs.leaderboard.scale import learn_crowd
from crowdrank.methods.pairs.leaderboard.solver import (
    Spreads,
    arrow_of,
    find_mode,
    posterior_at,
    start_spreads,
)
from leaderboard_votes import simulated

SPREADS = Spreads(
    {"score": 1.5, "coefficient": 0.7, "category": 0.4, "mean bias": 1.0, "mean ties": 10.0, "mean quality": 1.0},
    {"bias": 0.5, "slope 0": 0.3, "slope 1": 0.3, "ties": 0.4, "quality": 0.8},
    0.0,
)


def model_of(truth, *, own=False, normal=False):
    study = truth.judgments
    pairs, n = study.pairs, study.vocabulary.n_entries
    if not own:
        pairs = replace(pairs, annotator=np.zeros_like(pairs.annotator))
    factors = (Factor("category", pairs.category, len(study.categories)),)
    x = standardised(pairs, study.covariates, n).x
    effects = Effects(x, factors, bias=own, slopes=own, own_ties=own, quality=own)
    return EffectModel(pairs, effects, n, len(study.vocabulary.annotators) if own else 1, normal=normal)


def logistic_regression(model):
    """The same model by scikit-learn: columns times the spread of their coefficients, so that the penalty is equal."""
    rows, n, at = model.rows, model.n_entries, np.arange(len(model.rows.left))
    design = np.zeros((len(at), model.n_core))
    for side, sign in ((rows.left, 1), (rows.right, -1)):
        design[at, side] = sign
        design[at, rows.place[:, 0] + side] = sign
    design[:, model.slices["coefficient"]] = rows.x
    spread = np.empty(model.n_core)
    for name, where in model.slices.items():
        spread[where] = SPREADS.core[name]
    found = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-12, max_iter=10_000)
    found.fit(design * spread, rows.outcome == 1)
    chance = found.predict_proba(design * spread)[:, 1]
    hessian = (design * (chance * (1 - chance))[:, None]).T @ design + np.diag(spread**-2)
    return found.coef_[0] * spread, np.linalg.inv(hessian), n


def test_style_control_is_penalised_logistic_regression():
    """Scores, deviations and coefficients agree with scikit-learn's to 1e-6, and so does their covariance."""
    model = model_of(simulated(seed=1, votes=1500))
    found = find_mode(model, model.start(np.zeros(model.n_entries), np.ones(1)), SPREADS, 100, 1e-10)
    expected, covariance, _ = logistic_regression(model)
    assert found.fit.converged
    assert found.values.core == pytest.approx(expected, abs=1e-6)
    assert found.arrow.core_inverse == pytest.approx(covariance, abs=1e-6)


def test_categories_in_blocks_of_their_own_give_the_same(monkeypatch):
    truth = simulated(seed=2, votes=800)
    model = model_of(truth)
    whole = find_mode(model, model.start(np.zeros(model.n_entries), np.ones(1)), SPREADS, 100, 1e-10)
    monkeypatch.setattr(models, "MOST_CORE", 10)
    split = model_of(truth)
    blocks = find_mode(split, split.start(np.zeros(split.n_entries), np.ones(1)), SPREADS, 100, 1e-10)
    where = model.slices["category"]
    assert split.n_blocks == 3
    assert blocks.values.block.ravel() == pytest.approx(whole.values.core[where], abs=1e-8)
    assert blocks.arrow.block_variance.ravel() == pytest.approx(np.diag(whole.arrow.core_inverse)[where], abs=1e-10)


def test_annotators_and_categories_in_blocks_are_found_by_few_passes(monkeypatch):
    """The blocks leave out what connects the two: steps by them alone would be halved again and again."""
    truth = simulated(seed=8, items=8, annotators=6, votes=900, ties=0.5)

    def found():
        model = model_of(truth, own=True)
        values = model.start(np.zeros(model.n_entries), np.full(6, 0.8), -0.5)
        return model, find_mode(model, values, SPREADS, 100, 1e-10)

    model, whole = found()
    computed, passes = EffectModel._computed, []
    monkeypatch.setattr(EffectModel, "_computed", lambda self, at: passes.append(1) or computed(self, at))
    monkeypatch.setattr(models, "MOST_CORE", 10)
    split, blocks = found()
    assert split.n_blocks == 3
    assert blocks.fit.converged
    assert blocks.fit.steps < 30
    assert len(passes) == 2
    assert blocks.values.core[: model.n_entries] == pytest.approx(whole.values.core[: model.n_entries], abs=1e-4)
    assert blocks.values.block.ravel() == pytest.approx(whole.values.core[model.slices["category"]], abs=1e-4)
    assert blocks.values.own == pytest.approx(whole.values.own, abs=1e-4)


def test_spreads_of_many_votes_are_learned_from_a_sample(monkeypatch):
    """Scores are those of all votes then, and hardly depend on the spreads."""
    model = model_of(simulated(seed=9, items=8, annotators=6, votes=3000), own=True)
    values = model.start(np.zeros(model.n_entries), np.full(6, 0.8))
    whole = learn_crowd(model, values, start_spreads(model, 0.0), max_iter=100, tol=1e-6)
    monkeypatch.setattr(scale, "MANY_VOTES", 1500)
    sampled = learn_crowd(model, values, start_spreads(model, 0.0), max_iter=100, tol=1e-6)
    assert len(model.sample(500).rows.left) == 500
    assert sampled.fit.converged
    assert sampled.spreads.core["score"] == pytest.approx(whole.spreads.core["score"], rel=0.3)
    assert np.corrcoef(sampled.values.core[:8], whole.values.core[:8])[0, 1] > 0.99


@pytest.mark.parametrize("normal", [False, True])
def test_the_gradient_is_that_of_the_value(normal):
    """By finite differences, at a random point, with ties, biases and qualities below 1."""
    truth = simulated(seed=3, items=5, annotators=3, votes=120, ties=0.6)
    model, rng = model_of(truth, own=True, normal=normal), np.random.default_rng(0)
    start = model.start(rng.normal(size=model.n_entries), np.array([0.9, 0.6, 0.3]), -0.5)
    core, own = start.core + 0.3 * rng.normal(size=model.n_core), 0.3 * rng.normal(size=start.own.shape)

    def value(core, own):
        return posterior_at(model, EffectValues(core, start.block, own, start.quality), SPREADS)[0]

    _, info = posterior_at(model, EffectValues(core, start.block, own, start.quality), SPREADS)
    step = 1e-5
    by_core = [(value(core + step * e, own) - value(core - step * e, own)) / (2 * step) for e in np.eye(len(core))]
    assert info.core_gradient == pytest.approx(by_core, abs=1e-4)
    flat = [e.reshape(own.shape) for e in np.eye(own.size)]
    by_own = [(value(core, own + step * e) - value(core, own - step * e)) / (2 * step) for e in flat]
    assert info.own_gradient.ravel() == pytest.approx(by_own, abs=1e-4)


def test_the_information_of_logistic_votes_is_the_hessian():
    """Where quality is 1 and nobody ties or is biased, the Fisher information is the second derivative."""
    model = model_of(simulated(seed=4, items=4, votes=60))
    start = model.start(np.linspace(-1, 1, model.n_entries), np.ones(1))

    def gradient(core):
        return posterior_at(model, start._replace(core=core), SPREADS)[1].core_gradient

    step = 1e-5
    by_steps = [
        (gradient(start.core + step * e) - gradient(start.core - step * e)) / (2 * step) for e in np.eye(model.n_core)
    ]
    assert posterior_at(model, start, SPREADS)[1].core == pytest.approx(np.array(by_steps), abs=1e-5)


def test_annotators_eliminated_block_by_block_are_those_of_the_whole_system():
    """The step and the variances equal those by the inverse of the whole information."""
    model = model_of(simulated(seed=5, items=5, annotators=4, votes=300, ties=0.5), own=True)
    start = model.start(np.zeros(model.n_entries), np.full(4, 0.8), -0.3)
    _, info = posterior_at(model, start, SPREADS)
    k, q = start.own.shape
    size = model.n_core + k * q
    whole = np.zeros((size, size))
    whole[: model.n_core, : model.n_core] = info.core
    for who in range(k):
        at = slice(model.n_core + who * q, model.n_core + (who + 1) * q)
        whole[at, at] = info.own[who]
        whole[at, : model.n_core], whole[: model.n_core, at] = info.own_core[who], info.own_core[who].T
    arrow = arrow_of(info)
    expected = -np.linalg.solve(whole, np.r_[info.core_gradient, info.own_gradient.ravel()])
    core, _, own = arrow.step()
    assert np.r_[core, own.ravel()] == pytest.approx(expected, abs=1e-9)
    variance = np.diag(np.linalg.inv(whole))
    assert np.r_[np.diag(arrow.core_inverse), arrow.own_variance.ravel()] == pytest.approx(variance, abs=1e-9)


@pytest.mark.parametrize("most_core", [1500, 10])
@pytest.mark.parametrize("ties", [0.0, 0.7])
def test_votes_of_annotators_who_are_alike_say_what_the_general_model_says(monkeypatch, most_core, ties):
    """With ties, weights, two kinds of deviations, and votes whose items do not deviate; in the core and in blocks."""
    monkeypatch.setattr(models, "MOST_CORE", most_core)
    monkeypatch.setattr(models, "chunks", lambda rows, _: [slice(0, 100), slice(100, rows)])
    truth, rng = simulated(seed=6, items=6, votes=700, ties=ties), np.random.default_rng(1)
    pairs = truth.judgments.pairs
    pairs = replace(pairs, annotator=np.zeros_like(pairs.annotator), weight=rng.integers(1, 3, 700) / 2)
    factors = Factor("category", pairs.category - 1, 2), Factor("untrusted", -(pairs.left % 2), 1)
    x = standardised(pairs, truth.judgments.covariates, 6).x
    model = EffectModel(pairs, Effects(x, factors), 6, 1, normal=False)
    start = model.start(rng.normal(size=6), np.ones(1), -0.4)
    values = start._replace(
        core=start.core + 0.3 * rng.normal(size=model.n_core), block=rng.normal(size=start.block.shape)
    )
    assert model.n_blocks == (2 if most_core == 10 else 0)
    value, found = model._computed(values)
    monkeypatch.setattr(EffectModel, "is_shared", False)
    expected_value, expected = model._computed(values)
    assert value == pytest.approx(expected_value, rel=1e-12)
    for name, one, other in zip(found._fields, found, expected, strict=True):
        assert one.shape == other.shape, name
        assert one == pytest.approx(other, rel=1e-10, abs=1e-10), name
