"""Reading: anything written is read back as the same study, and anything else is read or refused.

An id is the exact text of its cell: quotation marks, separators, line breaks (also a lone carriage return) and blanks
around it are part of it. An id of blanks alone is a cell left empty and is refused; so is a NUL in CSV and TSV, which
marks a file as no text.
"""

import gzip
import random
from collections import Counter

import numpy as np
import polars as pl
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import crowdrank as cr
from crowdrank.formats.encode import TIE_WORDS
from crowdrank.formats.names import BitSet, Entries, SortedKeys

FILES = ["v.csv", "v.tsv", "v.jsonl", "v.parquet", "v.csv.gz", "v.tsv.zst", "v.jsonl.gz", "v.parquet.zst"]
FEW = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
MANY = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])

odd = st.sampled_from(
    [
        '"',
        ",",
        "\n",
        "\r",
        "\r\n",
        "\t",
        ";",
        " x",
        "x ",
        "'",
        '""',
        "🙂",
        "\ufeffx",
        "#",
        "\\",
        "null",
        "NaN",
        "é",
        "e\u0301",
    ]
)
text = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8), odd, st.just("long" * 5000)
)
names = text.map(str.strip).filter(lambda name: name and name not in TIE_WORDS)
vocabularies = st.lists(names, min_size=2, max_size=6, unique=True)


@st.composite
def pairs(draw):
    items, rows = draw(vocabularies), draw(st.integers(1, 8))
    shown = [draw(st.permutations(items))[:2] for _ in range(rows)]
    return {
        "task": [draw(names) for _ in shown],
        "annotator": [draw(names) for _ in shown],
        "left": [left for left, _ in shown],
        "right": [right for _, right in shown],
        "winner": [draw(st.sampled_from([*pair, "tie"])) for pair in shown],
    }


@st.composite
def grades(draw):
    number = st.floats(-1e15, 1e15)
    rows = draw(st.lists(st.tuples(names, names, names, number), min_size=1, max_size=8))
    return dict(zip(("task", "annotator", "item", "grade"), map(list, zip(*rows, strict=True)), strict=True))


@st.composite
def rankings(draw):
    row = st.tuples(names, names, names, st.integers(0, 5))
    rows = draw(st.lists(row, min_size=1, max_size=8, unique_by=lambda row: row[:3]))
    return dict(zip(("task", "annotator", "item", "rank"), map(list, zip(*rows, strict=True)), strict=True))


tables = st.one_of(pairs(), grades(), rankings())


def contents(study) -> tuple:
    """Everything a study says, by name; the order of its judgments does not count."""
    words, lists = study.vocabulary, study.rankings
    task, item, who = words.tasks[words.entry_task], words.items[words.entry_item], words.annotators
    rows = lists.row_list
    return (
        [list(words.tasks), list(words.items), list(who), words.entry_task.tolist(), words.entry_item.tolist()],
        Counter(
            zip(
                who[study.grades.annotator],
                task[study.grades.entry],
                item[study.grades.entry],
                study.grades.grade,
                strict=True,
            )
        ),
        Counter(
            zip(
                who[study.pairs.annotator],
                task[study.pairs.left],
                item[study.pairs.left],
                item[study.pairs.right],
                study.pairs.outcome.tolist(),
                strict=True,
            )
        ),
        Counter(
            zip(who[lists.list_annotator[rows]], task[lists.entry], item[lists.entry], lists.position, strict=True)
        ),
    )


@pytest.mark.parametrize("file", FILES)
@FEW
@given(table=tables)
def test_what_is_written_is_read_back(tmp_path, file, table):
    study = cr.judgments(table)
    cr.write(study, tmp_path / file)
    assert contents(cr.read(tmp_path / file)) == contents(study)


@pytest.mark.parametrize("file", FILES[:4])
@FEW
@given(table=tables)
def test_a_data_frame_is_written_as_it_is(tmp_path, file, table):
    cr.write(pl.DataFrame(table), tmp_path / file)
    assert contents(cr.read(tmp_path / file)) == contents(cr.judgments(table))


@FEW
@given(table=tables, seed=st.integers(0, 2**32))
def test_the_order_of_rows_changes_nothing(table, seed):
    frame = pl.DataFrame(table)
    shuffled = frame[np.random.default_rng(seed).permutation(len(frame))]
    assert contents(cr.judgments(shuffled)) == contents(cr.judgments(frame))


def refusal(path, content: bytes) -> str:
    """What is said of a file that is refused, the file itself if it is read; any other exception fails the test."""
    path.write_bytes(content)
    try:
        cr.read(path)
    except cr.JudgmentError as error:
        return str(error)
    return str(path)


