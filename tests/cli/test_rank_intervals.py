"""`crowdrank rank --bootstrap` and `--neighbours`."""

from __future__ import annotations

import json

import numpy as np
import polars as pl

import crowdrank as cr


def test_bootstrap(run):
    """Intervals for a method that has none of its own; the same as in Python."""
    done = run("rank", "grades.parquet", "--method", "mean", "--bootstrap", "20", "--seed", "3", "--json")
    assert (done.code, done.err) == (0, "")
    said = json.loads(done.out)
    assert "intervals contain 95% of 20 fits to resampled judgments" in said["notes"]
    expected = cr.bootstrap("mean", cr.read("grades.parquet"), rounds=20, seed=3).ranking
    np.testing.assert_array_equal([row["low"] for row in said["ranking"]], expected["low"])
    assert {"quality_low", "quality_high"} <= set(said["annotators"][0])


def test_bootstrap_over_annotators(run):
    done = run("rank", "votes.csv", "--method", "elo", "--bootstrap", "5", "--bootstrap-over", "annotators")
    assert "note: intervals contain 95% of 5 fits to resampled annotators" in done.out


def test_to_say_what_to_resample_is_enough(run, folder):
    """The note about pairs of lists says `use --bootstrap-over annotators`; that alone must do it."""
    lists = cr.simulate.rankings(4, 5, tasks=1, seed=1)
    cr.write(lists.judgments, folder / "lists.csv")
    command = ("rank", "lists.csv", "--method", "bradley-terry")
    assert "use --bootstrap-over annotators" in run(*command).out
    done = run(*command, "--bootstrap-over", "annotators")
    assert "200 fits to resampled annotators" in done.out
    assert "use --bootstrap-over annotators" not in done.out
    assert "resampled" not in run(*command, "--bootstrap-over", "annotators", "--bootstrap", "0").out


def test_without_it_there_is_none(run):
    assert "resampled" not in run("rank", "votes.csv", "--method", "elo").out


def test_neighbours(run):
    done = run("rank", "votes.csv", "--method", "elo", "--bootstrap", "5", "--neighbours", "n.csv", "--out", "r.csv")
    assert done.out.endswith("ranking written to r.csv\nneighbours written to n.csv\n")
    table = pl.read_csv("n.csv")
    assert table.columns == ["task", "item", "next_item", "gap", "error", "probability", "distinguishable"]
    assert table["item"].to_list() == pl.read_csv("r.csv")["item"].to_list()[:-1]


def test_what_cannot_be_is_said_and_nothing_is_written(run, folder):
    for words, message in (
        (("--neighbours", "n.csv"), "--bootstrap 200"),
        (("--bootstrap", "1"), "rounds is 1"),
        (("--bootstrap", "5", "--bootstrap-over", "items"), "one of judgments, annotators"),
        (("--neighbours", "r.csv"), "named twice"),
    ):
        done = run("rank", "votes.csv", "--method", "elo", "--out", "r.csv", *words)
        assert (done.code, message in done.err) == (2, True), done.err
    assert not (folder / "n.csv").exists()
    assert not (folder / "r.csv").exists()


def test_lists_of_known_annotators_have_resampled_intervals(run, folder):
    """em-elo, which is chosen, has no intervals of its own."""
    cr.write(cr.simulate.rankings(items=6, annotators=6, tasks=6, seed=1).judgments, folder / "known.csv")
    found = json.loads(run("rank", "known.csv", "--json").out)
    assert found["method"] == "em-elo"
    assert all(row["low"] <= row["score"] <= row["high"] for row in found["ranking"])
    assert "intervals contain 95% of 100 fits to resampled judgments" in found["notes"]
    for options in (["--bootstrap", "0"], ["--method", "em-elo"]):
        without = json.loads(run("rank", "known.csv", "--json", *options).out)
        assert without["ranking"][0]["low"] is None
