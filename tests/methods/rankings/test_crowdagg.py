from itertools import combinations

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.methods.rankings.crowdagg import CrowdAgg, StudyBallots
from crowdrank.settings import SettingError
from reference.crowdagg import _convolved, algorithm_1, algorithm_2, contest_chances, expected_discounts

READINGS = ("judged", "task", "hard", "literal")


def reciprocal(rank):
    return 1 / rank


def top_three(rank):
    return float(rank <= 3)


def ndcg(rank):
    return 1 / np.log2(1 + rank)


def rbp(rank):
    return 0.95 ** (rank - 1)


MEASURES = {"ndcg": ndcg, "rbp": rbp, reciprocal: reciprocal, top_three: top_three}


def outcomes(n, preferences):
    """The matrix of one ballot: (s, t, 1 if s won, 0 for a tie)."""
    outcome = np.full((n, n), np.nan)
    for s, t, won in preferences:
        outcome[s, t], outcome[t, s] = won, -won
    return outcome


def of_values(judged, values):
    """What grades (or, negated, places) say about every two judged items."""
    return [(s, t, np.sign(values[s] - values[t])) for s, t in combinations(judged, 2)]


def random_study(build, kind, n, judged, seed):
    """Three annotators on one task of n items, and the judgments of each as a matrix."""
    rng = np.random.default_rng(seed)
    items, rows, matrices = [f"i{j:04}" for j in range(n)], [], []
    for annotator in ("a", "b", "c"):
        some = np.sort(rng.permutation(n)[:judged])
        value = rng.permutation(n) if "untied" in kind else rng.integers(0, 4, n).astype(float)
        places = [[items[j] for j in some if value[j] == v] for v in np.unique(value[some])[::-1]]
        if kind == "grades":
            rows += [("t", annotator, items[j], value[j]) for j in some]
            matrices.append(outcomes(n, of_values(some, value)))
        elif kind.startswith("rankings"):
            rows.append(("t", annotator, places, False))
            matrices.append(outcomes(n, of_values(some, value)))
        elif kind.startswith("top"):  # unlisted items are below, all tied
            rows.append(("t", annotator, places, True))
            below = np.where(np.isin(np.arange(n), some), value, -1)
            matrices.append(outcomes(n, of_values(range(n), below)))
        else:
            pairs = [
                (s, t, rng.integers(-1, 2)) for s, t in combinations(some, 2) if rng.random() < 0.6 or s == some[0]
            ]
            rows += [
                ("t", annotator, items[s], items[t], {1: items[s], -1: items[t], 0: "tie"}[w]) for s, t, w in pairs
            ]
            matrices.append(outcomes(n, pairs))
    named = kind if kind in ("grades", "pairs") else "lists"
    return build.judgments(**{named: rows}, entries=[("t", item) for item in items]), matrices


def by_algorithm_1(matrices, reading, quality, discount):
    """Each annotator's expected discounts, one row per annotator."""
    return np.array(
        [
            expected_discounts(algorithm_1(contest_chances(matrix, reading, eta)), discount)
            for matrix, eta in zip(matrices, quality, strict=True)
        ]
    )


def by_the_fast_path(study, settings, quality):
    """The same from the kernels: what they leave out for items not judged is put back, and the units are taken off."""
    ballots = StudyBallots(study, settings)
    gains = ballots.gains(np.asarray(quality)) * ballots.n_ballots[0] * ballots.unit[0]
    annotator = np.r_[ballots.lists.annotator[ballots.lists.row_list], ballots.pairs.annotator]
    values = np.zeros((len(quality), study.vocabulary.n_entries))
    np.add.at(values, (annotator, ballots.entry), gains)
    return (values + ballots.unjudged[0]) / np.exp(ballots.log_factor[0])


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("measure", MEASURES, ids=lambda value: getattr(value, "__name__", str(value)))
@pytest.mark.parametrize("kind", ["grades", "pairs", "rankings", "rankings untied", "top", "top untied"])
@pytest.mark.parametrize(("n", "judged"), [(2, 2), (3, 2), (7, 7), (40, 12)])
def test_the_fast_path_is_algorithm_1(build, reading, measure, kind, n, judged):
    quality = (0.9, 0.5, 0.2)
    study, matrices = random_study(build, kind, n, judged, seed=n)
    expected = by_algorithm_1(matrices, reading, quality, MEASURES[measure])
    found = by_the_fast_path(study, CrowdAgg(measure=measure, contest=reading), quality)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "measure", ["ndcg", "rbp", reciprocal], ids=lambda value: getattr(value, "__name__", str(value))
)
@pytest.mark.parametrize("kind", ["grades", "pairs", "rankings untied"])
def test_the_fast_path_is_algorithm_1_for_two_thousand_items(build, measure, kind):
    """Algorithm 1 on 2,000 contests takes a while, so on six judged items and one that is not."""
    n, judged = 2000, 60
    study, matrices = random_study(build, kind, n, judged, seed=5)
    settings = CrowdAgg(measure=measure)
    found = by_the_fast_path(study, settings, (0.9, 0.7, 0.1))
    chance = [chances_of_few(matrix, eta) for matrix, eta in zip(matrices, (0.9, 0.7, 0.1), strict=True)]
    discount = np.array([MEASURES[measure](rank) for rank in range(1, n + 1)])
    for annotator, (rows, matrix) in enumerate(chance):
        for row, p in zip(rows, matrix, strict=True):
            distribution = np.ones(1)
            for chance_to_win in p:
                distribution = np.convolve(distribution, [chance_to_win, 1 - chance_to_win])
            assert found[annotator, row] == pytest.approx(distribution @ discount, abs=1e-9)


