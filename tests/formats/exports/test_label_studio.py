"""Label Studio's exports: pairs, ratings, choices and rankings by type; gold, users, what is left out."""

import json

import pytest

import annotation_exports
import crowdrank as cr
import exports


def test_pairs(read, rows):
    study = read("ls.json", annotation_exports.label_studio())
    assert rows(study, "annotator", "left", "right", "winner", "time") == [
        ("7", "gpt", "llama", "gpt", "2024-05-31T12:00:00.000000Z"),
        ("zoë@example.org", "gpt", "llama", "llama", "2024-05-31T12:05:00.000000Z"),
        ("judge-1", "gpt", "llama", "gpt", None),
        ("7", "llama", "mistral", "mistral", "2024-06-01T12:00:00.000000Z"),
    ]
    notes = "\n".join(study.notes)
    for left_out in ("cancelled annotations (1)", "annotations without an answer (1)", "tasks without annotation (1)"):
        assert f"left out: {left_out}" in notes


def test_the_name_of_the_file_does_not_matter(read):
    for name in ("ls.txt", "export", "ls.csv", "ls.jsonl"):
        assert len(read(name, annotation_exports.label_studio()).pairs) == 4


def test_lines_are_read_too(read):
    assert len(read("ls.jsonl", exports.lines(annotation_exports.label_studio())).pairs) == 4


def test_fields_named_by_the_user(read, rows):
    tasks = annotation_exports.label_studio()
    for task in tasks:
        task["data"] = {"a": {"text": task["data"]["model_a"]}, "b": {"text": task["data"]["model_b"]}}
    with pytest.raises(cr.JudgmentError, match=r"--column left=data.a.text --column right=data.b.text"):
        read("ls.json", tasks)
    study = read("ls.json", tasks, columns={"left": "data.a.text", "right": "data.b.text"})
    assert rows(study, "left", "right")[0] == ("gpt", "llama")


def test_ratings_are_grades_of_the_task_or_of_a_field(read, rows):
    study = read("ls.json", annotation_exports.ratings())
    assert rows(study, "annotator", "item", "grade") == [
        ("1", "1", 4), ("2", "1", 5), ("1", "2", 1), ("2", "2", 2), ("1", "3", 3), ("2", "3", 3)
    ]  # fmt: skip
    named = read("ls.json", annotation_exports.ratings(), columns={"item": "data.doc", "task": "data.query"})
    assert rows(named, "task", "item", "grade")[0] == ("q", "d1", 4)
    assert any("results of type textarea (6)" in note for note in study.notes)


def test_ground_truth_is_gold(tmp_path):
    path = tmp_path / "ls.json"
    path.write_text(json.dumps(annotation_exports.ratings()))
    gold = cr.read_gold(path, columns={"item": "data.doc"})
    assert (gold.kind, gold.vocabulary.items.tolist(), gold.value.tolist()) == ("grade", ["d1"], [5])
    assert any("ground truth: use them with --gold" in note for note in cr.read(path).notes)
    path.write_text(json.dumps(annotation_exports.choices({(1, 1): "3"})))
    with pytest.raises(cr.JudgmentError, match="has no gold"):
        cr.read_gold(path)


def test_choices_need_an_order(read, rows):
    tasks = annotation_exports.choices({(1, 1): "Good", (1, 2): "Bad", (2, 1): "Fair"})
    with pytest.raises(cr.JudgmentError, match=r"in words \('Bad', 'Fair', 'Good'\).*--scale Bad,Fair,Good"):
        read("ls.json", tasks)
    study = read("ls.json", tasks, scale=["Bad", "Fair", "Good"])
    assert rows(study, "item", "grade") == [("1", 2), ("1", 0), ("2", 1)]


def test_choices_that_are_numbers(read, rows):
    assert rows(read("ls.json", annotation_exports.choices({(1, 1): "3", (2, 1): "1"})), "grade") == [(3,), (1,)]


@pytest.mark.parametrize(
    "value",
    [{"rank": ["b", "a", "c"]}, ["b", "a", "c"], {"best": ["b", "a", "c"], "_": ["d"]}, {"x": ["b"], "y": ["a", "c"]}],
)
def test_rankers_of_all_versions(read, rows, value):
    assert rows(read("ls.json", annotation_exports.ranker(value)), "item", "rank") == [("b", 1), ("a", 2), ("c", 3)]


def test_several_questions_are_several_tasks_unless_one_is_chosen(read, rows):
    tasks = annotation_exports.ratings()
    for task in tasks:
        for annotation in task["annotations"]:
            again = {**annotation["result"][0], "from_name": "style", "value": {"rating": 2}}
            annotation["result"].append(again)
    study = read("ls.json", tasks)
    assert study.vocabulary.tasks.tolist() == ["stars", "style"]
    chosen = read("ls.json", tasks, columns={"grade": "style"})
    assert {row[0] for row in rows(chosen, "grade")} == {2}
    with pytest.raises(cr.JudgmentError, match="asks 2 questions"):
        read("ls.json", tasks, columns={"task": "data.query"})


def test_files_from_before_version_1(read, rows):
    """Annotations were called completions, and the skipped ones marked otherwise."""
    judgments = read("old.json", annotation_exports.STUDIO_0)
    assert rows(judgments, "annotator", "left", "right", "winner") == [("7", "gpt", "llama", "gpt")]
    assert "left out: cancelled annotations (1)" in " ".join(judgments.notes)
