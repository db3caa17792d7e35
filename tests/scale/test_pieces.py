"""Files that are read in pieces: what is understood, and what is said, is the same as of files read as a whole."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.scale import pieces
from crowdrank.scale.memory import limited_memory


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(pieces, "ROWS", 7)


def in_pieces(*paths: Path, **settings) -> cr.Judgments:
    with limited_memory("9GB"):
        return cr.read(*paths, **settings)


def assert_same(one: cr.Judgments, other: cr.Judgments) -> None:
    for name in ("tasks", "items", "annotators", "entry_task", "entry_item"):
        assert getattr(one.vocabulary, name).tolist() == getattr(other.vocabulary, name).tolist()
    for kind in ("grades", "pairs", "rankings"):
        mine, theirs = getattr(one, kind), getattr(other, kind)
        for column in type(mine).__slots__:
            assert np.array_equal(getattr(mine, column), getattr(theirs, column)), (kind, column)
    assert (one.notes, one.origin) == (other.notes, other.origin)


def votes() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    left = rng.integers(0, 9, 50)
    right = (left + rng.integers(1, 9, 50)) % 9
    return pl.DataFrame(
        {
            "task": rng.choice(["t1", "t2"], 50),
            "annotator": rng.integers(0, 6, 50),
            "left": [f"item {i}" for i in left],
            "right": [f" item {i}" for i in right],
            "winner": rng.choice(["left", "right", "tie"], 50),
            "weight": rng.integers(1, 3, 50),
            "time": [f"2024-05-{day:02}" for day in rng.integers(1, 30, 50)],
        }
    )


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_votes(tmp_path, kind):
    path = tmp_path / f"votes.{kind}"
    cr.write(votes(), path)
    assert_same(in_pieces(path), cr.read(path))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_grades_and_lists(tmp_path, kind):
    rng, paths = np.random.default_rng(2), []
    for column in ("grade", "rank"):
        rows = pl.DataFrame({"annotator": np.repeat(range(6), 5), "item": list("abcde") * 6})
        values = [place + 1 for _ in range(6) for place in rng.permutation(5).tolist()]
        paths.append(tmp_path / f"{column}.{kind}")
        cr.write(rows.with_columns(pl.Series(column, values)), paths[-1])
    assert_same(in_pieces(*paths), cr.read(*paths))


def test_several_files_by_one_name(tmp_path):
    for part in range(3):
        cr.write(votes()[part * 10 : part * 10 + 10], tmp_path / f"part-{part}.parquet")
    whole = cr.read(*(tmp_path / f"part-{part}.parquet" for part in range(3)))
    assert_same(in_pieces(tmp_path / "part-*.parquet"), whole)
    assert_same(cr.read(tmp_path / "*.parquet"), whole)
    with pytest.raises(cr.JudgmentError, match="no file matches"):
        cr.read(tmp_path / "votes-*.parquet")


def test_line_breaks_within_cells_blank_lines_and_compression(tmp_path):
    text = 'left,right,winner\n"a\nb",c,left\n\n"say ""x""",c,right\nc,"a\nb",tie\n'
    plain, packed = tmp_path / "votes.csv", tmp_path / "packed.csv.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    assert_same(in_pieces(plain), cr.read(plain))
    assert in_pieces(packed).vocabulary.items.tolist() == cr.read(plain).vocabulary.items.tolist()


WRONG = [
    ("csv", 'left,right,winner\n"a\nb",c,left\n\na,b,nobody\n'),
    ("csv", "left,right,winner\na,b,left\na,b\n,b,left\n"),
    ("csv", "left,right,winner\na,b,left\na,b,c,d\n"),
    ("csv", 'left,right,winner\na,"b,left\n'),
    ("csv", "item,grade\na,good\n"),
    ("csv", "item,grade\n" + "a,1\n" * 20 + "b,x\n"),
    ("jsonl", '{"left": "a", "right": "b", "winner": "a"}\n\n{"left": "a", "right": "b", "winner": "c"}\n'),
    ("jsonl", '{"left": "a", "right": "b", "winner": "a"}\n{"left": \n'),
    ("csv", "left,right,winner\n" + "a,b,left\n" * 9 + "c,c,left\n"),
]


@pytest.mark.parametrize(("kind", "text"), WRONG)
def test_wrong_rows_are_named_as_elsewhere(tmp_path, kind, text):
    path = tmp_path / f"wrong.{kind}"
    path.write_text(text)
    with pytest.raises(cr.JudgmentError) as expected:
        cr.read(path)
    with pytest.raises(cr.JudgmentError) as found:
        in_pieces(path)
    assert str(found.value) == str(expected.value)


def test_damaged_missing_and_changed_files(tmp_path):
    path = tmp_path / "votes.parquet"
    cr.write(votes(), path)
    columns = pieces.Columns(path, [path])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(cr.JudgmentError, match=r"votes.parquet: is not a valid Parquet file"):
        in_pieces(path)
    cr.write(votes()[:49], path)
    with pytest.raises(cr.JudgmentError, match=r"votes.parquet: changed while it was read"):
        list(columns.pieces("left"))
    path.unlink()
    with pytest.raises(cr.JudgmentError, match=r"votes.parquet: is gone"):
        list(columns.pieces("left"))
    with pytest.raises(cr.JudgmentError, match="no such file"):
        in_pieces(path)
