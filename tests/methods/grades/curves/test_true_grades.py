"""Probabilities of true grades: calibrated on simulated crowds, kernels against slow ways."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.methods.grades.curves import classes
from crowdrank.methods.grades.curves import true_grades as of_curves
from crowdrank.methods.grades.curves.classes import true_classes
from crowdrank.methods.grades.curves.curves import CurveFit
from crowdrank.methods.grades.curves.relevance import prepare

SHARES = {2: [0.85, 0.15], 3: [0.6, 0.25, 0.15], 5: [0.5, 0.2, 0.14, 0.09, 0.07]}


def crowd(size, rng, annotators=40):
    """Good, poor and guessing annotators, a tenth of whom confuse neighbouring grades."""
    tables = []
    for number in range(annotators):
        kind = number % 10
        if kind < 2:
            tables.append(np.tile(rng.dirichlet(np.ones(size)), (size, 1)))
        elif kind == 2:
            near = np.exp(-1.5 * np.abs(np.subtract.outer(np.arange(size), np.arange(size))))
            tables.append(near / near.sum(axis=1, keepdims=True))
        else:
            accuracy = rng.beta(6, 2)
            wrong = (1 - accuracy) / (size - 1)
            tables.append(wrong + (accuracy - wrong) * np.eye(size))
    return tables


def majority(study, size):
    count = np.zeros((study.vocabulary.n_entries, size))
    np.add.at(count, (study.grades.entry, study.grades.grade.astype(int)), 1)
    return count.argmax(axis=1)


def log_loss(chance, truth):
    return -np.log(np.maximum(chance[np.arange(len(truth)), truth], 1e-6)).mean()


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("labels", [3, 10])
def test_labels_are_better_than_majority_and_calibrated(build, size, labels):
    """Of the labels given with probability p, a share p is right; cutting the ranking to shares is worse."""
    found, right, plain, loss = [], [], [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        study, truth = build.class_crowd(seed, SHARES[size], crowd(size, rng), 300, labels)
        chance = cr.fit("gda", study).label_chances
        found.append(chance.max(axis=1))
        right.append(chance.argmax(axis=1) == truth)
        plain.append(majority(study, size) == truth)
        loss.append(log_loss(chance, truth))
    assert np.mean(right) >= np.mean(plain) - 0.005
    assert abs(np.mean(found) - np.mean(right)) < 0.06  # the standard error is 0.01
    assert np.mean(loss) < (0.55 if labels == 3 else 0.2)


def rare_and_shared(seed, size, share, labels, items=400, annotators=60):
    """Items look like another grade to everybody; poor annotators are biased too. Independent of all our models."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(size, items, p=share)
    skill, looks = np.exp(rng.normal(0, 0.5, annotators)), truth + rng.normal(0, 0.5, items)
    bias = rng.normal(0, 0.5, annotators) / skill
    rows = []
    for item in range(items):
        for a in rng.permutation(annotators)[:labels]:
            grade = np.rint(looks[item] + bias[a] + 0.5 / skill[a] * rng.normal())
            rows.append(("t", f"a{a:02}", f"d{item:03}", int(np.clip(grade, 0, size - 1))))
    return rows, truth


@pytest.mark.parametrize("labels", [7, 20])
def test_rare_grades_where_errors_are_shared(build, labels):
    """Tables take what annotators have in common for the rare grade; one coin for each annotator does not."""
    right, tables = [], []
    for seed in range(3):
        rows, truth = rare_and_shared(seed, 2, [0.9, 0.1], labels)
        study = build.judgments(grades=rows)
        right.append(cr.fit("gda", study).label_chances.argmax(axis=1) == truth)
        prepared = prepare(study, "study").rows
        tables.append(true_classes(prepared, 2, study.vocabulary.entry_task).chance.argmax(axis=1) == truth)
    assert np.mean(right) > np.mean(tables) + 0.03  # a standard error is 0.01


