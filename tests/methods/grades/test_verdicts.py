"""What is said about annotators of grades: nothing where nobody else judged the same items."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.methods.grades.curves.outliers import graded_verdicts

GRADED = ["gda", "gda-pw", "mean", "rasch", "dawid-skene", "majority-vote", "borda", "plackett-luce"]


@pytest.fixture(scope="module")
def apart(build):
    """Four annotators of 300 items each, none of them shared."""
    rng = np.random.default_rng(0)
    return build.judgments(
        grades=[("t", who, f"{who}{item:03}", rng.integers(0, 4)) for who in "abcd" for item in range(300)]
    )


@pytest.mark.parametrize("method", GRADED)
def test_without_overlap_everybody_is_unclear(apart, method):
    found = cr.fit(method, apart)
    assert found.annotators["verdict"].to_list() == ["unclear"] * 4
    assert found.annotators["quality"].is_null().all() or method == "dawid-skene"
    assert any("4 of 4 annotators share no item with anybody" in note for note in found.notes)


@pytest.mark.parametrize("method", GRADED)
def test_the_one_who_shares_nothing_is_unclear(build, method):
    rng = np.random.default_rng(1)
    rows = [("t", who, f"x{item:02}", item // 10 + rng.integers(0, 2)) for who in "abc" for item in range(40)]
    rows += [("t", "d", f"y{item:02}", rng.integers(0, 4)) for item in range(40)]
    found = cr.fit(method, build.judgments(grades=rows))
    assert found.annotators["verdict"].to_list() == ["informative"] * 3 + ["unclear"]
    assert any("1 of 4 annotators shares no item" in note for note in found.notes)


def test_little_information_in_a_grade_is_not_random():
    """Annotators who give one grade to nearly all items, and are right about the others, are not random."""
    rng = np.random.default_rng(2)
    items, annotators = 400, 8
    relevant = np.arange(items) < 12  # 3 %
    grade = np.where(rng.random((annotators, items)) < 0.003, ~relevant, relevant).astype(float)
    who, item = np.divmod(np.arange(items * annotators), items)
    study = cr.judgments({"annotator": who, "item": item, "grade": grade.ravel()})
    assert "random" not in cr.fit("gda", study).annotators["verdict"].to_list()


def test_hardly_anybody_honest_is_called_reversed():
    verdicts = []
    for seed in range(6):
        study = cr.simulate.grades(items=200, annotators=60, labels=5, noise=0.8, spammers=0.2, seed=seed)
        found = cr.fit("gda", study.judgments).annotator_columns["verdict"]
        verdicts += found[study.annotators["kind"] == "ordinary"].tolist()
    assert verdicts.count("reversed") <= 0.01 * len(verdicts)


@pytest.mark.parametrize("method", ["gda", "dawid-skene", "mean", "rasch"])
@pytest.mark.parametrize("per_annotator", [5, 15, 50, 200])
def test_honest_annotators_are_not_accused(method, per_annotator):
    """At most 1 % of honest annotators are called random or reversed, whatever the number of their grades."""
    honest = []
    for seed, noise in enumerate((0.5, 1.0)):
        study = cr.simulate.grades(
            items=per_annotator * 60 // 8,
            annotators=60,
            labels=8,
            noise=noise,
            spammers=0.15,
            malicious=0.05,
            seed=seed,
        )
        found = cr.fit(method, study.judgments).annotator_columns["verdict"]
        honest += found[study.annotators["kind"] == "ordinary"].tolist()
    # Two of 96 are within chance of 1 %.
    assert honest.count("random") + honest.count("reversed") <= 0.01 * len(honest) + 2 * (0.01 * len(honest)) ** 0.5


@pytest.mark.parametrize("method", ["gda", "gda-pw"])
def test_who_grades_at_random_or_in_reverse_is_found(method):
    study = cr.simulate.grades(items=600, annotators=40, labels=10, spammers=0.2, malicious=0.1, seed=3)
    found = cr.fit(method, study.judgments).annotator_columns["verdict"]
    assert np.mean(found[study.annotators["kind"] == "spammer"] == "random") >= 0.75
    assert np.mean(found[study.annotators["kind"] == "malicious"] == "reversed") >= 0.75


@pytest.mark.parametrize("method", ["gda", "gda-pw", "mean", "rasch", "dawid-skene", "majority-vote"])
@pytest.mark.parametrize("levels", [2, 5])
def test_people_with_another_opinion_are_not_accused(build, method, levels):
    """Approval or grades of 12 candidates by taste: hardly anybody is random, and nobody grades in reverse."""
    found = cr.fit(method, build.opinions(1, annotators=150, levels=levels)).annotators["verdict"].to_list()
    assert found.count("random") + found.count("reversed") <= 0.02 * len(found)


def test_two_labels_an_item_do_not_make_spammers_informative():
    """One in 44 spammers lies two standard errors above a coin toss; before, one in 20 was informative."""
    spam = []
    for seed in range(20):
        study = cr.simulate.grades(items=60, annotators=20, labels=2, spammers=0.3, seed=seed)
        found = cr.fit("gda", study.judgments).annotator_columns["verdict"]
        spam += found[study.annotators["kind"] != "ordinary"].tolist()
    assert spam.count("informative") + spam.count("weak") <= 0.04 * len(spam)


def tastes(strength, seed=0, items=40, annotators=200, each=10):
    """People who like what suits their taste, in three dimensions, and a little what all like."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(annotators, 3)) @ rng.normal(size=(3, items))
    liking = rng.normal(size=items) + strength * own + rng.logistic(0, 0.5, (annotators, items))
    grade = np.searchsorted(np.quantile(liking, [0.2, 0.4, 0.6, 0.8]), liking)
    who = np.repeat(np.arange(annotators), each)
    item = np.concatenate([rng.permutation(items)[:each] for _ in range(annotators)])
    return cr.judgments({"annotator": who, "item": item, "grade": grade[who, item]})


