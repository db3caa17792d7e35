"""TREC runs and qrels, and LETOR's files of ranks."""

import gzip

import numpy as np
import polars as pl
import pytest
import pytrec_eval
import zstandard

import crowdrank as cr

RUN = b"""q1 Q0 a 1 9.0 bm25
q1 Q0 b 2 7.5 bm25
q1 Q0 c 3 7.5 bm25
q2 Q0 a 1 2e-3 bm25
q2 Q0 d 2 -1 bm25
"""
OTHER = b"q1 Q0 c 1 0.9 dense\nq1 Q0 a 2 0.8 dense\nq2 Q0 d 1 0.7 dense\n"
QRELS = b"q1 0 a 0\nq1 0 c 2\nq2 0 d 1\n"
LETOR = b"""2 qid:7 1:1 2:30 3:NULL #docid = GX1 inc = 1 prob = 0.08
0 qid:7 1:4 2:NULL 3:NULL #docid = GX2 inc = 1 prob = 0.1
1 qid:8 1:NULL 2:NULL 3:NULL #docid = GX1 inc = 1 prob = 0.1
"""


def put(folder, **contents: bytes):
    paths = [folder / name.replace("__", ".") for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        path.write_bytes(content)
    return paths if len(paths) > 1 else paths[0]


def lists(study) -> dict:
    """(task, annotator) → the items of the list and their ranks."""
    words, found = study.vocabulary, {}
    ranked = study.rankings
    for row in range(len(ranked)):
        number = ranked.row_list[row]
        key = words.tasks[ranked.list_task[number]], words.annotators[ranked.list_annotator[number]]
        found.setdefault(key, {})[words.items[words.entry_item[ranked.entry[row]]]] = ranked.position[row]
    return found


def test_a_run_is_ordered_by_its_scores(tmp_path):
    run = cr.read(put(tmp_path, run__txt=RUN))
    assert lists(run) == {("q1", "bm25"): {"a": 1, "b": 2.5, "c": 2.5}, ("q2", "bm25"): {"a": 1, "d": 2}}
    assert run.rankings.unlisted_below.all()
    assert not cr.read(tmp_path / "run.txt", top_k=False).rankings.unlisted_below.any()


def test_the_column_of_ranks_is_not_looked_at(tmp_path):
    """As in trec_eval: gaps, zeros and contradictions in it do no harm."""
    odd = b"q Q0 a 17 1 t\nq Q0 b 0 3 t\nq Q0 c x 2 t\n"
    assert lists(cr.read(put(tmp_path, r__run=odd))) == {("q", "t"): {"b": 1, "c": 2, "a": 3}}


@pytest.mark.parametrize(
    "content",
    [
        RUN.replace(b" ", b"\t"),
        RUN.replace(b" ", b"  \t "),
        RUN.replace(b"\n", b"\r\n"),
        RUN.replace(b"\n", b"\r"),
        RUN.replace(b"\n", b" \n\n  "),
        b"\xef\xbb\xbf" + RUN,
        RUN[:-1],
    ],
)
def test_blanks_and_line_ends_of_all_kinds(tmp_path, content):
    plain, other = put(tmp_path, plain__txt=RUN, other__txt=content)
    assert lists(cr.read(other)) == lists(cr.read(plain))


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_packed_files(tmp_path, suffix, pack):
    for name, content in (("run.txt", RUN), ("qrels.txt", QRELS), ("letor.txt", LETOR)):
        (tmp_path / f"{name}.{suffix}").write_bytes(pack(content))
    assert len(cr.read(tmp_path / f"run.txt.{suffix}").rankings) == 5
    assert len(cr.read_gold(tmp_path / f"qrels.txt.{suffix}")) == 3
    assert len(cr.read_gold(tmp_path / f"letor.txt.{suffix}")) == 3


def test_the_content_counts_where_the_name_says_nothing(tmp_path):
    assert len(cr.read(put(tmp_path, input__bm25=RUN)).rankings) == 5
    assert cr.read_gold(put(tmp_path, qrels=QRELS)).value.tolist() == [0, 2, 1]


def test_runs_with_the_same_tag_have_the_names_of_their_files(tmp_path):
    one, two, three = put(tmp_path, one__txt=RUN, two__run=RUN, three__txt=OTHER)
    assert cr.read(one, three).vocabulary.annotators.tolist() == ["bm25", "dense"]
    assert cr.read(one, two, three).vocabulary.annotators.tolist() == ["dense", "one", "two"]
    (tmp_path / "deep").mkdir()
    again = put(tmp_path / "deep", one__txt=RUN)
    assert cr.read(one, again).vocabulary.annotators.tolist() == sorted([str(one), str(again)])
    several = put(tmp_path, several__txt=RUN + OTHER)
    assert cr.read(several, three).vocabulary.annotators.tolist() == ["several:bm25", "several:dense", "three"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            RUN + b"q3 Q0 a 1 bm25\n",
            "r.txt:6: this line has 5 columns, but a line must have 6: task Q0 item rank score tag",
        ),
        (RUN + b"q3 Q0 a b 1 2 bm25\n", "r.txt:6: this line has 7 columns, but a line must have 6"),
        (RUN + b"\nq3 Q0 a 1 high bm25\n", "r.txt:7: score 'high' is not a finite number"),
        (RUN + b"q3 Q0 a 1 nan bm25\n", "r.txt:6: score 'nan' is not a finite number"),
        (RUN + b"q1 Q0 a 4 1.0 bm25\n", "r.txt:6: 'a' has another rank in the same list"),
        (QRELS + b"q2 0 a\n", "r.txt:4: this line has 3 columns, but a line must have 4: task 0 item grade"),
        (QRELS + b"q2 0 a two\n", "r.txt:4: grade 'two' is not a finite number"),
        (b"a b c\n", "r.txt: is neither a TREC run"),
        (b"left,right,winner\na,b,a\n", "if it is a table, name it .csv or .tsv"),
        (b"", "r.txt: is empty"),
        (RUN + b"q1 Q0 \xff 1 1 t\n", "r.txt:6: byte 0xff is not UTF-8"),
        (LETOR + b"1 qid:8 1:2\n", "r.txt:4: is not a line of a LETOR file: grade qid:task 1:rank"),
        (LETOR + b"1 qid:8 1:0.25 #docid = x\n", "r.txt:4: '1:0.25' is not a list number and a rank"),
        (LETOR + b"1 qid:8 1:0 #docid = x\n", "r.txt:4: '1:0' is not a list number and a rank"),
        (LETOR + b"1 qid:8 one #docid = x\n", "r.txt:4: 'one' is not a list number and a rank"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, content, said):
    with pytest.raises(cr.JudgmentError) as error:
        cr.read(put(tmp_path, r__txt=content))
    assert said in str(error.value)


def test_many_broken_lines_are_counted(tmp_path):
    with pytest.raises(cr.JudgmentError, match="… and 10 more rows like these") as error:
        cr.read(put(tmp_path, r__txt=RUN + b"q3 Q0 a 1 bm25\n" * 20))
    assert str(error.value).count("5 columns") == 10


def test_a_row_said_twice_is_dropped_with_a_note(tmp_path):
    study = cr.read(put(tmp_path, r__txt=RUN + RUN.splitlines(keepends=True)[0]))
    assert lists(study)["q1", "bm25"]["a"] < lists(study)["q1", "bm25"]["b"]
    assert any("repeat an item" in note for note in study.notes)


def test_qrels_are_gold(tmp_path):
    gold = cr.read_gold(put(tmp_path, qrels__txt=QRELS))
    assert (gold.kind, gold.value.tolist()) == ("grade", [0, 2, 1])
    assert list(gold.vocabulary.tasks) == ["q1", "q2"]


def test_letor_files_are_rankings_and_gold(tmp_path):
    path = put(tmp_path, letor__txt=LETOR)
    assert lists(cr.read(path)) == {("7", "1"): {"GX1": 1, "GX2": 4}, ("7", "2"): {"GX1": 30}}
    gold = cr.read_gold(path)
    assert gold.value.tolist() == [2, 0, 1]


def test_a_run_with_several_tags_is_no_ranking(tmp_path):
    with pytest.raises(cr.JudgmentError, match="contains 2 runs"):
        cr.read_ranking(put(tmp_path, r__txt=RUN + OTHER))


@pytest.mark.parametrize("name", ["fused.txt", "fused.run", "fused.run.gz", "fused.txt.zst"])
def test_a_fused_run_is_read_back(tmp_path, name):
    consensus = cr.fit("rrf", cr.read(*put(tmp_path, one__txt=RUN, two__txt=OTHER)))
    cr.write(consensus, tmp_path / name)
    again = cr.read_ranking(tmp_path / name)
    np.testing.assert_array_equal(again.score, consensus.score)
    assert cr.read(tmp_path / name).vocabulary.annotators.tolist() == ["rrf"]


def test_the_lines_of_a_run(tmp_path):
    """Best first within each task; of equal ones the later in the alphabet, where trec_eval has it too."""
    ranking = {"item": list("abcd"), "rank": [2, 1, 1, 3], "annotator": ["k"] * 4}
    cr.write(cr.fit("borda", cr.judgments(ranking)), tmp_path / "r.run")
    lines = [line.split() for line in (tmp_path / "r.run").read_text().splitlines()]
    assert [line[2] for line in lines] == ["c", "b", "a", "d"]
    assert [line[3] for line in lines] == ["1", "2", "3", "4"]
    assert {(line[0], line[1], line[5]) for line in lines} == {("all", "Q0", "borda")}


def test_gold_is_written_as_qrels(tmp_path):
    gold = cr.read_gold(put(tmp_path, qrels__txt=QRELS))
    for name in ("again.qrels", "again.txt.gz"):
        cr.write(gold, tmp_path / name)
        np.testing.assert_array_equal(cr.read_gold(tmp_path / name).value, gold.value)
    assert (tmp_path / "again.qrels").read_bytes() == QRELS


@pytest.mark.parametrize(
    ("what", "name", "said"),
    [
        (lambda: cr.gold({"item": ["a b"], "grade": [1]}), "g.qrels", "item 'a b' contains a blank"),
        (lambda: cr.gold({"item": ["a"], "grade": [0.5]}), "g.qrels", "whole numbers"),
        (lambda: cr.gold({"item": ["a"], "score": [1]}), "g.txt", "qrels hold grades"),
        (lambda: cr.gold({"item": ["a"], "grade": [1]}), "g.run", "not this table"),
        (lambda: pl.DataFrame({"x": [1]}), "x.txt", "not this table"),
    ],
)
def test_what_trec_files_cannot_hold_is_refused(tmp_path, what, name, said):
    with pytest.raises(cr.JudgmentError, match=said):
        cr.write(what(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_measures_of_a_run_are_trec_evals(tmp_path):
    """Fusion and evaluation from file to file, against trec_eval itself; ties included."""
    rng = np.random.default_rng(3)
    rows = [
        f"q{q} Q0 d{d} 0 {score} sys{s}"
        for s in range(3)
        for q in range(20)
        for d, score in zip(rng.permutation(50)[:30], rng.integers(0, 12, 30), strict=True)
    ]
    runs, qrels = put(
        tmp_path,
        runs__txt="\n".join(rows).encode(),
        qrels__txt="\n".join(f"q{q} 0 d{d} {rng.integers(0, 3)}" for q in range(20) for d in range(40)).encode(),
    )
    cr.write(cr.fit("rrf", cr.read(runs)), tmp_path / "fused.txt")
    ours = cr.evaluate(cr.read_ranking(tmp_path / "fused.txt"), cr.read_gold(qrels), ["map", "trec-ndcg", "p@5"])
    with (tmp_path / "fused.txt").open() as run, qrels.open() as truth:
        judge = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(truth), {"map", "ndcg", "P_5"})
        theirs = judge.evaluate(pytrec_eval.parse_run(run))
    for row in ours.per_task.to_dicts():
        expected = theirs[row["task"]]
        assert [row["map"], row["trec-ndcg"], row["p@5"]] == pytest.approx(
            [expected["map"], expected["ndcg"], expected["P_5"]], abs=1e-9
        )
