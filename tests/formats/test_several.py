"""Several files in one call, gold, rankings, and writing: whole or not at all."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crowdrank as cr
from crowdrank.formats import write_files

PAIRS = {
    "task": ["t", "t"],
    "annotator": ["ann", "bob"],
    "left": ["x", "y"],
    "right": ["y", "z"],
    "winner": ["x", "tie"],
}
GRADES = {"task": ["t", "u"], "annotator": ["cid", "ann"], "item": ["w", "x"], "grade": [2.0, 1.0]}
RANKS = {"task": ["u", "u"], "annotator": ["bob", "bob"], "item": ["x", "y"], "rank": [1, 2]}
FILES = ["v.csv", "v.tsv", "v.jsonl", "v.parquet", "v.csv.gz", "v.parquet.zst"]


def test_files_of_several_kinds_share_a_vocabulary(tmp_path):
    write_files({tmp_path / "p.csv.gz": pl.DataFrame(PAIRS), tmp_path / "g.parquet": pl.DataFrame(GRADES)})
    cr.write(pl.DataFrame(RANKS), tmp_path / "r.jsonl.zst")
    study = cr.read(tmp_path / "p.csv.gz", str(tmp_path / "g.parquet"), tmp_path / "r.jsonl.zst")
    words = study.vocabulary
    assert study.kinds == ("grades", "pairs", "rankings")
    assert (list(words.tasks), list(words.items), list(words.annotators)) == (
        ["t", "u"],
        ["w", "x", "y", "z"],
        ["ann", "bob", "cid"],
    )
    assert words.entry_task.tolist() == [0, 0, 0, 0, 1, 1]
    assert words.items[words.entry_item].tolist() == ["w", "x", "y", "z", "x", "y"]
    assert study.grades.entry.tolist() == [0, 4]
    assert (study.pairs.left.tolist(), study.pairs.right.tolist()) == ([1, 2], [2, 3])
    assert study.rankings.entry.tolist() == [4, 5]


def test_lists_of_several_files_stay_apart(tmp_path):
    for name in ("a.csv", "b.csv"):
        cr.write(pl.DataFrame(RANKS), tmp_path / name)
    study = cr.read(tmp_path / "a.csv", tmp_path / "b.csv")
    assert study.rankings.row_list.tolist() == [0, 0, 1, 1]


def test_errors_name_the_file_they_are_in(tmp_path):
    cr.write(pl.DataFrame(PAIRS), tmp_path / "good.csv")
    cr.write(pl.DataFrame({**PAIRS, "winner": ["x", "q"]}), tmp_path / "bad.csv")
    with pytest.raises(cr.JudgmentError, match=r"bad\.csv:3: winner 'q'"):
        cr.read(tmp_path / "good.csv", tmp_path / "bad.csv")


def test_reading_one_part_empty_changes_nothing(tmp_path):
    cr.write(pl.DataFrame(PAIRS), tmp_path / "good.csv")
    (tmp_path / "none.csv").write_text("annotator,item,grade\n")
    both, one = cr.read(tmp_path / "none.csv", tmp_path / "good.csv"), cr.read(tmp_path / "good.csv")
    assert repr(both) == repr(one)


@pytest.mark.parametrize(
    ("kind", "values", "stored"),
    [("grade", [2, 0], [2, 0]), ("score", [0.5, -1], [0.5, -1]), ("rank", [1, 2], [-1, -2])],
)
@pytest.mark.parametrize("file", FILES)
def test_gold(tmp_path, file, kind, values, stored):
    cr.write(pl.DataFrame({"item": ["x", "y"], kind: values}), tmp_path / file)
    gold = cr.read_gold(tmp_path / file)
    assert (gold.kind, gold.value.tolist(), list(gold.vocabulary.tasks)) == (kind, stored, ["all"])


def test_gold_from_several_files_with_tasks_aligns_with_a_study(tmp_path):
    write_files(
        {
            tmp_path / "a.csv": pl.DataFrame({"task": ["t"], "item": ["y"], "grade": [3]}),
            tmp_path / "b.parquet": pl.DataFrame(
                {"task": ["u", "t"], "item": ["x", "y"], "grade": [1, 3]}
            ),  # y again, the same
        }
    )
    gold = cr.read_gold(tmp_path / "a.csv", tmp_path / "b.parquet")
    aligned = gold.align(cr.judgments(PAIRS, RANKS).vocabulary)  # t: x y z, u: x y
    np.testing.assert_array_equal(aligned, [np.nan, 3, np.nan, 1, np.nan])


def test_gold_without_task_is_gold_of_the_only_task():
    gold = cr.gold(pd.DataFrame({"item": ["y", "x"], "rank": [1, 2]}))
    np.testing.assert_array_equal(gold.align(cr.judgments(PAIRS).vocabulary), [-2, -1, np.nan])


@pytest.mark.parametrize("file", FILES)
def test_a_ranking_is_written_and_read(tmp_path, file):
    consensus = cr.Mean().fit(cr.judgments(GRADES))
    cr.write(consensus, tmp_path / file)
    again = cr.read_ranking(tmp_path / file)
    assert again.ranking["item"].to_list() == consensus.ranking["item"].to_list()
    assert again.ranking["rank"].to_list() == consensus.ranking["rank"].to_list()
    np.testing.assert_array_equal(again.score, consensus.score)


def test_a_ranking_may_give_ranks_alone_and_leave_items_unranked(tmp_path):
    (tmp_path / "r.csv").write_text("item,rank\nx,2\ny,1\nz,\n")
    np.testing.assert_array_equal(cr.read_ranking(tmp_path / "r.csv").score, [-2, -1, np.nan])
    (tmp_path / "s.csv").write_text("item,score\nx,high\n")
    with pytest.raises(cr.JudgmentError, match=r"s\.csv:2: score 'high' is not a finite number"):
        cr.read_ranking(tmp_path / "s.csv")


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("kind", ["grade", "score", "rank"])
def test_gold_is_written_and_read(tmp_path, file, kind):
    gold = cr.gold({"task": ["t", "u"], "item": ["x", "y"], kind: [1, 3]})
    cr.write(gold, tmp_path / file)
    again = cr.read_gold(tmp_path / file)
    assert (again.kind, again.value.tolist()) == (gold.kind, gold.value.tolist())
    assert list(again.vocabulary.tasks) == ["t", "u"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("file", FILES)
def test_frames_of_any_kind_are_written(tmp_path, make, file):
    cr.write(make(PAIRS), tmp_path / file)
    assert repr(cr.read(tmp_path / file)) == repr(cr.judgments(PAIRS))


def test_the_same_table_is_the_same_file(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        cr.write(pl.DataFrame(PAIRS), tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"task,annotator,left,right,winner\n")


def test_an_empty_study_is_written_as_a_header(tmp_path):
    (tmp_path / "none.csv").write_text("left,right,winner\n")
    cr.write(cr.read(tmp_path / "none.csv"), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "task,annotator,left,right,winner\n"


def left_behind(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_study_of_two_kinds_is_no_file(tmp_path):
    with pytest.raises(cr.JudgmentError, match="a file holds one kind of judgment; this study has grades and pairs"):
        cr.write(cr.judgments(PAIRS, GRADES), tmp_path / "out.csv")
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("name", ["out.xls", "out", "none/out.csv", "folder.csv"])
def test_what_cannot_be_written_is_said_and_nothing_else_is_written(tmp_path, name):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "first.csv").write_text("old")
    with pytest.raises(cr.JudgmentError) as error:
        write_files({tmp_path / "first.csv": pl.DataFrame(PAIRS), tmp_path / name: pl.DataFrame(PAIRS)})
    assert str(error.value).startswith(f"{tmp_path / name}: ")
    assert (tmp_path / "first.csv").read_text() == "old"
    assert left_behind(tmp_path) == ["first.csv", "folder.csv"]


def test_a_table_its_kind_of_file_cannot_hold_leaves_the_old_file(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(cr.JudgmentError, match=r"out\.csv: cannot be written: "):
        cr.write(pl.DataFrame({"item": [["x"]]}), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "old"
    assert left_behind(tmp_path) == ["out.csv"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "out.csv").write_text("old")

    def full(path, data):
        with path.open("wb") as file:
            file.write(data[:5])
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(cr.JudgmentError, match=r"out\.csv: cannot be written: No space left on device"):
        cr.write(pl.DataFrame(PAIRS), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "old"
    assert left_behind(tmp_path) == ["out.csv"]
