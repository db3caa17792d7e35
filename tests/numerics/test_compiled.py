"""Compiled kernels are kept where they can be, and no trouble with files stops a fit."""

import logging
import os
import re
from pathlib import Path

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
    return sum(made.stats.cache_hits.values())


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


def test_nothing_is_kept_in_a_folder_called_tilde(monkeypatch):
    """A user without a home: `~` stays as it is."""
    monkeypatch.setattr(compiled, "AppDirs", lambda **_: type("Dirs", (), {"user_cache_dir": "~/.cache/crowdrank"}))
    assert all(folder.is_absolute() for folder in compiled._folders(Path(__file__)))


def test_a_kernel_can_be_recompiled(tmp_path, notes, monkeypatch):
    made = called([tmp_path], monkeypatch)
    made.recompile()
    assert made(4) == 8
    assert isinstance(made._cache, KernelCache)


def test_every_kernel_is_compiled_this_way():
    """Numba's own `cache=True` fails in containers."""
    sources = sorted(Path(compiled.__file__).parents[1].rglob("*.py"))
    own = [path.name for path in sources if re.search(r"\bn?jit\(|cache=True", path.read_text())]
    assert own == ["compiled.py"]


@pytest.mark.parametrize("method", ["bradley-terry", "plackett-luce", "borda"])
def test_little_work_in_python_gives_what_kernels_give(method, monkeypatch):
    """All columns, to the last bit."""
    study = cr.simulate.rankings(items=5, annotators=4, tasks=2, seed=0).judgments
    found = []
    for little in (-1, 10**9):
        monkeypatch.setattr(compiled, "LITTLE_WORK", little)
        consensus = cr.fit(method, study)
        found.append((consensus.ranking.rows(), consensus.annotators.rows()))
    assert found[0] == found[1]
