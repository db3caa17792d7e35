"""Odd and hostile files: each is read, or the error says exactly what is wrong."""

import gzip
import io
import os
import sys

import polars as pl
import pytest
import zstandard

import crowdrank as cr
from crowdrank.formats.compressed import most_bytes
from crowdrank.settings import SettingError

VOTES = "annotator,left,right,winner\nann,a,b,a\nbob,b,c,b\n"


def refused(path, message, **options):
    with pytest.raises(cr.JudgmentError, match=message):
        cr.read(path, **options)


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("how", ["name", "link", "hard link", "other way"])
def test_the_same_file_twice_is_refused(tmp_path, how):
    path, again = write(tmp_path / "votes.csv", VOTES), tmp_path / "again.csv"
    if how == "link":
        again.symlink_to(path)
    elif how == "hard link":
        again.hardlink_to(path)
    else:
        again = path if how == "name" else tmp_path / ".." / tmp_path.name / "votes.csv"
    with pytest.raises(cr.JudgmentError, match=r"would count double; give it once"):
        cr.read(path, again)


def test_copies_of_a_file_count_twice_which_is_said(tmp_path):
    names = [write(tmp_path / name, VOTES) for name in ("a.csv", "b.csv")]
    other = write(tmp_path / "c.csv", VOTES.replace("bob", "cyd"))
    assert other.stat().st_size == names[0].stat().st_size
    read = cr.read(*names, other)
    assert len(read) == 6
    (note,) = read.notes
    assert note.startswith(f"{names[0]} and {names[1]} have the same content, so that every judgment counts twice;")


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress], ids=["gz", "zst"])
class TestCompressed:
    def test_a_bomb_is_refused(self, tmp_path, monkeypatch, compress):
        monkeypatch.setenv("CROWDRANK_MAX_SIZE", "1MB")
        ending = "gz" if compress is gzip.compress else "zst"
        path = write(tmp_path / f"bomb.csv.{ending}", compress(VOTES.encode() + b"\n" * 3_000_000))
        refused(path, r"bomb.csv.*: is more than 0.001 GB when decompressed; .* --max-size 32GB")
        monkeypatch.setenv("CROWDRANK_MAX_SIZE", "4 MB")
        assert len(cr.read(path)) == 2

    def test_the_content_decides_not_the_name(self, tmp_path, compress):
        assert len(cr.read(write(tmp_path / "votes.csv", compress(VOTES.encode())))) == 2

    def test_several_parts_are_one_file(self, tmp_path, compress):
        parts = compress(VOTES.encode()) + compress(b"cy,a,c,a\n")
        assert len(cr.read(write(tmp_path / "votes.csv.gz", parts))) == 3

    def test_a_file_that_is_cut_off_is_refused(self, tmp_path, compress):
        refused(write(tmp_path / "votes.csv.gz", compress(VOTES.encode())[:-3]), "damaged, incomplete")


def test_the_limit_must_be_a_size(monkeypatch):
    for text, size in (("500", 500), ("3kb", 3000), ("2 GB", 2 * 10**9), ("1T", 10**12)):
        monkeypatch.setenv("CROWDRANK_MAX_SIZE", text)
        assert most_bytes() == size
    monkeypatch.setenv("CROWDRANK_MAX_SIZE", "much")
    with pytest.raises(SettingError, match="CROWDRANK_MAX_SIZE is 'much'; it must be a size like"):
        most_bytes()


def test_whole_numbers_beyond_64_bits(tmp_path):
    """They are ids like others; as grades they are too large."""
    large = 10**25
    path = write(tmp_path / "v.jsonl", f'{{"left": {large}, "right": 2, "winner": {large}}}\n')
    assert [str(item) for item in cr.fit("elo", cr.read(path)).ranking["item"]] == [str(large), "2"]
    refused(
        write(tmp_path / "g.jsonl", f'{{"item": "x", "grade": {large}}}\n'), r"g.jsonl:1: grade 1e\+25 is too large"
    )


