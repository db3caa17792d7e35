"""Files for the command, and three ways to run it: in this process (quick), in its own process, and in a terminal."""

from __future__ import annotations

import os
import pty
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank import cli

COMMAND = [sys.executable, "-m", "crowdrank"]


@dataclass
class Done:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """A folder with small studies of every kind, and gold; nothing in it is ever changed."""
    folder = tmp_path_factory.mktemp("made")
    study = cr.simulate.pairs(items=12, annotators=8, votes=600, malicious=0.2, seed=3)
    cr.write(study.judgments, folder / "votes.csv")
    cr.write(study.gold, folder / "gold.csv")
    items = [str(item) for item in study.judgments.vocabulary.items]
    task, annotator = ["task1"] * 24, ["ann"] * 12 + ["bob"] * 12
    cr.write(_table(task, annotator, items * 2, "grade", [*range(12), *range(12)]), folder / "grades.parquet")
    cr.write(_table(task, annotator, items * 2, "rank", [*range(1, 13), *range(1, 13)]), folder / "rankings.jsonl")
    topics = cr.simulate.pairs(items=5, annotators=6, votes=900, tasks=6, seed=4)
    cr.write(topics.judgments, folder / "topics.csv")
    cr.write(pl.DataFrame({"user": ["u"], "one": ["a"], "two": ["b"], "said": ["a"]}), folder / "named.csv")
    return folder


def _table(task, annotator, item, column, values) -> pl.DataFrame:
    return pl.DataFrame({"task": task, "annotator": annotator, "item": item, column: values})


@pytest.fixture
def folder(made, tmp_path, monkeypatch) -> Path:
    """A new working folder that sees the studies."""
    for path in made.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def features_and_lists(folder) -> None:
    """Features of a true order, and the lists of a crowd."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30 * 6, 2))
    names = {"task": [f"q{n:02}" for n in np.repeat(np.arange(30), 6)], "item": np.tile(np.arange(6), 30).tolist()}
    cr.write(pl.DataFrame({**names, "a": x[:, 0], "b": x[:, 1]}), "features.csv")
    gold = cr.gold({**names, "score": x @ [1.0, 2.0]})
    cr.write(gold, "truth.csv")
    study = cr.simulate.rankings(annotators=4, theta=np.array([-2.0, -1.0, -0.5, 0.3]), gold=gold, seed=1)
    cr.write(study.judgments, "lists.csv")


@pytest.fixture
def training_and_test_files(folder) -> None:
    """Training and test files: `ann` is right, `bob` says the opposite."""
    rng = np.random.default_rng(0)
    for name, tasks in (("train", 15), ("test", 5)):
        rows, gold = [], []
        for task in range(tasks):
            grade = rng.permutation([0, 1, 2, 3])
            gold += [(f"{name}{task}", item, int(value)) for item, value in enumerate(grade)]
            rows += [(f"{name}{task}", "ann", item, 4 - int(value)) for item, value in enumerate(grade)]
            rows += [(f"{name}{task}", "bob", item, 1 + int(value)) for item, value in enumerate(grade)]
        cr.write(pl.DataFrame(rows, schema=["task", "annotator", "item", "rank"], orient="row"), f"{name}.csv")
        cr.write(pl.DataFrame(gold, schema=["task", "item", "grade"], orient="row"), f"{name}-gold.csv")


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run the command in this process: `run("rank", "votes.csv")`."""

    def call(*words: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["crowdrank", *words])
        monkeypatch.setattr(cli, "_prepare_process", lambda: None)  # what it changes is this process too
        with pytest.raises(SystemExit) as leave:
            cli.main()
        said = capsys.readouterr()
        return Done(leave.value.code or 0, said.out, said.err)

    return call


@pytest.fixture
def run_really(folder):
    """Run the command as its own process."""

    def call(*words: str, **environment: str) -> Done:
        done = subprocess.run(
            [*COMMAND, *words], capture_output=True, text=True, env={**os.environ, **environment}, check=False
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def in_terminal(folder):
    """Run the command in a terminal of a width; standard output and error come out as one."""

    def call(*words: str, width: int = 80, command: Sequence[str] = COMMAND) -> Done:
        child, terminal = pty.fork()
        if child == 0:
            os.environ.update(TERM="xterm", COLUMNS=str(width))
            os.execv(command[0], [*command, *words])
        ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        out = b""
        while part := _read(terminal):
            out += part
        os.close(terminal)
        return Done(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), out.decode(), "")

    return call


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


@pytest.fixture(scope="module", autouse=True)
def quick(few_draws: None) -> None:
    """Nothing that is checked here depends on the number of draws."""
