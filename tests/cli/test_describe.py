"""`crowdrank describe`."""

from __future__ import annotations

import json
from pathlib import Path


def test_describe_shows_counts_agreement_and_a_method(run):
    done = run("describe", "votes.csv", "--out", "annotators.csv")
    assert done.code == 0, done.err
    for text in ("600 pairs by 8 annotators", "agreement", "share of votes for the left item", "use crowd-bt: "):
        assert text in done.out
    assert Path("annotators.csv").read_text().startswith("annotator,judgments,tasks,alpha")


def test_what_is_unknown_is_left_out(run):
    Path("three.csv").write_text("annotator,left,right,winner\nann,a,b,a\nbob,b,c,b\ncy,a,c,a\n")
    assert "nan" not in run("describe", "three.csv").out


def test_describe_as_json(run):
    found = json.loads(run("describe", "grades.parquet", "--json").out)
    assert found["judgments"]["grades"] == 24
    assert found["agreement"]["grades"]["metric"] == "ordinal"
    assert found["agreement"]["grades"]["alpha"] == 1.0  # both gave the same grades
