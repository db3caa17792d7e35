"""polars cannot work in a process that was forked from one that has used it: it would wait for ever.

A child of `fork` has none of its parent's threads, and polars waits for them. Fits need no polars, and neither do the
data frames of their results; reading and writing do.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from crowdrank.settings import InputError

_lost_threads = False  # is this a child whose parent's polars had threads?
_had_threads = False


class ForkError(InputError, RuntimeError):
    """Work that cannot be done in a forked process."""


def check_polars() -> None:
    """Refuse to use polars where it would wait for ever."""
    if _lost_threads:
        raise ForkError(
            "this process was forked from one that had used polars, which cannot read or write here: read before the "
            "fork, or start processes with multiprocessing.get_context('spawn') or 'forkserver'"
        )


def _before() -> None:
    global _had_threads
    _had_threads = _lost_threads or ("polars" in sys.modules and _polars_threads())


def _after_in_child() -> None:
    global _lost_threads
    _lost_threads = _had_threads


def _polars_threads() -> bool:
    """Whether polars has started its threads; where the system does not say, yes."""
    try:
        return any(path.read_text().startswith("polars-0") for path in Path("/proc/self/task").glob("*/comm"))
    except OSError:
        return not Path("/proc/self/task").is_dir()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_before, after_in_child=_after_in_child)
