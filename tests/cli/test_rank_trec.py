"""Rank fusion and qrels, from file to file."""

import gzip

import polars as pl
import pytest

RUNS = {"bm25": "abcd", "dense": "bacd", "splade": "badc"}


@pytest.fixture
def runs(folder):
    for system, order in RUNS.items():
        lines = [f"q{q} Q0 {item} {rank} {9 - rank} {system}" for q in (1, 2) for rank, item in enumerate(order, 1)]
        (folder / f"{system}.txt").write_text("\n".join(lines) + "\n")
    (folder / "qrels.txt").write_text("q1 0 b 2\nq1 0 c 0\nq2 0 d 1\n")
    return [f"{system}.txt" for system in RUNS]


def test_fuse_and_evaluate(run, runs, folder):
    done = run("rank", *runs, "--method", "rrf", "--out", "fused.txt")
    assert done.code == 0
    lines = (folder / "fused.txt").read_text().splitlines()
    assert [line.split()[:4] for line in lines[:2]] == [["q1", "Q0", "b", "1"], ["q1", "Q0", "a", "2"]]
    assert {line.split()[5] for line in lines} == {"rrf"}
    done = run("evaluate", "fused.txt", "qrels.txt", "--measure", "map")
    assert done.code == 0
    assert "map" in done.out
    assert "0.6250" in done.out  # 1 for q1, where b is first; 1/4 for q2, where d is last


@pytest.mark.parametrize("method", ["rrf", "borda", "median-rank", "plackett-luce", "mallows", "cps", "condorcet"])
def test_every_method_fuses_packed_runs(run, runs, folder, method):
    packed = []
    for name in runs:
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
        packed.append(f"{name}.gz")
    assert run("rank", *packed, "--method", method, "--out", "fused.run.gz").code == 0
    first = gzip.decompress((folder / "fused.run.gz").read_bytes()).decode().split()
    assert first[2] == "b"


def test_weights_on_the_command_line(run, runs, folder):
    assert run("rank", *runs, "--method", "rrf", "--set", "weights=bm25:5,dense:1", "--out", "fused.txt").code == 0
    assert (folder / "fused.txt").read_text().split()[2] == "a"
    assert "like bm25:2,dense:0.5" in run("rank", *runs, "--method", "rrf", "--set", "weights=2,1").err
    assert "did you mean 'bm25'" in run("rank", *runs, "--method", "rrf", "--set", "weights=bm52:2").err


def test_what_runs_leave_out_stands_below_by_default(run, folder):
    """x is first of one run alone."""
    (folder / "one.txt").write_text("q Q0 x 1 9 one\nq Q0 a 2 8 one\n")
    for system in ("two", "three"):
        (folder / f"{system}.txt").write_text(f"q Q0 a 1 9 {system}\nq Q0 b 2 8 {system}\n")
    assert run("rank", "one.txt", "two.txt", "three.txt", "--method", "borda", "--out", "r.csv").code == 0
    assert pl.read_csv(folder / "r.csv")["item"][0] == "a"
    assert run("rank", "one.txt", "two.txt", "three.txt", "--method", "borda", "--no-top-k", "--out", "r.csv").code == 0
    assert pl.read_csv(folder / "r.csv")["item"][0] == "x"


def test_qrels_and_the_chance_of_each_grade(run, folder):
    done = run("rank", "grades.parquet", "--qrels", "labels.qrels", "--qrels", "labels.csv", "--bootstrap", "20")
    assert done.code == 0
    assert done.out.count("grades written to") == 2
    assert len((folder / "labels.qrels").read_text().splitlines()) == 12
    assert pl.read_csv(folder / "labels.csv").columns[:4] == ["task", "item", "grade", "p_0"]


def test_qrels_of_votes_are_refused_and_nothing_is_written(run, folder):
    done = run("rank", "votes.csv", "--method", "bradley-terry", "--qrels", "labels.qrels", "--out", "ranking.csv")
    assert (done.code, done.err) == (
        2,
        "labels need a study with grades, because they use its scale; this one has none\n",
    )
    assert not (folder / "ranking.csv").exists()


def test_tables_that_trec_has_no_file_for_are_refused_before_the_work(run):
    done = run("rank", "votes.csv", "--annotators", "annotators.txt")
    assert done.code == 2
    assert "annotators.txt: a TREC file cannot hold this table" in done.err
