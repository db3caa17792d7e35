"""Sums over many rows on all cores, with the same result for any number of threads.

Kernels are compiled with `nogil` and run on plain threads: Numba's own `parallel` compiles three times as long for the
same speed, and users wait for the first call. The rows are split into chunks by their number alone, each chunk adds to
its own buffer, and the buffers are added up in order.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from crowdrank.numerics.engine import placed
from crowdrank.settings import SettingError
from crowdrank.study import Floats

Job = TypeVar("Job")
Done = TypeVar("Done")

ROWS_PER_CHUNK = 1 << 16
MOST_CHUNKS = 8


def n_threads() -> int:
    """The number of threads to use: CROWDRANK_THREADS if it is set, else one per core."""
    wanted = os.environ.get("CROWDRANK_THREADS", "0")
    if not wanted.isdecimal():
        raise SettingError(f"CROWDRANK_THREADS is {wanted!r}; it must be a whole number, 0 for one thread per core")
    return int(wanted) or os.cpu_count() or 1


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="crowdrank")


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of its parent's threads


def chunks(n_rows: int, work: int = 1) -> list[slice]:
    """Contiguous parts of the rows; their number depends on the rows only. Each row counts as `work` rows."""
    count = min(max(n_rows * work // ROWS_PER_CHUNK, 1), MOST_CHUNKS)
    edges = np.linspace(0, n_rows, count + 1).astype(int).tolist()
    return [slice(start, end) for start, end in pairwise(edges)]


def parallel_map(work: Callable[[Job], Done], jobs: Iterable[Job]) -> Iterator[Done]:
    """The result of each job, in their order; only as many jobs as threads are run, and kept in memory, at once."""
    elsewhere = placed(parallel_map)
    if elsewhere is not parallel_map:
        yield from elsewhere(work, jobs)
        return
    # A pool of its own: jobs that wait for the kernels' pool must not fill that pool.
    with ThreadPoolExecutor(n_threads()) as pool:
        waiting: deque[Future[Done]] = deque()
        for job in jobs:
            waiting.append(pool.submit(work, job))
            if len(waiting) > n_threads():
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def in_parts(kernel: Callable[[Job], Done], parts: Sequence[Job]) -> list[Done]:
    """The results of a kernel for all parts, computed in parallel; a single part or core needs no other thread."""
    if len(parts) == 1 or n_threads() == 1:
        return [kernel(part) for part in parts]
    return list(_pool(n_threads()).map(kernel, parts))


class RowSum:
    """Runs `kernel(rows, total)` over all rows; it adds the contribution of a slice of the rows to `total`."""

    def __init__(self, n_rows: int, size: int, work: int = 1) -> None:
        self.parts = chunks(n_rows, work)
        self.buffers = np.empty((len(self.parts), size))

    def __call__(self, kernel: Callable[[slice, Floats], Any]) -> tuple[Floats, list[Any]]:
        """The summed totals, and what the kernel returned for each part."""
        self.buffers[:] = 0
        returned = in_parts(lambda job: kernel(*job), list(zip(self.parts, self.buffers, strict=True)))
        return self.buffers.sum(axis=0), returned
