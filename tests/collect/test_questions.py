import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.collect.policies import POLICIES, InformationGain

PAIRS = [name for name, policy in POLICIES.items() if policy.asks == "pairs"]


@pytest.fixture(scope="module")
def study():
    return cr.simulate.pairs(items=10, annotators=5, votes=120, seed=1).judgments


@pytest.fixture(scope="module")
def state(study):
    return cr.State.start().refit(study)


def unordered(frame):
    return [frozenset((left, right)) for left, right in zip(frame["left"], frame["right"], strict=True)]


def judged(study, name):
    words, pairs = study.vocabulary, study.pairs
    mine = words.annotators[pairs.annotator] == name
    left, right = (words.items[words.entry_item[side[mine]]] for side in (pairs.left, pairs.right))
    return set(map(frozenset, zip(left, right, strict=True)))


@pytest.mark.parametrize("policy", PAIRS)
def test_one_annotator(study, state, policy):
    found = cr.next_questions(study, "annotator3", 5, policy=policy, state=state)
    assert found.columns == ["task", "annotator", "left", "right", "gain"]
    assert found["annotator"].to_list() == ["annotator3"] * 5
    assert len(set(unordered(found))) == 5
    assert not set(unordered(found)) & judged(study, "annotator3")
    assert (found["gain"] > 0).all()
    again = cr.next_questions(study, "annotator3", 5, policy=policy, state=state)
    assert found.equals(again)


@pytest.mark.parametrize("policy", PAIRS)
def test_the_whole_crowd(study, state, policy):
    found = cr.next_questions(study, count=6, policy=policy, seed=4, state=state)
    assert 1 <= len(found) <= 6
    assert len(set(unordered(found))) == len(found)
    assert set(found["annotator"]) <= set(study.vocabulary.annotators)
    for who, pair in zip(found["annotator"], unordered(found), strict=True):
        assert pair not in judged(study, who)


def test_several_at_once_get_different_questions(study, state):
    names = [f"annotator{number}" for number in range(1, 6)]
    found = cr.next_questions(study, names, 2, state=state)
    assert found["annotator"].to_list() == names * 2
    assert len(set(unordered(found))) == 10
    same = cr.next_questions(study, ["new", "newer"], 1, repeat=True, state=state)
    both = cr.next_questions(study, ["new", "newer"], 1, state=state)
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


@pytest.mark.parametrize("policy", ["mutual-information", "information-gain"])
def test_good_annotators_are_asked_first(policy):
    study = cr.simulate.pairs(items=20, annotators=10, votes=3000, spammers=0.3, malicious=0.2, seed=2)
    chosen = cr.next_questions(study.judgments, count=5, gamma=0.0, policy=policy)["annotator"]
    informative = dict(zip(study.judgments.vocabulary.annotators, np.abs(study.quality - 0.5), strict=True))
    assert min(informative[name] for name in chosen) > 0.25


def test_epsilon_and_gamma(study, state):
    assert len(set(unordered(cr.next_questions(study, "annotator1", 5, epsilon=1.0, state=state)))) == 5
    lots = [
        cr.next_questions(study, "annotator1", epsilon=1.0, seed=seed, state=state)[0, "left"] for seed in range(12)
    ]
    assert len(set(lots)) > 2
    greedy = cr.next_questions(study, "annotator1", policy=InformationGain(gamma=0.0), state=state)
    exploring = cr.next_questions(study, "annotator1", gamma=1000.0, state=state)
    assert unordered(greedy) != unordered(exploring)


def test_nobody_gets_more_than_the_cap(study, state):
    """Of 120 judgments and 60 more, three times an equal share is 108; of the 60 alone, 36."""
    names = list(study.vocabulary.annotators)
    free = cr.next_questions(study, count=60, state=state, repeat=True, cost={"annotator1": 0.01})
    assert free["annotator"].to_list().count("annotator1") <= 36
    given = {name: len(judged(study, name)) for name in names}
    capped = cr.next_questions(study, count=40, state=state, repeat=True, most_share=0.25)
    assert max(capped["annotator"].to_list().count(name) for name in names) <= 10
    most = max(given, key=given.get)
    assert not len(cr.next_questions(study, most, state=state, most_share=0.01))


def test_no_pair_more_often_than_its_cap(study, state):
    before = {}
    for name in study.vocabulary.annotators:
        for pair in judged(study, name):
            before[pair] = before.get(pair, 0) + 1
    new = [f"new{number}" for number in range(20)]
    found = cr.next_questions(study, new, 3, state=state, repeat=True, most_per_pair=4)
    for pair in set(unordered(found)):
        assert before.get(pair, 0) + unordered(found).count(pair) <= 4


def test_outstanding_answers_are_taken_into_account(study, state):
    first = cr.next_questions(study, ["annotator1", "annotator2"], 2, state=state)
    again = cr.next_questions(study, ["annotator1", "annotator2"], 2, state=state, outstanding=first)
    assert not set(unordered(first)) & set(unordered(again))
    both = cr.next_questions(study, ["annotator1", "annotator2"], 4, state=state)
    assert unordered(both)[4:] == unordered(again)


def test_who_is_away_is_not_asked(study, state):
    away = ["annotator1", "annotator2", "annotator3"]
    assert set(cr.next_questions(study, count=6, state=state, away=away)["annotator"]) <= {"annotator4", "annotator5"}


def test_a_late_item_is_asked_about_first(study, state):
    found = cr.next_questions(study, "annotator1", 3, state=state, items={"item": [*study.vocabulary.items, "late"]})
    assert "late" in unordered(found)[0]


def test_goals(study):
    """The best two are settled by questions about the first places, the whole order by others too."""
    study = cr.simulate.pairs(items=20, annotators=8, votes=800, seed=3)
    state = cr.State.start().refit(study.judgments)
    place = dict(zip(state.vocabulary.items[np.argsort(-state.mean)], range(20), strict=True))

    def asked(**settings):
        found = cr.next_questions(study.judgments, "new", 10, state=state, **settings)
        return np.array([min(place[name] for name in pair) for pair in unordered(found)])

    assert asked(goal="top-k", k=2).max() <= 4
    assert asked(goal="order").max() > 8
    assert asked(goal="scale").max() > 8


def test_a_handful_to_rank(study, state):
    found = cr.next_questions(study, ["annotator1", "new"], 2, policy="rankings", size=4, state=state)
    assert found.columns == ["task", "annotator", "list", "item", "gain"]
    assert found["list"].to_list() == [1] * 4 + [2] * 4 + [3] * 4 + [4] * 4
    assert found["annotator"].to_list() == (["annotator1"] * 4 + ["new"] * 4) * 2
    for _, handful in found.group_by("list"):
        assert handful["item"].n_unique() == 4
    alone = cr.next_questions(study, "new", policy="rankings", size=99, state=state)
    assert len(alone) == 10


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
