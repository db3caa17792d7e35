"""Kernels: functions that Numba compiles, and where the compiled code is kept.

Numba's own cache ends with an error where no folder can be written, where a disk is full and where a file of its is
damaged. It also ignores code that it can read but not write, which is what a container has whose image was made with
`crowdrank warm-up`. The cache here looks in several folders, trusts only files with the right checksum, and compiles
anew otherwise.

Numba is imported with the first kernel that is called: that takes a third of a second, and small files need none.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from crowdrank import __version__

KERNELS: list[Any] = []  # all kernels of the modules imported so far

DONE: dict[Any, int] = {}  # the work of each kernel so far
LITTLE_WORK = 200_000  # about a tenth of a second in Python, less than it takes to load Numba and compiled code
LITTLE_BESIDE = 10_000  # the same where other compiled code is loaded already: the next takes some milliseconds
NOT_COMPILED = 10  # times as much is little for a kernel that is yet to be compiled
DIGEST = hashlib.sha256().digest_size
ADVICE = "name a folder that can be written as NUMBA_CACHE_DIR, or run `crowdrank warm-up` where the package can be"


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function when it is first called; it runs without Python's lock. `options` as for `numba.njit`."""
    if function is None:
        return lambda function: Kernel(function, options)
    return Kernel(function, options)


class Kernel:
    """A function that Numba compiles when it is first called."""

    _lock = threading.RLock()  # threads that call a kernel at the same time share its compiled code

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self._options = function, options
        self._cache = KernelCache(function)
        KERNELS.append(self)

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    @property
    def dispatcher(self) -> Any:
        """The function as Numba has it."""
        return self.__dict__.get("_dispatcher") or self._made()

    def _made(self) -> Any:
        from numba import njit

        with self._lock:
            if "_dispatcher" not in self.__dict__:
                others = {name: each.dispatcher for name, each in _called(self.py_func).items()}
                known = {**self.py_func.__globals__, **others}
                made = njit(nogil=True, **self._options)(_copy(self.py_func, known))
                known[self.py_func.__name__] = made  # for one that calls itself
                made._cache = self._cache  # what `cache=True` does with Numba's own cache
                self._dispatcher = made
        return self._dispatcher

    @property
    def overloads(self) -> dict[Any, Any]:
        """The compiled forms in this process, by types."""
        return self._dispatcher.overloads if "_dispatcher" in self.__dict__ else {}

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # where it is imported from


def for_work(compiled: Kernel, work: int) -> Callable[..., Any]:
    """The kernel; until it has done more than little work in this process, the Python function behind it.

    To compile a kernel takes up to four seconds. Both give the same bits, if the kernel takes squares by
    multiplication. `work` is about the number of passes of its innermost loops in this call.
    """
    done = DONE[compiled] = DONE.get(compiled, 0) + work
    little = LITTLE_BESIDE if KernelCache.any_loaded else LITTLE_WORK
    if done <= little or (done <= NOT_COMPILED * LITTLE_WORK and not is_compiled(compiled)):
        return partial(_run_quietly, _in_python(compiled))
    return compiled


def is_little(work: int) -> bool:
    """Whether so much work needs no kernel."""
    return work <= LITTLE_WORK


def is_compiled(compiled: Any) -> bool:
    """Whether there is compiled code of a kernel, in this process or in files."""
    return bool(compiled.overloads) or compiled._cache.kept()


@contextmanager
def compilation_time() -> Iterator[Callable[[], float]]:
    """Gives a function that says how many seconds of the work inside were compilation."""
    from numba.core.event import TimingListener, install_listener

    listener = TimingListener()
    with install_listener("numba:compile", listener):
        yield lambda: listener.duration if listener.done else 0.0


@cache
def _in_python(compiled: Any) -> Callable[..., Any]:
    """The Python function behind a kernel, which calls the functions behind other kernels."""
    function = compiled.py_func
    names = {name: _in_python(each) for name, each in _called(function).items()}
    known = {**function.__globals__, **names}
    plain = _copy(function, known)
    known[function.__name__] = plain  # for one that calls itself
    return plain


def _copy(function: Any, known: dict[str, Any]) -> FunctionType:
    """The function with other global names."""
    return FunctionType(function.__code__, known, function.__name__, function.__defaults__, function.__closure__)


def _called(function: Any) -> dict[str, Any]:
    """The other kernels that a function calls, by the name it uses."""
    known = ((name, function.__globals__.get(name)) for name in function.__code__.co_names)
    return {name: each for name, each in known if isinstance(each, Kernel) and each.py_func is not function}


def _run_quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Without NumPy's warnings about numbers that are not finite: compiled code gives none."""
    with np.errstate(all="ignore"):
        return function(*arguments)


