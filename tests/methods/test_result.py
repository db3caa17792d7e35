"""Who guesses is called neither informative nor reversed, whatever the form of the judgments."""

from collections import Counter

import numpy as np
import pytest

import crowdrank as cr


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
    """Two standard errors are exceeded by one in 44, three by one in 741; a little more, as the consensus holds their own lists."""
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
