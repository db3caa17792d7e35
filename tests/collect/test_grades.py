import numpy as np
import pytest
from scipy import integrate, stats

import crowdrank as cr
from crowdrank.collect.grades import grade_gain


def mutual_information(mean, error, curves):
    """H(grade) − E[H(grade | r)] by quadrature."""
    r = np.linspace(mean - 10 * error, mean + 10 * error, 40_001)
    chance = curves["weight"] * stats.norm.pdf(r[:, None], curves["mean"], curves["spread"])
    chance /= chance.sum(axis=1, keepdims=True)
    density = stats.norm.pdf(r, mean, error)
    overall = integrate.trapezoid(chance * density[:, None], r, axis=0)
    within = integrate.trapezoid(stats.entropy(chance, axis=1) * density, r)
    return stats.entropy(overall) - within


@pytest.mark.parametrize(("mean", "error"), [(0.0, 1.0), (1.2, 0.4), (-0.5, 0.05)])
def test_gain_is_the_mutual_information(mean, error):
    curves = {"mean": np.array([-1.0, 0.2, 1.5]), "spread": np.full(3, 0.8), "weight": np.array([0.2, 0.5, 0.3])}
    found = grade_gain(np.array([mean]), np.array([error]), curves)[0]
    assert found == pytest.approx(mutual_information(mean, error, curves), rel=1e-3)


def test_a_random_annotator_is_worth_nothing():
    alike = {"mean": np.zeros(4), "spread": np.ones(4), "weight": np.full(4, 0.25)}
    assert grade_gain(np.array([0.3]), np.array([1.0]), alike) == pytest.approx(0, abs=1e-12)


@pytest.fixture(scope="module")
def graded():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 40)
    rows = [("ann", item, truth[item]) for item in range(40)] + [
        ("bob", item, rng.integers(0, 4)) for item in range(40)
    ]
    rows += [(f"c{number}", item, truth[item]) for number in range(3) for item in range(20)]
    who, item, grade = zip(*rows, strict=True)
    names = [f"item{number:02}" for number in item]
    return cr.judgments({"annotator": list(who), "item": names, "grade": [int(value) for value in grade]})


def test_items_with_few_grades_and_good_annotators_first(graded):
    found = cr.next_questions(graded, ["c0"], 10)
    assert found.columns == ["task", "annotator", "item", "gain"]
    assert all(name >= "item20" for name in found["item"])
    assert len(set(found["item"])) == 10
    assert (np.diff(found["gain"].to_numpy()) <= 1e-9).all()


def test_nobody_grades_twice_and_whoever_is_best_is_asked(graded):
    assert not len(cr.next_questions(graded, "ann", 3))
    everybody = cr.next_questions(graded, count=5, repeat=True)
    assert set(everybody["annotator"]) <= {"c0", "c1", "c2"}
    assert cr.next_questions(graded, ["bob", "c1"], items={"item": ["item00", "new"]})["item"].to_list() == ["new"]


def test_grades_that_are_outstanding_are_not_asked_again(graded):
    first = cr.next_questions(graded, ["c0"], 5)
    again = cr.next_questions(graded, ["c0", "c1"], 3, outstanding=first)
    assert not set(first["item"]) & set(again["item"])
    assert (
        cr.next_questions(graded, ["c0"], 8)["item"].to_list()[5:]
        == cr.next_questions(graded, ["c0"], 3, outstanding=first)["item"].to_list()
    )


def test_new_items_and_annotators(graded):
    items = {"item": [*(f"item{number:02}" for number in range(40)), "new"], "owner": [None] * 40 + ["c1"]}
    assert cr.next_questions(graded, "c0", items=items)["item"].to_list() == ["new"]
    assert cr.next_questions(graded, "c1", items=items)["item"].to_list() != ["new"]
    assert cr.next_questions(graded, "stranger", items=items)["item"].to_list() == ["new"]


def test_costs_of_grades(graded):
    cheap = cr.next_questions(graded, cost={"c2": 0.1})
    assert cheap["annotator"].to_list() == ["c2"]
    with pytest.raises(cr.SettingError, match="shrinkage"):
        cr.next_questions(graded, policy="grades", shrinkage=-1.0)


def test_the_first_is_the_best_of_all():
    """Of everybody, and of all items that they have not graded."""
    study = cr.simulate.grades(items=25, annotators=6, labels=2, seed=1).judgments
    found = cr.next_questions(study).row(0, named=True)
    consensus, words = cr.GDA().fit(study), study.vocabulary
    error = (consensus.high - consensus.low) / (2 * stats.norm.ppf(0.975))
    graded = {
        (words.annotators[k], words.items[words.entry_item[e]])
        for k, e in zip(study.grades.annotator, study.grades.entry, strict=True)
    }
    gains = {}
    for name in words.annotators:
        rows = consensus.curve_columns["annotator"] == name
        curves = {column: consensus.curve_columns[column][rows] for column in ("mean", "spread", "weight")}
        for item, gain in zip(words.items, grade_gain(consensus.score, error, curves), strict=True):
            if (name, item) not in graded:
                gains[name, item] = gain
    assert found["gain"] == pytest.approx(max(gains.values()))
    assert (found["annotator"], found["item"]) == max(gains, key=gains.__getitem__)
