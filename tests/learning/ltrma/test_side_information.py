from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import crowdrank as cr
from crowdrank.convert import as_lists
from crowdrank.learning.ltrma.crowd_lists import crowd_lists
from crowdrank.learning.ltrma.expertise import Expertise
from crowdrank.learning.ltrma.side_information import SideError, Solver
from crowdrank.numerics.mallows import expected_distance

NAMES = ["ann", "bob", "cy", "dee"]
FOUND = np.array([40.0, 80.0, 60.0, 200.0])


@pytest.fixture(scope="module")
def expertise():
    """Twenty lists of eight items by each of four annotators."""
    study = cr.simulate.rankings(8, 4, tasks=20, seed=1)
    return Expertise(crowd_lists(as_lists(study.judgments), study.judgments.vocabulary, None), 4, 1.0)


def solved(expertise, found=FOUND, **side):
    return Solver(cr.Side(**side), np.array(NAMES, dtype=object), expertise).solve(found)


def expected(theta, lists=20):
    """The distance expected of so many lists of eight, and of the virtual pairs."""
    return lists * expected_distance(8, -theta) + 2 * expected_distance(2, -theta)


def test_without_side_information_distances_are_as_expected(expertise):
    theta = solved(expertise)
    np.testing.assert_allclose([expected(each) for each in theta], FOUND + 1, rtol=1e-6)


def test_lists_with_ties_by_enumeration():
    """Three groups of six items: all lists of this shape, as far as they are from the order."""
    lists = {"annotator": ["ann"] * 6, "item": list("abcdef"), "rank": [1, 1, 2, 3, 3, 3]}
    judgments = cr.judgments(lists)
    likelihood = Expertise(crowd_lists(as_lists(judgments), judgments.vocabulary, None), 1, 0.0)
    shapes = set(permutations((1, 1, 2, 3, 3, 3)))
    distance = np.array([sum(level[a] > level[b] for a, b in combinations(range(6), 2)) for level in shapes])
    for theta in (-1.2, -1e-6, 0.4):
        chance = np.exp(theta * distance) / np.exp(theta * distance).sum()
        _, slope = likelihood.terms(np.array([0]), np.array([theta]), np.array([3.0]))
        assert slope[0] == pytest.approx(3.0 - (chance * distance).sum(), abs=1e-7)


def test_what_is_known_is_kept_and_the_others_are_as_before(expertise):
    theta = solved(expertise, ranges=(cr.Range("bob", -2.5, -2.5),))
    alone = solved(expertise)
    assert theta[1] == -2.5
    np.testing.assert_array_equal(theta[[0, 2, 3]], alone[[0, 2, 3]])


def test_ranges_clip(expertise):
    alone = solved(expertise)
    inside = cr.Range("ann", alone[0] - 1, alone[0] + 1)
    above = cr.Range("bob", alone[1] + 0.3, 5)
    theta = solved(expertise, ranges=(inside, above))
    assert theta[0] == pytest.approx(alone[0])
    assert theta[1] == pytest.approx(alone[1] + 0.3)


def test_orders_that_hold_change_nothing(expertise):
    np.testing.assert_allclose(solved(expertise, orders=(cr.Better("ann"),)), solved(expertise), atol=1e-5)


def test_orders_that_do_not_hold_pool(expertise):
    """Two annotators get the θ of all their lists together."""
    theta = solved(expertise, orders=(cr.Better("bob", ("ann",)),))
    assert theta[0] == pytest.approx(theta[1], abs=1e-6)
    assert 2 * expected(theta[0]) == pytest.approx(FOUND[0] + FOUND[1] + 2, rel=1e-4)
    np.testing.assert_allclose(theta[2:], solved(expertise)[2:])


def test_a_chain_of_orders_pools_as_isotonic_regression_does(expertise):
    """dee ≤ bob ≤ cy ≤ ann, against what the lists say: all of them one."""
    orders = (cr.Better("dee", ("bob",)), cr.Better("bob", ("cy",)), cr.Better("cy", ("ann",)))
    theta = solved(expertise, orders=orders)
    assert np.ptp(theta) < 1e-5
    assert 4 * expected(theta[0]) == pytest.approx(FOUND.sum() + 4, rel=1e-4)


SOFT = {
    "ranges": (cr.Range("ann", -0.2, 0.1, 20.0), cr.Range("bob", -2.0, -2.0, 5.0)),
    "orders": (cr.Better("dee", ("cy",), 10.0), cr.Better("bob", None, 3.0)),
}


