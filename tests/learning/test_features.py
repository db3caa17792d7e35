import numpy as np
import polars as pl
import pytest

import crowdrank as cr

TABLE = {"task": ["q2", "q1", "q1"], "item": ["z", "y", "x"], "length": [3, 5, 1], "age": [0.5, 2.0, 1.0]}
LETOR = "2 qid:q1 1:1 2:1 #docid = x inc = 1\n0 qid:q1 2:2 1:5 # docid=y prob = 0.2\n\n1 qid:q2 1:3 2:0.5 #docid = z\n"
VALUES = [[1, 1], [5, 2], [3, 0.5]]  # of x and y in q1, and z in q2


@pytest.mark.parametrize(
    "name", ["features.csv", "features.csv.gz", "features.parquet", "features.jsonl", "features.txt"]
)
def test_every_kind_of_file(tmp_path, name):
    path = tmp_path / name
    if name.endswith(".txt"):
        path.write_text(LETOR)
    else:
        cr.write(pl.DataFrame(TABLE), path)
    found = cr.read_features(path)
    assert found.value.tolist() == VALUES
    words = found.vocabulary
    assert [str(name) for name in words.items[words.entry_item]] == ["x", "y", "z"]
    assert found.columns == (("1", "2") if name.endswith(".txt") else ("length", "age"))


def test_any_data_frame_and_its_kind_comes_out():
    pandas = pytest.importorskip("pandas")
    found = cr.features(pandas.DataFrame(TABLE))
    assert found.value.tolist() == VALUES
    ranker = cr.learn("listmle", found, cr.gold({"task": ["q1", "q1"], "item": ["x", "y"], "grade": [1, 0]}))
    assert isinstance(ranker.rank(found).ranking, pandas.DataFrame)


def test_tasks_may_be_left_out():
    found = cr.features({"item": [1, 2], "age": [3.0, 4.0]})
    assert found.vocabulary.tasks.tolist() == ["all"]


def test_features_left_out_of_svmlight_files_are_zero_and_items_are_numbered(tmp_path):
    (tmp_path / "train.txt").write_text("1 qid:a 1:0.5 3:2\n0 qid:a 2:1\n2 qid:b 1:1\n")
    (tmp_path / "test.txt").write_text("0 qid:c 1:0.25\n1 qid:c 2:3\n")
    train, test = (cr.read_features(tmp_path / name) for name in ("train.txt", "test.txt"))
    assert train.value.tolist() == [[0.5, 0, 2], [0, 1, 0], [1, 0, 0]]
    assert train.vocabulary.items[train.vocabulary.entry_item].tolist() == ["1", "2", "1"]
    ranker = cr.learn("listmle", train, cr.read_gold(tmp_path / "train.txt"))
    assert len(ranker.rank(test).ranking) == 2  # its third feature is 0 throughout, and not there
    both = cr.read_features(tmp_path / "train.txt", tmp_path / "test.txt")
    assert both.value.shape == (5, 3)


def test_what_is_to_be_learned_is_no_feature():
    found = cr.features({**TABLE, "relevance": [1, 0, 1]})
    assert found.columns == ("length", "age")
    assert "relevance" in found.notes[0]


def test_some_tasks_alone():
    part = cr.features(TABLE).only(["q2"])
    assert part.value.tolist() == [[3, 0.5]]
    assert part.vocabulary.items.tolist() == ["z"]
    with pytest.raises(cr.JudgmentError, match="no task 'q9'"):
        part.only(["q9"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": [0.5, float("nan"), 1.0]}, "row 1: age is missing"),
        ({"age": ["old", "2", "1"]}, "'old' is not a finite number"),
        ({"age": [float("inf"), 1.0, 1.0]}, "not a finite number"),
        ({"task": ["q1", "q1", "q1"], "item": ["x", "y", "x"]}, "row 2: 'x' already has features"),
        ({"item": ["x", None, "y"]}, "item is missing"),
    ],
)
def test_bad_rows_are_named(change, message):
    with pytest.raises(cr.JudgmentError, match=message):
        cr.features({**TABLE, **change})


def test_a_column_of_words_can_be_left_out():
    table = {**TABLE, "colour": ["red", "blue", "red"]}
    with pytest.raises(cr.JudgmentError, match="leave the column out"):
        cr.features(table)
    assert cr.features(table, leave_out=["colour"]).columns == ("length", "age")
    with pytest.raises(cr.JudgmentError, match="no column 'shape' to leave out"):
        cr.features(table, leave_out=["shape"])


def test_tables_without_items_or_features_are_refused():
    with pytest.raises(cr.JudgmentError, match="no column item"):
        cr.features({"task": ["a"], "age": [1.0]})
    with pytest.raises(cr.JudgmentError, match="no features"):
        cr.features({"item": ["a"]})


def test_files_must_have_the_same_columns():
    with pytest.raises(cr.JudgmentError, match=r"does not have the same columns as .*; only one of them has age, size"):
        cr.features({"item": ["x"], "age": [1]}, {"item": ["y"], "size": [1]})


@pytest.mark.parametrize("line", ["2 qid:1 1:nan\n", "2 qid:1 x:3\n", "2 qid:1 0:3\n"])
def test_bad_cells_of_letor_files_are_named(tmp_path, line):
    path = tmp_path / "features.txt"
    path.write_text("1 qid:1 1:1\n" + line)
    with pytest.raises(cr.JudgmentError, match=r"features.txt:2: .* is not a feature number and a finite value"):
        cr.read_features(path)


def test_columns_are_found_by_name_and_must_be_those_learned_from():
    features = cr.features(TABLE)
    ranker = cr.learn("listmle", features, cr.gold({"task": ["q1", "q1"], "item": ["x", "y"], "grade": [1, 0]}))
    turned = cr.features({name: TABLE[name] for name in ("age", "length", "item", "task")})
    np.testing.assert_allclose(ranker.rank(turned).score, ranker.rank(features).score)
    with pytest.raises(cr.JudgmentError, match="these features lack age and have size in addition"):
        ranker.rank(cr.features({"item": ["x"], "length": [1], "size": [2]}))