@pytest.mark.parametrize(("strength", "told"), [(3.0, True), (0.2, False)])
def test_strong_tastes_are_told(strength, told):
    notes = cr.fit("gda", tastes(strength)).notes
    assert any("annotators hardly agree" in note and "method mean" in note for note in notes) == told


@pytest.mark.parametrize(
    ("items", "annotators", "labels", "levels"), [(20, 15, 15, 5), (100, 20, 5, 2), (60, 20, 10, 3)]
)
def test_nobody_is_praised_for_noise(items, annotators, labels, levels):
    """Where all grade at random, the curves find an order by chance; those who shaped it must not be praised for it."""
    praised, outside = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        item = np.repeat(np.arange(items), labels)
        who = np.concatenate([rng.permutation(annotators)[:labels] for _ in range(items)])
        grade = rng.integers(0, levels, len(item))
        found = cr.fit("gda", cr.judgments({"annotator": who, "item": item, "grade": grade}))
        praised += np.isin(found.annotator_columns["verdict"], ("informative", "weak")).tolist()
        outside += ((found.low > 0) | (found.high < 0)).tolist()
    assert np.mean(praised) <= 0.05  # one in 44 is two standard errors above chance; it was one in nine
    assert np.mean(outside) <= 0.12  # no item differs from the others; it was up to .3


PRAISED_BY_CHANCE = 0.023  # two standard errors


@pytest.mark.parametrize("method", ["dawid-skene", "mean", "majority-vote", "rasch"])
def test_no_more_random_annotators_are_praised_than_the_error_rate(method):
    """Three in ten grade at random, by habits of their own; a fifth of them was praised."""
    praised, honest, (levels, labels, each) = [], [], (3, 4, 20)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        item = np.repeat(np.arange(60 * each // labels), labels)
        who = np.concatenate([rng.permutation(60)[:labels] for _ in range(item[-1] + 1)])
        truth, noise = rng.normal(size=item[-1] + 1), np.exp(rng.normal(-0.5, 0.4, 60))
        seen = np.searchsorted(np.quantile(truth, np.arange(1, levels) / levels), rng.normal(truth[item], noise[who]))
        habit = np.cumsum(rng.dirichlet(np.full(levels, 2.0), 60), axis=1)
        at_random = np.minimum((habit[who] < rng.random((len(who), 1))).sum(axis=1), levels - 1)
        grade = np.where(who < 18, at_random, seen)
        found = cr.fit(method, cr.judgments({"annotator": who, "item": item, "grade": grade}))
        random = found.annotator_columns["annotator"].astype(int) < 18
        good = np.isin(found.annotator_columns["verdict"], ("informative", "weak"))
        praised, honest = [*praised, *good[random]], [*honest, *good[~random]]
    assert np.mean(praised) <= PRAISED_BY_CHANCE + 2 * np.sqrt(PRAISED_BY_CHANCE / len(praised))
    assert np.mean(honest) >= 0.6


@pytest.mark.parametrize("method", ["borda", "rrf", "plackett-luce", "mallows", "cps"])
def test_random_lists_are_not_praised_for_agreeing_with_themselves(method):
    """Three lists for each task, three of ten annotators at random: three quarters of these were informative."""
    praised, honest = [], []
    for seed in range(4):
        rng, rows = np.random.default_rng(seed), []
        for task in range(50):
            truth = rng.normal(size=8)
            for who in rng.permutation(30)[:3]:
                seen = rng.normal(size=8) if who < 9 else truth + rng.normal(0, 0.7, 8)
                rows += [(task, who, item, place) for place, item in enumerate(np.argsort(-seen))]
        lists = dict(zip(("task", "annotator", "item", "rank"), zip(*rows, strict=True), strict=True))
        found = cr.fit(method, cr.judgments(lists)).annotator_columns
        good = np.isin(found["verdict"], ("informative", "weak"))
        random = found["annotator"].astype(int) < 9
        praised, honest = [*praised, *good[random]], [*honest, *good[~random]]
    assert np.mean(praised) <= PRAISED_BY_CHANCE + 2 * np.sqrt(PRAISED_BY_CHANCE / len(praised))
    assert np.mean(honest) >= 0.8


def test_who_never_agrees_differs_however_wide_the_crowd():
    """A crowd of many opinions accuses nobody. But 300 grades that say the opposite are not too few to tell."""
    quality = np.r_[np.linspace(0.35, 1.0, 40), 0.3, 0.5, 0.5]
    evidence = np.r_[np.full(40, 60.0), 300.0, 3000.0, 30.0]
    verdict = graded_verdicts(quality, evidence)
    assert verdict[-3:].tolist() == ["differs from the consensus", "differs from the consensus", "unclear"]
    assert not np.isin(verdict, ("random", "reversed")).any()
