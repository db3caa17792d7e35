"""The functions by which NumPy allocates and frees arrays in a mapped file; in Numba.

NumPy calls them while it holds the lock of the interpreter, so no two of them run at the same time.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

from numba import carray, cfunc, njit, types  # type: ignore[attr-defined]

PAGE = mmap.ALLOCATIONGRANULARITY
MOST_PARTS = 1 << 16  # arrays in the file at a time
PUNCH_HOLE = 3  # of fallocate: without changing the size of the file
DONT_NEED, READ_WRITE, SHARED = int(mmap.MADV_DONTNEED), mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED

# The state that the functions share: whole numbers of 64 bits, then address, size and place of every part of the file.
FILE, LEAST, END, PARTS, OVER, DISK_FULL, FRESH, MOST_FRESH, HEAD = range(9)
FIELDS = 3
LENGTH = HEAD + FIELDS * MOST_PARTS


def _of_libc(name: str, *arguments: Any) -> Any:
    found = getattr(ctypes.CDLL(None), name)
    found.argtypes, found.restype = arguments, ctypes.c_int64
    return found


_int, _long, _size = ctypes.c_int, ctypes.c_int64, ctypes.c_size_t
malloc, calloc, realloc = _of_libc("malloc", _size), _of_libc("calloc", _size, _size), _of_libc("realloc", _size, _size)
free, memcpy = _of_libc("free", _size), _of_libc("memcpy", _size, _size, _size)
map_part, unmap = _of_libc("mmap", _size, _size, _int, _int, _int, _long), _of_libc("munmap", _size, _size)
reserve, punch = _of_libc("posix_fallocate", _int, _long, _long), _of_libc("fallocate", _int, _int, _long, _long)
advise = _of_libc("madvise", _size, _size, _int)


@njit
def mapped(state, size):
    """Room for an array in the file; 0 if there is none."""
    room = (size + PAGE - 1) // PAGE * PAGE
    if state[OVER] or state[PARTS] == MOST_PARTS:
        return 0
    # Reserved at once: a full disk is an error here, and not a crash when a page is first used.
    if reserve(state[FILE], state[END], room) != 0:
        state[DISK_FULL] = 1
        return 0
    address = map_part(0, room, READ_WRITE, SHARED, state[FILE], state[END])
    if address == -1:
        return 0
    state[FRESH] += room
    if state[FRESH] > state[MOST_FRESH]:
        state[FRESH] = room
        for part in range(state[PARTS]):
            advise(state[HEAD + FIELDS * part], state[HEAD + FIELDS * part + 1], DONT_NEED)
    at = HEAD + FIELDS * state[PARTS]
    state[at], state[at + 1], state[at + 2] = address, room, state[END]
    state[PARTS] += 1
    state[END] += room
    return address


@njit
def place_of(state, address):
    """Where a part stands in the table; -1 if the array is not in the file. Those made last are freed first."""
    if address % PAGE:  # what malloc returns never is a multiple of it
        return -1
    for part in range(state[PARTS] - 1, -1, -1):
        if state[HEAD + FIELDS * part] == address:
            return HEAD + FIELDS * part
    return -1


@njit
def release(state, at):
    """Free a part, and its room on the disk."""
    unmap(state[at], state[at + 1])
    punch(state[FILE], PUNCH_HOLE, state[at + 2], state[at + 1])
    state[PARTS] -= 1
    last = HEAD + FIELDS * state[PARTS]
    for field in range(FIELDS):
        state[at + field] = state[last + field]


_state, _whole = types.CPointer(types.int64), types.int64


@cfunc(_whole(_state, _whole))
def allocate(pointer, size):
    """`malloc`."""
    state = carray(pointer, (LENGTH,))
    return malloc(max(size, 1)) if size < state[LEAST] else mapped(state, size)


@cfunc(_whole(_state, _whole, _whole))
def allocate_zeros(pointer, count, size):
    """`calloc`; new room in the file is zero."""
    state = carray(pointer, (LENGTH,))
    return calloc(max(count, 1), max(size, 1)) if count * size < state[LEAST] else mapped(state, count * size)


@cfunc(_whole(_state, _whole, _whole))
def reallocate(pointer, address, size):
    """`realloc`."""
    state = carray(pointer, (LENGTH,))
    at = place_of(state, address)
    if at < 0:
        return realloc(address, max(size, 1))
    new = mapped(state, size) if size >= state[LEAST] else malloc(max(size, 1))
    if new:
        at = place_of(state, address)
        memcpy(new, address, min(size, state[at + 1]))
        release(state, at)
    return new


@cfunc(types.void(_state, _whole, _whole))
def deallocate(pointer, address, _):
    """`free`."""
    state = carray(pointer, (LENGTH,))
    at = place_of(state, address)
    if at < 0:
        free(address)
    else:
        release(state, at)


ALLOCATOR = allocate, allocate_zeros, reallocate, deallocate
