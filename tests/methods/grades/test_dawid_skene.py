"""Against a slow EM written from the paper, and simulated crowds (against crowd-kit: benchmarks/graded.py)."""

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from crowdrank import simulate
from crowdrank.methods.grades.dawid_skene import DawidSkene, _make_descending
from crowdrank.methods.grades.mean import Mean
from crowdrank.settings import SettingError

LEAST = 1e-10


def slow_em(study, steps, prior=0.0):
    """Dawid and Skene's EM, one number at a time, with virtual judgments distributed as the crowd's."""
    grades = study.grades
    rows = list(zip(grades.entry.tolist(), grades.annotator.tolist(), grades.grade.tolist(), strict=True))
    classes, entries = sorted({g for *_, g in rows}), sorted({e for e, *_ in rows})
    of = {e: [(k, g) for d, k, g in rows if d == e] for e in entries}
    chance = {e: {t: sum(g == t for _, g in of[e]) / len(of[e]) for t in classes} for e in entries}
    for _ in range(steps):
        share = {t: max(sum(chance[e][t] for e in entries) / len(entries), LEAST) for t in classes}
        count, crowd = defaultdict(float), defaultdict(float)
        for e, k, g in rows:
            for t in classes:
                count[k, g, t] += chance[e][t]
                crowd[g, t] += chance[e][t]
        used = {k: {g for _, j, g in rows if j == k} for _, k, _ in rows}
        table = {}
        for k, own in used.items():
            for t in classes:
                norm = sum(max(count[k, g, t], LEAST) for g in own) + prior
                everybody = sum(crowd[g, t] + LEAST for g in classes)
                for g in own:
                    table[k, g, t] = (max(count[k, g, t], LEAST) + prior * (crowd[g, t] + LEAST) / everybody) / norm
        for e in entries:
            log = {t: math.log(share[t]) + sum(math.log(table[k, g, t]) for k, g in of[e]) for t in classes}
            norm = sum(math.exp(value - max(log.values())) for value in log.values())
            chance[e] = {t: math.exp(log[t] - max(log.values())) / norm for t in classes}
    return np.array([[chance[e][t] for t in classes] for e in entries])


@pytest.fixture(scope="module")
def study():
    return simulate.grades(
        items=40, annotators=12, labels=4, tasks=2, scales=(4,), spammers=0.2, malicious=0.1, seed=2
    ).judgments


@pytest.mark.parametrize("prior", [0.0, 0.7, 5.0])
@pytest.mark.parametrize("steps", [1, 2, 25])
def test_equals_the_slow_em(study, steps, prior):
    consensus = DawidSkene(prior=prior, max_iter=steps, tol=1e-300).fit(study)
    expected = slow_em(study, steps, prior)
    assert consensus.fit.steps == steps
    found = consensus.grade_chances
    assert np.sort(found, axis=1) == pytest.approx(np.sort(expected, axis=1), abs=1e-9)  # columns are by their value
    assert consensus.score == pytest.approx(found @ consensus.grade_values)


@pytest.mark.parametrize(
    "settings", [{}, {"ordinal": True}, {"classes": 2}, {"classes": 3, "ordinal": True}, {"classes": 7}]
)
def test_chances_are_chances_and_values_grades(study, settings):
    consensus = DawidSkene(**settings).fit(study)
    assert consensus.fit.converged
    assert consensus.grade_chances.sum(axis=1) == pytest.approx(np.ones(80))
    assert (np.diff(consensus.grade_values) >= 0).all()
    assert consensus.grade_values.min() >= 0
    assert consensus.grade_values.max() <= 3
    assert consensus.grade_chances.shape == (80, settings.get("classes", 4))


def test_without_prior_the_likelihood_only_grows(study):
    found = [DawidSkene(prior=0.0, max_iter=steps, tol=1e-300).fit(study).fit.objective for steps in range(1, 30)]
    assert (np.diff(found) > -1e-9).all()