def test_the_gradient_of_soft_side_information_by_finite_differences(expertise):
    solver = Solver(cr.Side(**SOFT), np.array(NAMES, dtype=object), expertise)
    x = np.array([-0.4, -1.1, -0.7, -0.1])
    slope = approx_fprime(x, lambda at: solver.objective(at, FOUND)[0], 1e-7)
    np.testing.assert_allclose(solver.objective(x, FOUND)[1], slope, atol=1e-5)


def test_all_kinds_combined_are_at_their_maximum(expertise):
    mixed = {
        "ranges": (*SOFT["ranges"], cr.Range("cy", -3, -0.5)),
        "orders": (*SOFT["orders"], cr.Better("cy", ("dee",))),
    }
    solver = Solver(cr.Side(**mixed), np.array(NAMES, dtype=object), expertise)
    theta = solver.solve(FOUND)
    assert theta[2] <= -0.5 + 1e-9
    assert theta[2] <= theta[3] + 1e-7
    best = solver.objective(theta, FOUND)[0]
    rng = np.random.default_rng(0)
    for step in rng.normal(0, 0.02, (200, 4)):
        other = theta + step
        if other[2] <= min(-0.5, other[3]):
            assert solver.objective(other, FOUND)[0] >= best - 1e-9


def test_higher_confidence_draws_further(expertise):
    drawn = [solved(expertise, ranges=(cr.Range("dee", -3, -2, eta),))[3] for eta in (0.1, 5.0, 50.0, float("inf"))]
    assert drawn == sorted(drawn, reverse=True)
    assert drawn[-1] == pytest.approx(-2)
    assert drawn[0] == pytest.approx(solved(expertise)[3], abs=0.01)


def test_a_file(tmp_path):
    cr.write(cr.gold({"task": ["q"], "item": ["x"], "grade": [1]}), tmp_path / "gold.csv")
    (tmp_path / "side.toml").write_text(
        """
        [theta]
        ann = -2.5
        bob = { low = -3, high = -1, confidence = 20 }
        cy = { high = 0 }
        dee = { theta = 1, confidence = 4 }
        [[better]]
        annotator = "ann"
        [[better]]
        annotator = "bob"
        than = ["cy"]
        confidence = 2.5
        [truth]
        gold = "gold.csv"
        confidence = 3
        """
    )
    side = cr.read_side(tmp_path / "side.toml")
    ranges = (
        cr.Range("ann", -2.5, -2.5),
        cr.Range("bob", -3, -1, 20),
        cr.Range("cy", -20.0, 0),
        cr.Range("dee", 1, 1, 4),
    )
    assert side.ranges == ranges
    assert side.orders == (cr.Better("ann"), cr.Better("bob", ("cy",), 2.5))
    assert (len(side.truth), side.truth_confidence) == (1, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[theta]\nann = 'good'", "must be a number"),
        ("[theta]\nann = { low = 1, high = -1 }", "give the lower number first"),
        ("[theta]\nann = { least = 1 }", "'least'; it may have theta, low, high, confidence"),
        ("[tehta]\nann = 1", "'tehta'; it may have theta, better, truth"),
        ("[[better]]\nthan = ['ann']", "must name an annotator"),
        ("[[better]]\nannotator = 'ann'\nconfidence = 0", "confidence of 'ann' is 0"),
        ("[theta", "is not TOML"),
        ("a = " + "[" * 9000, "is not TOML"),
        ("a = " + "1" * 9000, "is not TOML"),
        (f"[theta]\nann = {10**400}", "both from -1e.15 to 1e.15"),
        ("[theta]\nann = inf", "both from -1e.15 to 1e.15"),
        (f"[truth]\nconfidence = {10**400}", "confidence of 'truth' is 1000"),
        ("theta = 3", "theta must be a table"),
        ("better = {}", "better a list of tables"),
        ("[truth]\ngold = 3", "gold the name of a file"),
        ("[[better]]\nannotator = 'ann'\nthan = 'bob'", "than of 'ann' is 'bob'; it must be a list of names"),
        ("[truth]\ngold = 'nowhere.csv'", "no such file"),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path, text, message):
    path = tmp_path / "side.toml"
    path.write_text(text)
    with pytest.raises((SideError, cr.JudgmentError), match=message):
        cr.read_side(path)
    with pytest.raises(SideError, match="No such file"):
        cr.read_side(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("side", "message"),
    [
        (
            {"ranges": (cr.Range("anne", 0, 0),)},
            "names 'anne', who is no annotator of the judgments .did you mean 'ann'",
        ),
        ({"ranges": (cr.Range("ann", 0, 0), cr.Range("ann", 1, 1))}, "do not overlap"),
        ({"orders": (cr.Better("ann", ("ann",)),)}, "is better than 'ann'; remove this"),
    ],
)
def test_side_information_that_does_not_fit_the_judgments(expertise, side, message):
    with pytest.raises(SideError, match=message):
        solved(expertise, **side)
