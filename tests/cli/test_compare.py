"""`crowdrank compare`."""

from __future__ import annotations

import json

import polars as pl

import crowdrank as cr


def test_compare(run):
    done = run("compare", "votes.csv", "--gold", "gold.csv", "--measure", "acc,tau", "--out", "table.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0].split() == ["method", "acc", "tau", "seconds"]
    assert "leaderboard written to table.csv" in done.out
    assert pl.read_csv("table.csv").columns == ["method", "acc", "tau", "seconds"]


def test_compare_as_json(run):
    done = run("compare", "topics.csv", "--gold", "gold.csv", "--method", "crowd-bt,bradley-terry", "--json")
    assert done.code == 2  # the two share no task
    cr.write(cr.simulate.pairs(items=5, annotators=6, votes=900, tasks=6, seed=4).gold, "truth.csv")
    done = run(
        "compare", "topics.csv", "--gold", "truth.csv", "--method", "crowd-bt,bradley-terry", "--seed", "3", "--json"
    )
    said = json.loads(done.out)
    assert {row["method"] for row in said["table"]} == {"crowd-bt", "bradley-terry"}
    assert said["tests"]


def test_compare_with_folds(run, training_and_test_files):
    words = ["--gold", "train-gold.csv", "--method", "borda,weighted-borda", "--measure", "ndcg", "--out", "table.csv"]
    assert run("compare", "train.csv", *words, "--folds", "3").code == 0
    assert pl.read_csv("table.csv")["method"].to_list() == ["weighted-borda", "borda"]
    folds = {"task": [f"train{number}" for number in range(15)], "fold": [number % 2 for number in range(15)]}
    cr.write(pl.DataFrame(folds), "folds.csv")
    done = run("compare", "train.csv", *words, "--folds", "folds.csv")
    assert (done.code, done.err) == (0, "")
    assert "give folds" in run("compare", "train.csv", *words).err
