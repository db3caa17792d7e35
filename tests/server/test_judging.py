"""Judgments: stored once for each key, checked, taken back, edited; the same on SQLite and PostgreSQL."""

from __future__ import annotations

import pytest


@pytest.fixture
def study(hall, database_url):
    return hall(database_url)


def export(study):
    return study.owner().ok("GET", "export.json")["judgments"]


def test_a_judgment_is_stored_once_for_its_key(study):
    ann = study.join()
    question = ann.questions(1)[0]
    answer = {"key": "k", "question": question["id"], "winner": question["items"][1]["id"], "seconds": 2.5}
    for _ in range(3):
        assert ann.ok("POST", "judgments", json=[answer])["stored"] == ["k"]
    assert ann.ok("POST", "judgments", json=[answer, answer])["stored"] == ["k"]
    (found,) = export(study)
    assert (found["key"], found["annotator"], found["winner"]) == ("k", ann.name, answer["winner"])
    assert found["items"] == [item["id"] for item in question["items"]]
    assert found["seconds"] == 2.5
    assert ann.ok("GET", "questions?count=1")["progress"]["done"] == 1


def test_the_same_key_of_two_annotators_is_two_judgments(study):
    for each in (study.join(), study.join()):
        question = each.questions(1)[0]
        each.ok("POST", "judgments", json=[{"key": "k", "question": question["id"], "tie": True}])
    assert [each["key"] for each in export(study)] == ["k", "k"]


def test_reloading_shows_the_same_questions(study):
    ann = study.join()
    first = ann.questions(2)
    assert ann.questions(2) == first
    assert ann.questions(3)[:2] == first
    assert ann.questions(1) == first[:1]


