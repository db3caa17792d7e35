"""What the owner does: states, items, voiding, import and export, events."""

from __future__ import annotations

import io
import json

import polars as pl
import pytest

import crowdrank as cr


@pytest.fixture
def study(hall, database_url):
    return hall(database_url, items=6)


def ranking(owner):
    found = owner.ok("GET", "consensus?wait=30")
    assert not found["stale"]
    return [row["item"] for row in found["ranking"]]


def test_voiding_recomputes_and_deletes_nothing(study):
    owner, ann, bad = study.owner(), study.join(annotator="ann"), study.join(annotator="bad")
    while ann.judge(5):
        pass
    while bad.judge(5, better=lambda a, b: a > b):
        pass
    owner.ok("POST", "annotators/bad/void")
    assert ranking(owner) == [f"i{k}" for k in range(6)]  # 15 pairs, all answered in this order
    assert bad.request("GET", "questions").status_code == 403
    found = owner.ok("GET", "export.json")["judgments"]
    assert len(found) == 30
    assert sum(each["status"] == "void" for each in found) == 15
    assert len(owner.ok("GET", "export.csv").text.splitlines()) == 16
    assert {row["judgments"] for row in owner.ok("GET", "items")["items"]} == {5}
    owner.ok("POST", "annotators/bad/restore")
    owner.ok("POST", "annotators/ann/void")
    assert ranking(owner) == [f"i{k}" for k in reversed(range(6))]
    assert owner.request("POST", "annotators/nobody/void").status_code == 404
    actions = [each["action"] for each in owner.ok("GET", "audit")["entries"]]
    assert actions[:3] == ["voided an annotator", "restored an annotator", "voided an annotator"]


def test_names_and_keys_may_hold_slashes(study):
    owner, model = study.owner(), study.join(annotator="org/model")
    (question,) = model.questions(1)
    model.ok(
        "POST", "judgments", json=[{"key": "a/b", "question": question["id"], "winner": question["items"][0]["id"]}]
    )
    assert model.ok("DELETE", "judgments/a%2Fb")["withdrawn"] == "a/b"
    owner.ok("POST", "annotators/org%2Fmodel/void")
    assert [each["state"] for each in owner.ok("GET", "annotators")["annotators"]] == ["void"]
    owner.ok("POST", "items", json={"items": [{"id": "docs/a.txt", "title": "a"}]})
    owner.ok("POST", "items/docs%2Fa.txt/next")
    assert owner.ok("DELETE", "items/docs%2Fa.txt")["withdrawn"] == "docs/a.txt"


def test_states(study):
    owner, ann = study.owner(), study.join()
    (question,) = ann.questions(1)
    owner.ok("POST", "state", json={"state": "paused"})
    paused = ann.ok("GET", "questions")
    assert ([q["id"] for q in paused["questions"]], paused["code"]) == ([question["id"]], "paused")
    assert ann.judge(5)  # what somebody has, they may answer
    owner.ok("POST", "state", json={"state": "closed"})
    assert ann.ok("GET", "questions")["code"] == "closed"
    answer = [{"key": "late", "question": question["id"], "tie": True}]
    assert ann.request("POST", "judgments", json=answer).status_code == 409
    assert study.stranger().request("POST", "join", json={}).status_code == 409
    owner.ok("POST", "state", json={"state": "frozen"})
    for method, path, body in [
        ("POST", f"annotators/{ann.name}/void", None),
        ("POST", "items", {"items": [{"id": "new"}]}),
        ("DELETE", "items/i0", None),
        ("POST", "import", None),
    ]:
        data = {"content": b'{"judgments": []}'} if path == "import" else {"json": body}
        assert owner.request(method, path, **data).status_code == 409, path
    owner.ok("POST", "state", json={"state": "open"})
    assert ann.questions(1)
    assert owner.request("POST", "state", json={"state": "gone"}).status_code == 422