def test_coins_that_explain_nothing_are_not_used(build):
    """Most annotators give one grade whatever they see: coins take it for the truth of every item."""
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 300)
    lazy = np.array([[0.1, 0.8, 0.1]] * 3)
    good = 0.1 + 0.7 * np.eye(3)
    tables = [lazy] * 24 + [good] * 12
    rows = [
        ("t", f"a{a:02}", f"d{item:03}", int(rng.choice(3, p=tables[a][truth[item]])))
        for item in range(300)
        for a in rng.permutation(36)[:6]
    ]
    study = build.judgments(grades=rows)
    chance = cr.fit("gda", study).label_chances
    plain = majority(study, 3)
    assert (chance.argmax(axis=1) == truth).mean() > (plain == truth).mean() + 0.1


def test_shared_errors_leave_doubt(build):
    """Items that all annotators err about together: more annotators do not make the truth more certain."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 4, 400)
    looks = np.clip(truth + rng.normal(0, 0.9, 400), -0.5, 3.5)  # what every annotator sees
    rows = [
        ("t", f"a{a:02}", f"d{item:03}", int(np.clip(np.rint(looks[item] + bias + rng.normal(0, 0.3)), 0, 3)))
        for a, bias in enumerate(rng.normal(0, 0.3, 30))
        for item in range(400)
    ]
    chance = cr.fit("gda", build.judgments(grades=rows)).label_chances
    assert log_loss(chance, truth) < np.log(4)  # that of even chances; certain labels have far more
    alone = prepare(build.judgments(grades=rows), "study").rows
    assert log_loss(true_classes(alone, 4, np.zeros(400, np.int32)).chance, truth) > 2


def test_labels_are_the_most_probable_grades_in_any_order(build):
    study, _ = build.class_crowd(3, SHARES[3], crowd(3, np.random.default_rng(3)), 100, 5)
    consensus = cr.fit("gda", study)
    frame = cr.labels(consensus)
    chance = frame.select("p_0", "p_1", "p_2").to_numpy()
    np.testing.assert_allclose(chance.sum(axis=1), 1)
    assert (chance.argmax(axis=1) == frame["grade"].to_numpy()).all()


@pytest.mark.parametrize("method", ["dawid-skene", "majority-vote", "gda-pw"])
def test_other_methods_label_by_their_own_posterior(build, method):
    study, truth = build.class_crowd(5, SHARES[3], [build.one_coin(0.8, 3)] * 20, 300, 7)
    labels = cr.labels(cr.fit(method, study)).sort("item")["grade"].to_numpy()
    assert (labels == truth).mean() > 0.95  # of seven annotators who are right four times of five, most are right


def test_one_grade_only_is_certain(build):
    study = build.judgments(grades=[("t", a, d, 1) for a in "ab" for d in "xy"])
    assert cr.labels(cr.fit("gda", study))["p_1"].to_list() == [1, 1]


@pytest.fixture(scope="module")
def fitted():
    study = cr.simulate.grades(items=30, annotators=8, labels=4, scales=(3,), seed=4).judgments
    prepared = prepare(study, "study")
    fit = CurveFit(prepared.rows, prepared.scales, 1.0, ordered=False, difficulty=False)
    return prepared.rows, fit.run(50, 1e-6)


def test_left_out_grades_by_the_slow_way(fitted):
    """The posterior from the entry's other rows, written out; free parameters cost one unit each."""
    rows, curves = fitted
    count = np.diff(rows.profile_starts)
    found = of_curves.left_out_likelihood(rows, curves)
    for row in range(0, len(found), 7):
        others = [r for r in np.flatnonzero(rows.entry == rows.entry[row]) if r != row]
        log = curves.nodes.log_prior + sum(curves.table[rows.profile[r], rows.level[r]] for r in others)
        posterior = np.exp(log - log.max()) / np.exp(log - log.max()).sum()
        chance = posterior @ np.exp(curves.table[rows.profile[row], rows.level[row]])
        cost = curves.free_parameters[rows.profile[row]] / count[rows.profile[row]]
        assert found[row] == pytest.approx(chance * np.exp(-cost), rel=1e-6)