def chances_of_few(matrix, eta):
    """Rows of the matrix of chances, those of unjudged opponents included, without writing out all of it."""
    judged = np.flatnonzero((~np.isnan(matrix)).any(axis=1))
    small = contest_chances(matrix[np.ix_(judged, judged)], "judged", eta)
    unjudged = np.setdiff1d(np.arange(len(matrix)), judged)[:1]
    rows = [np.r_[np.delete(small[at], at), np.full(len(matrix) - len(judged), 0.5)] for at in range(6)]
    return np.r_[judged[:6], unjudged], [*rows, np.full(len(matrix) - 1, 0.5)]


@pytest.mark.parametrize("n", [2, 3, 10, 65])
def test_the_two_algorithms_agree(n):
    chance = np.random.default_rng(n).random((n, n))
    one, two = algorithm_1(chance), algorithm_2(chance)
    np.testing.assert_allclose(two, one, atol=1e-12)
    np.testing.assert_allclose(one.sum(axis=1), 1)
    np.testing.assert_allclose(one @ np.arange(n), (1 - chance).sum(axis=1) - (1 - np.diag(chance)))


def test_kinds_add_up(build):
    """A study of grades, pairs and rankings is the sum of what each kind says."""
    grades = [("t", "a", item, grade) for item, grade in zip("wxyz", (2, 1, 1, 0), strict=True)]
    pairs = [("t", "b", "x", "y", "y"), ("t", "b", "y", "z", "tie")]
    lists = [("t", "c", [["z"], ["w", "x"]], False)]
    matrices = [
        outcomes(4, [(0, 1, 1), (0, 2, 1), (0, 3, 1), (1, 2, 0), (1, 3, 1), (2, 3, 1)]),
        outcomes(4, [(1, 2, -1), (2, 3, 0)]),
        outcomes(4, [(3, 0, 1), (3, 1, 1), (0, 1, 0)]),
    ]
    study = build.judgments(grades=grades, pairs=pairs, lists=lists)
    found = by_the_fast_path(study, CrowdAgg(), (1.0, 1.0, 1.0))
    np.testing.assert_allclose(found, by_algorithm_1(matrices, "judged", (1, 1, 1), ndcg), atol=1e-12)
    scores = CrowdAgg(quality="equal").fit(study).score
    np.testing.assert_allclose(scores, (found - expected_of_nothing(4)).mean(axis=0), atol=1e-12)


def expected_of_nothing(n):
    return expected_discounts(algorithm_1(np.full((n, n), 0.5)), ndcg)[0]


def test_a_full_ranking_is_scored_in_plain_units(build):
    """With a ballot of all items, a certain winner gains the discount of the top, 1, less that of an unjudged item."""
    study = build.judgments(lists=[("t", "a", [["x"], ["y"]], False)])
    score = CrowdAgg(quality="equal", contest="hard").fit(study).score
    nothing = (1 + 1 / np.log2(3)) / 2
    np.testing.assert_allclose(score, [1 - nothing, 1 / np.log2(3) - nothing])


