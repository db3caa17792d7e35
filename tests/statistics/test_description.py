"""What `describe` says about studies whose content is known."""

import json

import numpy as np
import polars as pl
import pytest

import build
import crowdrank as cr
from crowdrank.methods.choice import choose_method
from crowdrank.statistics.description import CountSpread, list_overlap

VOTES = [
    ("t", "ann", "x", "y", "x"),
    ("t", "ann", "y", "x", "y"),
    ("t", "bob", "x", "y", "tie"),
    ("t", "bob", "z", "w", "w"),
    ("t", "cy", "x", "y", "x"),
]


def test_counts_shares_and_repeats_by_hand():
    found = cr.describe(build.judgments(pairs=VOTES))
    assert found.counts == {"grades": 0, "pairs": 5, "rankings": 0}
    assert found.per_annotator == CountSpread(1, 1.5, 2.0, 5 / 3, 2.0, 2)
    assert found.entry_judgments.tolist() == [1, 4, 4, 1]  # w, x, y, z
    assert found.ties == pytest.approx(1 / 5)
    assert found.left_share == pytest.approx(3 / 4)
    assert (found.repeated, found.contradicted) == (1, 1)
    assert (found.never_lost, found.never_won) == (1, 1)  # w beat z
    assert found.disconnected == {"t": 2}
    assert found.annotators["left_share"].to_list() == [1.0, 0.0, 1.0]


def test_disconnected_comes_first_among_the_warnings():
    assert cr.describe(build.judgments(pairs=VOTES)).warnings[0].startswith("not connected: 2 parts")


def test_a_quiet_study_has_no_warnings():
    study = cr.simulate.pairs(items=150, annotators=40, votes=6000, quality=(50, 1), spread=4.0, seed=0).judgments
    assert cr.describe(study).warnings == ()


def test_spammers_are_suspected_and_others_are_not():
    """Of 30 annotators six answer at random: nearly all of these are named, and no more than one other."""
    study = cr.simulate.pairs(items=10, annotators=30, votes=4500, spammers=0.2, seed=1)
    from crowdrank.statistics.warnings import suspects

    found = suspects(cr.describe(study.judgments).annotator_columns)
    spam = study.quality == 0.5
    assert spam.sum() == 6
    assert found[spam].mean() >= 0.8
    assert found[~spam].sum() <= 1


def test_warnings_name_the_trouble():
    rng = np.random.default_rng(0)
    rows = [("t", f"a{who}", f"i{item}", int(rng.integers(0, 3))) for who in range(6) for item in range(20)]
    rows += [("t", "flat", f"i{item}", 2) for item in range(20)]
    texts = " ".join(cr.describe(build.judgments(grades=rows)).warnings)
    assert "low agreement: alpha of grades" in texts
    assert "one-sided: flat always gave the same answer" in texts


def test_too_few_judgments_and_unknown_agreement():
    texts = " ".join(cr.describe(build.judgments(grades=[("t", "a", "x", 1), ("t", "b", "y", 2)])).warnings)
    assert "no two annotators judged the same item" in texts
    assert "too few judgments: 2 items (100%)" in texts


def test_what_cannot_be_compared_is_said_as_it_is():
    alone = " ".join(cr.describe(build.judgments(pairs=VOTES[:2])).warnings)
    assert "one annotator gave all judgments" in alone
    tied = [("t", who, "x", "y", "tie") for who in ("ann", "bob", "cy")]
    texts = " ".join(cr.describe(build.judgments(pairs=tied)).warnings)
    assert "all pairs are the same answer" in texts  # they did judge the same pair
    assert "no two annotators" not in texts


@pytest.mark.parametrize(("tasks", "told"), [(6, True), (2, False)])
def test_items_that_recur_in_many_tasks(tasks, told):
    votes = [(f"t{task}", who, "x", "y", "x") for task in range(tasks) for who in ("ann", "bob", "cy")]
    warnings = cr.describe(build.judgments(pairs=votes)).warnings
    assert any("the same items occur in many tasks" in text for text in warnings) == told


def test_overlap_of_lists_by_hand():
    lists = [("t", "a", [["x"], ["y"]], False), ("t", "b", [["x"], ["y"]], False), ("u", "a", [["x"]], False)]
    study = build.judgments(lists=lists)
    assert list_overlap(study.rankings, 3, 2) == 1.0
    assert np.isnan(list_overlap(build.judgments(pairs=VOTES).rankings, 4, 1))


