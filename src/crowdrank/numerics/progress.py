"""Progress of long computations, reported to a listener; without a listener it costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]  # what is being done, steps done, steps at most

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


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
    listener = _listener.get()
    if listener is not None:
        listener(what, done, at_most)
