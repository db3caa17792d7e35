"""Neighbours of a ranking: their probabilities follow the theory of normal errors, and the truth."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm

import crowdrank as cr

COLUMNS = ["task", "item", "next_item", "gap", "error", "probability", "distinguishable"]


@pytest.fixture(scope="module")
def study():
    return cr.simulate.pairs(items=15, annotators=10, votes=3000, tasks=2, quality=(1e6, 1), seed=1)


@pytest.fixture(scope="module")
def consensus(study):
    return cr.BradleyTerry(prior=0.1).fit(study.judgments)


def test_one_row_for_every_two_neighbours(consensus):
    table = cr.neighbours(consensus)
    assert table.columns == COLUMNS
    for task in ("task1", "task2"):
        ranked = consensus.ranking.filter(consensus.ranking["task"] == task)
        rows = table.filter(table["task"] == task)
        assert rows["item"].to_list() == ranked["item"].to_list()[:-1]
        assert rows["next_item"].to_list() == ranked["item"].to_list()[1:]
        np.testing.assert_allclose(rows["gap"], -np.diff(ranked["score"]))


def test_the_probability_is_that_of_a_normal_gap(consensus):
    table = cr.neighbours(consensus, level=0.8)
    np.testing.assert_allclose(table["probability"], norm.cdf(table["gap"] / table["error"]))
    assert table["distinguishable"].to_list() == (table["probability"] >= 0.8).to_list()
    assert 0 < table["distinguishable"].sum() < len(table)


def test_of_simulated_crowds_as_many_are_right_as_it_says():
    """Over many studies, neighbours in an order of probability p are truly in that order in a share p of them."""
    predicted, right = [], []
    for seed in range(20):
        study = cr.simulate.pairs(items=20, annotators=5, votes=1500, quality=(1e6, 1), spread=1.0, seed=seed)
        table = cr.neighbours(cr.BradleyTerry(prior=0.5).fit(study.judgments))
        truth = dict(zip(study.gold.vocabulary.items, study.gold.value, strict=True))
        predicted += table["probability"].to_list()
        right += [truth[one] > truth[other] for one, other in table.select("item", "next_item").iter_rows()]
    predicted, right = np.array(predicted), np.array(right)
    for low, high in ((0.5, 0.75), (0.75, 0.95), (0.95, 1.0)):
        among = (predicted >= low) & (predicted <= high)
        assert right[among].mean() == pytest.approx(predicted[among].mean(), abs=4 * 0.5 / np.sqrt(among.sum()))


def test_equal_scores_are_a_coin_toss(consensus):
    flat = replace(consensus, score=np.zeros_like(consensus.score), gap_error=np.zeros_like(consensus.score))
    assert set(cr.neighbours(flat)["probability"]) == {0.5}
    sure = replace(consensus, gap_error=np.zeros_like(consensus.score))
    assert set(cr.neighbours(sure)["probability"]) == {1.0}


def test_what_was_never_connected_has_no_probability():
    votes = {"annotator": ["a"] * 40, "left": ["x", "z"] * 20, "right": ["y", "w"] * 20, "winner": ["x", "z"] * 20}
    table = cr.neighbours(cr.BradleyTerry(prior=0.1).fit(cr.judgments(votes)))
    within = [{one, other} in ({"x", "y"}, {"z", "w"}) for one, other in table.select("item", "next_item").iter_rows()]
    assert table["probability"].is_not_null().to_list() == within
    assert not table["distinguishable"].filter(table["probability"].is_null()).any()


def test_unranked_items_have_no_neighbours():
    grades = {"annotator": ["a", "b"] * 3, "item": list("xxyyzz"), "grade": [1, 2, 2, 3, 0, 1]}
    pairs = {"annotator": ["a"], "left": ["x"], "right": ["unseen"], "winner": ["x"]}
    table = cr.neighbours(cr.bootstrap("mean", cr.judgments(grades, pairs), rounds=20))
    assert [*table["item"], table["next_item"][-1]] == ["y", "x", "z"]


def test_the_kind_of_frame_of_the_study():
    votes = pd.DataFrame({"left": ["x", "y"], "right": ["y", "z"], "winner": ["x", "y"]})
    assert isinstance(cr.neighbours(cr.BradleyTerry().fit(cr.judgments(votes))), pd.DataFrame)


@pytest.mark.parametrize("method", [cr.Elo(), cr.BradleyTerry(intervals=False)])
def test_without_errors_it_says_what_to_do(study, method):
    with pytest.raises(
        cr.JudgmentError, match=rf"{method.description.name} gives no standard errors.*intervals.*cr\.bootstrap"
    ):
        cr.neighbours(method.fit(study.judgments))


@pytest.mark.parametrize("level", [0.0, 1.0, 2])
def test_levels(consensus, level):
    with pytest.raises(cr.SettingError, match="level"):
        cr.neighbours(consensus, level=level)


def test_after_a_bootstrap_the_rounds_are_counted():
    """Seven of ten ballots put x first: another ten do so with the probability of a binomial majority."""
    lists = [("x", "y")] * 7 + [("y", "x")] * 3
    rows = [(f"a{number}", item, place + 1) for number, order in enumerate(lists) for place, item in enumerate(order)]
    annotator, item, rank = zip(*rows, strict=True)
    judgments = cr.judgments({"annotator": annotator, "item": item, "rank": rank})
    found = cr.neighbours(cr.bootstrap("mallows", judgments, rounds=1000, seed=1))
    majority = binom.sf(5, 10, 0.7) + binom.pmf(5, 10, 0.7) / 2
    assert found["probability"][0] == pytest.approx(majority, abs=0.03)
