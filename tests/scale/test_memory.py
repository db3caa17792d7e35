"""A limit of memory: the same results, a limit that holds, and nothing left behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.scale import memory
from crowdrank.scale.memory import MemoryLimitError, limited_memory, size_in_bytes
from crowdrank.settings import SettingError

PAIRWISE = ["elo", "bradley-terry", "crowd-bt", "variance-bt"]
GRADED = ["mean", "majority-vote", "dawid-skene", "gda", "borda", "rrf"]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    votes = cr.simulate.pairs(items=20, annotators=12, votes=1500, ties=0.1, malicious=0.1, seed=1)
    grades = cr.simulate.grades(items=40, annotators=12, labels=6, seed=2)
    lists = cr.simulate.rankings(items=12, annotators=15, seed=3)
    for name, study in {"votes": votes, "grades": grades, "lists": lists}.items():
        for kind in ("parquet", "csv", "jsonl"):
            cr.write(study.judgments, folder / f"{name}.{kind}")
    return folder


@pytest.fixture
def small_arrays_too(monkeypatch):
    """Arrays of 1000 bytes and more are in files, so that a small study uses them everywhere."""
    monkeypatch.setattr(memory, "LARGEST", 1000)


def assert_same(one: cr.Consensus, other: cr.Consensus) -> None:
    """The same bits, names and notes."""
    assert one.ranking.equals(other.ranking)
    assert one.annotators.equals(other.annotators)
    assert one.notes == other.notes
    assert one.fit == other.fit


@pytest.mark.parametrize(
    ("method", "name"),
    [*((method, "votes") for method in PAIRWISE), *((method, "grades") for method in GRADED), ("rrf", "lists")],
)
def test_the_same_bits_within_a_limit_of_memory(files, small_arrays_too, method, name):
    path, settings = files / f"{name}.parquet", {"intervals": False} if method == "crowd-bt" else {}
    assert_same(cr.fit(method, path, memory="9GB", **settings), cr.fit(method, cr.read(path), **settings))


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_other_files_are_converted(files, small_arrays_too, kind):
    path = files / f"votes.{kind}"
    assert_same(cr.fit("bradley-terry", [path], memory="9GB"), cr.fit("bradley-terry", cr.read(path)))


def test_sizes():
    assert size_in_bytes("500MB") == 500_000_000
    assert size_in_bytes("1.5 GiB") == 1_500_000_000
    for wrong in ("much", "4", "-1GB", 7):
        with pytest.raises(SettingError, match="a size like 500MB or 4GB"):
            size_in_bytes(wrong)


def test_a_limit_below_what_the_program_needs(files):
    with pytest.raises(MemoryLimitError, match="the program itself needs"):
        cr.fit("mean", files / "grades.csv", memory="1MB")


def test_names_that_do_not_fit(files, monkeypatch):
    monkeypatch.setattr(memory.MappedArrays, "give_back", lambda self: self.limit + 1)
    with pytest.raises(MemoryLimitError, match="the names of tasks, items and annotators need more than"):
        cr.fit("mean", files / "grades.parquet", memory="9GB")


def test_no_folder_is_left(files, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cr.fit("mean", files / "grades.csv", memory="9GB")
    assert not list(tmp_path.iterdir())
    with pytest.raises(cr.JudgmentError, match="needs grades"):
        cr.fit("mean", files / "votes.csv", memory="9GB")
    assert not list(tmp_path.iterdir())


def test_arrays_live_on_after_the_limit(small_arrays_too):
    with limited_memory("9GB"):
        kept = np.arange(1000.0)
        grown = np.fromiter(range(5000), np.int64)  # NumPy reallocates it while it grows
    assert kept.sum() == 499_500
    assert grown.tolist() == list(range(5000))


def run(code: str, folder: Path, **more) -> subprocess.Popen:
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more
    )


def test_resident_memory_stays_below_the_limit(tmp_path):
    """Ten arrays of 60 MB and what is computed from them, within 600 MB."""
    code = """
import numpy as np
from crowdrank.scale.memory import limited_memory
with limited_memory("600MB"):
    columns = [np.full(7_500_000, float(number)) for number in range(10)]
    print(sum(float(np.sqrt(column).sum()) for column in columns))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))  # getrusage counts the parent's memory too
print(int(status["VmHWM"].split()[0]) * 1024)
"""
    out, err = run(code, tmp_path).communicate(timeout=120)
    total, peak = out.split()
    assert float(total) == pytest.approx(7_500_000 * sum(np.sqrt(range(10)))), err
    assert int(peak) < 600_000_000
    assert not list(tmp_path.iterdir())


def test_a_full_disk(files, tmp_path):
    """No file may become larger than 100 kB, which is how a full disk looks to the program."""
    code = (
        f"from crowdrank.scale import memory; memory.LARGEST = 1000\nimport sys\nsys.argv = {rank(files, tmp_path)!r}"
    )
    code += "\nfrom crowdrank.cli import main; main()"
    limit = (100_000, 100_000)
    process = run(code, tmp_path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "is full" in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def rank(files: Path, folder: Path) -> list[str]:
    out = str(folder / "ranking.csv")
    return [
        "crowdrank",
        "rank",
        str(files / "votes.parquet"),
        "--method",
        "bradley-terry",
        "--memory",
        "9GB",
        "--out",
        out,
    ]


def test_a_process_that_is_told_to_end_leaves_nothing(tmp_path):
    code = """
import time
from crowdrank.scale.memory import limited_memory
with limited_memory("9GB"):
    print("ready", flush=True)
    time.sleep(60)
"""
    process = run(code, tmp_path)
    assert process.stdout.readline() == "ready\n"
    assert list(tmp_path.iterdir())
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    process.communicate()
    for _ in range(50):
        if not list(tmp_path.iterdir()):
            break
        time.sleep(0.1)
    assert not list(tmp_path.iterdir())
