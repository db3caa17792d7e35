"""Where the sums over judgments are computed: in this process, unless an engine puts them elsewhere.

Models whose sums can be computed elsewhere are made with `placed(Model)(…)`. `crowdrank.scale` replaces them by models
with the same interface that have their sums computed on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_replaced: ContextVar[Mapping[Any, Any]] = ContextVar("replaced", default={})  # noqa: B039 (never changed)


def placed(model: Callable[..., T]) -> Callable[..., T]:
    """The class or function to use for this one."""
    found: Callable[..., T] = _replaced.get().get(model, model)
    return found


@contextmanager
def replacing(models: Mapping[Any, Any]) -> Iterator[None]:
    """Use others for these classes and functions in the work inside."""
    token = _replaced.set(models)
    try:
        yield
    finally:
        _replaced.reset(token)