def test_items_come_and_go(study):
    owner, ann = study.owner(), study.join()
    owner.ok("POST", "items", json={"items": [{"id": "new", "title": "New one", "markdown": "**b**"}]})
    assert owner.request("POST", "items", json={"items": [{"id": "new"}]}).status_code == 409
    assert owner.request("POST", "items", json={"items": [{"id": "x", "image": "https://a/b.png"}]}).status_code == 422
    owner.ok("POST", "items/new/next")
    question = ann.questions(1)[0]
    (shown,) = [item for item in question["items"] if item["id"] == "new"]
    assert (shown["title"], shown["html"]) == ("New one", "<p><strong>b</strong></p>\n")
    assert not any(row["next"] for row in owner.ok("GET", "items")["items"])
    owner.ok("DELETE", "items/i3")
    asked = {item["id"] for q in study.join().questions(50) for item in q["items"]}
    assert asked == {"i0", "i1", "i2", "i4", "i5", "new"}
    assert owner.request("DELETE", "items/none").status_code == 404
    owner.ok("POST", "items/i3/restore")
    assert {row["state"] for row in owner.ok("GET", "items")["items"]} == {"active"}


def test_exports_read_back_as_the_same_judgments(hall, tmp_path):
    study = hall(items=6)
    owner, ann = study.owner(), study.join(annotator="ann")
    ann.judge(6)
    question = ann.questions(1)[0]
    ann.ok("POST", "judgments", json=[{"key": "tied", "question": question["id"], "tie": True}])
    (tmp_path / "e.csv").write_bytes(owner.ok("GET", "export.csv").content)
    (tmp_path / "e.jsonl").write_bytes(owner.ok("GET", "export.jsonl").content)
    (tmp_path / "e.parquet").write_bytes(owner.ok("GET", "export.parquet").content)
    tables = [cr.read(tmp_path / name) for name in ("e.csv", "e.jsonl", "e.parquet")]
    for each in tables:
        assert each.counts["pairs"] == 7
        assert sorted(each.pairs.outcome.tolist()).count(0) == 1
    assert pl.read_parquet(io.BytesIO((tmp_path / "e.parquet").read_bytes()))["winner"].to_list().count("tie") == 1
    ranks = [line.split() for line in owner.ok("GET", "export.qrels").text.splitlines()]
    assert all(len(line) == 4 for line in ranks)
    assert owner.ok("GET", "report.html").text.startswith("<!doctype html>")


def test_import(study, tmp_path):
    owner = study.owner()
    csv = b"annotator,left,right,winner\nzoe,i0,i1,i0\nzoe,i1,i2,i1\nyan,i0,i2,tie\n"
    assert owner.ok("POST", "import?file=votes.csv", content=csv)["imported"] == 3
    again = owner.ok("POST", "import?file=votes.csv", content=csv)
    assert again["imported"] == 0
    assert "already in the study" in again["notes"][0]
    exported = owner.ok("GET", "export.json")
    assert len(exported["judgments"]) == 3
    unknown = owner.request("POST", "import?file=v.csv", content=b"annotator,left,right,winner\nzoe,i0,what,i0\n")
    assert unknown.status_code == 422
    assert "'what'" in unknown.json()["error"]
    grades = owner.request("POST", "import?file=v.csv", content=b"annotator,item,grade\nzoe,i0,1\n")
    assert "study of pairs" in grades.json()["error"]
    assert owner.request("POST", "import", content=b"\x00\xff nothing").status_code == 422
    for name, status in ((".", 422), ("..", 422), ("/", 422), ("../../x.csv", 200), ("é" * 300 + ".csv", 200)):
        assert owner.request("POST", "import", params={"file": name}, content=csv).status_code == status
    # What one study exported, another takes in, with the same keys.
    ann = study.join()
    ann.judge(2)
    body = json.dumps(owner.ok("GET", "export.json")).encode()
    assert owner.ok("POST", "import?file=export.json", content=body)["imported"] == 0


