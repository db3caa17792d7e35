"""Infit and outfit against their definitions, written out, and on crowds whose misfit is known."""

from dataclasses import replace

import choix
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, softmax

import build
import crowdrank as cr
from crowdrank.statistics import misfit


def test_pairs_by_the_definition_with_the_scores_of_another_library():
    """At the maximum likelihood of Bradley and Terry the slope is 1; outfit is mean z², infit Σ(x−p)² / Σ p(1−p)."""
    study = cr.simulate.pairs(items=6, annotators=4, votes=300, seed=3).judgments
    pairs = study.pairs
    won = [(a, b) if out > 0 else (b, a) for a, b, out in zip(pairs.left, pairs.right, pairs.outcome, strict=True)]
    score = choix.ilsr_pairwise(6, won, alpha=1e-9)
    consensus = replace(cr.BradleyTerry().fit(study), score=score)
    found = misfit(consensus, study)
    assert found.residuals[0].slope == pytest.approx([1.0], abs=1e-3)
    p, x = expit(score[pairs.left] - score[pairs.right]), (pairs.outcome > 0).astype(float)
    for annotator in range(4):
        rows = pairs.annotator == annotator
        z = (x - p)[rows] / np.sqrt((p * (1 - p))[rows])
        assert found.annotator_outfit[annotator] == pytest.approx(np.mean(z**2), rel=2e-3)
        infit = np.sum((x - p)[rows] ** 2) / np.sum((p * (1 - p))[rows])
        assert found.annotator_infit[annotator] == pytest.approx(infit, rel=2e-3)
    rows = (pairs.left == 2) | (pairs.right == 2)
    assert found.entry_outfit[2] == pytest.approx(np.mean((x - p)[rows] ** 2 / (p * (1 - p))[rows]), rel=2e-3)


@pytest.mark.parametrize("kind", ["grades", "ties"])
def test_the_model_is_the_one_another_optimiser_finds(kind):
    """Rating scale model: the same chances by a general optimiser, from the likelihood as the docstring states it."""
    if kind == "grades":
        study = cr.simulate.grades(items=25, annotators=6, labels=4, seed=1).judgments
        consensus = cr.Mean().fit(study)
        x, levels = consensus.score[study.grades.entry], np.unique(study.grades.grade, return_inverse=True)[1]
        value, free = np.arange(levels.max() + 1.0), np.eye(levels.max() + 1)[:, 1:]
    else:
        study = cr.simulate.pairs(items=6, annotators=5, votes=300, ties=0.4, seed=1).judgments
        consensus = cr.BradleyTerry().fit(study)
        x = consensus.score[study.pairs.left] - consensus.score[study.pairs.right]
        levels, value, free = study.pairs.outcome + 1, np.array([-0.5, 0, 0.5]), np.array([[0.0], [1.0], [0.0]])

    def chances(parameters):
        return softmax(parameters[0] * np.outer(x, value) + free @ parameters[1:], axis=1)

    def loss(parameters):
        return -np.log(chances(parameters)[np.arange(len(x)), levels]).sum()

    best = minimize(loss, np.zeros(1 + free.shape[1]), method="BFGS", options={"gtol": 1e-6}).x
    part = misfit(consensus, study).residuals[0]
    assert part.slope == pytest.approx(best[:1], rel=1e-2)
    assert part.expected == pytest.approx(chances(best) @ value, abs=5e-3)
    assert part.variance == pytest.approx(chances(best) @ value**2 - (chances(best) @ value) ** 2, abs=5e-3)


def test_those_who_answer_at_random_do_not_fit():
    study = cr.simulate.pairs(items=15, annotators=20, votes=4000, spammers=0.2, quality=(50, 1), seed=2)
    found = misfit(cr.CrowdBT().fit(study.judgments), study.judgments)
    spam = study.quality == 0.5
    assert found.annotator_infit[spam].min() > found.annotator_infit[~spam].max()
    assert found.annotator_outfit[spam].min() > found.annotator_outfit[~spam].max()


def test_the_strangest_answers_are_the_least_likely():
    votes = [("t", "ann", "x", "y", "x")] * 9 + [("t", "bob", "x", "y", "y"), ("t", "bob", "x", "z", "x")]
    votes += [("t", "ann", "y", "z", "y")] * 3
    study = build.judgments(pairs=votes)
    (part, row), *_ = misfit(cr.BradleyTerry().fit(study), study).strangest(1)
    assert part.judgment[row] == 9


def test_a_rare_tie_of_equal_items_is_less_strange_than_a_vote_for_the_worse_item():
    votes = [("t", "ann", "x", "y", "x")] * 18 + [("t", "ann", "x", "y", "y")] * 2
    votes += [("t", "ann", "y", "z", item) for item in "yz"] * 10
    votes += [("t", "bob", "y", "z", "tie"), ("t", "bob", "x", "y", "y")]
    study = build.judgments(pairs=votes)
    found = misfit(cr.BradleyTerry().fit(study), study)
    (part, first), (_, second) = found.strangest(1)
    assert part.judgment[[first, second]].tolist() == [41, 40]
    assert part.chance[second] < part.chance[first]  # the tie is less likely


def test_lists_are_compared_pair_by_pair():
    study = cr.simulate.rankings(6, 5, tasks=2, seed=0).judgments
    found = misfit(cr.Borda().fit(study), study)
    assert np.isfinite(found.annotator_infit).all()
    assert np.isfinite(found.entry_outfit).all()
    assert found.residuals[0].judgment.max() == len(study.rankings.list_annotator) - 1


def test_perfect_agreement_is_finite():
    study = build.judgments(pairs=[("t", "a", "x", "y", "x")] * 4)
    found = misfit(cr.BradleyTerry().fit(study), study)
    assert np.isfinite(found.annotator_outfit).all()


@pytest.mark.parametrize("method", ["borda", "rrf", "median-rank"])
def test_large_and_small_tasks_fit_alike(method):
    """The same noise in tasks of 4 and of 40 items: with one slope for all, infit of the small ones is 1.2 to 1.65."""
    rng, rows = np.random.default_rng(0), []
    for task in range(40):
        truth = rng.normal(size=4 if task < 20 else 40)
        for annotator in range(6):
            best_first = np.argsort(-(truth + rng.gumbel(0, 0.5, len(truth))))
            rows += [(task, f"{len(truth)} {annotator}", item, rank) for rank, item in enumerate(best_first)]
    study = cr.judgments(dict(zip(("task", "annotator", "item", "rank"), zip(*rows, strict=True), strict=True)))
    infit = misfit(cr.fit(method, study), study).annotator_infit
    small = np.array([name.startswith("4 ") for name in study.vocabulary.annotators])
    assert infit[small].mean() == pytest.approx(1.0, abs=0.1)
    assert infit[~small].mean() == pytest.approx(1.0, abs=0.1)


def test_few_votes_of_a_task_hardly_change_its_slope():
    """Bradley and Terry's scores have one unit for all tasks: the slope of 60 tasks of 10 votes stays near 1."""
    study = cr.simulate.pairs(items=8, annotators=5, votes=6000, tasks=60, quality=(50, 1), seed=4).judgments
    slope = misfit(cr.BradleyTerry(intervals=False).fit(study), study).residuals[0].slope
    assert np.std(np.log(slope)) < 0.25
