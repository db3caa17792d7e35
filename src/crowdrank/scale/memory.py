"""A limit of memory: what is larger lives in a working folder, which is removed in every case."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from crowdrank.scale.mapped import MappedArrays, resident_bytes
from crowdrank.settings import InputError, SettingError, check

# What a process needs beside its arrays: Python, the libraries, compiled kernels, a piece of a file.
LEAST_FREE = 300_000_000
PARTS = 256  # arrays of at least one such part of the limit are in files
LARGEST = 1 << 26  # bytes; and those of at least this size in any case

DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_work: ContextVar[tuple[Path, MappedArrays] | None] = ContextVar("work", default=None)


class MemoryLimitError(InputError):
    """Work that needs more memory or disk than there is."""


def working_folder() -> Path:
    """The working folder, while memory is limited."""
    work = _work.get()
    assert work is not None
    return work[0]


def check_names() -> None:
    """While files are read: refuse names that do not fit in memory."""
    work = _work.get()
    if work is not None and work[1].give_back() > work[1].limit:
        raise MemoryLimitError(
            f"the names of tasks, items and annotators need more than {in_words(work[1].limit)} of memory: allow more, "
            "use shorter names or whole numbers, or rank some of the tasks at a time"
        )


def size_in_bytes(text: object) -> int:
    """A size like 500MB or 4GB in bytes.

    >>> size_in_bytes("2GB")
    2000000000
    """
    size = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt])i?b?", str(text).strip().lower())
    check(size is not None, "memory", text, "a size like 500MB or 4GB")
    assert size is not None
    return int(float(size[1]) * 1000 ** " kmgt".index(size[2]))


@contextmanager
def limited_memory(memory: str) -> Iterator[None]:
    """Keep the resident memory of the work inside below this size: large arrays are files of a working folder."""
    limit = size_in_bytes(memory)
    if not sys.platform.startswith("linux"):
        raise SettingError("a limit of memory needs Linux: leave --memory out, or run this in a container")
    least = resident_bytes() + LEAST_FREE
    if limit < least:
        raise MemoryLimitError(
            f"memory is {memory}; the program itself needs {in_words(least)} before any judgment is read: allow more"
        )
    with _removed_folder() as folder:
        arrays = _mapped(folder, limit)
        from crowdrank.formats.files import in_pieces
        from crowdrank.scale.pieces import read_in_pieces

        work_before, reader_before = _work.set((folder, arrays)), in_pieces.set(read_in_pieces)
        try:
            with arrays:
                yield
        except MemoryError:
            raise MemoryLimitError(_explained(arrays, memory)) from None
        except OSError as error:
            if error.errno not in DISK_IS_FULL:
                raise
            raise MemoryLimitError(_disk_is_full()) from None
        finally:
            _work.reset(work_before)
            in_pieces.reset(reader_before)


def in_words(size: float) -> str:
    """A size as the user writes it."""
    return f"{size / 1e9:.1f}GB" if size >= 1e9 else f"{size / 1e6:.0f}MB"


def _mapped(folder: Path, limit: int) -> MappedArrays:
    return MappedArrays(folder, limit, least=min(limit // PARTS, LARGEST))


def _explained(arrays: MappedArrays, memory: str) -> str:
    if arrays.disk_is_full:
        return _disk_is_full()
    return (
        f"memory is {memory}, which is too little for this study and method: allow more, or use a method with fewer "
        "parameters (bradley-terry for votes, mean for grades)"
    )


def _disk_is_full() -> str:
    free = shutil.disk_usage(tempfile.gettempdir()).free
    return (
        f"the disk of the working folder ({tempfile.gettempdir()}) is full, only {in_words(free)} are left: "
        "make room, or set TMPDIR to a folder on a larger disk"
    )


@contextmanager
def _removed_folder() -> Iterator[Path]:
    """A working folder that is gone afterwards, also when the process is told to end."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    main = threading.current_thread() is threading.main_thread()  # others cannot say what a signal does
    numbers = [signal.SIGTERM, signal.SIGHUP] if main else []
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"crowdrank-{os.getpid()}-"))
    except OSError as error:
        raise MemoryLimitError(
            f"no working folder can be made in {tempfile.gettempdir()}: {error.strerror}; set TMPDIR to another folder"
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for number, handler in before.items():
            signal.signal(number, handler)
