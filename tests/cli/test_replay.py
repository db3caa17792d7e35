"""`crowdrank replay`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest


def test_replay(run):
    words = (
        "replay",
        "votes.csv",
        "--gold",
        "gold.csv",
        "--policy",
        "information-gain,random",
        "--budget",
        "200",
        "--seed",
        "0-1",
        "--no-refit",
    )
    done = run(*words, "--out", "curve.csv", "--chart", "curve.html")
    assert (done.code, done.err) == (0, "")
    assert "curves written to curve.csv" in done.out
    curve = pl.read_csv("curve.csv")
    assert curve.columns == ["policy", "seed", "votes", "acc"]
    assert curve["votes"].unique().sort().to_list() == [50, 100, 150, 200]
    assert len(curve) == 2 * 2 * 4
    assert "vega" in Path("curve.html").read_text()
    again = json.loads(run(*words, "--json").out)
    assert [row["acc"] for row in again] == curve["acc"].to_list()


def test_replay_with_several_gammas(run):
    done = run(
        "replay",
        "votes.csv",
        "--gold",
        "gold.csv",
        "--gamma",
        "0",
        "--gamma",
        "5",
        "--budget",
        "100",
        "--no-refit",
        "--json",
    )
    assert {row["policy"] for row in json.loads(done.out)} == {
        "mutual-information gamma=0",
        "mutual-information gamma=5",
    }
    done = run(
        "replay",
        "votes.csv",
        "--gold",
        "gold.csv",
        "--set",
        "halve_every=0.25",
        "--policy",
        "information-gain",
        "--set",
        "epsilon=0.1",
        "--budget",
        "50",
    )
    assert done.code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("replay", "votes.csv", "--gold", "gold.csv", "--seed", "x"), "--seed x"),
        (("replay", "votes.csv", "--gold", "gold.csv", "--policy", "grades"), "replay asks for pairs"),
        (("replay", "votes.csv", "--gold", "gold.csv", "--budget", "10"), "budget is 10"),
    ],
)
def test_mistakes(run, words, message):
    done = run(*words)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""