@pytest.mark.parametrize("column", ["weight", "strength"])
def test_weights_whose_sums_would_not_be_finite(tmp_path, column):
    for number in ("1e308", "1e16"):
        path = write(tmp_path / "v.csv", f"left,right,winner,{column}\na,b,a,{number}\n")
        refused(path, rf"v.csv:2: {column} 1e\+\d+ is too large; the limit is 1e\+15")
    refused(write(tmp_path / "v.csv", f"left,right,winner,{column}\na,b,a,1e-320\n"), "must be above 0")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_million_columns(tmp_path, kind):
    many = 1_000_000 if kind == "csv" else 30_000
    path = tmp_path / f"wide.{kind}"
    if kind == "csv":
        write(path, ",".join(f"c{number}" for number in range(many)) + "\n" + ",".join(["1"] * many))
    else:
        frame = pl.DataFrame({f"c{number}": [1] for number in range(many)})
        frame.write_parquet(path) if kind == "parquet" else frame.write_ndjson(path)
    refused(path, rf"has {many:,} columns; at most 20,000 are read")


def test_wide_tables_are_read_quickly(tmp_path):
    names = ["left", "right", "winner", *(f"column{number}" for number in range(15_000))]
    path = write(tmp_path / "wide.csv", ",".join(names) + "\n" + ",".join(["a", "b", "a"] + ["1"] * 15_000))
    assert len(cr.read(path)) == 1


def test_half_a_surrogate_pair(tmp_path):
    refused(
        write(tmp_path / "v.jsonl", '{"left": "\\ud800", "right": "b", "winner": "b"}\n'), r"v.jsonl:1: .* surrogate"
    )
    with pytest.raises(cr.JudgmentError, match="surrogate"):
        cr.judgments({"left": ["\ud800"], "right": ["b"], "winner": ["b"]})
    whole = write(tmp_path / "w.jsonl", '{"left": "\\ud83e\\udd8a", "right": "b", "winner": "b"}\n')
    assert set(cr.read(whole).vocabulary.items) == {"🦊", "b"}


def test_two_columns_of_the_same_name(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table([["a"], ["b"], ["a"], ["b"]], names=["left", "right", "winner", "winner"])
    pq.write_table(table, tmp_path / "v.parquet")
    refused(tmp_path / "v.parquet", r"v.parquet: two columns have the same name: .*'winner'")
    with pytest.raises(cr.JudgmentError, match="'winner' 2 times"):
        cr.judgments(table)


@pytest.mark.parametrize(("one", "other"), [("A", "B"), ("a", "b"), ("left", "right"), ("Left", "RIGHT")])
def test_winners_by_side(tmp_path, one, other):
    path = write(tmp_path / "v.csv", f"left,right,winner\nx,y,{one}\ny,z,{other}\nx,z,tie\n")
    assert cr.read(path).pairs.outcome.tolist() == [1, -1, 0]


@pytest.mark.parametrize("words", [("0", "1"), ("1", "2"), ("true", "false"), ("1.0", "0.0")])
def test_winners_by_number_are_refused(tmp_path, words):
    path = write(tmp_path / "v.csv", "left,right,winner\nx,y,{}\ny,z,{}\n".format(*words))
    refused(path, r"this does not say which item it means: write 'left' or 'right', or the id of the winner")


def test_letters_are_items_where_items_have_these_names(tmp_path):
    path = write(tmp_path / "v.csv", "left,right,winner\nB,A,A\nA,C,B\n")
    refused(path, "v.csv:3: winner 'B' is neither 'A' nor 'C'")


def test_letters_that_look_the_same(tmp_path):
    study = cr.read(write(tmp_path / "v.csv", "annotator,left,right,winner\nann,cafe\u0301,b,b\nbob,caf\u00e9,b,b\n"))
    (note,) = study.notes
    assert note == (
        r"the names of 2 items differ only by how accented letters are composed, as 'cafe\u0301' and 'caf\xe9': "
        "they are treated as different"
    )


STREAMS = {
    "csv": VOTES.encode(),
    "tsv": VOTES.replace(",", "\t").encode(),
    "jsonl": b'{"annotator": "ann", "left": "a", "right": "b", "winner": "a"}\n' * 2,
    "gz": gzip.compress(VOTES.encode()),
    "run": b"1 Q0 d1 1 9.5 tag\n1 Q0 d2 2 8.5 tag\n",
    "letor": b"2 qid:1 1:1 2:2 #docid = d1\n",
}


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
@pytest.mark.parametrize("kind", STREAMS)
def test_a_dash_is_standard_input(monkeypatch, kind, name):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(STREAMS[kind])))
    assert len(cr.read(name)) == 2