def helps(message: str, path) -> bool:
    """Does it name the file, at a length that can be read?"""
    return str(path) in message and len(message) < 20_000


@pytest.mark.parametrize(
    "file", ["votes.csv", "votes.jsonl", "votes.parquet", "votes.txt", "votes.csv.gz", "votes.csv.zst"]
)
@MANY
@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path, file, content):
    assert helps(refusal(tmp_path / file, content), tmp_path / file)


VALID = {
    "votes.csv": b'task,annotator,left,right,winner\nt,ann,a,b,a\nt,"b, ob",b,"c ""d""",tie\n\nu,ann,"e\nf",g,g\n',
    "grades.csv": b"task,annotator,item,grade\nt,ann,a,1\nt,bob,b,2.5\nu,ann,c,-3e2\n",
    "ranks.tsv": b"annotator\titem\trank\nann\ta\t1\nann\tb\t2\nbob\ta\t2\n",
    "votes.jsonl": b'{"annotator":"ann","left":1,"right":2.5,"winner":1}\n'
    b'{"annotator":"b","left":"a","right":"b","winner":"a"}\n',
    "run.txt": b"q1 Q0 a 1 9.5 bm25\nq1 Q0 b 2 3 bm25\n\nq2\tQ0  a 1 2e-3 bm25\n",
    "letor.txt": b"2 qid:7 1:1 2:30 3:NULL #docid = x inc = 1\n0 qid:7 1:4 2:NULL #docid = y\n",
}
PIECES = [*(bytes([byte]) for byte in b'",\n\r\t-\xff\0{}[: '), b"", b"NaN", b"tie", b"null", b"1e999"]


def mutated(content: bytes, seed: int) -> bytes:
    """A few places of the content replaced, doubled or cut."""
    chance, data = random.Random(seed), bytearray(content)
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(data) + 1)
        end = min(start + chance.choice([0, 1, 1, 5]), len(data))
        data[start:end] = chance.choice([*PIECES, bytes(data[start:end]) * 2, chance.randbytes(2)])
    return bytes(data)


@pytest.mark.parametrize("file", VALID)
@MANY
@given(seed=st.integers(0, 2**32))
def test_a_damaged_text_is_read_or_refused(tmp_path, file, seed):
    (tmp_path / file).write_bytes(VALID[file])
    assert len(cr.read(tmp_path / file)) >= 2
    assert helps(refusal(tmp_path / file, mutated(VALID[file], seed)), tmp_path / file)


# Always the same files: polars aborts the process for about one in 10,000 damaged Parquet files (docs/security.md).
@pytest.mark.parametrize("file", ["votes.parquet", "votes.csv.gz", "votes.csv.zst"])
@settings(MANY, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_a_damaged_package_is_read_or_refused(tmp_path, file, seed):
    cr.write(cr.judgments({"left": ["a", "b"], "right": ["b", "c"], "winner": ["a", "c"]}), tmp_path / file)
    damaged = mutated((tmp_path / file).read_bytes(), seed)
    assert helps(refusal(tmp_path / file, damaged), tmp_path / file)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_every_cut_of_a_package_is_refused(tmp_path, pack):
    path = tmp_path / ("v.csv.gz" if pack is gzip.compress else "v.csv.zst")
    whole = pack(VALID["votes.csv"])
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(cr.JudgmentError, match=r"is not a valid|is empty"):
            cr.read(path)


@given(st.lists(st.integers(0, 300), max_size=50), st.integers(301, 1000))
def test_marked_and_sorted_keys_agree(keys, size):
    pieces = [np.array(keys[:20], np.int64), np.array(keys[20:], np.int64)]
    marked, ordered = BitSet(pieces, size), SortedKeys(pieces)
    expected = sorted(set(keys))
    for found in (marked, ordered):
        assert len(found) == len(expected)
        assert [key for piece in found.pieces() for key in piece.tolist()] == expected
        assert found.codes(np.array(keys, np.int64)).tolist() == [expected.index(key) for key in keys]


def test_few_judgments_over_very_many_possible_entries():
    task = np.array([0, 10**6 - 1, 5, 5], np.int32)
    item = np.array([7, 10**6 - 1, 3, 2], np.int32)
    entries = Entries([(task, item)], 4, 10**6, 10**6)  # a bit for each of 10¹² would be too much
    assert list(zip(entries.task.tolist(), entries.item.tolist(), strict=True)) == [
        (0, 7),
        (5, 2),
        (5, 3),
        (10**6 - 1, 10**6 - 1),
    ]
    assert entries.codes(task, item).tolist() == [0, 3, 2, 1]
