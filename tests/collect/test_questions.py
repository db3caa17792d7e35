import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.collect.policies import POLICIES, InformationGain

PAIRS = [name for name, policy in POLICIES.items() if policy.asks == "pairs"]


@pytest.fixture(scope="module")
def study():
    return cr.simulate.pairs(items=10, annotators=5, votes=120, seed=1).judgments


def unordered(frame):
    return [frozenset((left, right)) for left, right in zip(frame["left"], frame["right"], strict=True)]


def judged(study, name):
    words, pairs = study.vocabulary, study.pairs
    mine = words.annotators[pairs.annotator] == name
    left, right = (words.items[words.entry_item[side[mine]]] for side in (pairs.left, pairs.right))
    return set(map(frozenset, zip(left, right, strict=True)))


@pytest.mark.parametrize("policy", PAIRS)
def test_one_annotator(study, policy):
    found = cr.next_questions(study, "annotator3", 5, policy=policy)
    assert found.columns == ["task", "annotator", "left", "right", "gain"]
    assert found["annotator"].to_list() == ["annotator3"] * 5
    assert len(set(unordered(found))) == 5
    assert not set(unordered(found)) & judged(study, "annotator3")
    assert (found["gain"] > 0).all()
    again = cr.next_questions(study, "annotator3", 5, policy=policy)
    assert found.equals(again)


@pytest.mark.parametrize("policy", PAIRS)
def test_the_whole_crowd(study, policy):
    found = cr.next_questions(study, count=6, policy=policy, seed=4)
    assert 1 <= len(found) <= 6
    assert len(set(unordered(found))) == len(found)
    assert set(found["annotator"]) <= set(study.vocabulary.annotators)
    for who, pair in zip(found["annotator"], unordered(found), strict=True):
        assert pair not in judged(study, who)


def test_several_at_once_get_different_questions(study):
    names = [f"annotator{number}" for number in range(1, 6)]
    found = cr.next_questions(study, names, 2)
    assert found["annotator"].to_list() == names * 2
    assert len(set(unordered(found))) == 10
    same = cr.next_questions(study, ["new", "newer"], 1, repeat=True)
    both = cr.next_questions(study, ["new", "newer"], 1)
    assert len(set(unordered(both))) == 2
    assert len(same) == 2


def test_repeat_gives_the_same_pair_to_several(build):
    two = build.judgments(pairs=[("t", "ann", "a", "b", "a")], entries=[("t", "a"), ("t", "b")])
    assert len(cr.next_questions(two, ["bob", "cid"], 1)) == 1
    assert len(cr.next_questions(two, ["bob", "cid"], 1, repeat=True)) == 2


def test_a_batch_does_not_dwell_on_one_item(build):
    """An unknown item is asked about first, but not in all questions."""
    known = cr.simulate.pairs(items=10, annotators=5, votes=3000, seed=1).judgments
    items = {"item": [*known.vocabulary.items, "new"]}
    found = cr.next_questions(known, "somebody", 12, items=items)
    with_new = ["new" in pair for pair in unordered(found)]
    assert with_new[0]
    assert not all(with_new)


def test_items_in_rotation_and_their_owners(study):
    items = pl.DataFrame({"item": ["item01", "item02", "item03", "brand-new"], "owner": ["ann", "bob", None, "cid"]})
    found = cr.next_questions(study, "ann", 10, items=items)
    assert {name for pair in unordered(found) for name in pair} == {"item02", "item03", "brand-new"}
    assert len(found) == 3
    assert {name for pair in unordered(cr.next_questions(study, "bob", 10, items=items)) for name in pair} == {
        "item01",
        "item03",
        "brand-new",
    }
    assert not len(cr.next_questions(study, "ann", items={"item": ["item01"]}))


def test_items_of_several_tasks():
    study = cr.simulate.pairs(items=4, annotators=3, votes=60, tasks=2, seed=0).judgments
    found = cr.next_questions(study, "x", 50)
    assert len(found) == 12
    rotation = {"task": ["task1", "task1", "task2"], "item": ["item1", "item2", "item1"]}
    assert unordered(cr.next_questions(study, "x", 50, items=rotation)) == [frozenset(("item1", "item2"))]
    with pytest.raises(cr.JudgmentError, match="no column 'task'"):
        cr.next_questions(study, "x", items={"item": ["item1"]})
    with pytest.raises(cr.JudgmentError, match="no column 'item'"):
        cr.next_questions(study, "x", items={"name": ["item1"]})


