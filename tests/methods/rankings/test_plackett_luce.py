from itertools import permutations

import choix
import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

import build
import crowdrank as cr
from crowdrank.convert import as_lists
from crowdrank.methods.rankings.lists.score_draws import ScoreDraws
from crowdrank.methods.rankings.plackett_luce import ListModel, PlackettLuce
from crowdrank.numerics import compiled

TIED = [
    ("t", "ann", [["a"], ["b", "c"], ["d"]], False),
    ("t", "bob", [["b"], ["a"]], True),
    ("t", "cy", [["d", "a", "e"]], False),
    ("t", "dee", [["c", "e"]], True),
    ("t", "eve", [["e"], ["a", "b", "c", "d"]], False),
    ("t", "fay", [["a"]], False),
    ("u", "ann", [["a"], ["b"], ["c"]], False),
    ("u", "bob", [["c"]], True),
]


def drawn(rng, n_lists, length, n_items, spread=1.0):
    """Lists from the model, and the true scores."""
    score = rng.normal(0, spread, n_items)
    items = rng.permuted(np.tile(np.arange(n_items), (n_lists, 1)), axis=1)[:, :length]
    order = np.argsort(-(score[items] + rng.gumbel(size=items.shape)), axis=1)
    return np.take_along_axis(items, order, axis=1), score


def study(lists):
    length = lists.shape[1]
    rank = np.tile(np.arange(1, length + 1), len(lists))
    names = [f"{item:04}" for item in lists.ravel()]
    return cr.judgments({"list": np.repeat(np.arange(len(lists)), length), "item": names, "rank": rank})


def model_of(judgments, prior=0.7, weight=None):
    lists = as_lists(judgments)
    weight = np.linspace(0.5, 2, len(lists.list_task)) if weight is None else weight
    return ListModel(lists, weight, judgments.vocabulary, prior)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1.0])
def test_agrees_with_choix(alpha):
    lists, _ = drawn(np.random.default_rng(0), 300, 5, 15)
    ours = PlackettLuce(prior=alpha).fit(study(lists))
    theirs = choix.mm_rankings(15, lists.tolist(), alpha=alpha, tol=1e-12, max_iter=100_000)
    assert ours.fit.converged
    np.testing.assert_allclose(ours.score - ours.score.mean(), theirs, atol=1e-6)


def test_agrees_with_choix_on_pairs_and_lists_of_unequal_length():
    rng = np.random.default_rng(1)
    lists = [rng.permutation(8)[: rng.integers(1, 9)].tolist() for _ in range(200)]
    rows = [("t", f"k{n}", [[f"{item}"] for item in each], False) for n, each in enumerate(lists)]
    words = cr.judgments(
        {
            "annotator": [who for _, who, places, _ in rows for _ in places],
            "item": [item for *_, places, _ in rows for (item,) in places],
            "rank": [rank for *_, places, _ in rows for rank, _ in enumerate(places)],
        }
    )
    theirs = choix.mm_rankings(8, lists, tol=1e-12)
    np.testing.assert_allclose(PlackettLuce(prior=0).fit(words).score, theirs, atol=1e-6)


def test_derivatives(build):
    """With ties, top-k lists, weights and two tasks."""
    model = model_of(build.judgments(lists=TIED))
    rng = np.random.default_rng(2)
    for _ in range(3):
        x = rng.normal(size=model.vocabulary.n_entries)
        assert check_grad(lambda x: model.evaluate(x)[0], lambda x: model.evaluate(x)[1], x) < 1e-5
        step, v = 1e-5, rng.normal(size=len(x))
        slope = (model.evaluate(x + step * v)[1] - model.evaluate(x - step * v)[1]) / (2 * step)
        model.evaluate(x)
        np.testing.assert_allclose(model.hessian_product(v), slope, atol=1e-8)


def test_the_whole_hessian_is_what_products_say(build):
    model = model_of(build.judgments(lists=TIED))
    n, task = model.vocabulary.n_entries, model.vocabulary.entry_task
    model.evaluate(np.random.default_rng(3).normal(size=n))
    columns = np.stack([model.hessian_product(row) for row in np.eye(n)])
    np.testing.assert_allclose(np.diag(columns), model.diagonal(), atol=1e-12)
    one, other = model.cells()
    apart = one != other
    np.testing.assert_allclose(-model.joint_curvatures()[apart], columns[one, other][apart], atol=1e-12)
    assert np.abs(columns[task[:, None] != task]).max() < 1e-12


def test_rounding_does_not_hide_unlisted_items_of_little_worth(build):
    """The listed items have all but 1e-13 of the worth of the task: a difference would be rounding."""
    lists = [("t", "k", [["a"], ["b"]], True)]
    model = model_of(build.judgments(lists=lists, entries=[("t", "c"), ("t", "d")]), prior=0, weight=np.ones(1))
    x = np.array([30.0, 1.0, 0.0, -1.0])
    a, b, c, d = np.exp(x)
    value = -np.log(a / (a + b + c + d) * b / (b + c + d))
    assert model.evaluate(x)[0] == pytest.approx(value, rel=1e-12)