def test_repeated_votes_are_one_contest_and_the_majority_wins(build):
    votes = [("t", "a", "x", "y", "x"), ("t", "a", "y", "x", "y"), ("t", "a", "x", "y", "x")]
    once = CrowdAgg(quality="equal").fit(build.judgments(pairs=votes[:1]))
    np.testing.assert_array_equal(CrowdAgg(quality="equal").fit(build.judgments(pairs=votes)).score, once.score)
    assert CrowdAgg(quality="equal").fit(build.judgments(pairs=votes[:2])).score.tolist() == [0, 0]


def test_an_item_graded_twice_has_the_mean_of_its_grades(build):
    twice = build.judgments(grades=[("t", "a", "x", 0), ("t", "a", "x", 4), ("t", "a", "y", 1), ("t", "a", "z", 3)])
    once = build.judgments(grades=[("t", "a", "x", 2), ("t", "a", "y", 1), ("t", "a", "z", 3)])
    np.testing.assert_array_equal(CrowdAgg().fit(twice).score, CrowdAgg().fit(once).score)


@pytest.mark.parametrize("against", ["others", "all"])
def test_quality_is_the_share_of_preferences_that_the_ranking_shares(against):
    study = cr.simulate.pairs(items=8, annotators=6, votes=120, ties=0.2, malicious=0.2, seed=4).judgments
    settings = CrowdAgg(against=against, tol=1e-9)
    found = settings.fit(study)
    assert found.fit.converged
    quality = found.annotators["quality"].to_numpy()
    ballots = StudyBallots(study, settings)
    gains = np.zeros((6, 8))
    np.add.at(gains, (ballots.pairs.annotator, ballots.entry), ballots.gains(quality))
    np.testing.assert_allclose(gains.sum(axis=0), found.score, atol=1e-12)
    seen = {}  # contests, not votes, are counted
    votes = study.pairs
    for k, left, right, outcome in zip(votes.annotator, votes.left, votes.right, votes.outcome, strict=True):
        low, high = min(left, right), max(left, right)
        seen[k, low, high] = seen.get((k, low, high), 0) + (outcome if left < right else -outcome)
    agree, decided = np.zeros(6), np.zeros(6)
    for (k, low, high), net in seen.items():
        others = found.score - (gains[k] if against == "others" else 0)
        lead = others[low] - others[high]
        if net and abs(lead) > 1e-9:
            decided[k] += 1
            agree[k] += np.sign(lead) == np.sign(net)
    np.testing.assert_allclose(quality, (agree + 3) / (decided + 4), atol=1e-6)


@pytest.mark.parametrize("kind", ["pairs", "lists"])
def test_spammers_and_malicious_annotators_are_seen_through(build, kind):
    rng = np.random.default_rng(3)
    items = [f"i{j}" for j in range(12)]
    rows = []
    for k in range(20):
        for _ in range(3):
            some = rng.permutation(12)[:6]
            seen = some + rng.normal(0, 1.5, 6)  # a low number is a good item
            seen = rng.permutation(6) if k < 5 else -seen if k < 8 else seen
            order = [items[j] for j in some[np.argsort(seen)]]
            rows.append(("t", f"k{k:02}", [[item] for item in order], False))
    if kind == "pairs":
        rows = [("t", k, *sorted([a[0], b[0]]), a[0]) for _, k, places, _ in rows for a, b in combinations(places, 2)]
    study = build.judgments(**{kind: rows})
    truth = np.array([-float(name[1:]) for name in study.vocabulary.items])
    found, equal = CrowdAgg().fit(study), CrowdAgg(quality="equal").fit(study)
    assert build.pair_accuracy(found.score, truth) > max(0.9, build.pair_accuracy(equal.score, truth))
    quality = found.annotators["quality"].to_numpy()
    assert quality[5:8].max() < quality[:5].min() <= quality[:5].max() < quality[8:].min()
    assert set(found.annotators["verdict"][5:8]) == {"reversed"}


def test_quality_per_task():
    study = cr.simulate.pairs(items=8, annotators=4, votes=600, tasks=3, seed=2).judgments
    found = CrowdAgg(quality_per="task").fit(study)
    assert found.annotators.columns == ["annotator", "judgments", "quality", "verdict", "task"]
    assert len(found.annotators) == 12
    assert found.annotators["judgments"].sum() == 600


def test_equal_quality_reports_agreement_and_takes_no_steps():
    study = cr.simulate.pairs(items=8, annotators=4, votes=200, seed=2).judgments
    found = CrowdAgg(quality="equal").fit(study)
    assert found.fit == cr.Fit()
    assert found.annotators["quality"].is_between(0, 1).all()


