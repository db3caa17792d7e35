"""From scores to a Consensus: verdicts on annotators, notes, and nothing computed twice."""

from collections import Counter

import numpy as np
import pytest

import crowdrank as cr
from crowdrank import consensus, simulate
from crowdrank.methods import result


def verdicts_on_guessers(items: int, method: str) -> Counter:
    """100 annotators who know something about the order of the items and 100 who shuffle them, a list each."""
    rng = np.random.default_rng(items)
    known = np.argsort(np.arange(items) + rng.normal(0, items / 4, (100, items)), axis=1)
    lists = np.concatenate([known, rng.permuted(known, axis=1)])
    who, place = np.indices(lists.shape)
    judgments = cr.judgments({"annotator": 1000 + who.ravel(), "item": lists.ravel(), "rank": place.ravel() + 1})
    return Counter(cr.fit(method, judgments).annotator_columns["verdict"][100:])


@pytest.mark.parametrize("items", [4, 10, 30])
@pytest.mark.parametrize("method", ["borda", "mallows", "crowd-bt", "crowdagg"])
def test_lists_at_random(method, items):
    """Two standard errors are exceeded by one in 44, three by one in 741; a little more with their own lists."""
    found = verdicts_on_guessers(items, method)
    assert found["informative"] + found["weak"] <= 9  # at 100 × 1/44, more than 9 have a chance of 1 in 5,000
    assert found["reversed"] <= 2


@pytest.mark.parametrize("method", ["gda", "gda-pw"])
def test_grades_at_random_where_few_graded_the_same(method):
    """By relevance that holds their own grades, half of them would agree with themselves."""
    study = cr.simulate.grades(items=1000, annotators=80, labels=2, spammers=0.4, seed=1)
    guess = study.annotators["kind"] == "spammer"
    verdict = cr.fit(method, study.judgments).annotator_columns["verdict"]
    assert np.isin(verdict[guess], ["informative", "weak", "reversed"]).mean() <= 0.1
    assert (verdict[~guess] == "informative").mean() >= 0.5


@pytest.mark.parametrize("method", ["bradley-terry", "variance-bt", "crowd-bt", "elo"])
def test_ranks_and_one_sided_annotators_are_computed_once(method, monkeypatch):
    calls = Counter()

    def counted(module, name):
        original = getattr(module, name)

        def wrapper(*given):
            calls[name] += 1
            return original(*given)

        monkeypatch.setattr(module, name, wrapper)

    counted(result, "rank_within")
    counted(consensus, "rank_within")
    counted(result, "one_sided_annotators")
    study = simulate.pairs(items=8, annotators=5, votes=200, seed=1).judgments
    assert len(cr.fit(method, study).ranking) == 8
    assert calls == {"rank_within": 1, "one_sided_annotators": 1}


def test_one_sided_annotators_are_named_with_their_answer():
    rows = [("ann", "x", "y", "x"), ("bob", "y", "x", "x")] * 10
    rows += [("tom", "x", "y", "tie")] * 8 + [("zoe", "x", "y", "y"), ("zoe", "y", "x", "y")]
    votes = dict(zip(("annotator", "left", "right", "winner"), zip(*rows, strict=True), strict=True))
    found = cr.fit("elo", cr.judgments(votes))
    assert found.annotators["verdict"].to_list()[:3] == ["one-sided"] * 3
    wanted = "3 annotators: ann (always left, 10 votes), bob (always right, 10 votes), tom (always tie, 8 votes)"
    assert f"one-sided votes of {wanted}" in found.notes


def test_one_sided_grades_are_named():
    grades = {"annotator": ["ann"] * 8 + ["bob"] * 8, "item": [*range(8)] * 2, "grade": [2] * 8 + [0, 1] * 4}
    found = cr.fit("mean", cr.judgments(grades))
    assert "one-sided votes of 1 annotator: ann (always grade 2, 8 items)" in found.notes
