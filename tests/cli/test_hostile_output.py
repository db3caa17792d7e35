"""Output: names that give orders to terminals and spreadsheets, permissions and links, full disks, signals."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import crowdrank as cr

COMMAND = [sys.executable, "-m", "crowdrank"]
ORDERS = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"

# Every write waits, and says so.
SLOW_WRITE = """
import sys, time
from pathlib import Path
quick = Path.write_bytes
def slow(self, data):
    quick(self, data)
    open("writing", "w").close()
    time.sleep(30)
Path.write_bytes = slow
sys.argv = ["crowdrank", *"simulate pairs --items 3 --annotators 2 --votes 9 --out votes2.csv".split()]
from crowdrank.cli import main
main()
"""


@pytest.fixture
def hostile(folder) -> str:
    votes = {
        "annotator": [f"a{ORDERS}"] * 2,
        "left": ["=1+1", "@x"],
        "right": [f"-2{ORDERS}", "=1+1"],
        "winner": ["left"] * 2,
    }
    path = folder / "hostile.csv"
    pl.DataFrame(votes).write_csv(path)
    return path.name


def test_names_give_no_orders_to_the_terminal(run, hostile):
    for done in (run("rank", hostile, "--method", "elo"), run("next", hostile, "--policy", "random")):
        assert done.code == 0
        assert not set("\x1b\x07\x9b\u202e") & set(done.out)
        assert r"\x1b[2J" in done.out


def test_errors_give_no_orders_either(run, folder):
    (folder / "wrong.csv").write_text(f"left,right,{ORDERS}\na,b,c\n")
    done = run("rank", "wrong.csv")
    assert done.code == 2
    assert not set("\x1b\x07\x9b\u202e") & set(done.err)


def test_json_keeps_names_and_gives_no_orders(run, hostile):
    done = run("rank", hostile, "--method", "elo", "--json")
    assert not set("\x1b\x07\x9b\u202e") & set(done.out)
    assert json.loads(done.out)["annotators"][0]["annotator"] == f"a{ORDERS}"


def test_csv_for_spreadsheets(run, hostile):
    """Ids that begin like a formula get an apostrophe; numbers stay numbers, and other files as they are."""
    arguments = ("rank", hostile, "--method", "elo", "--out", "r.csv", "--annotators", "a.jsonl")
    assert run(*arguments).code == 0
    assert set(pl.read_csv("r.csv")["item"]) == {"=1+1", "@x", f"-2{ORDERS}"}
    assert run(*arguments, "--csv-safe").code == 0
    safe = pl.read_csv("r.csv")
    assert set(safe["item"]) == {"'=1+1", "'@x", f"'-2{ORDERS}"}
    assert safe["score"].dtype == pl.Float64
    assert pl.read_ndjson("a.jsonl")["annotator"].to_list() == [f"a{ORDERS}"]


def test_a_limit_that_is_no_size_is_refused(run, folder, monkeypatch):
    """Also where nothing is compressed: a typing mistake would be found with the first large file."""
    monkeypatch.setenv("CROWDRANK_MAX_SIZE", "8GB")  # which the option changes, and the test's end restores
    done = run("--max-size", "much", "rank", "votes.csv")
    assert done.code == 2
    assert "is 'much'; it must be a size like" in done.err


def test_a_file_keeps_its_permissions(run, folder):
    out = folder / "ranking.csv"
    out.write_text("old")
    out.chmod(0o640)
    assert run("rank", "votes.csv", "--method", "elo", "--out", out).code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    assert out.read_text().startswith("task,item,rank")


def test_links_are_followed(run, folder):
    (folder / "results").mkdir()
    target, link = folder / "results" / "ranking.csv", folder / "latest.csv"
    link.symlink_to(target)
    assert run("rank", "votes.csv", "--method", "elo", "--out", link).code == 0
    assert link.is_symlink()
    assert target.read_text().startswith("task,item,rank")


def test_long_names_can_be_written(run, folder):
    name = "r" * 250 + ".csv"
    assert run("rank", "votes.csv", "--method", "elo", "--out", name).code == 0
    assert Path(name).exists()


def test_pipes_can_be_written(folder):
    os.mkfifo("pipe.csv")
    process = subprocess.Popen([*COMMAND, "rank", "votes.csv", "--method", "elo", "--out", "pipe.csv"], stdout=-1)
    assert Path("pipe.csv").read_text().startswith("task,item,rank")
    assert process.communicate(timeout=60)
    assert stat.S_ISFIFO(Path("pipe.csv").stat().st_mode)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("none/ranking.csv", "there is no folder none"),
        ("r" * 300 + ".csv", "File name too long"),
        ("/proc/ranking.csv", "cannot be written"),
        ("broken.csv", "there is no folder"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(run, folder, monkeypatch, out, message):
    """Even root cannot write these."""
    Path("broken.csv").symlink_to("nowhere/ranking.csv")
    monkeypatch.setattr(cr.BradleyTerry, "fit", lambda *_: pytest.fail("the work has begun"))
    done = run("rank", "votes.csv", "--method", "bradley-terry", "--out", out)
    assert done.code == 2
    assert message in done.err


def test_charts_that_cannot_be_written_are_refused_before_the_work(run, folder):
    done = run("replay", "votes.csv", "--gold", "gold.csv", "--chart", "chart.doc")
    assert done.code == 2
    assert "a chart cannot be written as 'doc'" in done.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_behind_by_a_signal(folder, number):
    heard = {"preexec_fn": lambda: signal.signal(number, signal.SIG_DFL)}  # `nohup` ignores SIGHUP
    process = subprocess.Popen([sys.executable, "-c", SLOW_WRITE], stdout=-1, stderr=-1, text=True, **heard)
    deadline = time.monotonic() + 60
    while not Path("writing").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(folder.glob(".*.part"))
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert "Traceback" not in err
    assert process.returncode == 128 + number
    assert not list(folder.glob(".*.part"))
    assert not Path("votes2.csv").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_standard_output_is_no_traceback(folder):
    for command in (["rank", "votes.csv", "--method", "elo"], ["methods", "--json"], ["--version"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run([*COMMAND, *command], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "cannot print: No space left on device\n")


def test_closed_standard_streams_are_no_traceback(folder):
    line = f"{sys.executable} -m crowdrank rank votes.csv --method elo --out r.csv"
    for closed in (">&-", "2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(f"{line} {closed}", shell=True, capture_output=True, text=True, check=False)
        assert done.returncode == 0
        assert "Traceback" not in done.stderr
        assert pl.read_csv("r.csv").columns[:3] == ["task", "item", "rank"]


@pytest.mark.parametrize("after", [0.0, 0.1, 0.4, 1.2])
def test_ctrl_c_is_quiet_from_the_first_moment(folder, after):
    begin = "import crowdrank.__main__ as command; open('started', 'w').close(); command.main()"
    process = subprocess.Popen([sys.executable, "-c", begin, "rank", "votes.csv"], stdout=-1, stderr=-1, text=True)
    deadline = time.monotonic() + 60
    while not Path("started").exists() and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.005 + after)  # a moment for the first line of `main`
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (0, 130, -signal.SIGINT)
    assert err in ("", "stopped\n")


# Studies large enough for BLAS to use several threads.
FITS = """
import crowdrank as cr
votes = cr.simulate.pairs(items=300, annotators=20, votes=3000, seed=0).judgments
grades = cr.simulate.grades(items=3000, annotators=30, labels=3, seed=0).judgments
for name, study in (("crowd-bt", votes), ("gda", grades)):
    consensus = cr.fit(name, study)
    for frame in (consensus.ranking, consensus.annotators, cr.neighbours(consensus)):
        print(frame.write_csv())
"""


def test_results_do_not_depend_on_the_threads_of_blas():
    found = set()
    for threads in ("1", "2"):
        names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, threads)}
        done = subprocess.run([sys.executable, "-c", FITS], env=environment, capture_output=True, check=True)
        assert len(done.stdout) > 100_000
        found.add(done.stdout)
    assert len(found) == 1
