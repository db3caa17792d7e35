"""Compiled kernels are kept where they can be, and no trouble with files stops a fit."""

import logging
import os
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.numerics import compiled
from crowdrank.numerics.compiled import KernelCache, kernel


def double(x):
    return 2 * x


def called(folders, monkeypatch):
    """A kernel that keeps its code in these folders, after a call; as in a new process."""
    monkeypatch.setattr(compiled, "_folders", lambda _: iter(folders))
    made = kernel(double)
    compiled.KERNELS.remove(made)
    assert made(3) == 6
    return made


def hits(made):
    return sum(made.dispatcher.stats.cache_hits.values())


@pytest.fixture
def notes(caplog, tmp_path, monkeypatch):
    """The notes about compiled code; the temporary folder is a new one."""
    compiled._note.cache_clear()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(compiled.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    caplog.set_level(logging.WARNING, "crowdrank")
    return caplog


@pytest.fixture
def not_writable(tmp_path):
    """Folders in which not even root can write."""
    (tmp_path / "file").write_text("")
    return [tmp_path / "file" / "one", tmp_path / "file" / "two"]


def test_code_is_kept_and_found_again(tmp_path, notes, monkeypatch):
    assert hits(called([tmp_path / "kept"], monkeypatch)) == 0
    assert hits(called([tmp_path / "kept"], monkeypatch)) == 1
    assert not notes.messages


def test_code_in_a_folder_that_cannot_be_written_is_used(tmp_path, notes, not_writable, monkeypatch):
    """An image made with `warm-up`: what is beside the package is read by users who cannot write there."""
    called([tmp_path / "kept"], monkeypatch)
    assert hits(called([*not_writable, tmp_path / "kept"], monkeypatch)) == 1


def test_the_temporary_folder_is_the_last_resort(tmp_path, notes, not_writable, monkeypatch):
    assert hits(called(not_writable, monkeypatch)) == 0
    assert hits(called(not_writable, monkeypatch)) == 1
    assert len(notes.messages) == 1
    assert f"kept in {tmp_path / 'temporary'}" in notes.messages[0]


def test_without_any_folder_there_is_one_note(tmp_path, notes, not_writable, monkeypatch):
    (tmp_path / "temporary").rmdir()
    called(not_writable, monkeypatch)
    called(not_writable, monkeypatch)
    assert [message for message in notes.messages if "cannot be kept" in message] == notes.messages
    assert len(notes.messages) == 1


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows gives everybody temporary files of their own")
def test_a_temporary_folder_that_others_can_write_is_not_used(tmp_path, notes, not_writable, monkeypatch):
    planted = tmp_path / "temporary" / f"crowdrank-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    called(not_writable, monkeypatch)
    assert not list(planted.iterdir())
    assert "cannot be kept" in notes.messages[0]


def test_a_full_disk_is_no_error(tmp_path, notes, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    called([tmp_path / "kept"], monkeypatch)
    assert not list((tmp_path / "kept").iterdir())
    assert "cannot be kept" in notes.messages[0]


@pytest.mark.parametrize("damage", ["empty", "cut", "bit", "text", "other"])
def test_damaged_code_is_made_anew(tmp_path, notes, monkeypatch, damage):
    called([tmp_path], monkeypatch)
    (file,) = tmp_path.glob("*.nbc")
    good = file.read_bytes()
    bit = bytearray(good)
    bit[len(bit) // 2] ^= 1
    bad = {"empty": b"", "cut": good[: len(good) // 2], "bit": bytes(bit), "text": b"hello\n" * 99, "other": good[1:]}
    file.write_bytes(bad[damage])
    assert hits(called([tmp_path], monkeypatch)) == 0
    assert hits(called([tmp_path], monkeypatch)) == 1


def test_code_of_another_version_is_made_anew(tmp_path, notes, monkeypatch):
    called([tmp_path], monkeypatch)
    monkeypatch.setattr(compiled, "__version__", "another")
    assert hits(called([tmp_path], monkeypatch)) == 0
    assert len(list(tmp_path.glob("*.nbc"))) == 1


@pytest.mark.parametrize("change", [("__version__", "another"), ("_processor", lambda: ("another", "+avx"))])
def test_code_of_another_version_or_processor_does_not_count_as_compiled(tmp_path, notes, monkeypatch, change):
    """Small studies would wait for the compiler instead of being ranked without kernels."""
    called([tmp_path], monkeypatch)
    compiled._kept_names.cache_clear()
    again = kernel(double)
    compiled.KERNELS.remove(again)
    assert compiled.is_compiled(again)
    monkeypatch.setattr(compiled, *change)
    assert not compiled.is_compiled(again)


def test_code_is_made_anew_where_a_kernel_that_it_calls_has_changed():
    from crowdrank.collect.pool_kernels import scan_rows

    names = {path.name for path in compiled._sources(scan_rows.py_func)}
    assert names == {"pool_kernels.py", "gain_kernels.py", "online_kernels.py"}


def no_home(_):
    raise RuntimeError("Could not determine home directory.")


@pytest.mark.parametrize("cache", [None, "relative/cache"])
def test_nothing_is_kept_in_a_relative_folder(monkeypatch, cache):
    """A user without a home: `~` stays as it is."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if cache is None:
        monkeypatch.setattr(Path, "expanduser", no_home)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", cache)
    assert all(folder.is_absolute() for folder in compiled._folders(Path(__file__)))


def test_threads_share_the_compiled_code(tmp_path, notes, monkeypatch):
    monkeypatch.setattr(compiled, "_folders", lambda _: iter([tmp_path]))
    made = kernel(double)
    compiled.KERNELS.remove(made)
    with ThreadPoolExecutor(4) as pool:
        assert len({id(each) for each in pool.map(lambda _: made.dispatcher, range(20))}) == 1


def test_a_kernel_is_pickled_by_its_name():
    from crowdrank.collect.pool_kernels import scan_rows

    assert pickle.loads(pickle.dumps(scan_rows)) is scan_rows


def test_a_kernel_can_be_recompiled(tmp_path, notes, monkeypatch):
    made = called([tmp_path], monkeypatch)
    made.dispatcher.recompile()
    assert made(4) == 8
    assert isinstance(made.dispatcher._cache, KernelCache)


def test_every_kernel_is_compiled_this_way():
    """Numba's own `cache=True` fails in containers."""
    sources = sorted(Path(compiled.__file__).parents[1].rglob("*.py"))
    own = [path.name for path in sources if re.search(r"\bn?jit\(|cache=True", path.read_text())]
    assert own == ["compiled.py"]


WORKS = {
    "bradley-terry": lambda study: cr.fit("bradley-terry", study["lists"]),
    "borda": lambda study: cr.fit("borda", study["lists"]),
    "gda": lambda study: cr.fit("gda", study["grades"]),
    "gda, ordered": lambda study: cr.fit("gda", study["grades"], means="ordered", difficulty=True),
    "state": lambda study: cr.State.start().update(study["votes"]).consensus(),
}


@pytest.fixture(scope="module")
def small():
    return {
        "lists": cr.simulate.rankings(items=5, annotators=4, tasks=2, top_k=3, seed=0).judgments,
        "grades": cr.simulate.grades(items=5, annotators=4, labels=3, seed=0).judgments,
        "votes": cr.simulate.pairs(items=5, annotators=3, votes=40, ties=0.2, seed=0).judgments,
    }


def in_both_ways(work, monkeypatch):
    """What kernels give, and what the Python functions behind them give."""
    for little in (-1, 10**9):
        monkeypatch.setattr(compiled, "LITTLE_WORK", little)
        monkeypatch.setattr(compiled, "LITTLE_BESIDE", little)
        yield work()


@pytest.mark.parametrize("name", WORKS)
def test_little_work_in_python_gives_what_kernels_give(name, small, monkeypatch):
    """All columns, to the last bit."""
    one, other = in_both_ways(lambda: WORKS[name](small), monkeypatch)
    assert one.ranking.rows() == other.ranking.rows()
    assert one.annotators.rows() == other.annotators.rows()


@pytest.mark.parametrize("ties", [0.0, 0.2])
def test_questions_are_the_same_in_python(ties, monkeypatch):
    votes = cr.simulate.pairs(items=5, annotators=3, votes=40, ties=ties, seed=1).judgments
    one, other = in_both_ways(lambda: cr.next_questions(votes, count=4), monkeypatch)
    assert one.rows() == other.rows()


def test_a_kernel_is_compiled_after_little_work(monkeypatch):
    made = kernel(double)
    compiled.KERNELS.remove(made)
    monkeypatch.setattr(compiled, "LITTLE_WORK", 10)
    monkeypatch.setattr(compiled, "LITTLE_BESIDE", 10)
    monkeypatch.setattr(compiled, "NOT_COMPILED", 2)
    assert [compiled.for_work(made, 4) is made for _ in range(7)] == [False] * 5 + [True] * 2


@pytest.mark.parametrize("where", ["in this process", "in a file"])
def test_a_kernel_that_is_compiled_already_does_less_work_in_python(where, tmp_path, notes, monkeypatch):
    made = called([tmp_path], monkeypatch)
    if where == "in a file":
        made = kernel(double)
        compiled.KERNELS.remove(made)
    compiled._kept_names.cache_clear()
    monkeypatch.setattr(compiled, "LITTLE_WORK", 10)
    monkeypatch.setattr(compiled, "LITTLE_BESIDE", 6)
    monkeypatch.setattr(compiled.KernelCache, "any_loaded", False)
    assert [compiled.for_work(made, 4) is made for _ in range(3)] == [False, False, True]
    compiled.DONE.clear()
    monkeypatch.setattr(compiled.KernelCache, "any_loaded", True)
    assert [compiled.for_work(made, 4) is made for _ in range(3)] == [False, True, True]


def test_kernels_that_call_themselves_run_in_python_too():
    from crowdrank.numerics.mallows import _overtaken

    arguments = (5, -0.5, 0.3)
    assert compiled._in_python(_overtaken)(*arguments) == _overtaken(*arguments)


def test_kernels_called_by_a_kernel_run_in_python_too(monkeypatch):
    """Small studies wait for no compiler."""
    monkeypatch.setattr(compiled, "DONE", {})
    from crowdrank.numerics import ranks

    monkeypatch.setattr(compiled.Kernel, "dispatcher", property(lambda _: pytest.fail("compiled")))
    found = compiled.for_work(ranks.normal_below, 3)(np.array([-1.0, 0.0, 1.0]))
    assert found == pytest.approx([0.158655254, 0.5, 0.841344746])
