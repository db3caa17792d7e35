"""`crowdrank next`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest


def test_next_for_an_annotator(run):
    done = run("next", "votes.csv", "--annotator", "annotator3", "--count", "4")
    assert (done.code, done.err) == (0, "")
    assert "next questions by mutual-information" in done.out
    assert done.out.count("annotator3") == 4


def test_next_as_json_and_to_a_file(run):
    done = run(
        "next", "votes.csv", "--count", "3", "--json", "--out", "questions.csv", "--width", "0.5", "--budget", "700"
    )
    printed = json.loads(done.out)
    assert [list(row) for row in printed["questions"]] == [["task", "annotator", "left", "right", "gain"]] * 3
    assert [row["rule"] for row in printed["stopping"]] == ["budget", "width"]
    assert printed["stopping"][0]["more"] == 100
    assert pl.read_csv("questions.csv")["gain"].to_list() == pytest.approx(
        [row["gain"] for row in printed["questions"]]
    )
    assert json.loads(run("next", "votes.csv", "--json").out)["stopping"] is None


def test_when_to_stop(run):
    done = run("next", "votes.csv", "--top", "3", "--sure", "0.9", "--width", "50")
    assert "when to stop" in done.out
    assert "top 3" in done.out


def test_items_costs_and_settings(run, folder):
    Path("items.csv").write_text("item,owner\nitem01,annotator1\nitem02,\nitem03,\nnew,annotator2\n")
    Path("costs.csv").write_text("annotator,cost\nannotator2,0.001\nstranger,5\n")
    printed = json.loads(run("next", "votes.csv", "--items", "items.csv", "--costs", "costs.csv", "--json").out)
    (row,) = printed["questions"]
    assert row["annotator"] == "annotator2"
    assert {row["left"], row["right"]} <= {"item01", "item02", "item03"}
    done = run("next", "votes.csv", "--policy", "top-k", "--set", "k=3", "--gamma", "2", "--annotator", "annotator1")
    assert done.code == 0


@pytest.mark.parametrize("policy", ["random", "uncertainty", "asap", "sorting"])
def test_other_policies(run, policy):
    assert f"by {policy}" in run("next", "votes.csv", "--policy", policy, "--annotator", "annotator1").out


def test_a_handful_to_rank(run):
    done = run("next", "votes.csv", "--policy", "rankings", "--set", "size=3", "--annotator", "annotator1", "--json")
    assert [list(row) for row in json.loads(done.out)["questions"]] == [
        ["task", "annotator", "list", "item", "gain"]
    ] * 3


def test_outstanding_questions_and_caps(run):
    first = run("next", "votes.csv", "--count", "4", "--most-share", "0.3", "--json", "--out", "asked.csv")
    asked = json.loads(first.out)["questions"]
    assert max([row["annotator"] for row in asked].count(name) for name in {row["annotator"] for row in asked}) <= 2
    words = ("--outstanding", "asked.csv", "--away", asked[0]["annotator"], "--most-per-pair", "50", "--count", "4")
    later = json.loads(run("next", "votes.csv", *words, "--json").out)["questions"]
    assert asked[0]["annotator"] not in {row["annotator"] for row in later}
    assert not {frozenset((row["left"], row["right"])) for row in asked} & {
        frozenset((row["left"], row["right"])) for row in later
    }


def test_next_grade(run):
    printed = json.loads(run("next", "grades.parquet", "--annotator", "cid", "--count", "2", "--json").out)
    assert [list(row) for row in printed["questions"]] == [["task", "annotator", "item", "gain"]] * 2


def test_nothing_left(run):
    Path("one.csv").write_text("annotator,left,right,winner\nann,a,b,a\n")
    assert "nothing left to ask" in run("next", "one.csv", "--annotator", "ann").out


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("next", "votes.csv", "--policy", "rando"), "did you mean 'random'"),
        (("next", "votes.csv", "--policy", "random", "--gamma", "1"), "has no setting 'gamma'"),
        (("next", "votes.csv", "--gamma", "1", "--gamma", "2"), "--gamma may be given once"),
        (("next", "votes.csv", "--set", "gamma=x"), "gamma is 'x'"),
        (("next", "votes.csv", "--count", "0"), "count is 0"),
        (("next", "votes.csv", "--items", "gold.csv", "--costs", "gold.csv"), "has no column 'annotator'"),
        (("next", "votes.csv", "--out", "votes.csv"), "named twice"),
    ],
)
def test_mistakes(run, words, printed):
    done = run(*words)
    assert done.code == 2
    assert printed in done.err
    assert done.out == ""


def test_an_unknown_annotator_is_told(run, folder):
    done = run("next", "votes.csv", "--annotator", "annotatr1", "--policy", "random")
    assert done.code == 0
    assert "note: 'annotatr1' has given no judgments yet (did you mean 'annotator1'?)" in done.out
    assert "no judgments yet" not in run("next", "votes.csv", "--annotator", "annotator1", "--policy", "random").out


@pytest.mark.parametrize("who", [(), ("--annotator", "annotator1")])
@pytest.mark.parametrize("policy", ["random", "mutual-information"])
def test_a_large_count_ends_with_the_questions(run, folder, who, policy):
    """Four items have six pairs, each asked once."""
    Path("few.csv").write_text("annotator,left,right,winner\n" + "annotator1,a,b,a\nbob,b,c,b\nbob,c,d,c\n")
    done = run("next", "few.csv", *who, "--count", "100000", "--policy", policy, "--json")
    asked = json.loads(done.out)["questions"]
    assert 0 < len(asked) <= 6
    assert len({frozenset((row["left"], row["right"])) for row in asked}) == len(asked)


def test_a_negative_seed_is_refused(run, folder):
    done = run("next", "votes.csv", "--seed", "-1")
    assert done.code == 2
    assert "--seed" in done.err
