"""The command itself: version, help, completion."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import crowdrank as cr

COMMANDS = [
    (),
    ("rank",),
    ("train",),
    ("predict",),
    ("compare",),
    ("evaluate",),
    ("next",),
    ("replay",),
    ("methods",),
    ("simulate",),
    ("simulate", "pairs"),
    ("simulate", "grades"),
    ("simulate", "rankings"),
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


@pytest.mark.usefixtures("features_and_lists")
def test_examples_in_the_help_run(run, folder):
    """All the files that the examples name are there, so they must do."""
    cr.write(pl.DataFrame({"item": ["item01", "item02"], "grade": [1, 0]}), "graded.csv")
    for words in COMMANDS:
        line = next(line for line in run(*words, "--help").out.splitlines() if "Example:" in line)
        example = line.replace("gold.csv --measure ndcg@10,map", "graded.csv --measure ndcg@10,map").split()
        if "evaluate" in example:
            run("rank", "votes.csv", "--out", "ranking.csv")
        if "simulate" in example:
            for name in ("votes.csv", "gold.csv"):
                replace_link(Path(name))
        assert run(*example[2:]).code == 0, line


def replace_link(path: Path) -> None:
    """A copy of its own instead of a link to the file that all tests share."""
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


def test_no_arguments_show_the_help(run):
    assert re.search(r"Usage: crowdrank \[OPTIONS\] \[?COMMAND", run().out)


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
