"""The command as a process: terminals, pipes, Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import crowdrank as cr

# A fit that takes long: every step of the loop waits, and says so on the first.
SLOW = """
import sys, time
from crowdrank.methods.pairs.votes.sampler import Chain
quick = Chain.move
def slow(self):
    open("started", "w").close()
    time.sleep({seconds})
    return quick(self)
Chain.move = slow
sys.argv = ["crowdrank", "rank", "votes.csv", "--out", "ranking.csv", "--annotators", "annotators.csv"]
from crowdrank.cli import main
main()
"""


def plain(text: str) -> str:
    """Without the codes that colour it and move the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text).replace("\r\n", "\n")


@pytest.mark.parametrize("width", [80, 120])
def test_terminal(in_terminal, width):
    """Lines fit the terminal, long notes are wrapped between words."""
    Path("anonymous.csv").write_text("left,right,winner\na,b,a\n")
    done = in_terminal("rank", "votes.csv", "anonymous.csv", width=width)
    assert done.code == 0
    lines = plain(done.out).splitlines()
    assert max(len(line) for line in lines) <= width
    assert "note: anonymous.csv has no annotator column: all its judgments count as those" in plain(done.out).replace(
        "\n", " "
    )


def test_progress_in_a_terminal(in_terminal):
    """A long fit shows a bar, and takes it away when it is done."""
    done = in_terminal(command=[sys.executable, "-c", SLOW.format(seconds=0.02)])
    assert done.code == 0
    assert re.search(r"posterior .*\d+/\d+", plain(done.out))
    assert "ranking written to ranking.csv" in plain(done.out)
    assert Path("ranking.csv").exists()


def test_silence_when_nobody_looks(folder):
    """No bar on standard error that is not a terminal."""
    done = subprocess.run([sys.executable, "-c", SLOW.format(seconds=0.02)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


def test_interrupted(folder):
    """Ctrl-C ends with status 130, one word, and nothing written."""
    before_python = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # what runs under nohup ignores Ctrl-C
    command = [sys.executable, "-c", SLOW.format(seconds=30)]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, preexec_fn=before_python) as process:
        deadline = time.monotonic() + 60
        while not Path("started").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        before = sorted(folder.iterdir())
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (130, "", "stopped\n")
    assert sorted(folder.iterdir()) == before
    assert not Path("ranking.csv").exists()


def test_closed_pipe_is_quiet(folder):
    """`| head -1` of more than a pipe holds."""
    cr.write(cr.simulate.pairs(items=2000, annotators=20, votes=4000, seed=0).judgments, "many.csv")
    line = f"'{sys.executable}' -m crowdrank rank many.csv --method bradley-terry --json | head -c 20"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout == '{"method": "bradley-'
    assert done.stderr == ""


def test_plain_width_follows_columns(run_really):
    """What goes to a pipe is as wide as COLUMNS says, and has no colours."""
    for width in (60, 100):
        done = run_really("methods", COLUMNS=str(width))
        assert max(len(line) for line in done.out.splitlines()[:-1]) <= width
        assert "\x1b" not in done.out


def test_terminals_that_know_few_letters(run_really, folder):
    """Letters that cannot be shown do not cost the result; JSON keeps them."""
    (folder / "letters.csv").write_text("left,right,winner\n🦊,ü,ü\n", encoding="utf-8")
    done = run_really("rank", "letters.csv", PYTHONIOENCODING="ascii")
    assert (done.code, done.err) == (0, "")
    done = run_really("rank", "letters.csv", "--json", PYTHONIOENCODING="ascii")
    assert [row["item"] for row in json.loads(done.out)["ranking"]] == ["ü", "🦊"]


def test_installed_command(folder):
    """`crowdrank` itself is on the path beside Python."""
    command = Path(sys.executable).with_name("crowdrank")
    if not command.exists():
        pytest.skip("not installed as a command")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"crowdrank {cr.__version__}\n"
