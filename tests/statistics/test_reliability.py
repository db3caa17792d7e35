"""Scale separation reliability and split halves: by hand, and on scales whose reliability is known."""

from dataclasses import replace

import numpy as np
import pytest

import build
import crowdrank as cr
import leaderboard_votes
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.statistics import scale_separation_reliability, split_half


def with_scores(score, error, tasks=1):
    grades = [(f"t{n % tasks}", "a", f"i{n:05}", 1) for n in range(len(score))]
    study = build.judgments(grades=grades)
    half = NORMAL_95_ROUNDED * np.asarray(error)
    return replace(cr.Mean().fit(study), score=np.asarray(score, float), low=score - half, high=score + half)


def test_by_hand():
    """Scores 0, 2, 4 have a variance of 4; errors of 1 leave 3 of it."""
    assert scale_separation_reliability(with_scores(np.array([0.0, 2.0, 4.0]), np.ones(3))) == pytest.approx(3 / 4)


def test_differences_between_tasks_do_not_count():
    score = np.array([0.0, 2.0, 4.0, 100.0, 102.0, 104.0])
    assert scale_separation_reliability(with_scores(score, np.ones(6), tasks=1)) > 0.99
    per_task = replace(with_scores(score, np.ones(6), tasks=2), score=score)
    assert scale_separation_reliability(per_task) == pytest.approx(3 / 4)


def test_it_is_the_share_of_true_variance():
    """True scores of variance 1 seen with errors of variance ½: two thirds of what is seen is true."""
    rng = np.random.default_rng(0)
    seen = rng.normal(size=20_000) + np.sqrt(0.5) * rng.normal(size=20_000)
    assert scale_separation_reliability(with_scores(seen, np.full(20_000, np.sqrt(0.5)))) == pytest.approx(
        2 / 3, abs=0.02
    )


def test_noise_has_none_and_methods_without_intervals_say_so():
    assert scale_separation_reliability(with_scores(np.array([0.0, 0.1]), np.ones(2))) == 0.0
    with pytest.raises(cr.JudgmentError, match="no intervals"):
        scale_separation_reliability(cr.Borda().fit(cr.simulate.rankings(4, 3, tasks=1, seed=0).judgments))


def test_split_halves_of_means_have_the_correlation_of_theory():
    """Twenty grades of variance 1 around true means of variance 1: means of ten correlate 1 / (1 + 1/10)."""
    rng = np.random.default_rng(1)
    true = rng.normal(size=400)
    rows = [("t", f"a{who:02}", f"i{item:03}", true[item] + rng.normal()) for who in range(20) for item in range(400)]
    found = split_half(cr.Mean(), build.judgments(grades=rows), rounds=5)
    assert found.of == "annotators"
    assert found.median == pytest.approx(1 / 1.1, abs=0.02)
    assert found.whole == pytest.approx(1 / 1.05, abs=0.02)


def test_few_annotators_are_split_by_judgments():
    study = cr.simulate.pairs(items=8, annotators=2, votes=2000, spread=3.0, seed=0).judgments
    found = split_half(cr.BradleyTerry(), study, rounds=3, seed=1)
    assert found.of == "judgments"
    assert found.median > 0.9
    assert split_half(cr.BradleyTerry(), study, rounds=3, seed=1).median == found.median


def test_votes_with_covariates_and_categories():
    """Their priors are learned in each half: none may be given."""
    study = leaderboard_votes.simulated(items=5, votes=400, covariates=1, categories=2, seed=1)
    assert split_half(cr.BradleyTerry(), study.judgments, rounds=2).median > 0.5