@pytest.mark.parametrize("kind", ["pairs", "grades", "rankings"])
def test_every_kind_is_described_and_becomes_json(kind):
    studies = {
        "pairs": cr.simulate.pairs(items=6, annotators=4, votes=90, seed=0),
        "grades": cr.simulate.grades(items=8, annotators=4, labels=3, seed=0),
        "rankings": cr.simulate.rankings(5, 4, tasks=3, seed=0),
    }
    found = cr.describe(studies[kind].judgments)
    assert -1 <= found.agreement[kind].alpha <= 1
    assert found.method in cr.METHODS
    assert json.loads(json.dumps(found.as_dict(), default=str))["judgments"][kind] > 0
    assert found.method in repr(found)


def test_an_empty_study_is_described():
    found = cr.describe(build.judgments())
    assert found.per_task.most == 0
    assert found.agreement == {}


def test_frames_are_those_of_the_judgments():
    assert isinstance(cr.describe(build.judgments(pairs=VOTES)).annotators, pl.DataFrame)
    with pytest.raises(cr.JudgmentError, match=r"cr\.read"):
        cr.describe("votes.csv")


def test_without_anything_to_learn_about_annotators_votes_are_pooled():
    one = build.judgments(pairs=[("t", "ann", "x", "y", "x")] * 5)
    assert choose_method(one)[0] == "bradley-terry"
    each_their_own = build.judgments(pairs=[("t", f"a{n}", "x", "y", "x") for n in range(9)])
    assert choose_method(each_their_own)[0] == "bradley-terry"
    assert choose_method(cr.simulate.pairs(items=5, annotators=4, votes=80).judgments)[0] == "crowd-bt"


def test_lists_are_ranked_by_what_is_known_about_them():
    lists = cr.simulate.rankings(items=6, annotators=5, tasks=8, seed=0).judgments
    assert choose_method(lists)[0] == "em-elo"  # eight lists of each annotator
    assert choose_method(cr.simulate.rankings(items=6, annotators=5, tasks=1, seed=0).judgments)[0] == "plackett-luce"
    rows = [("t", who, item, rank) for who in "abc" for item, rank in (("x", 3), ("y", 40), ("z", 90))]
    parts = cr.judgments(dict(zip(("task", "annotator", "item", "rank"), zip(*rows, strict=True), strict=True)))
    assert choose_method(parts)[0] == "rrf"


def test_seconds_for_a_judgment_by_hand():
    """ann answers after 4, 6 and 8 s, then after a break; bob sends three at once, 30 s after the first: 10 s each."""
    began = 1_700_000_000
    times = [0, 4, 10, 18, 90_000, 0, 30, 30, 30]
    frame = {"annotator": ["ann"] * 5 + ["bob"] * 4, "item": list("abcdeabcd"), "grade": [1, 2, 3, 1, 2, 2, 2, 1, 3]}
    found = cr.describe(cr.judgments({**frame, "time": [began + time for time in times]}))
    assert found.annotators["seconds"].to_list() == [6, 10]
    assert found.seconds == 9  # the median of 4, 6, 8, 10, 10, 10
    without = cr.describe(cr.judgments(frame))
    assert np.isnan(without.seconds)
    assert "seconds" not in without.annotators.columns
    counted = cr.describe(cr.judgments({**frame, "time": times}))
    assert np.isnan(counted.seconds)  # small numbers may be no seconds


def test_durations_come_before_times_by_hand():
    frame = {"annotator": [*"aaabb"], "item": [*"xyzxy"], "grade": [1, 2, 3, 2, 3]}
    taken = {"duration": [4, 90_000, 8, 5, 6], "time": [1.7e9 + 100 * second for second in range(5)]}
    found = cr.describe(cr.judgments({**frame, **taken}))
    assert found.annotators["seconds"].to_list() == [6, 5.5]  # a day is a break
    assert found.seconds == 5.5


def test_a_frame_that_is_changed_changes_nothing_else():
    described = cr.describe(cr.simulate.pairs(items=5, annotators=3, votes=60, seed=0).judgments)
    before = described.annotators["judgments"].to_list()
    described.annotators[0, "judgments"] = 99
    assert described.annotators["judgments"].to_list() == before


def test_tasks_that_share_no_items_are_not_one_ranking():
    """Answers to two questions, each judged in six respects: answers to different questions are never compared."""
    rows = [(f"{topic} {part}", "u", f"{topic}1", f"{topic}2", f"{topic}1") for topic in "ab" for part in range(6)]
    assert not any("occur in many tasks" in text for text in cr.describe(build.judgments(pairs=rows)).warnings)
    one = [(task, who, left.replace("b", "a"), right.replace("b", "a"), "a1") for task, who, left, right, _ in rows]
    assert any("occur in many tasks" in text for text in cr.describe(build.judgments(pairs=one)).warnings)
