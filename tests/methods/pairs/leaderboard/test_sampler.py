"""Draws from the posterior of votes with effects: gradient, units, names, and whether intervals contain the truth."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import crowdrank as cr
from crowdrank.methods.pairs.leaderboard import block_matrices
from crowdrank.methods.pairs.leaderboard import model as models
from crowdrank.methods.pairs.leaderboard.block_matrices import is_sparse
from crowdrank.methods.pairs.leaderboard.covariates import standardised
from crowdrank.methods.pairs.leaderboard.model import EffectModel, Effects, Factor
from crowdrank.methods.pairs.leaderboard.sampler import ArrowUnits, EffectTarget
from crowdrank.methods.pairs.leaderboard.solver import arrow_of, find_mode, posterior_at, start_spreads
from crowdrank.study import Pairs, ids
from leaderboard_votes import simulated


def target_of(truth, *, normal=False):
    """The posterior of a study with all kinds of parameters, its mode, and a random point."""
    study = truth.judgments
    pairs, n = study.pairs, study.vocabulary.n_entries
    factors = (
        Factor("category", pairs.category, len(study.categories)),
        Factor("untrusted", np.where(pairs.annotator == 0, -1, 0).astype(np.int32), 1),
    )
    x = standardised(pairs, study.covariates, n).x
    effects = Effects(x, factors, bias=True, slopes=True, own_ties=True, quality=True)
    model = EffectModel(pairs, effects, n, len(study.vocabulary.annotators), normal=normal)
    start = model.start(np.zeros(n), np.full(model.n_annotators, 0.8), -0.5)
    solution = find_mode(model, start, start_spreads(model, -0.5), 5, 1e-6)
    target = EffectTarget(model, solution)
    size = sum(part.size for part in solution.values[:3])
    return target, solution, 0.3 * np.random.default_rng(0).normal(size=size)


@pytest.mark.parametrize(("normal", "most_core"), [(False, 1500), (True, 1500), (False, 10)])
def test_the_gradient_is_that_of_the_value(monkeypatch, normal, most_core):
    """By finite differences, at a random point; also where categories have blocks of their own."""
    monkeypatch.setattr(models, "MOST_CORE", most_core)
    target, _, x = target_of(simulated(seed=3, items=4, annotators=3, votes=90, ties=0.6), normal=normal)
    assert (target.model.blocked is not None) == (most_core == 10)
    step = 1e-5
    by_steps = [(target.evaluate(x + step * e).value - target.evaluate(x - step * e).value) for e in np.eye(len(x))]
    assert_allclose(target.evaluate(x).gradient, np.array(by_steps) / (2 * step), atol=1e-4)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("most_core", [1500, 10])
def test_units_are_those_of_the_information(monkeypatch, most_core, sparse):
    """There and back is the same point; slopes are by units; the squared length is the quadratic form."""
    monkeypatch.setattr(models, "MOST_CORE", most_core)
    if sparse:
        monkeypatch.setattr(block_matrices, "FEWEST_CELLS", 1)
        monkeypatch.setattr(block_matrices, "MOST_FILLED", 1.1)
    target, solution, u = target_of(simulated(seed=4, items=4, annotators=3, votes=90, ties=0.6))
    centre = np.concatenate([part.ravel() for part in solution.values[:3]])
    units = ArrowUnits(target, centre, solution.arrow)
    x = units.position(u)
    assert_allclose(units.of(x), u, atol=1e-9)
    gradient = np.random.default_rng(1).normal(size=len(u))
    assert units.slope(gradient) @ u == pytest.approx(gradient @ (x - centre))
    info, (core, block, own) = solution.arrow.information, target.parts(x - centre)
    assert is_sparse(solution.arrow.own_map) == sparse
    form = core @ info.core @ core + np.einsum("ki,kij,kj", own, info.own, own)
    form += 2 * np.einsum("ki,kij,j", own, info.own_core, core)
    if most_core == 10:
        form += np.einsum("ki,kij,kj", block, info.block, block)
        form += 2 * np.einsum("ki,kij,j", block, info.block_core, core)
    assert u @ u == pytest.approx(form)


def test_many_tasks_give_sparse_matrices_and_the_same_step(monkeypatch):
    """Twelve tasks of four items, eight annotators each: items of different tasks are not connected by votes."""
    parts = [simulated(seed=seed, items=4, annotators=8, votes=60).judgments.pairs for seed in range(12)]
    shift = [np.int32(4 * number) for number in range(12)]
    columns = {
        "annotator": np.concatenate([part.annotator + np.int32(8 * n) for n, part in enumerate(parts)]),
        "left": np.concatenate([part.left + by for part, by in zip(parts, shift, strict=True)]),
        "right": np.concatenate([part.right + by for part, by in zip(parts, shift, strict=True)]),
        "outcome": np.concatenate([part.outcome for part in parts]),
    }
    pairs = Pairs(**columns)
    effects = Effects(np.zeros((len(pairs), 0)), bias=True, quality=True)
    model = EffectModel(pairs, effects, 48, 96, normal=False)
    monkeypatch.setattr(block_matrices, "FEWEST_CELLS", 1000)
    start, spreads = model.start(np.zeros(48), np.full(96, 0.8)), start_spreads(model, 0.0)
    info = posterior_at(model, start, spreads)[1]
    sparse = arrow_of(info)
    assert is_sparse(sparse.own_map)
    monkeypatch.setattr(block_matrices, "MOST_FILLED", 0.0)
    whole = arrow_of(info)
    assert not is_sparse(whole.own_map)
    assert_allclose(sparse.own_variance, whole.own_variance, atol=1e-12)
    for one, other in zip(sparse.step(), whole.step(), strict=True):
        assert_allclose(one, other, atol=1e-12)


def crowd(seed, votes=500):
    quality = np.random.default_rng(seed).beta(8, 2, size=12)
    return simulated(seed=seed, votes=votes, ties=0.3, slope=0.3, bias=0.4, quality=quality)


def test_names_do_not_matter():
    """The same votes with items, annotators and categories in another order give the same draws."""
    truth = crowd(5)
    study, pairs = truth.judgments, truth.judgments.pairs
    rng = np.random.default_rng(0)
    item, who, kind = (rng.permutation(size).astype(np.int32) for size in (10, 12, 3))
    renamed = replace(pairs, left=item[pairs.left], right=item[pairs.right])
    renamed = replace(renamed, annotator=who[pairs.annotator], category=kind[pairs.category])
    one = cr.fit("crowd-bt", study, order_bias=True)
    other = cr.fit("crowd-bt", replace(study, pairs=renamed), order_bias=True)
    assert_allclose(other.low[item], one.low, atol=1e-7)
    assert_allclose(other.annotator_columns["left_bias_low"][who], one.annotator_columns["left_bias_low"], atol=1e-7)


def test_intervals_of_crowds_contain_the_truth():
    """Scores of the most likely parameters lie too close together: their intervals held 83 % of the true ones."""
    hits = []
    for seed in range(8):
        truth = crowd(seed, votes=700)
        found = cr.fit("crowd-bt", truth.judgments, order_bias=True)
        score = truth.score - truth.score.mean()
        hits.append(np.mean((found.low <= score) & (score <= found.high)))
    assert 0.88 <= np.mean(hits) <= 0.995, hits


def test_categories_and_annotators_who_take_away_the_same(monkeypatch):
    """What connects the two blocks is left out: the information about the common scale was negative, an error."""
    monkeypatch.setattr(models, "MOST_CORE", 10)
    quality = np.random.default_rng(1).beta(6, 3, size=6)
    truth = simulated(seed=1, items=12, annotators=6, votes=3000, categories=12, covariates=1, quality=quality)
    found = cr.fit("crowd-bt", truth.judgments)
    score = truth.score - truth.score.mean()
    assert np.mean((found.low <= score) & (score <= found.high)) >= 0.75


def test_one_category_and_one_annotator():
    """Few groups, of one member each, and hardly any votes: everything is finite, and intervals are wide."""
    truth = simulated(seed=1, items=3, annotators=1, votes=6, categories=1, covariates=0)
    study = replace(truth.judgments, categories=ids(["all"]), pairs=replace(truth.judgments.pairs, covariates=None))
    found = cr.fit("crowd-bt", study)
    assert np.isfinite(found.score).all()
    assert (found.high - found.low > 0.5).all()