class KernelCache:
    """The compiled forms of one function, in files; Numba uses it as its own."""

    any_loaded = False  # of all functions, in this process

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self._source = function, Path(function.__code__.co_filename)
        self._name = f"{self._source.stem}.{function.__qualname__}-{function.__code__.co_firstlineno}"
        self._enabled = True

    @cached_property
    def _numba(self) -> Any:
        from numba.core.caching import CompileResultCacheImpl

        return CompileResultCacheImpl.__new__(CompileResultCacheImpl)  # without looking for a folder of its own

    @property
    def cache_path(self) -> str:
        """Where the code is kept beside the source, if it can be."""
        return str(_beside(self._source))

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """Forget what is kept."""
        for folder in _folders(self._source):
            with suppress(OSError):
                for path in folder.glob(f"{self._name}.*.nbc"):
                    path.unlink()

    def kept(self) -> bool:
        """Whether there is any code of this version for this processor, be it for other types."""
        folders = (*_folders(self._source), *filter(None, [_temporary()]))
        names = {name for folder in folders for name in _kept_names(folder) if name.startswith(f"{self._name}.")}
        return bool(names) and f"{self._name}.{self._stamp()}" in names

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for these types; None where there is none that can be used."""
        target_context.refresh()
        name = self._file_name(sig, target_context.codegen())
        for folder in (*_folders(self._source), *filter(None, [_temporary()])) if self._enabled else ():
            with suppress(Exception):  # whatever is wrong with a file: the function is compiled anew
                loaded = self._numba.rebuild(target_context, pickle.loads(_checked((folder / name).read_bytes())))
                KernelCache.any_loaded = True
                return loaded
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code in the first folder that takes it."""
        KernelCache.any_loaded = True
        from numba.core.serialize import dumps

        if not self._enabled or not self._numba.check_cachable(data):
            return
        name, content = self._file_name(sig, data.codegen), dumps(self._numba.reduce(data))
        content = hashlib.sha256(content).digest() + content
        for folder in _folders(self._source):
            if _written(folder, name, content):
                self._forget_others(folder)
                return
        if (temporary := _temporary(make=True)) and _written(temporary, name, content):
            _note(f"compiled code is kept in {temporary}, because no other folder can be written: {ADVICE}")
        else:
            _note(f"compiled code cannot be kept, so every start compiles it again, which takes seconds: {ADVICE}")

    def _forget_others(self, folder: Path) -> None:
        """Remove the code of other versions."""
        with suppress(OSError):
            for path in folder.glob(f"{self._name}.*.nbc"):
                if not path.name.startswith(f"{self._name}.{self._stamp()}."):
                    path.unlink()

    def _file_name(self, sig: Any, codegen: Any) -> str:
        """One file for each function, version, types of arguments, and processor."""
        types = hashlib.sha256(f"{sig} {codegen.magic_tuple()}".encode()).hexdigest()[:16]  # and settings of Numba
        return f"{self._name}.{self._stamp()}.{types}.nbc"

    def _stamp(self) -> str:
        """What the code was made from: a kernel contains the code of the kernels that it calls."""
        from numba import __version__ as numba_version

        made_from = *_processor(), numba_version, __version__, *map(_content_hash, sorted(_sources(self._function)))
        return hashlib.sha256(" ".join(made_from).encode()).hexdigest()[:16]


def _sources(function: Any) -> set[Path]:
    """The files of a function and of all kernels that it calls."""
    own = {Path(function.__code__.co_filename)}
    return own.union(*(_sources(each.py_func) for each in _called(function).values()))


@cache
def _processor() -> tuple[str, str]:
    """An image that was made on one machine may run on another."""
    from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

    return get_host_cpu_name(), get_host_cpu_features().flatten()


@cache
def _content_hash(source: Path) -> str:
    try:
        return hashlib.sha256(source.read_bytes()).hexdigest()
    except OSError:  # a package in a .zip file
        return ""


def _checked(content: bytes) -> bytes:
    """What follows the checksum; an error where it is damaged."""
    digest, rest = content[:DIGEST], content[DIGEST:]
    if hashlib.sha256(rest).digest() != digest:
        raise ValueError("the file is damaged")
    return rest


@cache
def _kept_names(folder: Path) -> frozenset[str]:
    """The functions that had compiled code in a folder when this was first asked."""
    try:
        return frozenset(path.stem.rpartition(".")[0] for path in folder.iterdir() if path.suffix == ".nbc")
    except OSError:
        return frozenset()


def _written(folder: Path, name: str, content: bytes) -> bool:
    """Whether the file could be written; whole, or not at all."""
    part = folder / f".{name}.{os.getpid()}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(folder / name)
    except OSError:
        with suppress(OSError):
            part.unlink()
        return False
    return True


def _folders(source: Path) -> Iterator[Path]:
    """Where compiled code may be, in the order in which the folders are tried."""
    inside = hashlib.sha256(str(source.parent).encode()).hexdigest()[:16]
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(chosen) / inside
    yield _beside(source)
    if own := _of_user():
        yield own / inside


def _of_user() -> Path | None:
    """Where this system keeps what can be made again; None where a user has no home."""
    usual = {"win32": os.environ.get("LOCALAPPDATA", "~/AppData/Local"), "darwin": "~/Library/Caches"}
    folder = Path(usual.get(sys.platform, os.environ.get("XDG_CACHE_HOME", "~/.cache")))
    try:
        found = folder.expanduser() / "crowdrank"
    except RuntimeError:
        return None
    return found if found.is_absolute() else None


def _beside(source: Path) -> Path:
    return source.parent / "__pycache__"


def _temporary(*, make: bool = False) -> Path | None:
    """A folder of this user's among the temporary files, the last resort; None where there is none.

    Files in it are run, so nobody else may be able to write there.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0  # on Windows everybody has temporary files of their own
    try:
        folder = Path(tempfile.gettempdir()) / f"crowdrank-{user}"
        if make:
            folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o022
    return folder if private or os.name == "nt" else None


@cache
def _note(text: str) -> None:
    """Say something on standard error, once."""
    logging.getLogger("crowdrank").warning("note: %s", text)