def test_coins_by_the_slow_way(build):
    """One step written out: each row by the annotator's other rows, each entry by its rows and the other entries."""
    study, _ = build.class_crowd(7, [0.5, 0.3, 0.2], [build.one_coin(0.7, 3)] * 6, 20, 3)
    rows = prepare(study, "study").rows
    model = classes._Coins(rows, 3, study.vocabulary.entry_task)
    before = classes._shares_given(rows, 3)
    model.learn(before, choose_strength=False)
    chance, _ = model.moved(before)
    total, n = before.sum(axis=0), len(rows.entry)
    usual = (before[rows.entry, rows.level].sum() + 35) / (n + 50)
    for entry in range(20):
        new = total - before[entry] + 1
        for row in range(rows.entry_starts[entry], rows.entry_starts[entry + 1]):
            others = [r for r in range(n) if rows.profile[r] == rows.profile[row] and r != row]
            agreed = sum(before[rows.entry[r], rows.level[r]] for r in others)
            right = (agreed + 8 * usual) / (len(others) + 8)
            new = new * np.where(np.arange(3) == rows.level[row], right, (1 - right) / 2)
        np.testing.assert_allclose(chance[entry], (before[entry] + new / new.sum()) / 2)


def test_habits_by_the_slow_way(fitted):
    rows, _ = fitted
    overall = (np.bincount(rows.level, minlength=3) + 1) / (len(rows.level) + 3)
    found = of_curves.habits(rows, 3)
    for row in range(0, len(found), 5):
        others = [rows.level[r] for r in np.flatnonzero(rows.profile == rows.profile[row]) if r != row]
        same = others.count(rows.level[row])
        assert found[row] == pytest.approx((same + 3 * overall[rows.level[row]]) / (len(others) + 3))


def test_free_parameters_are_fewer_than_all(fitted):
    _, curves = fitted
    assert (curves.free_parameters > 0).all()
    assert (curves.free_parameters < 6).all()


def test_the_weight_of_stacking_by_a_search():
    rng = np.random.default_rng(0)
    one, other = rng.beta(3, 2, 500), rng.beta(2, 2, 500)
    grid = np.linspace(0.001, 0.999, 999)
    best = grid[np.argmax([np.log(w * one + (1 - w) * other).sum() for w in grid])]
    assert of_curves.stacking_weight(one, other) == pytest.approx(best, abs=0.02)


@pytest.mark.parametrize("strength", [4.0, 20.0])
def test_the_strength_of_entries_of_their_own(strength):
    """Entries whose shares are Dirichlet around one distribution: the strength is found from the dispersion."""
    rng = np.random.default_rng(2)
    n, size, each = 800, 3, 25
    share = rng.dirichlet(strength * np.array([0.5, 0.3, 0.2]), n)
    level = (np.cumsum(share, axis=1)[:, None, :] < rng.random((n, each, 1))).sum(axis=2)
    count = np.stack([(level == g).sum(axis=1) for g in range(size)], axis=1)
    expected, chance = each * np.array([0.5, 0.3, 0.2]), np.array([0.5, 0.3, 0.2])
    found = ((count - expected) ** 2).sum() / (n * each * (chance * (1 - chance)).sum())

    class Rows:
        entry_starts = np.arange(n + 1) * each

    assert of_curves.entry_strength(found, Rows()) == pytest.approx(strength, rel=0.2)
    assert of_curves.entry_strength(0.9, Rows()) == np.inf
    assert 0 < of_curves.entry_strength(2.0 * each, Rows()) < 1e-6  # shares that vary more than any can


@pytest.mark.parametrize("method", ["gda", "dawid-skene"])
def test_a_slip_of_the_hand_is_no_true_grade(build, method):
    """One 10 among thousands of grades from 0 to 3 once took the items of other grades, and a third of the accuracy."""
    rows, truth = rare_and_shared(0, 4, [0.5, 0.25, 0.15, 0.1], labels=20, items=150, annotators=20)
    slip = [*rows[:-1], (*rows[-1][:3], 10)]
    clean, found = (cr.labels(cr.fit(method, build.judgments(grades=each))).sort("item") for each in (rows, slip))
    assert 10 not in found["grade"].to_list()
    assert found["p_10"].max() == 0
    wrong = [np.mean(each["grade"].to_numpy() != truth) for each in (clean, found)]
    assert wrong[1] <= wrong[0] + 0.03
