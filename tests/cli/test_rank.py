"""`crowdrank rank`: what it prints, writes, and takes."""

from __future__ import annotations

import json

import polars as pl
import pytest

import crowdrank as cr

COLUMNS = ["task", "item", "rank", "score", "low", "high", "rank_low", "rank_high"]


def test_screen(run):
    """The summary in plain words, the top, whom to trust least; nothing on standard error."""
    done = run("rank", "votes.csv")
    assert (done.code, done.err) == (0, "")
    lines = [line.rstrip() for line in done.out.splitlines()]
    assert lines[0].startswith("crowd-bt: 600 pairs by 8 annotators on 12 items in 1 task; converged in ")
    assert "top 10 of 12 items" in lines
    assert "the 5 annotators trusted least" in lines
    assert "reversed" in done.out
    assert "Judgments(" not in done.out


def test_numbers_are_aligned(run):
    """All lines of a table end with the last digit of their number."""
    lines = run("rank", "votes.csv").out.splitlines()
    start = lines.index("top 10 of 12 items")
    table = lines[start + 1 : start + 12]
    assert len({len(line) for line in table}) == 1
    score_ends = table[0].index("score") + len("score")
    assert all(line[score_ends - 5] == "." for line in table[1:])


def test_screen_of_many_tasks(run):
    lines = run("rank", "topics.csv").out.splitlines()
    assert "in 6 tasks" in lines[0]
    start = lines.index("top 3 of the first 3 of 6 tasks")
    assert [line.split()[0] for line in lines[start + 2 : start + 11]] == ["task1"] * 3 + ["task2"] * 3 + ["task3"] * 3


@pytest.mark.parametrize(
    ("file", "method"), [("votes.csv", "crowd-bt"), ("grades.parquet", "gda"), ("rankings.jsonl", "plackett-luce")]
)
def test_default_method(run, file, method):
    assert json.loads(run("rank", file, "--json").out)["method"] == method


def test_several_files_of_several_kinds(run):
    done = run("rank", "votes.csv", "grades.parquet", "rankings.jsonl")
    assert done.out.startswith("crowd-bt: 24 grades and 600 pairs and 2 rankings by 10 annotators")


def test_json_is_one_document(run_really, folder):
    done = run_really("rank", "votes.csv", "--json", "--set", "prior=0.5", "--set", "quality_prior=2,1", "--seed", "7")
    assert (done.code, done.err) == (0, "")
    said = json.loads(done.out)
    assert set(said) == {"method", "settings", "fit", "ranking", "annotators", "disconnected", "notes"}
    assert said["settings"] == {"prior": 0.5, "quality_prior": [2.0, 1.0]}
    assert said["fit"]["converged"] is True
    expected = cr.CrowdBT(prior=0.5, quality_prior=(2, 1)).fit(cr.read("votes.csv"))
    assert [row["score"] for row in said["ranking"]] == expected.ranking["score"].to_list()
    assert [row["item"] for row in said["ranking"]] == expected.ranking["item"].to_list()


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "csv.gz", "tsv.zst", "jsonl.gz", "parquet.zst"])
def test_outputs_read_back(run, suffix):
    done = run("rank", "votes.csv", "--out", f"ranking.{suffix}", "--annotators", f"annotators.{suffix}")
    assert done.out.endswith(f"ranking written to ranking.{suffix}\nannotators written to annotators.{suffix}\n")
    expected = cr.CrowdBT().fit(cr.read("votes.csv"))
    again = cr.read_ranking(f"ranking.{suffix}")
    assert again.ranking["item"].to_list() == expected.ranking["item"].to_list()
    assert again.ranking["score"].to_list() == pytest.approx(expected.ranking["score"].to_list())


def test_output_columns(run):
    run("rank", "votes.csv", "--out", "ranking.csv", "--annotators", "annotators.csv")
    assert pl.read_csv("ranking.csv").columns == COLUMNS
    first = ["annotator", "judgments", "quality", "verdict", "quality_low", "quality_high"]
    assert pl.read_csv("annotators.csv").columns[:6] == first


