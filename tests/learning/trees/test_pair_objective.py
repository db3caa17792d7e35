"""The objectives of pairs: against slow obvious references, and by finite differences."""

import numpy as np
import pytest
from scipy.stats import norm

import crowdrank as cr
from crowdrank.learning.trees.kernels import DEPTH, change
from crowdrank.learning.trees.pair_objective import PairObjective
from crowdrank.learning.trees.soft_preferences import SoftPreferences
from crowdrank.learning.trees.swaps import Swaps
from crowdrank.methods.grades.curves.curves import CurveFit
from crowdrank.methods.grades.curves.relevance import prepare
from crowdrank.methods.supervised.cells.target_measure import target


def study(items=6, labels=3, seed=0):
    crowd = cr.simulate.grades(
        items=items, annotators=8, labels=labels, tasks=3, scales=(5, 3), spammers=0.25, seed=seed
    )
    return prepare(crowd.judgments, "study"), crowd.judgments.vocabulary.entry_task


def objective(partners=1000, measure="ndcg", **crowd):
    graded, task = study(**crowd)
    curves = CurveFit(graded.rows, graded.scales, 1.0, ordered=False, difficulty=False).run(50, 1e-2)
    rng = np.random.default_rng(1)
    swaps = Swaps(target(measure), rng.uniform(0, 0.9, len(task)), rng.uniform(0, 0.1, len(task)), task)
    return (
        PairObjective(graded.rows, task, curves.gaussians, swaps, partners=partners, rest=0.7, seed=0),
        graded,
        curves.gaussians,
    )


def weight_of(lists):
    return lambda d, e: change(lists, d, e)


def slow_value(model, graded, curves, score, lists):
    """Every pair of judgments of a task, with densities as they are written in the paper."""
    rows, weight, total = graded.rows, weight_of(lists), 0.0
    for i in range(len(rows.entry)):
        for j in range(len(rows.entry)):
            d, e, a, b = rows.entry[i], rows.entry[j], rows.profile[i], rows.profile[j]
            if d == e or model.task[d] != model.task[e]:
                continue
            spread = np.sqrt(np.sqrt(curves.variance[a] * curves.variance[b]) + model.rest)
            n = curves.n_levels[a]
            density = curves.weight[a, :n] * norm.pdf(
                score[d] - score[e], curves.mean[a, :n] - curves.mean[b, rows.level[j]], spread
            )
            total += weight(d, e) * np.log(density[rows.level[i]] / density.sum())
    return total


def test_the_likelihood_of_all_pairs():
    model, graded, curves = objective()
    score = np.random.default_rng(2).normal(size=len(model.task))
    lists = model.swaps.lists(score)
    assert model.evaluate(score, lists, 0.0)[0] == pytest.approx(slow_value(model, graded, curves, score, lists))
    assert model.evaluate(score, lists, 0.4)[0] == pytest.approx(slow_value(model, graded, curves, score, lists))


@pytest.mark.parametrize("measure", ["ndcg", "map", "err@3"])
def test_slopes_by_finite_differences(measure):
    model, *_ = objective(partners=7, measure=measure)
    score, small = np.random.default_rng(3).normal(size=len(model.task)), 1e-5
    lists = model.swaps.lists(score)
    slope = model.evaluate(score, lists, 0.3)[1]
    for entry in range(len(score)):
        step = small * (np.arange(len(score)) == entry)
        up, down = (model.evaluate(score + sign * step, lists, 0.3)[0] for sign in (1, -1))
        assert slope[entry] == pytest.approx((up - down) / (2 * small), rel=1e-5, abs=1e-7)


def test_curvatures_by_finite_differences():
    """Minus the second derivative by each score."""
    model, *_ = objective()
    score, small = np.random.default_rng(3).normal(size=len(model.task)), 1e-4
    lists = model.swaps.lists(score)
    curvature = model.evaluate(score, lists, 0.0)[2]
    for entry in range(len(score)):
        step = small * (np.arange(len(score)) == entry)
        up, down = (model.evaluate(score + sign * step, lists, 0.0)[1][entry] for sign in (1, -1))
        assert curvature[entry] == pytest.approx((down - up) / (2 * small), rel=1e-4)


def test_every_judgment_counts_as_one():
    """However large or small the weights of a measure are."""
    model, *_ = objective()
    score = np.random.default_rng(4).normal(size=len(model.task))
    slope, _ = model(score)
    model.swaps.gain[:] *= 1e-6
    model.swaps.variance[:] *= 1e-12
    model.round = 0
    assert model(score)[0] == pytest.approx(slope)


def test_all_others_are_met_from_round_to_round():
    """The mean over many rounds of samples is the sum over all pairs."""
    sampled, *_ = objective(partners=4, items=8)
    whole, *_ = objective(items=8)
    score = np.random.default_rng(5).normal(size=len(whole.task))
    lists = whole.swaps.lists(score)
    sums = [sampled.evaluate(score, lists, turn)[1:4:2] for turn in np.arange(0, 1, 1 / 128)]
    slope, weight = np.sum([each[0] for each in sums], axis=0), np.sum([each[1] for each in sums])
    _, all_slope, _, all_weight = whole.evaluate(score, lists, 0.0)
    assert slope / weight == pytest.approx(
        all_slope / all_weight.sum(), abs=0.02 * np.abs(all_slope).max() / all_weight.sum()
    )


def soft(n=40):
    rng = np.random.default_rng(6)
    task = np.repeat([0, 1], [n, 5]).astype(np.int32)
    chance = rng.dirichlet(np.ones(4), len(task))
    swaps = Swaps(target("ndcg"), chance @ np.arange(4.0), np.zeros(len(task)), task)
    return SoftPreferences(chance, task, swaps), rng.normal(size=len(task))


def test_soft_preferences_are_those_of_two_dice():
    model, score = soft()
    lists, total = model.swaps.lists(score), 0.0
    weight, higher = weight_of(lists), np.tril(np.ones((4, 4)), -1) + np.eye(4) / 2
    for d in range(len(score)):
        for e in range(d):
            if model.task[d] == model.task[e] and min(lists.place[d], lists.place[e]) <= DEPTH:
                wanted, found = model.chance[d] @ higher @ model.chance[e], 1 / (1 + np.exp(score[e] - score[d]))
                total += weight(d, e) * (wanted * np.log(found) + (1 - wanted) * np.log(1 - found))
    assert model.evaluate(score, lists)[0] == pytest.approx(total)


def test_soft_slopes_and_curvatures_by_finite_differences():
    model, score = soft(8)
    lists, small = model.swaps.lists(score), 1e-5
    _, slope, curvature, _ = model.evaluate(score, lists)
    for entry in range(len(score)):
        step = small * (np.arange(len(score)) == entry)
        (up, steeper, *_), (down, flatter, *_) = (model.evaluate(score + sign * step, lists) for sign in (1, -1))
        assert slope[entry] == pytest.approx((up - down) / (2 * small), rel=1e-5, abs=1e-8)
        assert curvature[entry] == pytest.approx((flatter[entry] - steeper[entry]) / (2 * small), rel=1e-5)
