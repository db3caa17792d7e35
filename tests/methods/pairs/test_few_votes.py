"""Where most users are: few votes for each annotator, ties, different tastes, a first try with three items."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdrank as cr


def error_free(seed):
    """Votes without errors on 3 to 10 items by 1 to 5 annotators."""
    rng = np.random.default_rng(seed)
    items, annotators = rng.integers(3, 11), rng.integers(1, 6)
    votes = rng.integers(1, 4 * items)
    left = rng.integers(0, items, votes)
    right = (left + rng.integers(1, items, votes)) % items
    truth = rng.permutation(items)
    winner = np.where(truth[left] > truth[right], left, right)
    return {"annotator": rng.integers(0, annotators, votes), "left": left, "right": right, "winner": winner}


def against_the_votes(votes, consensus):
    score = dict(zip(consensus.ranking["item"], consensus.ranking["score"], strict=True))
    loser = np.where(votes["winner"] == votes["left"], votes["right"], votes["left"])
    return [pair for pair in zip(votes["winner"], loser, strict=True) if score[str(pair[0])] < score[str(pair[1])]]


@pytest.mark.parametrize("name", ["crowd-bt", "bradley-terry", "crowd-thurstone"])
def test_never_an_order_against_votes_without_errors(name):
    for seed in range(60):
        votes = {key: values.astype(str) for key, values in error_free(seed).items()}
        method = cr.METHODS[name](intervals=seed % 15 == 0)
        assert not against_the_votes(votes, method.fit(cr.judgments(votes)))


def test_the_first_thing_that_a_newcomer_tries():
    votes = cr.judgments({"left": ["a", "b"], "right": ["b", "c"], "winner": ["a", "b"]})
    ranking = cr.fit("crowd-bt", votes).ranking
    assert ranking["item"].to_list() == ["a", "b", "c"]
    assert ranking["rank"].to_list() == [1, 2, 3]
    assert (ranking["low"] <= ranking["score"]).all()
    assert (ranking["score"] <= ranking["high"]).all()


def test_what_the_votes_do_not_tell_apart_is_tied():
    """a beat both others, which never met."""
    votes = cr.judgments({"left": ["a", "a"], "right": ["b", "c"], "winner": ["a", "a"]})
    ranking = cr.fit("crowd-bt", votes).ranking
    assert dict(zip(ranking["item"], ranking["rank"], strict=True)) == {"a": 1, "b": 2, "c": 2}


@pytest.fixture(scope="module")
def two_tastes():
    """50 people, of whom 24 like best what the others like least."""
    rng = np.random.default_rng(4)
    items, people = 8, 50
    score = rng.normal(0, 1.5, items)
    who = np.repeat(np.arange(people), 60)
    left = rng.integers(0, items, len(who))
    right = (left + rng.integers(1, items, len(who))) % items
    taste = np.where(who < 24, -1, 1)
    wins = rng.random(len(who)) < 1 / (1 + np.exp(-taste * (score[left] - score[right])))
    columns = {"annotator": who, "left": left, "right": right, "winner": np.where(wins, left, right)}
    return cr.judgments({key: values.astype(str) for key, values in columns.items()})


def test_people_of_another_taste_are_a_camp(two_tastes):
    consensus = cr.fit("crowd-bt", two_tastes)
    people = consensus.annotators
    assert "reversed" not in set(people["verdict"])
    first = people["annotator"].cast(int).to_numpy() < 24
    camp = people["camp"].to_numpy()
    assert {frozenset(camp[first].tolist()), frozenset(camp[~first].tolist())} == {frozenset({1}), frozenset({2})}
    assert any(note.startswith("annotators fall into two camps") for note in consensus.notes)
    rankings = [consensus.camps.filter(consensus.camps["camp"] == number).sort("item")["rank"] for number in (1, 2)]
    assert np.corrcoef(*(ranks.to_numpy() for ranks in rankings))[0, 1] < -0.9
    assert (consensus.low < 0).all()  # intervals contain both rankings
    assert (consensus.high > 0).all()


def test_gold_says_which_camp_is_right(two_tastes):
    upper = cr.fit("crowd-bt", two_tastes)
    score = dict(zip(upper.ranking["item"], -upper.ranking["score"], strict=True))
    gold = cr.gold({"item": list(score), "grade": list(score.values())})
    consensus = cr.CrowdBT().fit(two_tastes, gold)
    assert consensus.camps is None
    assert np.corrcoef(consensus.score, upper.score)[0, 1] < -0.9


def test_annotators_who_share_no_item_are_unclear():
    columns = {"annotator": ["ann"] * 6 + ["bob"] * 6, "left": list("abcabc") + list("xyzxyz")}
    columns |= {"right": list("bcabca") + list("yzxyzx"), "winner": list("abaaba") + list("xyxxyx")}
    consensus = cr.fit("crowd-bt", cr.judgments(columns))
    assert consensus.annotators["verdict"].to_list() == ["unclear", "unclear"]
    assert any("share no item with others" in note for note in consensus.notes)


def test_every_vote_fifty_times():
    """Copies are not evidence; a note says so."""
    study = cr.simulate.pairs(items=6, annotators=4, votes=60, seed=0).judgments
    pairs, names = study.pairs, study.vocabulary
    item = names.items[names.entry_item]
    columns = {
        "annotator": names.annotators[pairs.annotator],
        "left": item[pairs.left],
        "right": item[pairs.right],
        "winner": np.where(pairs.outcome > 0, item[pairs.left], item[pairs.right]),
    }
    consensus = cr.fit("crowd-bt", cr.judgments({name: np.repeat(values, 50) for name, values in columns.items()}))
    assert any("repeat a vote of the same annotator" in note for note in consensus.notes)
    assert np.ptp(consensus.score) < 100
    assert (consensus.high - consensus.low).max() < 200


@settings(max_examples=12)
@given(st.integers(0, 10_000), st.integers(1, 5), st.floats(0.05, 0.7), st.sampled_from([1.0, 1e-6, 1e6]))
def test_few_votes_and_many_ties_leave_no_hole(seed, per_annotator, ties, weight):
    study = cr.simulate.pairs(items=12, annotators=30, votes=30 * per_annotator, ties=ties, seed=seed).judgments
    pairs, names = study.pairs, study.vocabulary
    item = names.items[names.entry_item]
    columns = {
        "annotator": names.annotators[pairs.annotator],
        "left": item[pairs.left],
        "right": item[pairs.right],
        "winner": np.where(pairs.outcome == 0, "tie", np.where(pairs.outcome > 0, item[pairs.left], item[pairs.right])),
        "weight": np.full(len(pairs), weight),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        consensus = cr.CrowdBT(intervals=seed % 3 == 0).fit(cr.judgments(columns))
    assert np.isfinite(consensus.score).all()
    if consensus.low is not None:
        assert np.isfinite(consensus.high - consensus.low).all()
        assert consensus.annotators["quality_low"].null_count() == 0
    assert consensus.fit.converged or any("not converged" in note for note in consensus.notes)
