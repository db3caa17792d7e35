"""Progress of long computations, reported to a listener; without a listener it costs nothing.

The same reports are where a computation with a time limit ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]  # what is being done, steps done, steps at most

_overdue: ContextVar[Callable[[], bool]] = ContextVar("overdue", default=lambda: False)
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


class TimeLimitError(Exception):
    """The work inside `limited` takes longer than allowed."""


@contextmanager
def limited(seconds: float | None, excluded: Callable[[], float] = lambda: 0.0) -> Iterator[Callable[[], float]]:
    """Raise TimeLimitError at the first step of the work inside that begins after so many seconds.

    Gives a function that says how many seconds the work has taken. `excluded()` seconds of it do not count.
    """
    began = time.monotonic()

    def spent() -> float:
        return time.monotonic() - began - excluded()

    token = _overdue.set(lambda: seconds is not None and spent() > seconds)
    try:
        yield spent
    finally:
        _overdue.reset(token)


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
    if _overdue.get()():
        raise TimeLimitError
    listener = _listener.get()
    if listener is not None:
        listener(what, done, at_most)
