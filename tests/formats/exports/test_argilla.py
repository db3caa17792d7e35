"""Argilla's records, as JSON and as a table."""

import pytest

import annotation_exports
import crowdrank as cr


def test_records(read, rows):
    study = read("argilla.json", annotation_exports.argilla())
    assert (study.counts["grades"], study.counts["rankings"]) == (8, 3)
    assert study.vocabulary.tasks.tolist() == ["order", "relevance"]
    assert rows(study.only("grades"), "task", "annotator", "item", "grade")[:3] == [
        ("relevance", "user-0", "rec-1", 5), ("relevance", "user-1", "rec-1", 4), ("relevance", "gpt-4o", "rec-1", 5)
    ]  # fmt: skip
    assert rows(study.only("rankings"), "item", "rank")[:3] == [("b", 1), ("a", 2), ("c", 3)]
    assert any("drafts count too" in note for note in study.notes)
    assert any("answers in words to comment" in note for note in study.notes)


def test_one_question_and_the_items_of_a_field(read, rows):
    study = read("a.json", annotation_exports.argilla(), columns={"grade": "relevance", "item": "fields.doc"})
    assert study.kinds == ("grades",)
    assert rows(study, "task", "item")[0] == ("all", "d1")


def test_a_table_keeps_what_was_submitted(read, rows):
    study = read("hub.parquet", annotation_exports.argilla_table())
    assert rows(study, "annotator", "item", "grade") == [
        ("u1", "r1", 5), ("u2", "r1", 4), ("gpt", "r1", 5), ("u1", "r2", 1), ("gpt", "r3", 2)
    ]  # fmt: skip
    assert any("status draft (1)" in note for note in study.notes)


def test_labels_are_pairs_where_the_user_says_the_sides(read, rows):
    records = [
        {"id": model, "fields": {"a": "gpt", "b": model}, "responses": {"better": [{"value": said, "user_id": "u"}]}}
        for model, said in (("llama", "A"), ("mistral", "tie"))
    ]
    study = read("a.json", records, columns={"left": "fields.a", "right": "fields.b"})
    assert rows(study, "left", "right", "winner") == [("gpt", "llama", "gpt"), ("gpt", "mistral", "tie")]


def test_rankings_with_ranks(read, rows):
    value = [{"value": "x", "rank": 2}, {"value": "y", "rank": 1}, {"value": "z", "rank": 2}]
    records = [{"id": "1", "fields": {}, "responses": {"order": [{"value": value, "user_id": "u"}]}}]
    assert rows(read("a.json", records), "item", "rank") == [("y", 1), ("x", 2), ("z", 2)]


def test_there_is_no_gold_in_it(tmp_path, read):
    read("a.json", annotation_exports.argilla())
    with pytest.raises(cr.JudgmentError, match="holds no gold"):
        cr.read_gold(tmp_path / "a.json")


def test_records_of_version_1(read, rows):
    """Of each user the answers to all questions, with a status; suggestions in a list."""
    judgments = read("argilla.json", annotation_exports.ARGILLA_1)
    assert rows(judgments, "annotator", "item", "grade") == [("u1", "1", 3.0), ("gpt", "1", 4.0)]
    assert "left out: responses with status discarded (1)" in " ".join(judgments.notes)
    assert "drafts" not in " ".join(judgments.notes)


def test_parts_of_texts_are_left_out(read, rows):
    spans = {"span": [{"value": [{"start": 0, "end": 3, "label": "x"}], "user_id": "u"}]}
    record = {"id": "1", "fields": {}, "responses": {**spans, "rating": [{"value": 3, "user_id": "u"}]}}
    judgments = read("argilla.json", [record])
    assert rows(judgments, "item", "grade") == [("1", 3.0)]
    assert "left out: parts of texts that answer span (1)" in " ".join(judgments.notes)


def test_the_table_as_json(read, rows):
    """What `to_json` of the library datasets makes of a table of the Hub."""
    record = {"id": "r1", "q.responses": [4, 2], "q.responses.users": ["a", "b"], "q.suggestion": 3}
    judgments = read("hub.jsonl", [{**record, "q.responses.status": ["submitted", "draft"]}])
    assert rows(judgments, "annotator", "item", "grade") == [("a", "r1", 4.0), ("suggestion", "r1", 3.0)]
    assert "left out: responses with status draft (1)" in " ".join(judgments.notes)