def test_columns_by_other_names(run):
    names = ("annotator=user", "left=one", "right=two", "winner=said")
    done = run("rank", "named.csv", *(word for name in names for word in ("--column", name)))
    assert done.code == 0
    assert done.out.startswith("bradley-terry: 1 pair by 1 annotator on 2 items in 1 task")


def test_top_k(run, folder):
    """Without it an unlisted item is unknown, with it last."""
    (folder / "lists.csv").write_text("annotator,item,rank\nann,a,1\nann,b,2\nbob,a,1\nbob,b,2\nbob,c,3\n")
    command = ("rank", "lists.csv", "--method", "borda", "--json")
    scores = [
        {row["item"]: row["score"] for row in json.loads(run(*command, *extra).out)["ranking"]}
        for extra in ((), ("--top-k",))
    ]
    assert scores[0] == pytest.approx({"a": 1.0, "b": 0.25, "c": 0.0})
    assert scores[1] == pytest.approx({"a": 1.0, "b": 0.5, "c": 0.0})


def test_gold_is_a_start(run):
    """Gold turns a crowd around that mostly says the opposite."""
    study = cr.simulate.pairs(items=12, annotators=10, votes=3000, malicious=0.7, seed=1)
    cr.write(study.judgments, "hostile.csv")
    with_gold = run("rank", "hostile.csv", "--gold", "gold.csv", "--method", "crowd-bt", "--out", "r.csv")
    assert with_gold.code == 0
    cr.write(study.gold, "truth.csv")
    run("rank", "hostile.csv", "--gold", "truth.csv", "--out", "r.csv")
    assert cr.evaluate(cr.read_ranking("r.csv"), study.gold, "acc").mean["acc"] > 0.9


def test_notes_are_shown(run, folder):
    (folder / "apart.csv").write_text("left,right,winner\na,b,a\nc,d,d\n")
    done = run("rank", "apart.csv")
    assert "note: apart.csv has no annotator column" in done.out
    assert "note: comparisons do not connect all items: they fall into 2 parts" in done.out
    assert json.loads(run("rank", "apart.csv", "--json").out)["disconnected"] == {"all": 2}


def test_stopping_early_is_shown(run):
    done = run("rank", "votes.csv", "--set", "max_iter=1")
    assert "NOT converged in " in done.out
    assert "note: not converged after " in done.out


def test_long_and_odd_ids_do_not_break_the_screen(run, folder):
    pl.DataFrame(
        {"left": ["x" * 100_000, "[red]"], "right": ["two\nlines"] * 2, "winner": ["two\nlines", "[red]"]}
    ).write_csv("odd.csv")
    lines = run("rank", "odd.csv").out.splitlines()
    assert max(map(len, lines)) < 200
    assert any("two⏎lines" in line for line in lines)
    assert any("[red]" in line for line in lines)


def test_numeric_ids_stay_as_they_are(run, folder):
    """12345 is a name, not a number to be made readable."""
    pl.DataFrame({"left": [12345], "right": [67890], "winner": [67890]}).write_parquet("numbers.parquet")
    out = run("rank", "numbers.parquet").out
    assert "12345" in out
    assert "67890" in out


@pytest.mark.parametrize(("said", "meant"), [("yes", True), ("no", False), ("True", True), ("false", False)])
def test_settings_that_are_true_or_not(run, said, meant):
    done = run("rank", "votes.csv", "--method", "bradley-terry", "--set", f"intervals={said}", "--json")
    assert json.loads(done.out)["settings"]["intervals"] is meant


def test_ballots_of_one_name(run, folder):
    (folder / "ballots.csv").write_text("Voter;Candidate;Place\nv; Anna;1\nw;Anna;1\nx;Bo;1\n")
    done = run("rank", "ballots.csv")
    assert "nothing could be ranked" in done.out
    assert "note: most lists name a single item, which compares nothing" in done.out
    run("rank", "ballots.csv", "--top-k", "--out", "r.csv")
    assert pl.read_csv(folder / "r.csv")["item"].to_list() == ["Anna", "Bo"]
