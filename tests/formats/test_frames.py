"""Data frames of any kind, ids of any type: the same study, and the same kind of frame comes out."""

import copy
import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crowdrank as cr

VOTES = {
    "task": ["t", "t", "u", "u"],
    "annotator": ["ann", "bob", "ann", "bob"],
    "left": ["x", "y", "x", "z"],
    "right": ["y", "z", "z", "x"],
    "winner": ["x", "tie", "z", "z"],
}
KINDS = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "lazy": pl.LazyFrame, "pyarrow": pa.table}


def arrays(study) -> list:
    words, pairs = study.vocabulary, study.pairs
    codes = [words.entry_task, words.entry_item, pairs.annotator, pairs.left, pairs.right, pairs.outcome]
    return [list(words.tasks), list(words.items), list(words.annotators), *(code.tolist() for code in codes)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_gives_the_same_study(kind):
    assert arrays(cr.judgments(KINDS[kind](VOTES))) == arrays(cr.judgments(VOTES))


@pytest.mark.parametrize(("kind", "out"), [("dict", pl), ("pandas", pd), ("polars", pl), ("lazy", pl), ("pyarrow", pa)])
def test_the_same_kind_comes_out_with_integer_ids(kind, out):
    frame = KINDS[kind]({"annotator": [7, 8, 7], "item": [1, 2, 10], "grade": [3, 2, 1]})
    consensus = cr.Mean().fit(cr.judgments(frame))
    assert isinstance(consensus.ranking, out.Table if out is pa else out.DataFrame)
    column = consensus.ranking["item"]
    items = column.to_pylist() if out is pa else list(column)
    assert sorted(items) == [1, 2, 10]
    assert not any(isinstance(item, str) for item in items)


TIMES = [datetime.datetime(2024, 1, day) for day in (1, 2, 3)]
IDS = {
    "int": [1, 2, 10],
    "negative": [-1, 0, 1],
    "float": [0.5, 1.0, 2.0],
    "bool": [True, False, True],
    "datetime": TIMES,
    "date": [time.date() for time in TIMES],
    "duration": [time - TIMES[0] for time in TIMES],
    "text": ["a", "b", "c"],
}


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("ids", IDS)
def test_ids_of_any_type_come_back_as_they_are(kind, ids):
    study = cr.judgments(KINDS[kind]({"item": IDS[ids], "grade": [1, 2, 3]}))
    assert set(study.vocabulary.items) == set(IDS[ids])
    assert len(study.grades) == 3


@pytest.mark.parametrize("values", [["a", "b"], [1, 2]])
def test_categorical_ids(values):
    frame = pd.DataFrame({"left": [values[0]], "right": [values[1]], "winner": [values[1]]}).astype("category")
    assert list(cr.judgments(frame).vocabulary.items) == values
    if isinstance(values[0], str):
        categories = pl.DataFrame(frame.astype(str).to_dict("list")).cast(pl.Categorical)
        assert list(cr.judgments(categories).vocabulary.items) == values


@pytest.mark.parametrize(
    "item", [[1, "x", 2.5], [("a", 1), "x", 7], [b"\xff", "x", 1], list(pd.period_range("2020", "2022", freq="Y"))]
)
def test_ids_of_mixed_python_objects(item):
    study = cr.judgments(pd.DataFrame({"item": item, "grade": [1, 2, 3]}))
    assert sorted(map(str, study.vocabulary.items)) == sorted(map(str, item))


def test_nested_ids_are_known_by_their_text():
    study = cr.judgments(pl.DataFrame({"left": [["x"]], "right": [["y", "z"]], "winner": [["x"]]}))
    assert list(study.vocabulary.items) == ["['x']", "['y', 'z']"]


def test_ids_match_by_their_text_across_columns_of_other_types():
    study = cr.judgments(pd.DataFrame({"left": [1, 2], "right": ["2", "3"], "winner": ["1", "tie"]}))
    assert len(study.vocabulary.items) == 3
    assert study.pairs.outcome.tolist() == [1, 0]


def test_several_frames_of_several_kinds_share_a_vocabulary():
    grades = pa.table({"annotator": ["ann"], "item": ["w"], "grade": [3]})
    ranks = pl.LazyFrame({"annotator": ["cid", "cid"], "item": ["x", "w"], "rank": [1, 2]})
    study = cr.judgments(pd.DataFrame(VOTES), grades, ranks)
    assert study.kinds == ("grades", "pairs", "rankings")
    assert list(study.vocabulary.items) == ["w", "x", "y", "z"]
    assert list(study.vocabulary.annotators) == ["ann", "bob", "cid"]
    assert study.vocabulary.frame == "pandas"  # the first one's kind


@pytest.mark.parametrize("kind", [*KINDS, "pandas with NA"])
@pytest.mark.parametrize("column", ["annotator", "left", "winner"])
def test_missing_ids_are_named_by_row(kind, column):
    missing = pd.NA if kind == "pandas with NA" else None
    votes = {**VOTES, column: [*VOTES[column][:2], missing, ""]}
    frame = KINDS[kind.split()[0]](votes)
    with pytest.raises(cr.JudgmentError) as error:
        cr.judgments(frame)
    assert str(error.value) == f"row 2: {column} is missing\nrow 3: {column} is missing"
    with pytest.raises(cr.JudgmentError, match=f"frame 2, row 2: {column} is missing"):
        cr.judgments(VOTES, frame)


@pytest.mark.parametrize(
    "grade",
    [
        [1.0, np.nan],
        [1.0, None],
        pd.array([1, None], dtype="Int64"),
        pd.Series([1, pd.NA], dtype=object),
        ["1", None],
        ["1", " "],
    ],
)
def test_missing_grades_are_named_by_row(grade):
    with pytest.raises(cr.JudgmentError, match=r"^row 1: grade is missing$"):
        cr.judgments(pd.DataFrame({"item": ["x", "y"], "grade": grade}))


def test_missing_integers_and_mixed_objects():
    for item in (
        pd.array([1, None], dtype="Int64"),
        pd.Series([{}, pd.NA], dtype=object),
        [1.5, np.nan],
        pd.to_datetime(["2020", None]),
    ):
        with pytest.raises(cr.JudgmentError, match=r"^row 1: item is missing$"):
            cr.judgments(pd.DataFrame({"item": item, "grade": [1, 2]}))


@pytest.mark.parametrize(
    "grade", [["1", "2.5"], [True, False], pd.array([1, 2], dtype="Int64"), np.array([1, 2], np.float32)]
)
def test_grades_of_any_numeric_type(grade):
    assert cr.judgments(pd.DataFrame({"item": ["x", "y"], "grade": grade})).grades.grade.tolist() == [
        float(g) for g in grade
    ]


@pytest.mark.parametrize("grade", [[1, np.inf], [1, "good"], [b"1", b"x"], TIMES[:2], [[1], [2]]])
def test_grades_that_are_no_numbers(grade):
    with pytest.raises(cr.JudgmentError, match="is not a finite number"):
        cr.judgments(pl.DataFrame({"item": ["x", "y"], "grade": grade}, strict=False))


def test_the_input_is_left_as_it_is():
    frame, table, votes = pd.DataFrame(VOTES), pl.DataFrame(VOTES), copy.deepcopy(VOTES)
    cr.judgments(frame, table, votes)
    pd.testing.assert_frame_equal(frame, pd.DataFrame(VOTES))
    assert table.equals(pl.DataFrame(VOTES))
    assert votes == VOTES


def test_the_index_of_a_pandas_frame_does_not_matter():
    frame = pd.DataFrame(VOTES, index=[9, 9, 3, 1])
    assert arrays(cr.judgments(frame)) == arrays(cr.judgments(VOTES))
    assert arrays(cr.judgments(pd.DataFrame([["x", "y", "x"]]), columns={"left": "0", "right": "1", "winner": "2"}))[
        1
    ] == [
        "x",
        "y",
    ]


@pytest.mark.parametrize(
    ("frame", "wanted"),
    [
        (None, "expected a data frame or a dict of columns, not NoneType"),
        ([1, 2], "not list"),
        ("votes.csv", r"not str; cr\.read\(\.\.\.\) reads files"),
        (pl.Series([1]), "not Series"),
        ({"left": ["x"], "right": ["y", "z"]}, "the data frame: .*height of column 'right'"),
        (pd.DataFrame([["x", "y"]], columns=["left", "left"]), "the data frame: Expected unique column names"),
        (pl.LazyFrame({"x": [1]}).select("y"), "the data frame: .*y"),
        ({}, "cannot tell the kind of judgment"),
    ],
)
def test_what_is_no_table(frame, wanted):
    with pytest.raises(cr.JudgmentError, match=wanted):
        cr.judgments(frame)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            ["a.csv", "b.csv"],
            r"expected the name of a file, not list; give several files as cr\.read\('a\.csv', 'b\.csv'\)",
        ),
        (pl.DataFrame(VOTES), r"not DataFrame; cr\.judgments\(frame\) reads data frames"),
        (None, "expected the name of a file, not NoneType"),
    ],
)
def test_what_is_no_name_of_a_file(given, wanted):
    for read in (cr.read, cr.read_gold, cr.read_ranking):
        with pytest.raises(cr.JudgmentError, match=wanted):
            read(given)


def test_a_method_wants_judgments():
    wanted = r"judgments are needed, not the name of a file: read it with cr\.read\('ok\.csv'\)"
    with pytest.raises(cr.JudgmentError, match=wanted):
        cr.fit("borda", "ok.csv")
    with pytest.raises(
        cr.JudgmentError, match=r"not DataFrame: make them from a data frame with cr\.judgments\(frame\)"
    ):
        cr.fit("borda", pl.DataFrame(VOTES))
    with pytest.raises(cr.JudgmentError, match="judgments are needed"):
        cr.train("crf", "ok.csv", cr.gold({"item": ["x"], "grade": [1]}))


def test_no_frame_at_all():
    for read in (cr.judgments, cr.gold):
        with pytest.raises(cr.JudgmentError, match="no data frame to read"):
            read()