def test_oscillating_qualities_are_damped_and_noted():
    """The literal contest reverses the ranking in every step; damping ends that in the middle."""
    study = cr.simulate.pairs(items=10, annotators=10, votes=600, seed=1).judgments
    found = CrowdAgg(contest="literal", against="all", quality_prior=(1.0, 1.0)).fit(study)
    assert found.fit.converged
    assert found.fit.steps < 100
    assert any("nearly tied" in note for note in found.notes)


def test_tasks_of_very_different_size_keep_their_order(build):
    """0.5^20000 is no number; the order of a large task must survive beside that of a small one."""
    grades = [("big", "a", f"i{j:05}", grade) for j, grade in ((0, 0), (1, 1), (2, 0), (4, 2))]
    grades += [("small", "a", "x", 1), ("small", "a", "y", 0)]
    study = build.judgments(grades=grades, entries=[("big", f"i{j:05}") for j in range(20_000)])
    for measure in ("rbp", "ndcg"):
        found = CrowdAgg(measure=measure, persistence=0.5, quality="equal").fit(study)
        assert np.isfinite(found.score).all()
        assert found.rank[[4, 1]].tolist() == [1, 2]
        assert found.rank[[0, 2]].min() > 19_000
        assert found.rank[-2:].tolist() == [1, 2]


@pytest.mark.parametrize("n", [2, 60, 61])
def test_a_function_that_is_the_measure_gives_the_same(n):
    study = cr.simulate.pairs(items=n, annotators=3, votes=200, seed=1).judgments
    named, given = CrowdAgg(quality="equal").fit(study), CrowdAgg(measure=ndcg, quality="equal").fit(study)
    np.testing.assert_allclose(given.score, named.score, atol=1e-10)


def test_a_tiny_discount_keeps_its_digits(build):
    """Precision at three of 150 items: probabilities are tiny, and items still differ, in tasks of all sizes."""
    lists, entries = [], []
    for task, n in (("large", 150), ("small", 5)):
        items = [f"i{j:03}" for j in range(n)]
        entries += [(task, item) for item in items]
        lists += [(task, annotator, [[item] for item in items], False) for annotator in "ab"]
    study = build.judgments(lists=lists, entries=entries)
    found = CrowdAgg(measure=top_three, quality="equal").fit(study)
    for task in (0, 1):
        score = found.score[study.vocabulary.entry_task == task]
        outcome = np.sign(np.arange(len(score))[None, :] - np.arange(len(score))[:, None]).astype(float)
        np.fill_diagonal(outcome, np.nan)
        chance = contest_chances(outcome, "judged")
        in_three = np.array([_convolved(np.delete(chance[j], j))[:3].sum() for j in range(len(score))])
        expected = in_three - _convolved(np.full(len(score) - 1, 0.5))[:3].sum()
        np.testing.assert_allclose(score, expected / np.abs(expected).max(), rtol=1e-10)


def test_odd_lists(build):
    """Lists of one item, of different lengths, with gaps in their ranks, and items that only one annotator ranked."""
    lists = [
        ("t", "a", [["x"]], False),
        ("t", "b", [["x"], ["y"]], False),
        ("t", "c", [["x"], ["y"], ["z"], ["w"]], False),
    ]
    found = CrowdAgg().fit(build.judgments(lists=lists))
    assert found.rank.tolist() == [4, 1, 2, 3]  # w, x, y, z
    gaps = {"annotator": ["b"] * 2 + ["c"] * 4, "item": list("xyxyzw"), "rank": [2, 7, 1, 5, 50, 51]}
    assert CrowdAgg().fit(cr.judgments(gaps)).rank.tolist() == [4, 1, 2, 3]


@pytest.mark.parametrize(
    ("setting", "value"),
    [("persistence", 1.0), ("measure", "map"), ("quality", "none"), ("quality_prior", None), ("against", "me")],
)
def test_bad_settings(setting, value):
    with pytest.raises(SettingError, match=setting):
        CrowdAgg(**{setting: value})


def test_a_discount_must_be_numbers(build):
    study = build.judgments(lists=[("t", "a", [["x"], ["y"]], False)])
    with pytest.raises(SettingError, match="measure"):
        CrowdAgg(measure=lambda rank: rank * float("nan")).fit(study)