def test_costs(study):
    assert cr.next_questions(study, cost={"annotator2": 0.01})["annotator"][0] == "annotator2"
    dear = cr.next_questions(study, "annotator2", cost={"annotator2": 10.0})["gain"][0]
    assert dear == pytest.approx(cr.next_questions(study, "annotator2")["gain"][0] / 10)
    with pytest.raises(cr.SettingError, match="cost"):
        cr.next_questions(study, cost={"annotator2": 0.0})


def test_before_the_first_judgment(build):
    empty = build.judgments()
    found = cr.next_questions(empty, "ann", 3, items={"item": ["a", "b", "c"]})
    assert len(set(unordered(found))) == 3
    assert found["task"].to_list() == ["all"] * 3


def test_a_state_that_is_kept_up_to_date(study):
    state = cr.State.start().refit(study)
    given, found = cr.next_questions(study, "annotator1", 3, state=state), cr.next_questions(study, "annotator1", 3)
    assert given.equals(found)


def test_pairs_already_answered_are_not_asked_again_after_an_answer_without_a_task(study):
    """Nor where the judgments, or the table of items, name no task."""
    state = cr.State.start().refit(study).answer("annotator1", "item01", "item02", "item01")
    words, pairs = study.vocabulary, study.pairs
    names = words.items[words.entry_item]
    votes = {"annotator": words.annotators[pairs.annotator], "left": names[pairs.left], "right": names[pairs.right]}
    unnamed = cr.judgments({**votes, "winner": np.where(pairs.outcome > 0, votes["left"], votes["right"])})
    for judgments in (study, unnamed):
        found = cr.next_questions(judgments, "annotator1", 50, state=state)
        assert len(found) == 45 - len(judged(study, "annotator1"))
        assert not set(unordered(found)) & judged(study, "annotator1")
        assert set(found["task"]) == {"task1"}
    listed = {"item": words.items, "task": ["all"] * 10}
    assert not set(unordered(cr.next_questions(study, "annotator1", 50, items=listed))) & judged(study, "annotator1")


def test_good_annotators_are_asked_first():
    study = cr.simulate.pairs(items=20, annotators=10, votes=3000, spammers=0.3, malicious=0.2, seed=2)
    chosen = cr.next_questions(study.judgments, count=5, gamma=0.0)["annotator"]
    informative = dict(zip(study.judgments.vocabulary.annotators, np.abs(study.quality - 0.5), strict=True))
    assert min(informative[name] for name in chosen) > 0.25


def test_epsilon_and_gamma(study):
    assert len(set(unordered(cr.next_questions(study, "annotator1", 5, epsilon=1.0)))) == 5
    lots = [cr.next_questions(study, "annotator1", epsilon=1.0, seed=seed)[0, "left"] for seed in range(12)]
    assert len(set(lots)) > 2
    greedy = cr.next_questions(study, "annotator1", policy=InformationGain(gamma=0.0))
    exploring = cr.next_questions(study, "annotator1", gamma=1000.0)
    assert unordered(greedy) != unordered(exploring)


def test_frames_come_out_as_they_came_in():
    pandas = pytest.importorskip("pandas")
    votes = pandas.DataFrame({"annotator": ["x", "x"], "left": [1, 2], "right": [2, 3], "winner": [1, 2]})
    assert isinstance(cr.next_questions(cr.judgments(votes), "x"), pandas.DataFrame)


def test_bad_settings(study):
    with pytest.raises(cr.SettingError, match="did you mean 'random'"):
        cr.next_questions(study, policy="randum")
    with pytest.raises(cr.SettingError, match="has no setting 'gamma'"):
        cr.next_questions(study, policy="random", gamma=1.0)
    with pytest.raises(cr.SettingError, match="count"):
        cr.next_questions(study, count=0)
    for bad in ({"gamma": -1.0}, {"epsilon": 2.0}, {"halve_every": 0.0}):
        with pytest.raises(cr.SettingError, match=next(iter(bad))):
            InformationGain(**bad)
    with pytest.raises(cr.JudgmentError, match="needs grades"):
        cr.next_questions(study, policy="grades")