@pytest.mark.parametrize("kind", STREAMS)
def test_what_a_shell_hands_over_is_known_by_its_content(kind):
    """`crowdrank rank <(zcat votes.gz)` names a pipe /dev/fd/63."""
    reading, writing = os.pipe()
    os.write(writing, STREAMS[kind])
    os.close(writing)
    assert len(cr.read(f"/dev/fd/{reading}")) == 2
    os.close(reading)


def test_a_bomb_from_standard_input(monkeypatch):
    monkeypatch.setenv("CROWDRANK_MAX_SIZE", "10")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(STREAMS["gz"])))
    refused("-", "standard input: is more than")


def test_parquet_and_mistakes_from_standard_input(monkeypatch):
    buffer = io.BytesIO()
    pl.DataFrame({"left": ["a"], "right": ["b"], "winner": ["a"]}).write_parquet(buffer)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(buffer.getvalue())))
    assert len(cr.read("-")) == 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"left,right,winner\na,b,c\n")))
    refused("-", "standard input:2: winner 'c' is neither 'a' nor 'b'")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"PK\3\4\x14\0\0\0\xa7",
            "is not text but an Excel file or a ZIP archive: give it the ending .xlsx",
        ),
        (b"PAR1\x15\x04\xa7", "is not text but a Parquet file: give it the ending .parquet"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "is not text but a file of an old Excel: save it as .xlsx"),
        (b"SQLite format 3\0", "is not text but a database: export its table as .csv"),
        (b"BZh91AY&SY\xa7\0", "is not text but compressed: unpack it first"),
    ],
)
def test_other_files_that_are_called_csv_are_named(tmp_path, content, message):
    refused(write(tmp_path / "votes.csv", content), message)


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tgz", "7z", "csv.bz2", "csv.xz", "rar"])
def test_archives_are_to_be_unpacked(tmp_path, ending):
    refused(write(tmp_path / f"votes.{ending}", gzip.compress(b"anything")), "unpack it first: what is inside must be")


def test_an_object_of_columns_is_no_judgment(tmp_path):
    """As pandas writes a frame to JSON."""
    lists = '{"annotator": ["a", "b"], "left": ["x", "y"], "right": ["y", "x"], "winner": ["x", "y"]}'
    objects = '{"annotator": {"0": "a"}, "left": {"0": "x"}, "right": {"0": "y"}, "winner": {"0": "x"}}'
    for text in (lists, objects):
        refused(write(tmp_path / "votes.json", text), "write one object for each judgment .pandas: to_json")


def test_names_that_differ_by_what_nobody_sees(tmp_path):
    content = VOTES + "\ufeffann,a,b,a\nbo\u200bb,a,b,a\n"
    (note,) = cr.read(write(tmp_path / "votes.csv", content)).notes
    assert "names of 4 annotators differ only by signs that cannot be seen, as 'ann' and '\\ufeffann'" in note


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_wide_letters_are_named(tmp_path, encoding):
    refused(write(tmp_path / "votes.csv", VOTES.encode(encoding)), f"is {encoding[:6].upper()}; save it as UTF-8")


@pytest.mark.skipif(os.name == "nt", reason="has no such files")
def test_a_pipe_that_never_ends_is_refused(monkeypatch):
    monkeypatch.setenv("CROWDRANK_MAX_SIZE", "50MB")
    refused("/dev/zero", r"/dev/zero: is more than 0.05 GB; if that is right, allow more with --max-size")


@pytest.mark.skipif(os.name == "nt", reason="has no such files")
def test_standard_input_by_two_names_is_refused():
    with pytest.raises(cr.JudgmentError, match=r"/dev/stdin and - are the same file: its judgments would count double"):
        cr.read("/dev/stdin", "-")
