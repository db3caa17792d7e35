"""Leases, caps and budgets are exact, also when many ask at once; and when the clock jumps."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from crowdrank.server.routes import judging


def judgments(study):
    return study.owner().ok("GET", "export.json")["judgments"]


def collect(study, people: int) -> None:
    """Everybody at once, until nobody gets another question."""
    annotators = [study.join() for _ in range(people)]

    def work(each):
        while each.judge(2):
            pass

    with ThreadPoolExecutor(people) as pool:
        list(pool.map(work, annotators))


@pytest.mark.parametrize("kind", ["pairs", "grades"])
def test_caps_of_items_hold_exactly(hall, database_url, kind):
    """12 items, 4 judgments each: 24 pairs or 48 grades, not one more, however many ask at once."""
    if kind == "grades":
        study = hall(database_url, study='kind = "grades"', rest="[collection]\ncaps = { item = 4 }")
        annotators = [study.join() for _ in range(8)]

        def work(each):
            while questions := each.questions(2):
                answers = [{"key": f"{each.name}-{q['id']}", "question": q["id"], "grade": 1} for q in questions]
                each.ok("POST", "judgments", json=answers)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, annotators))
        expected = 48
    else:
        study = hall(database_url, rest="[collection]\ncaps = { item = 4 }")
        collect(study, 8)
        expected = 24
    found = judgments(study)
    used = Counter(item for each in found for item in each["items"])
    assert max(used.values()) <= 4
    # The last pairs may find no partner: two items can be left one judgment short each.
    assert expected - 2 <= len(found) <= expected
    rows = study.owner().ok("GET", "items")["items"]
    assert {row["id"]: row["judgments"] for row in rows} == {f"i{k}": used[f"i{k}"] for k in range(12)}
    assert sum(row["asked_now"] for row in rows) == 0


def test_budget_and_cap_of_annotators_hold_exactly(hall, database_url):
    study = hall(database_url, rest="[collection]\nbudget = 23\ncaps = { annotator = 4 }")
    collect(study, 8)
    count = Counter(each["annotator"] for each in judgments(study))
    assert sum(count.values()) == 23
    assert max(count.values()) == 4
    late = study.join().ok("GET", "questions")
    assert (late["questions"], late["code"]) == ([], "no_more")


@pytest.fixture
def clock(monkeypatch):
    """Sets the clock of the server forward or back."""
    real = time.time
    return lambda jump: monkeypatch.setattr(judging.time, "time", lambda: real() + jump)


def test_questions_come_back_when_their_time_is_over(hall, database_url, clock):
    study = hall(database_url, items=2, rest="[collection]\nlease = 60")
    ann, bob = study.join(), study.join()
    (question,) = ann.questions(1)
    waiting = bob.ok("GET", "questions")
    assert (waiting["questions"], waiting["code"]) == ([], "leased_out")
    clock(61)
    (other,) = bob.questions(1)
    assert {item["id"] for item in other["items"]} == {item["id"] for item in question["items"]}
    ann.ok("POST", "judgments", json=[{"key": "late", "question": question["id"], "tie": True}])  # there is no cap
    bob.ok("POST", "judgments", json=[{"key": "k", "question": other["id"], "tie": True}])
    assert len(judgments(study)) == 2


def test_a_late_answer_does_not_exceed_the_cap(hall, database_url, clock):
    study = hall(database_url, items=2, rest="[collection]\nlease = 60\ncaps = { item = 1 }")
    ann, bob = study.join(), study.join()
    (question,) = ann.questions(1)
    clock(61)
    (other,) = bob.questions(1)
    answer = [{"key": "late", "question": question["id"], "tie": True}]
    refused = ann.request("POST", "judgments", json=answer)
    assert refused.status_code == 422
    assert "time for this question is over" in refused.json()["error"]
    bob.ok("POST", "judgments", json=[{"key": "k", "question": other["id"], "tie": True}])
    assert ann.request("POST", "judgments", json=answer).status_code == 422
    assert len(judgments(study)) == 1


@pytest.mark.parametrize("jump", [-86400.0, 86400.0])
def test_a_clock_that_jumps_loses_nothing(hall, database_url, clock, jump):
    """Leases made before the jump neither block a question for a day nor make an answer impossible."""
    study = hall(database_url, items=2, rest="[collection]\ncaps = { item = 3 }")
    ann, bob = study.join(), study.join()
    (question,) = ann.questions(1)
    clock(jump)
    (other,) = bob.questions(1)
    assert ann.ok("POST", "judgments", json=[{"key": "a", "question": question["id"], "tie": True}])
    assert bob.ok("POST", "judgments", json=[{"key": "b", "question": other["id"], "tie": True}])
    clock(0)
    assert len(judgments(study)) == 2
    assert study.join().questions(1)


def test_gold_checks(hall, database_url, tmp_path, study_files):
    """Checks are asked among others, never shown as such, and do not use up the caps of items."""
    path = study_files(
        tmp_path / "g", "fruit", items=6, rest='[collection]\ngold = "gold.csv"\ngold_share = 0.5\ncaps = { item = 6 }'
    )
    (tmp_path / "g" / "gold.csv").write_text("left,right,winner\ni0,i5,i0\ni1,i4,i1\n")
    study = hall(database_url, paths=[path])
    good, bad = study.join(annotator="good"), study.join(annotator="bad")
    for _ in range(20):
        good.judge(1)
        bad.judge(1, better=lambda a, b: a > b)
    rows = {row["id"]: row for row in study.owner().ok("GET", "annotators")["annotators"]}
    assert rows["good"]["gold_asked"] == rows["bad"]["gold_asked"] == 2
    assert (rows["good"]["gold_right"], rows["bad"]["gold_right"]) == (2, 0)
    found = judgments(study)
    assert sum(each["check"] for each in found) == 4
    assert set(good.questions(1)[0] if good.questions(1) else {"id", "kind", "task", "items"}) == {
        "id",
        "kind",
        "task",
        "items",
    }
    used = Counter(item for each in found if not each["check"] for item in each["items"])
    rows = study.owner().ok("GET", "items")["items"]
    assert {row["id"]: row["judgments"] for row in rows} == {f"i{k}": used[f"i{k}"] for k in range(6)}


def test_nobody_is_asked_about_their_own_item(hall, database_url, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "items.csv").write_text("id,owner\na,ann\nb,\nc,bob\n")
    (folder / "s.toml").write_text('[study]\nname = "s"\nkind = "pairs"\nitems = "items.csv"\n')
    study = hall(database_url, paths=[folder / "s.toml"])
    asked = [{item["id"] for item in q["items"]} for q in study.join(annotator="ann").questions(5)]
    assert asked == [{"b", "c"}]
