"""Progress of long computations, reported to a listener; without a listener it costs nothing.

The same reports are where a computation with a time limit ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]  # what is being done, steps done, steps at most

_deadline: ContextVar[float] = ContextVar("deadline", default=float("inf"))
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


class TimeLimitError(Exception):
    """The work inside `limited` takes longer than allowed."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise TimeLimitError at the first step of the work inside that begins after so many seconds."""
    token = _deadline.set(float("inf") if seconds is None else time.monotonic() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener(what, done, at_most)` for every step of the work done inside."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(what: str, done: int, at_most: int) -> None:
    """Report to the listener, if there is one, that `done` of `at_most` steps are done."""
    if time.monotonic() > _deadline.get():
        raise TimeLimitError
    listener = _listener.get()
    if listener is not None:
        listener(what, done, at_most)
