import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm

from crowdrank import gold
from crowdrank.settings import SettingError
from crowdrank.simulate import grades, regrade


def chance_of_grades(study):
    """P(g | d, a) ∝ α_g N(r_d; μ_g, w ε_d), row by row."""
    given, crowd = study.judgments.grades, study.annotators
    width = crowd["noise"][given.annotator] * np.sqrt(study.difficulty[given.entry])
    density = norm.logpdf(study.gold.value[given.entry, None], crowd["means"][given.annotator], width[:, None])
    log = np.where(np.isnan(density), -np.inf, np.log(crowd["weights"][given.annotator]) + density)
    return softmax(log, axis=1)


@pytest.mark.parametrize(
    "given", [{}, {"difficulty": 0.8, "experts": 0.2, "spammers": 0.2, "malicious": 0.2, "scales": (2, 4, 7)}]
)
def test_grades_follow_the_model(given):
    study = grades(items=5000, annotators=10, labels=4, seed=1, **given)
    chance, grade = chance_of_grades(study), study.judgments.grades.grade
    for value in range(chance.shape[1]):
        hits, expected = (grade == value).sum(), chance[:, value].sum()
        assert abs(hits - expected) <= 5 * np.sqrt((chance[:, value] * (1 - chance[:, value])).sum())
    # Where a grade is likely it is given as often as that.
    likely = chance[np.arange(len(grade)), grade.astype(int)]
    expected, variance = (chance**2).sum(), (chance**3).sum() - ((chance**2).sum(axis=1) ** 2).sum()
    assert abs(likely.sum() - expected) <= 5 * np.sqrt(variance)


def test_kinds_of_annotators():
    study = grades(annotators=100, labels=1, experts=0.1, spammers=0.3, malicious=0.2, variety=0.1, seed=2)
    kind, crowd = study.annotators["kind"], study.annotators
    assert {name: int((kind == name).sum()) for name in set(kind)} == {
        "ordinary": 40,
        "expert": 10,
        "spammer": 30,
        "malicious": 20,
    }
    assert study.quality[kind == "spammer"] == pytest.approx(np.full(30, 0.5))
    assert study.quality[kind == "expert"].min() > study.quality[kind == "ordinary"].max()
    assert study.quality[kind == "malicious"].max() < 0.3
    assert (crowd["bias"][kind == "expert"] == 0).all()
    assert (np.diff(crowd["means"][kind == "ordinary"], axis=1) > 0).all()
    assert (np.diff(crowd["means"][kind == "malicious"], axis=1) < 0).all()
    assert crowd["weights"].sum(axis=1) == pytest.approx(np.ones(100))


def test_quality_is_the_share_of_pairs_in_the_right_order():
    study = grades(items=3000, annotators=3, labels=3, seed=4)
    given, truth = study.judgments.grades, study.gold.value
    for annotator in range(3):
        own = given.annotator == annotator
        grade, relevance = given.grade[own], truth[given.entry[own]]
        same = np.sign(np.subtract.outer(grade, grade)) * np.sign(np.subtract.outer(relevance, relevance))
        assert (same[same != 0] > 0).mean() == pytest.approx(study.quality[annotator], abs=0.01)


def test_scales_take_turns_and_stay_in_their_range():
    study = grades(items=500, annotators=6, labels=6, scales=(2, 101), seed=1)
    given = study.judgments.grades
    assert study.annotators["scale"].tolist() == [2, 101] * 3
    for annotator in range(6):
        own = given.grade[given.annotator == annotator]
        assert own.min() >= 0
        assert own.max() < study.annotators["scale"][annotator]
        assert np.isnan(study.annotators["means"][annotator]).sum() == 101 - study.annotators["scale"][annotator]


def test_every_item_has_its_labels_from_different_annotators():
    study = grades(items=30, annotators=8, labels=3, tasks=4)
    given = study.judgments.grades
    assert (np.bincount(given.entry) == 3).all()
    assert len(set(zip(given.entry.tolist(), given.annotator.tolist(), strict=True))) == len(given) == 360
    assert len(study.judgments.vocabulary.tasks) == 4


def test_gold_may_be_grades():
    study = grades(items=9000, labels=1, gold_grades=3)
    assert study.gold.kind == "grade"
    assert np.bincount(study.gold.value.astype(int)) == pytest.approx([3000] * 3, abs=250)
    score = grades(items=9000, labels=1).gold
    assert (np.diff(study.gold.value[np.argsort(score.value)]) >= 0).all()


def test_a_seed_gives_the_same_study_and_another_seed_another():
    one = grades(spammers=0.1, difficulty=0.3, scales=(3, 5), seed=7)
    again, other = grades(**one.parameters), grades(**{**one.parameters, "seed": 8})
    assert np.array_equal(one.judgments.grades.grade, again.judgments.grades.grade)
    assert np.array_equal(one.quality, again.quality)
    assert not np.array_equal(one.judgments.grades.grade, other.judgments.grades.grade)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("items", 0),
        ("annotators", 0),
        ("labels", 0),
        ("labels", 51),
        ("tasks", 0),
        ("scales", ()),
        ("scales", (1,)),
        ("scales", 5),
        ("bias", -1.0),
        ("noise", 0.0),
        ("noise", float("nan")),
        ("variety", -0.1),
        ("experts", 1.5),
        ("spammers", -0.1),
        ("malicious", 2.0),
        ("difficulty", float("inf")),
        ("gold_grades", 1),
    ],
)
def test_bad_parameters_are_refused_by_name(name, value):
    with pytest.raises(SettingError, match=name):
        grades(**{name: value})


def test_more_than_everybody_is_refused():
    with pytest.raises(SettingError, match="at most 1 together"):
        grades(spammers=0.6, experts=0.6)


def test_regrading_a_gold():
    """Items of equal gold have equal relevance: the mean of their part of a normal distribution."""
    values = np.repeat([0, 1, 2], [700, 200, 100])
    known = gold({"task": [f"q{n % 7}" for n in range(1000)], "item": [str(n) for n in range(1000)], "grade": values})
    study = regrade(known, annotators=10, labels=6, noise=0.3, spammers=0.2, seed=1)
    edges = norm.ppf([0, 0.7, 0.9, 1])
    mean = (norm.pdf(edges[:-1]) - norm.pdf(edges[1:])) / [0.7, 0.2, 0.1]
    given, crowd = study.judgments.grades, study.annotators
    relevance = mean[known.value[given.entry].astype(int)]
    density = norm.logpdf(relevance[:, None], crowd["means"][given.annotator], crowd["noise"][given.annotator, None])
    chance = softmax(np.log(crowd["weights"][given.annotator]) + density, axis=1)
    for value in range(5):
        hits, expected = (given.grade == value).sum(), chance[:, value].sum()
        assert abs(hits - expected) <= 5 * np.sqrt((chance[:, value] * (1 - chance[:, value])).sum())
    assert study.judgments.vocabulary.tasks.tolist() == known.vocabulary.tasks.tolist()
    assert (np.bincount(given.entry) == 6).all()


def test_regrading_refuses_what_it_cannot_do():
    known = gold({"item": ["x", "y"], "grade": [0, 1]})
    with pytest.raises(SettingError, match="labels is 5; it must be at most the number of annotators, 2"):
        regrade(known, annotators=2)
