"""What the dashboard counts: kept up to date without reading old judgments again."""

from sqlalchemy import Engine, event

from crowdrank.server.activity import Activity


def test_counts_through_skip_undo_edit_and_voiding(hall, database_url):
    study = hall(database_url, items=6)
    owner, ann, bob = study.owner(), study.join(annotator="ann"), study.join(annotator="bob")

    def counts():
        status = owner.ok("GET", "status")
        return (
            *(status[name] for name in ("judgments", "skipped", "withdrawn")),
            sum(each["count"] for each in status["over_time"]),
        )

    assert counts() == (0, 0, 0, 0)
    first, second, third = ann.questions(3)
    left, right = (item["id"] for item in first["items"])
    ann.ok("POST", "judgments", json=[{"key": "one", "question": first["id"], "winner": left}])
    assert counts() == (1, 0, 0, 1)
    ann.ok("POST", "judgments", json=[{"key": "two", "question": second["id"], "skip": True}])
    ann.ok("POST", "judgments", json=[{"key": "three", "question": third["id"], "tie": True}])
    bob.judge(2)
    assert counts() == (4, 1, 0, 4)
    ann.ok("DELETE", "judgments/three")
    assert counts() == (3, 1, 1, 3)
    ann.ok("PUT", "judgments/one", json={"winner": right})
    assert counts() == (3, 1, 1, 3)
    owner.ok("POST", "annotators/ann/void")
    assert counts() == (2, 0, 0, 2)
    owner.ok("POST", "annotators/ann/restore")
    assert counts() == (3, 1, 1, 3)


def test_old_judgments_are_not_read_again(hall):
    study = hall()
    owner, ann = study.owner(), study.join()
    ann.judge(5)
    owner.ok("GET", "status")
    ann.judge(1)
    read = []

    def note(*of):
        if "FROM judgment" in of[2] and "judgment.created, annotator" not in of[2]:  # the ranking reads these, later
            read.append(of[3])

    event.listen(Engine, "before_cursor_execute", note)
    for path in ("status", "annotators", "stopping"):
        owner.ok("GET", path)
    event.remove(Engine, "before_cursor_execute", note)
    assert read == [(study.served.id, 6, 7)]  # the items were the first change


def test_stretches_of_time():
    """Also those in which nothing came; the clock may have been set back."""
    found = Activity(times=[100.0, 101.0, 160.0, 219.0])
    assert found.over_time(220.0, 4) == [(100.0, 2), (130.0, 0), (160.0, 1), (190.0, 1)]
    assert found.over_time(50.0, 2) == [(100.0, 2), (159.5, 2)]
    assert found.since(160.0) == 2
    assert Activity().over_time(220.0, 4) == []
