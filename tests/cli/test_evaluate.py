"""`crowdrank evaluate`."""

from __future__ import annotations

import json

import polars as pl
import pytest


def test_evaluate(run):
    run("rank", "votes.csv", "--out", "ranking.csv")
    done = run("evaluate", "ranking.csv", "gold.csv", "--out", "tasks.csv")
    assert done.out.splitlines()[0] == "mean over 1 task"
    assert pl.read_csv("tasks.csv")["task"].to_list() == ["task1"]
    said = json.loads(run("evaluate", "ranking.csv", "gold.csv", "--measure", "acc", "--json").out)
    assert said["mean"]["acc"] == pytest.approx(pl.read_csv("tasks.csv")["acc"][0])