def chance_of_order(order, score):
    worth = np.exp([score[item] for item in order])
    return np.prod([worth[i] / worth[i:].sum() for i in range(len(worth))])


def test_top_k_is_the_sum_over_all_ways_to_go_on(build):
    model = model_of(
        build.judgments(lists=[("t", "k", [["b"], ["d"]], True)], entries=[("t", i) for i in "ace"]), 0, np.ones(1)
    )
    score = dict(zip("abcde", np.random.default_rng(4).normal(size=5), strict=True))
    whole = sum(chance_of_order(("b", "d", *rest), score) for rest in permutations("ace"))
    assert np.exp(-model.evaluate(np.array(list(score.values())))[0]) == pytest.approx(whole)


def test_two_tied_items_are_half_a_vote_for_each(build):
    tied = PlackettLuce(prior=1).fit(
        build.judgments(lists=[("t", "k", [["a", "b"]], False), ("t", "l", [["a"], ["b"]], False)])
    )

    def loss(x):
        a, b = x
        both, votes = np.logaddexp(a, b), 1.5 * a + 0.5 * b
        return 2 * both - votes + (np.exp(x) - x).sum()

    np.testing.assert_allclose(tied.score, minimize(loss, np.zeros(2), tol=1e-12).x, atol=1e-5)


def test_ties_draw_scores_together(build):
    apart = [("t", "k", [["a"], ["b"], ["c"]], False)]
    tied = [("t", "l", [["a", "b", "c"]], False)]
    alone, both = (PlackettLuce(prior=1).fit(build.judgments(lists=lists)).score for lists in (apart, apart + tied * 3))
    assert 0 < np.ptp(both) < np.ptp(alone)


def test_a_weight_is_as_many_lists(build):
    lists = [("t", "ann", [["a"], ["b"], ["c"]], False), ("t", "bob", [["c"], ["a", "b"]], True)]
    weighted = PlackettLuce(weights={"bob": 3}).fit(build.judgments(lists=lists))
    repeated = PlackettLuce().fit(build.judgments(lists=[lists[0], *[lists[1]] * 3]))
    np.testing.assert_allclose(weighted.score, repeated.score, atol=1e-9)


def test_what_no_list_tells_apart_has_no_score(build):
    found = PlackettLuce().fit(build.judgments(lists=[("t", "k", [["a"], ["b"]], False), ("t", "l", [["c"]], False)]))
    assert np.isnan(found.score).tolist() == [False, False, True]
    assert found.ranking["rank_high"].to_list() == [2, 2, None]


def test_an_item_that_is_always_first_stays_finite(build):
    lists = [("t", f"k{n}", [["a"], ["b"], ["c"]], False) for n in range(50)]
    found = PlackettLuce().fit(build.judgments(lists=lists))
    assert found.fit.converged
    assert np.abs(found.score).max() < 10


@pytest.mark.parametrize("n_items", [30, 3200])
def test_intervals_cover_the_truth(n_items):
    """About 95 % of the intervals contain the true score, also where they are estimated by probing."""
    rng = np.random.default_rng(5)
    covered = []
    for _ in range(20 if n_items < 100 else 1):
        lists, truth = drawn(rng, 20 * n_items, 5, n_items) if n_items < 100 else drawn(rng, 12000, 5, n_items)
        found = PlackettLuce(prior=0.01).fit(study(lists))
        centre = truth - truth.mean() + found.score.mean()
        covered.append((found.low <= centre) & (centre <= found.high))
    assert 0.92 < np.mean(covered) < 0.98


def simulated(build, items, lists, length, spread, seed):
    """Lists of the model itself: scores with Gumbel noise, sorted."""
    rng = np.random.default_rng(seed)
    truth, rows = rng.normal(0, spread, items), []
    for number in range(lists):
        some = rng.choice(items, length, replace=False)
        order = some[np.argsort(-(truth[some] + rng.gumbel(size=length)))]
        rows.append(("t", f"a{number:03}", [[f"d{item:03}"] for item in order], False))
    return build.judgments(lists=rows, entries=[("t", f"d{item:03}") for item in range(items)]), truth


@pytest.mark.parametrize(
    ("items", "lists", "length", "spread"), [(100, 50, 10, 1), (100, 50, 10, 3), (20, 100, 8, 3), (200, 30, 10, 3)]
)
def test_intervals_hold_the_truth_whatever_the_spread(build, items, lists, length, spread):
    """With a fixed prior of one choice, .50 to .76 of the scores of spread 3 lie in their intervals.

    Around the mode, .90 to .92 of them do. Errors of one study have the error of the spread in common, so that the
    standard error of these shares is about .01.
    """
    covered = []
    for seed in range(4):
        study, truth = simulated(build, items, lists, length, spread, seed)
        found = PlackettLuce().fit(study)
        scored = ~np.isnan(found.score)
        shift = found.score[scored].mean() - truth[scored].mean()
        covered.append((found.low[scored] <= truth[scored] + shift) & (truth[scored] + shift <= found.high[scored]))
    assert 0.92 < np.mean(np.concatenate(covered)) < 0.98