def test_an_export_moves_a_study(hall, tmp_path, study_files):
    both = hall(paths=[study_files(tmp_path / "a", "one"), study_files(tmp_path / "b", "two")])
    both.join("one").judge(5)
    exported = both.owner("one").ok("GET", "export.json")
    assert both.owner("two").ok("POST", "import", content=json.dumps(exported).encode())["imported"] == 5
    moved = both.owner("two").ok("GET", "export.json")
    same = ("key", "annotator", "items", "winner")
    assert [[each.get(k) for k in same] for each in moved["judgments"]] == [
        [each.get(k) for k in same] for each in exported["judgments"]
    ]


def test_status_and_stopping(hall, database_url):
    study = hall(database_url, items=6, rest="[collection]\nbudget = 40\ncost = 0.5\nstopping = { width = 0.1 }")
    owner, ann = study.owner(), study.join()
    assert owner.ok("GET", "status")["connectivity"]["unjudged"] in (0, 6)
    ann.judge(5)
    asked = ann.questions(1)
    found = owner.ok("GET", "consensus?wait=30")
    assert found["judgments"] == 5
    status = owner.ok("GET", "status")
    assert (status["judgments"], status["budget"], status["annotators"]) == (5, 40, 1)
    assert status["cost"]["amount"] == pytest.approx(2.5)
    assert sum(each["count"] for each in status["over_time"]) == 5
    assert len(status["asked_now"]) == len(asked) == 1
    rules = {row["rule"]: row for row in owner.ok("GET", "stopping?wait=30")["rules"]}
    assert (rules["budget"]["more"], rules["budget"]["reached"]) == (35, False)
    assert rules["width"]["now"] > 0.1


def test_results_before_the_first_judgment(study):
    owner = study.owner()
    found = owner.ok("GET", "consensus?wait=30")
    assert [row["rank"] for row in found["ranking"]] == [None] * 6
    assert found["notes"] == ["there are no judgments yet"]
    assert owner.request("GET", "report.html").status_code == 409
    assert owner.ok("GET", "export.json")["judgments"] == []
    assert owner.ok("GET", "export.csv").text.count("\n") == 1


def test_how_annotators_answer(study):
    """The median time and the share of left answers, kept up to date through undo, edits and voiding."""
    owner, ann = study.owner(), study.join()

    def habits():
        (row,) = owner.ok("GET", "annotators")["annotators"]
        return row["judgments"], row["seconds"], row["left_share"]

    assert habits() == (0, None, None)
    questions = ann.questions(4)
    for number, (question, seconds) in enumerate(zip(questions, (1.0, 8.0, 3.0, 2.0), strict=True)):
        winner = question["items"][number // 3]["id"]  # left, left, left, right
        answer = {"key": f"k{number}", "question": question["id"], "winner": winner, "seconds": seconds}
        ann.ok("POST", "judgments", json=[answer])
        assert habits()[0] == number + 1
    assert habits() == (4, 2.5, 0.75)
    ann.ok("DELETE", "judgments/k1")
    assert habits() == (3, 2.0, pytest.approx(2 / 3))
    ann.ok("PUT", "judgments/k0", json={"winner": questions[0]["items"][1]["id"], "seconds": 5.0})
    assert habits() == (3, 3.0, pytest.approx(1 / 3))
    owner.ok("POST", f"annotators/{ann.name}/void")
    assert habits() == (3, 3.0, pytest.approx(1 / 3))


def test_an_invitation_for_somebody_who_has_taken_part(study):
    """A lost device: the owner's link leads to the same annotator."""
    owner, ann = study.owner(), study.join(annotator="ann")
    stored = ann.judge(2)
    (made,) = owner.ok("POST", "invitations", json={"names": ["ann"]})["invitations"]
    again = study.join(invite=made["link"].partition("#invite=")[2])
    assert again.name == "ann"
    assert {each["key"] for each in again.ok("GET", "judgments")["judgments"]} == set(stored)
