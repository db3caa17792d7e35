"""Krippendorff's alpha: the worked example of the paper, an independent implementation, and its properties."""

import krippendorff
import numpy as np
import pytest

import build
import crowdrank as cr
from crowdrank.statistics.agreement import agreement
from crowdrank.statistics.ratings import ratings_of

# Krippendorff (2011), section C: four observers, twelve units; alpha is .743 nominal, .815 ordinal, .849 interval.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def graded(table):
    rows = [("t", f"a{who}", f"i{item:02}", g) for who, row in enumerate(table) for item, g in enumerate(row) if g]
    return build.judgments(grades=rows)


def found(study, kind="grades"):
    return agreement(ratings_of(study, kind), len(study.vocabulary.annotators))


def test_the_example_of_the_paper():
    assert found(graded(OBSERVERS)).alpha == pytest.approx(0.815, abs=5e-4)


def test_the_share_of_equal_grades_by_hand():
    """Unit x: 1, 1, 2: one pair of three is equal; unit y: 2, 2 are equal. Each rating counts the same."""
    study = build.judgments(
        grades=[("t", a, "x", g) for a, g in zip("abc", [1, 1, 2], strict=True)] + [("t", a, "y", 2) for a in "ab"]
    )
    assert found(study).percent == pytest.approx((3 * (1 / 3) + 2 * 1) / 5)


@pytest.mark.parametrize("seed", range(4))
def test_alpha_of_grades_is_that_of_another_library(seed):
    study = cr.simulate.grades(items=40, annotators=8, labels=4, seed=seed).judgments
    table = np.full((8, 40), np.nan)
    table[study.grades.annotator, study.grades.entry] = study.grades.grade
    ours = found(study)
    assert ours.alpha == pytest.approx(krippendorff.alpha(table, level_of_measurement="ordinal"))
    assert 1 - (1 - ours.percent) / (1 - ours.by_chance) == pytest.approx(
        krippendorff.alpha(table, level_of_measurement="nominal")
    )


def test_alpha_of_pairs_is_that_of_the_pairs_read_both_ways():
    """Reading every pair once from either side makes the sides alike; twice the ratings change n (n - 1)."""
    study = cr.simulate.pairs(items=6, annotators=9, votes=400, ties=0.3, seed=2).judgments
    ratings = ratings_of(study, "pairs")
    table = np.full((9, ratings.unit.max() + 1), np.nan)
    table[ratings.annotator, ratings.unit] = ratings.level
    both = krippendorff.alpha(np.hstack([table, 2 - table]), level_of_measurement="nominal")
    n = int((np.isfinite(table) & (np.isfinite(table).sum(axis=0) > 1)).sum())
    expected_ratio = (n / (n - 1)) / (2 * n / (2 * n - 1))
    assert found(study, "pairs").alpha == pytest.approx(1 - (1 - both) / expected_ratio)


@pytest.mark.parametrize("kind", ["grades", "pairs"])
def test_annotators_have_their_parts_in_alpha(kind):
    simulate = {"grades": lambda: cr.simulate.grades(items=30, annotators=7, labels=3, seed=1)}
    study = simulate.get(kind, lambda: cr.simulate.pairs(items=6, annotators=7, votes=300, seed=1))().judgments
    ours = found(study, kind)
    assert np.average(ours.annotator_alpha, weights=ours.annotator_judgments) == pytest.approx(ours.alpha)
    assert np.average(ours.annotator_percent, weights=ours.annotator_judgments) == pytest.approx(ours.percent)


def test_agreement_does_not_depend_on_names_or_order():
    study = cr.simulate.pairs(items=6, annotators=5, votes=200, ties=0.2, seed=3).judgments
    rng = np.random.default_rng(0)
    shuffled = build.rows_of(study, rng.permutation(200))
    mirrored = build.with_pairs(study, left=5 - study.pairs.left, right=5 - study.pairs.right)
    assert found(shuffled, "pairs").alpha == found(study, "pairs").alpha
    assert found(mirrored, "pairs").alpha == pytest.approx(found(study, "pairs").alpha)


def test_repeated_judgments_count_once_and_are_counted():
    rows = [
        ("t", "ann", "x", 1),
        ("t", "ann", "x", 1),
        ("t", "ann", "y", 0),
        ("t", "ann", "y", 2),
        ("t", "bob", "x", 1),
    ]
    ratings = ratings_of(build.judgments(grades=rows), "grades")
    assert ratings.repeated.tolist() == [2, 0]
    assert ratings.contradicted.tolist() == [1, 0]
    assert len(ratings.unit) == 3


def test_opposite_votes_of_one_annotator_are_a_tie():
    votes = [("t", "ann", "x", "y", "x"), ("t", "ann", "y", "x", "y"), ("t", "bob", "x", "y", "tie")]
    ratings = ratings_of(build.judgments(pairs=votes), "pairs")
    assert ratings.level.tolist() == [1, 1]
    assert ratings.contradicted.tolist() == [1, 0]


def test_lists_agree_as_their_pairs_do():
    lists = [("t", "ann", [["x"], ["y"], ["z"]], False), ("t", "bob", [["x"], ["z"], ["y"]], False)]
    ours = found(build.judgments(lists=lists), "rankings")
    assert ours.percent == pytest.approx(2 / 3)
    assert ours.units == 3


def test_nothing_to_compare_gives_no_number():
    ours = found(build.judgments(grades=[("t", "ann", "x", 1), ("t", "bob", "y", 1)]))
    assert np.isnan(ours.alpha)
    assert np.isnan(ours.percent)
    assert ours.units == 0
