"""Large arrays of NumPy in a file instead of memory, so that every method works on more judgments than memory holds.

Inside `MappedArrays`, whatever NumPy allocates of at least `least` bytes (columns of codes, sorted votes, curvatures,
temporary results) is a mapped part of one file, through NumPy's own interface for this (NEP 49, data memory handlers).
So methods and kernels run unchanged, and results have the same bits. Pages of the file are given back to the system as
soon as the process holds more than a share of its limit: the system keeps them in its cache, or writes them to disk.

The functions that NumPy calls are compiled. In Python they would be slow for small arrays, and an array that is freed
while an exception is raised would lose the exception.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from crowdrank.scale.mapped_kernels import (
    ALLOCATOR,
    DISK_FULL,
    FIELDS,
    FILE,
    HEAD,
    LEAST,
    MOST_FRESH,
    MOST_PARTS,
    OVER,
    PARTS,
)

SHARE = 0.5  # of the limit: above it, pages are given back
NEW = 0.25  # of the limit: after so much new room pages are given back too, without a look at the resident memory
SECONDS = 0.01  # between two looks at the resident memory
SET_HANDLER = 304  # the place of PyDataMem_SetHandler in NumPy's table of C functions


class _Handler(ctypes.Structure):
    """PyDataMem_Handler of NumPy's C interface."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


def resident_bytes() -> int:
    """The resident memory of this process."""
    with Path("/proc/self/statm").open() as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE


class MappedArrays:
    """While entered, arrays of this thread of at least `least` bytes are parts of a file in `folder`."""

    def __init__(self, folder: Path, limit: int, least: int) -> None:
        self.limit, self._over = limit, threading.Event()
        path = folder / "arrays"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        path.unlink()  # its space is free again when the last array is gone, however the process ends
        self._state = np.zeros(HEAD + FIELDS * MOST_PARTS, np.int64)
        self._state[[FILE, LEAST, MOST_FRESH]] = file, least, int(NEW * limit)
        addresses = (function.address for function in ALLOCATOR)
        self._handler = _Handler(b"crowdrank mapped arrays", 1, self._state.ctypes.data, *addresses)
        self._madvise = ctypes.PyDLL(None).madvise  # keeps the lock of the interpreter: no array is freed meanwhile
        self._madvise.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
        # Arrays may outlive their `with`, even all modules; what frees them must never be freed itself.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))

    @property
    def disk_is_full(self) -> bool:
        """Whether there was no room on the disk."""
        return bool(self._state[DISK_FULL])

    def __enter__(self) -> MappedArrays:
        self._before = _set_handler(_capsule(self._handler))
        threading.Thread(target=self._watch, daemon=True, name="crowdrank memory").start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        _set_handler(self._before)
        self._over.set()

    def give_back(self) -> int:
        """Give pages of the file back if the process holds too much; how much it holds then."""
        resident = resident_bytes()
        if resident <= SHARE * self.limit:
            return resident
        last = HEAD + FIELDS * int(self._state[PARTS])
        for address, size, _ in self._state[HEAD:last].reshape(-1, FIELDS).tolist():
            self._madvise(address, size, mmap.MADV_DONTNEED)
        return resident_bytes()

    def _watch(self) -> None:
        while not self._over.wait(SECONDS):
            self._state[OVER] = self.give_back() > self.limit  # then there is no room for further large arrays


def _capsule(handler: _Handler) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(handler), b"mem_handler", None)


def _set_handler(capsule: Any) -> Any:
    """Make NumPy allocate by this handler; returns the one before."""
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[SET_HANDLER])(capsule)
