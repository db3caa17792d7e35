from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import minimize

import crowdrank as cr
from crowdrank.learning.linear.listmle import lists_of
from crowdrank.learning.linear.model import LinearLists, scaled
from crowdrank.settings import SettingError


def made(seed=0, tasks=30, items=6, columns=3, levels=None):
    """Features, weights, and labels that follow Plackett-Luce; or grades, with ties."""
    rng = np.random.default_rng(seed)
    x, weight = rng.normal(size=(tasks * items, columns)), rng.normal(size=columns)
    label = x @ weight + rng.gumbel(size=len(x))  # sorted, these are a draw of Plackett-Luce
    if levels:
        label = np.digitize(label, np.quantile(label, np.linspace(0, 1, levels + 1)[1:-1])).astype(float)
    names = {"task": np.repeat(np.arange(tasks), items).tolist(), "item": np.tile(np.arange(items), tasks).tolist()}
    features = cr.features({**names, **{f"x{number}": x[:, number] for number in range(columns)}})
    return features, weight, cr.gold({**names, "score": label})


def plain(weight, features, label, penalty, top=None):
    """Minus the log-likelihood of full orders, item by item."""
    value = penalty * (weight**2).sum() / 2
    for task in range(len(features.vocabulary.tasks)):
        rows = features.vocabulary.entry_task == task
        score = (features.value[rows] @ weight)[np.argsort(-label[rows])]
        for place in range(len(score) if top is None else top):
            value += np.log(np.exp(score[place:]).sum()) - score[place]
    return value


def objective(features, gold, penalty=0.7, top=None):
    label, words = gold.align(features.vocabulary), features.vocabulary
    lists = lists_of(label, words, top)
    data = scaled(features, np.arange(len(features)))
    return data, LinearLists(data.value, lists, np.ones(len(lists.list_task)), words, penalty)


@pytest.mark.parametrize(("levels", "top"), [(None, None), (3, None), (None, 2), (3, 2)])
def test_gradient_and_curvature_by_finite_differences(levels, top):
    features, _, gold = made(levels=levels)
    _, model = objective(features, gold, top=top)
    rng = np.random.default_rng(1)
    x, v = rng.normal(size=3), rng.normal(size=3)
    slope = model.evaluate(x)[1]
    bent, h = model.hessian_product(v), 1e-5
    ahead, behind = model.evaluate(x + h * v), model.evaluate(x - h * v)
    assert (ahead[0] - behind[0]) / (2 * h) == pytest.approx(slope @ v, rel=1e-6)
    np.testing.assert_allclose((ahead[1] - behind[1]) / (2 * h), bent, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("top", [None, 2])
def test_the_optimum_is_that_of_the_plain_likelihood(top):
    features, _, gold = made()
    data, model = objective(features, gold, penalty=0.7, top=top)
    label = gold.align(features.vocabulary)
    whitened = cr.Features(features.vocabulary, features.columns, data.value)
    wanted = minimize(plain, np.zeros(3), (whitened, label, 0.7, top), tol=1e-10)
    found = model.fit(np.zeros(3), 100, 1e-8)
    assert found.converged
    assert found.value == pytest.approx(wanted.fun, rel=1e-9)
    np.testing.assert_allclose(found.x, wanted.x, atol=1e-4)


def test_two_groups_of_which_one_is_single_are_exact():
    """One item before two that nobody put in an order: the sum over both orders."""
    features = cr.features({"item": list("xyz"), "a": [0.3, -1.0, 0.8]})
    gold = cr.gold({"item": list("xyz"), "grade": [1, 0, 0]})
    data, model = objective(features, gold, penalty=0.0)
    score = data.value[:, 0] * model.basis[0, 0] * 0.4
    chance = 0.0
    for order in permutations(range(3)):
        if order[0] == 0:
            part = 1.0
            for place in range(3):
                part *= np.exp(score[order[place]]) / np.exp(score[list(order[place:])]).sum()
            chance += part
    assert model.evaluate(np.array([0.4]))[0] == pytest.approx(-np.log(chance))


def test_weights_are_recovered():
    features, weight, gold = made(tasks=500, items=8)
    ranker = cr.learn("listmle", features, gold, penalty=0.1)
    np.testing.assert_allclose(ranker.model.weight / ranker.model.spread, weight, atol=0.08)


def test_units_and_shifts_of_features_do_not_matter():
    features, _, gold = made()
    other = cr.Features(features.vocabulary, features.columns, features.value * [10, 0.1, 1] + [5, -3, 100])
    one, same = (cr.learn("listmle", each, gold).rank(each).score for each in (features, other))
    np.testing.assert_allclose(one, same, atol=1e-6)


def test_constant_columns_say_nothing_and_are_named():
    features, _, gold = made()
    more = cr.Features(
        features.vocabulary, (*features.columns, "same"), np.c_[features.value, np.full(len(features), 7.0)]
    )
    ranker = cr.learn("listmle", more, gold)
    assert "1 columns not used, because all items have the same value there: same" in ranker.notes
    np.testing.assert_allclose(
        ranker.rank(more).score, cr.learn("listmle", features, gold).rank(features).score, atol=1e-9
    )


def test_scores_far_apart_lose_no_digits():
    """Almost separable lists drive the weights up: the fit must still end."""
    rng = np.random.default_rng(0)
    x = rng.random((1500, 2))
    names = {"task": np.repeat(np.arange(100), 15).tolist(), "item": np.tile(np.arange(15), 100).tolist()}
    features = cr.features({**names, "x1": x[:, 0], "x2": x[:, 1]})
    ranker = cr.learn("listmle", features, cr.gold({**names, "score": x[:, 0] + 10 * x[:, 1]}))
    assert ranker.fit.converged
    assert ranker.fit.steps < 30


def test_equal_labels_are_refused():
    features, _, _ = made(tasks=1)
    with pytest.raises(cr.JudgmentError, match="no task has items of different labels"):
        cr.learn("listmle", features, cr.gold({"task": [0, 0], "item": [0, 1], "grade": [1, 1]}))


@pytest.mark.parametrize("given", [{"top": 0}, {"penalty": -1.0}, {"max_iter": 0}])
def test_bad_settings_are_refused(given):
    with pytest.raises(SettingError):
        cr.ListMLE(**given)