def test_tables_found_are_those_of_the_crowd(build):
    """Entries of three classes, annotators with tables of their own: scores find the classes, quality the tables."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 600)
    good, lazy = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]]), np.full((3, 3), 1 / 3)
    tables = [good] * 8 + [good[::-1]] * 2 + [lazy] * 4  # most are good: the crowd is the measure
    rows = [
        ("t", f"k{k:02}", f"i{i:03}", rng.choice(3, p=table[truth[i]]))
        for k, table in enumerate(tables)
        for i in range(600)
    ]
    consensus = DawidSkene(prior=1.0).fit(build.judgments(grades=rows))
    assert (consensus.grade_chances.argmax(axis=1) == truth).mean() > 0.98
    share = np.bincount(truth) / 600
    for number, table in enumerate(tables):
        joint = table * share[:, None]
        right = sum(joint[t, g] * joint[s, h] for t in range(3) for s in range(t) for g in range(3) for h in range(g))
        wrong = sum(joint[t, g] * joint[s, h] for t in range(3) for s in range(t) for h in range(3) for g in range(h))
        assert consensus.annotators["quality"][number] == pytest.approx(right / (right + wrong), abs=0.04)
    assert consensus.annotators["verdict"].to_list()[:10] == ["informative"] * 8 + ["reversed"] * 2
    assert set(consensus.annotators["verdict"].to_list()[10:]) <= {"random", "weak"}


def test_a_hostile_crowd_is_seen_through(build):
    study = simulate.grades(items=300, annotators=60, labels=7, spammers=0.3, malicious=0.2, seed=3)
    found = DawidSkene().fit(study.judgments)
    assert (
        build.pair_accuracy(found.score, study.gold.value)
        > build.pair_accuracy(Mean().fit(study.judgments).score, study.gold.value) + 0.1
    )
    quality = found.annotators["quality"].to_numpy()
    assert np.corrcoef(quality, study.quality)[0, 1] > 0.9


def test_ordinal_takes_reversed_annotators_for_random(build):
    study = simulate.grades(items=300, annotators=40, labels=7, malicious=0.2, seed=3)
    found = DawidSkene(ordinal=True).fit(study.judgments)
    hostile = study.annotators["kind"] == "malicious"
    assert (found.annotators["quality"].to_numpy()[~hostile] > 0.6).all()
    assert found.annotators["quality"].to_numpy()[hostile] == pytest.approx(np.full(8, 0.5), abs=0.1)


def test_pooling_is_isotonic_regression():
    rng = np.random.default_rng(0)
    for _ in range(50):
        values, weight = rng.random(5), rng.random(5) + 0.1
        found = values.copy()
        _make_descending(found, weight)
        assert (np.diff(found) <= 1e-12).all()
        # The min-max formula: the largest mean of what follows, at its smallest.
        mean = [
            [np.average(values[i : j + 1], weights=weight[i : j + 1]) if j >= i else np.nan for j in range(5)]
            for i in range(5)
        ]
        expected = [min(max(mean[i][j] for j in range(at, 5)) for i in range(at + 1)) for at in range(5)]
        assert found == pytest.approx(expected)


def test_who_gave_one_grade_is_taken_to_be_like_the_crowd(build):
    rows = [("t", f"k{k}", f"i{i}", i % 3) for k in range(5) for i in range(30)] + [("t", "once", "i0", 2)]
    consensus = DawidSkene().fit(build.judgments(grades=rows))
    assert consensus.rank.tolist() == DawidSkene().fit(build.judgments(grades=rows[:-1])).rank.tolist()
    assert consensus.annotators["verdict"].to_list()[-1] == "unclear"


def test_the_same_grade_given_again_says_nothing_new(study):
    g = study.grades
    twice = replace(study, grades=type(g)(*(np.tile(column, 2) for column in (g.annotator, g.entry, g.grade))))
    assert DawidSkene().fit(twice).score.tobytes() == DawidSkene().fit(study).score.tobytes()


@pytest.mark.parametrize(("name", "value"), [("classes", 1), ("classes", 2.5), ("ordinal", 1)])
def test_bad_settings(name, value):
    with pytest.raises(SettingError, match=name):
        DawidSkene(**{name: value})
