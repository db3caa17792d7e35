"""`compare`, `evaluate`, `methods`, `simulate`, and the command itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest

import crowdrank as cr
from crowdrank.learning.catalogue import LEARNERS
from crowdrank.methods.catalogue import ALL

EVERY = {**ALL, **LEARNERS}

COMMANDS = [
    (),
    ("rank",),
    ("compare",),
    ("evaluate",),
    ("methods",),
    ("simulate",),
    ("simulate", "pairs"),
    ("simulate", "grades"),
    ("simulate", "spam"),
]


def test_version(run):
    assert run("--version").out == f"crowdrank {cr.__version__}\n"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("width", ["80", "120"])
def test_help(run, monkeypatch, words, width):
    """Every command shows an example on one line, and nothing is cut off."""
    monkeypatch.setenv("COLUMNS", width)
    done = run(*words, "--help")
    assert done.code == 0
    examples = [line.strip() for line in done.out.splitlines() if line.strip().startswith("Example: crowdrank ")]
    assert len(examples) == 1
    assert "…" not in done.out
    assert max(map(len, done.out.splitlines())) <= int(width)


def test_examples_in_the_help_run(run, folder):
    """All the files that the examples name are there, so they must do."""
    cr.write(pl.DataFrame({"item": ["item01", "item02"], "grade": [1, 0]}), "graded.csv")
    for words in COMMANDS:
        line = next(line for line in run(*words, "--help").out.splitlines() if "Example:" in line)
        example = line.replace("gold.csv --measure ndcg@10,map", "graded.csv --measure ndcg@10,map").split()
        if "evaluate" in example:
            run("rank", "votes.csv", "--out", "ranking.csv")
        if "pairs" in example:
            for name in ("votes.csv", "gold.csv"):
                Path(name).unlink()  # a link to the file that all tests share
        assert run(*example[2:]).code == 0, line


def test_no_arguments_show_the_help(run):
    assert "Usage: crowdrank [OPTIONS] COMMAND" in run().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_offered(shell):
    """Asked as the shells ask, whatever the shell the tests run in."""
    assert "_CROWDRANK_COMPLETE" in completed(_CROWDRANK_COMPLETE=f"source_{shell}")


def test_completion_knows_the_commands():
    words = {"_CROWDRANK_COMPLETE": "complete_bash", "COMP_WORDS": "crowdrank ra", "COMP_CWORD": "1"}
    assert completed(**words).split() == ["rank"]


def completed(**environment: str) -> str:
    command = [sys.executable, "-c", "import sys; sys.argv[0] = 'crowdrank'; from crowdrank.cli import main; main()"]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False).stdout


def test_methods(run):
    done = run("methods")
    listed = [line.split()[0] for line in done.out.splitlines()[2:] if line[:1].strip()]
    assert listed[: len(ALL)] == list(ALL)
    assert set(json.loads(run("methods", "--json").out)) == set(EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_one_method(run, name):
    """Its docstring, what it takes, and each setting as `--set` takes it."""
    done = run("methods", name)
    assert f"Takes {', '.join(EVERY[name].description.takes)}." in done.out
    settings = re.findall(r"^ *(\w+=\S+)", done.out.partition("--set ")[2], re.MULTILINE)
    assert [setting.partition("=")[0] for setting in settings] == [field.name for field in fields(EVERY[name])]
    if name in LEARNERS:
        return
    words = [word for setting in settings for word in ("--set", setting)]
    file = "rankings.jsonl" if "rankings" in EVERY[name].description.takes else "grades.parquet"
    learn = ["--train", file, "--train-gold", "gold.csv"] if name in cr.SUPERVISED else []
    assert run("rank", file, "--method", name, *words, *learn).code == 0


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


def test_evaluate(run):
    run("rank", "votes.csv", "--out", "ranking.csv")
    done = run("evaluate", "ranking.csv", "gold.csv", "--out", "tasks.csv")
    assert done.out.splitlines()[0] == "mean over 1 task"
    assert pl.read_csv("tasks.csv")["task"].to_list() == ["task1"]
    said = json.loads(run("evaluate", "ranking.csv", "gold.csv", "--measure", "acc", "--json").out)
    assert said["mean"]["acc"] == pytest.approx(pl.read_csv("tasks.csv")["acc"][0])


def test_simulate(run):
    """The same seed writes the same files, and they can be ranked."""
    for name, seed in (("one", "5"), ("two", "5"), ("three", "6")):
        words = ("--out", f"{name}.csv", "--gold", f"{name}-gold.csv", "--quality-out", f"{name}-quality.csv")
        done = run("simulate", "pairs", *words, "--items", "10", "--annotators", "4", "--votes", "200", "--seed", seed)
        assert done.out.startswith("simulated 200 pairs by 4 annotators on 10 items in 1 task\nvotes written to ")
    for end in (".csv", "-gold.csv", "-quality.csv"):
        assert Path(f"one{end}").read_bytes() == Path(f"two{end}").read_bytes() != Path(f"three{end}").read_bytes()
    assert run("rank", "one.csv", "--out", "ranking.csv").code == 0
    assert run("evaluate", "ranking.csv", "one-gold.csv").code == 0


def test_simulate_grades(run):
    """The same with grades, on scales of different length."""
    for name in ("one", "two"):
        words = ("--out", f"{name}.csv", "--gold", f"{name}-gold.csv", "--quality-out", f"{name}-quality.csv")
        done = run(
            "simulate", "grades", *words, "--items", "10", "--annotators", "6", "--labels", "3", "--scales", "2,5"
        )
        assert done.out.startswith("simulated 30 grades by 6 annotators on 10 items in 1 task\ngrades written to ")
    for end in (".csv", "-gold.csv", "-quality.csv"):
        assert Path(f"one{end}").read_bytes() == Path(f"two{end}").read_bytes()
    crowd = pl.read_csv("one-quality.csv")
    assert crowd.columns == ["annotator", "quality", "kind", "scale", "bias", "noise"]
    assert crowd["scale"].to_list() == [2, 5] * 3
    assert run("simulate", "grades", "--out", "g.csv", "--gold", "gg.csv", "--gold-grades", "3").code == 0
    assert pl.read_csv("gg.csv").columns == ["task", "item", "grade"]
    assert run("rank", "g.csv", "--method", "dawid-skene", "--out", "ranking.csv").code == 0
    assert run("evaluate", "ranking.csv", "gg.csv", "--measure", "ndcg@10").code == 0


def test_a_spoilt_study(run, folder):
    done = run("simulate", "spam", "votes.csv", "--share", "0.5", "--kind", "malicious", "--out", "spoilt.csv")
    assert done.code == 0
    before, after = cr.read("votes.csv"), cr.read("spoilt.csv")
    assert len(after.vocabulary.annotators) == round(1.5 * len(before.vocabulary.annotators))
    assert "malicious" in str(after.vocabulary.annotators[-1])


def test_a_spoilt_study_of_several_kinds(run, folder):
    cr.write(pl.DataFrame({"annotator": ["a", "a", "b"], "item": ["x", "y", "x"], "grade": [1, 0, 1]}), "grades.csv")
    assert run("simulate", "spam", "votes.csv", "grades.csv", "--out", "spoilt.csv.gz").code == 0
    assert not Path("spoilt.csv.gz").exists()
    assert cr.read("spoilt-pairs.csv.gz", "spoilt-grades.csv.gz").kinds == ("grades", "pairs")


def test_an_unknown_kind_of_spam_is_refused(run, folder):
    done = run("simulate", "spam", "votes.csv", "--kind", "evil", "--out", "spoilt.csv")
    assert done.code == 2
    assert "random, malicious" in done.err
    assert not Path("spoilt.csv").exists()
