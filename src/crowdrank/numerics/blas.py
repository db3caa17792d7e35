"""One thread for BLAS while a method is fitted.

Threads of BLAS wait for each other without sleeping. A fit makes thousands of small products, so that one other busy
process made it 4 to 10 times slower. Kernels use all cores all the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Given = ParamSpec("Given")
Result = TypeVar("Result")

_limit = Lock()  # held by the one who set the limit: nobody else may take it for the number of threads before


def one_blas_thread(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The same function, during which BLAS uses one thread."""

    @wraps(function)
    def limited(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        if not _limit.acquire(blocking=False):  # a fit within a fit, or beside one in another thread
            return function(*args, **kwargs)
        try:
            with _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"):
                return function(*args, **kwargs)
        finally:
            _limit.release()

    return limited


@cache
def _controller(with_scipy: bool) -> ThreadpoolController:  # noqa: ARG001 (the key of the cache)
    """Of the libraries that are loaded; SciPy has a BLAS of its own, which is loaded when it is first needed."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