def test_intervals_hold_where_items_hardly_differ(build):
    """The spread is then near its lowest value, and the posterior far from normal."""
    covered = []
    for seed in range(5):
        study, truth = simulated(build, 60, 20, 6, 0.3, seed)
        found = PlackettLuce().fit(study)
        scored = ~np.isnan(found.score)
        shift = found.score[scored].mean() - truth[scored].mean()
        covered.append((found.low[scored] <= truth[scored] + shift) & (truth[scored] + shift <= found.high[scored]))
    assert np.mean(np.concatenate(covered)) > 0.92


def test_draws_of_a_normal_posterior():
    """With a normal likelihood of known precision and a spread that many items decide, mean and variance are known."""
    rng = np.random.default_rng(3)
    n, spread, precision = 300, 2.0, 4.0
    seen = rng.normal(0, spread, n) + rng.normal(0, precision**-0.5, n)

    def likelihood(x):
        return precision * float((x - seen) @ (x - seen)) / 2, precision * (x - seen)

    hessian = np.diag(np.full(n, precision + spread**-2))
    mode = precision * seen / (precision + spread**-2)
    unit = (2 * n) ** -0.5
    response = mode * 2 * spread**-2 / (precision + spread**-2) * unit
    draws = ScoreDraws(likelihood, mode, spread, hessian, response, unit).draw()
    np.testing.assert_allclose(draws.var(axis=0).mean(), 1 / (precision + spread**-2), rtol=0.05)
    error = (draws.mean(axis=0) - mode) / np.sqrt(1 / (precision + spread**-2))
    assert np.sqrt(np.mean(error**2)) < 0.2  # of 240 draws


def test_draws_do_not_depend_on_names(build):
    lists = [("t", f"a{n}", order, False) for n, order in enumerate([[["x"], ["y"], ["z"]], [["y"], ["x"], ["w"]]] * 3)]
    names = {"x": "s", "y": "a", "z": "b", "w": "c"}
    renamed = [(t, a, [[names[item] for item in tied] for tied in order], u) for t, a, order, u in reversed(lists)]
    one, other = (PlackettLuce().fit(build.judgments(lists=each)).ranking.sort("item") for each in (lists, renamed))
    one = one.with_columns(item=one["item"].replace(names)).sort("item")
    for column in ("score", "low", "high"):
        np.testing.assert_allclose(one[column], other[column], atol=1e-6)


def test_the_spread_is_found_and_told(build):
    study, _ = simulated(build, 60, 150, 10, 2, 0)
    found = PlackettLuce().fit(study)
    assert 1.4 < found.settings["spread"] < 2.9
    assert any(note.startswith("the spread of the scores") for note in found.notes)


def test_the_normal_prior_by_finite_differences(build):
    study, _ = simulated(build, 6, 5, 4, 1, 0)
    model = ListModel(study.rankings, np.ones(5), study.vocabulary, 0.0)
    model.precision = 0.7
    x, direction = np.random.default_rng(1).normal(size=(2, 6))
    np.testing.assert_allclose(model.evaluate(x)[1], build.slope(lambda at: model.evaluate(at)[0], x), atol=1e-6)
    expected = build.slope(lambda at: model.evaluate(at)[1], x) @ direction
    model.evaluate(x)
    np.testing.assert_allclose(model.hessian_product(direction), expected, atol=1e-6)
    np.testing.assert_allclose(model.diagonal(), np.diag(build.slope(lambda at: model.evaluate(at)[1], x)), atol=1e-6)


@pytest.mark.parametrize("prior", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_kernels_and_numpy_give_the_same(prior, seed, monkeypatch):
    """Few lists are computed without kernels: ties, short lists with and without items below, no order at the end."""
    at_infinity = ("t", "gil", [["d"], ["b"], ["a", "c"]], False)
    lists = as_lists(build.judgments(lists=[*TIED, at_infinity]))
    lists.position[(lists.row_list == lists.row_list.max()) & (lists.position == 3)] = np.inf
    vocabulary = build.judgments(lists=TIED).vocabulary
    numpy = ListModel(lists, np.linspace(0.5, 2, len(lists.list_task)), vocabulary, prior)
    monkeypatch.setattr(compiled, "LITTLE_WORK", -1)
    kernels = ListModel(lists, np.linspace(0.5, 2, len(lists.list_task)), vocabulary, prior)
    assert numpy.choices is not None
    assert kernels.choices is None
    x, v = np.random.default_rng(seed).normal(0, 2, (2, vocabulary.n_entries))
    (one, one_slope), (other, other_slope) = numpy.evaluate(x), kernels.evaluate(x)
    assert one == pytest.approx(other, rel=1e-12)
    np.testing.assert_allclose(one_slope, other_slope, atol=1e-12)
    np.testing.assert_allclose(numpy.diagonal(), kernels.diagonal(), atol=1e-12)
    np.testing.assert_allclose(numpy.hessian_product(v), kernels.hessian_product(v), atol=1e-12)