def test_two_people_do_not_get_the_same_question(hall, database_url):
    study = hall(database_url, items=5)
    people = [study.join() for _ in range(3)]
    asked = [frozenset(item["id"] for item in q["items"]) for each in people for q in each.questions(3)]
    assert len(asked) == len(set(asked)) == 9


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"winner": "nobody"}, "neither"),
        ({}, "winner"),
        ({"grade": 1}, "winner"),
        ({"tie": True, "winner": "i1"}, "winner"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(study, answer, said):
    ann = study.join()
    question = ann.questions(1)[0]
    refused = ann.request("POST", "judgments", json=[{"key": "k", "question": question["id"], **answer}])
    assert refused.status_code == 422
    assert said in refused.json()["error"]
    assert refused.json()["stored"] == []
    assert export(study) == []


def test_what_can_be_stored_of_a_list_is_stored(study):
    ann = study.join()
    question = ann.questions(1)[0]
    good = {"key": "good", "question": question["id"], "tie": True}
    again = {"key": "again", "question": question["id"], "tie": True}
    unknown = {"key": "bad", "question": "999999", "tie": True}
    done = ann.ok("POST", "judgments", json={"judgments": [unknown, good, again]})
    assert done["stored"] == ["good"]
    assert [each["key"] for each in done["refused"]] == ["bad", "again"]


def test_a_question_of_somebody_else_cannot_be_answered(study):
    ann, bob = study.join(), study.join()
    question = ann.questions(1)[0]
    refused = bob.request("POST", "judgments", json=[{"key": "k", "question": question["id"], "tie": True}])
    assert refused.status_code == 422
    assert "not asked" in refused.json()["error"]


def test_a_skipped_question_is_not_asked_again_and_does_not_count(hall, database_url):
    study = hall(database_url, items=2)
    ann = study.join()
    (question,) = ann.questions(5)
    ann.ok("POST", "judgments", json=[{"key": "k", "question": question["id"], "skip": True}])
    after = ann.ok("GET", "questions")
    assert after["questions"] == []
    assert after["code"] == "no_more"
    assert after["progress"]["done"] == 0
    assert export(study) == []
    assert study.join().questions(1)  # but others are asked


def test_undo_gives_the_question_back(study):
    ann = study.join()
    question = ann.questions(1)[0]
    first, second = (item["id"] for item in question["items"])
    ann.ok("POST", "judgments", json=[{"key": "k1", "question": question["id"], "winner": first}])
    assert ann.ok("DELETE", "judgments/k1")["question"] == question
    assert export(study) == []
    assert ann.questions(1) == [question]
    ann.ok("POST", "judgments", json=[{"key": "k1", "question": question["id"], "winner": first}])
    assert export(study) == []  # a late repetition of what was taken back stores nothing
    ann.ok("POST", "judgments", json=[{"key": "k2", "question": question["id"], "winner": second}])
    assert [each["winner"] for each in export(study)] == [second]
    everything = study.owner().ok("GET", "export.json?everything=true")["judgments"]
    assert [(each["key"], each["status"]) for each in everything] == [("k1", "withdrawn"), ("k2", "counted")]
    assert ann.request("DELETE", "judgments/unknown").status_code == 404


def test_an_edit_replaces_and_keeps_the_answer_before(study):
    ann = study.join()
    question = ann.questions(1)[0]
    first, second = (item["id"] for item in question["items"])
    ann.ok("POST", "judgments", json=[{"key": "k", "question": question["id"], "winner": first}])
    assert ann.ok("PUT", "judgments/k", json={"winner": second})["stored"] == ["k"]
    assert [each["winner"] for each in export(study)] == [second]
    everything = study.owner().ok("GET", "export.json?everything=true")["judgments"]
    assert [(each["winner"], each["status"]) for each in everything] == [(first, "replaced"), (second, "counted")]
    (own,) = ann.ok("GET", "judgments")["judgments"]
    assert (own["key"], own["winner"], own["question"]["id"]) == ("k", second, question["id"])
    assert ann.request("PUT", "judgments/k", json={"winner": "nobody"}).status_code == 422
    assert ann.request("PUT", "judgments/none", json={"winner": first}).status_code == 404


def test_history_is_the_annotators_own(study):
    ann, bob = study.join(), study.join()
    ann.judge(3)
    keys = [each["key"] for each in ann.ok("GET", "judgments")["judgments"]]
    assert len(keys) == 3
    assert bob.ok("GET", "judgments")["judgments"] == []
    assert bob.request("DELETE", f"judgments/{keys[0]}").status_code == 404
    newest = ann.ok("GET", "judgments?limit=1")["judgments"][0]
    assert newest["key"] == keys[0]
    older = ann.ok("GET", f"judgments?before={newest['number']}")["judgments"]
    assert [each["key"] for each in older] == keys[1:]


def test_grades_and_rankings(hall, database_url, tmp_path, study_files):
    scale = 'kind = "grades"\nscale = ["bad", "fair", "good"]'
    paths = [
        study_files(tmp_path / "g", "graded", study=scale),
        study_files(tmp_path / "r", "ranked", items=6, study='kind = "rankings"\nlist_size = 4'),
    ]
    both = hall(database_url, paths=paths)
    ann = both.join("graded")
    question = ann.questions(1)[0]
    assert len(question["items"]) == 1
    assert (
        ann.request("POST", "judgments", json=[{"key": "a", "question": question["id"], "grade": 3}]).status_code == 422
    )
    ann.ok("POST", "judgments", json=[{"key": "a", "question": question["id"], "grade": 2}])
    bob = both.join("ranked")
    question = bob.questions(1)[0]
    ids = [item["id"] for item in question["items"]]
    assert len(set(ids)) == 4
    wrong = bob.request("POST", "judgments", json=[{"key": "a", "question": question["id"], "ranking": ids[:2]}])
    assert wrong.status_code == 422
    bob.ok("POST", "judgments", json=[{"key": "a", "question": question["id"], "ranking": [ids[0], ids[1:3], ids[3]]}])
    (graded,) = both.owner("graded").ok("GET", "export.json")["judgments"]
    (ranked,) = both.owner("ranked").ok("GET", "export.json")["judgments"]
    assert graded["grade"] == 2
    assert ranked["ranking"] == [[ids[0]], ids[1:3], [ids[3]]]


def test_a_study_without_ties_takes_none(hall, database_url):
    ann = hall(database_url, study="ties = false").join()
    question = ann.questions(1)[0]
    refused = ann.request("POST", "judgments", json=[{"key": "k", "question": question["id"], "tie": True}])
    assert "no ties" in refused.json()["error"]


def test_details_of_an_llm_are_kept(study):
    ann = study.join(annotator="llm", details={"model": "m-1", "prompt": "v3"})
    question = ann.questions(1)[0]
    details = {"model": "m-1", "order": "both"}
    ann.ok("POST", "judgments", json=[{"key": "k", "question": question["id"], "tie": True, "details": details}])
    assert export(study)[0]["details"] == details
    (row,) = study.owner().ok("GET", "annotators")["annotators"]
    assert row["details"] == {"model": "m-1", "prompt": "v3"}


def test_mistakes_in_a_body_are_named_once(study):
    ann = study.join()
    (question,) = ann.questions(1)
    answer = {"key": "k", "question": question["id"], "winner": question["items"][0]["id"]}
    for body in ([{**answer, "sure": 1}], {"judgments": [{**answer, "sure": 1}]}):
        refused = ann.request("POST", "judgments", json=body)
        assert refused.status_code == 422
        assert refused.json()["error"].endswith("0.sure: Extra inputs are not permitted")
        assert "Body" not in refused.json()["error"]


def test_ids_may_be_numbers(study):
    ann = study.join()
    (question,) = ann.questions(1)
    answer = {"key": 17, "question": int(question["id"]), "winner": question["items"][0]["id"]}
    assert ann.ok("POST", "judgments", json=[answer])["stored"] == ["17"]


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8"])
def test_both_ways_of_reading_a_request_agree(study, kind):
    """A request of the usual form goes to its function at once, others go FastAPI's way."""
    ann = study.join()
    (question,) = ann.ok("GET", "questions?count=1&unknown=2")["questions"]
    answer = {"key": "k", "question": question["id"], "winner": question["items"][0]["id"]}
    headers = {"Content-Type": kind}
    assert ann.ok("POST", "judgments", json=[answer], headers=headers) == {"stored": ["k"]}
    assert ann.ok("POST", "judgments", json={"judgments": [answer]}, headers=headers) == {"stored": ["k"]}
    refused = ann.request("POST", "judgments", json=[{**answer, "key": "again"}], headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (422, "refused")
    unknown = study.stranger("nobody").request("POST", "judgments", json=[answer], headers=headers)
    assert unknown.status_code == 401


@pytest.mark.parametrize("count", ["0", "101", "many", ""])
def test_a_count_that_is_none_is_named(study, count):
    answer = study.join().request("GET", f"questions?count={count}")
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("query.count: ")
