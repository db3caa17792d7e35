"""`cr.fit`: in memory, within a limit of memory, or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

from crowdrank.consensus import Consensus
from crowdrank.methods import catalogue
from crowdrank.methods.protocols import Method
from crowdrank.settings import SettingError, check_choice
from crowdrank.study import FrameT, Gold, Judgments

FilePath = str | os.PathLike[str]
ON_RAY = (
    "bradley-terry",
    "thurstone",
    "majority-bradley-terry",
    "variance-bt",
    "crowd-bt",
    "crowd-thurstone",
    "dawid-skene",
    "gda",
)


def fit(
    name: str | Method,
    judgments: Judgments[FrameT] | FilePath | Sequence[FilePath],
    *,
    gold: Gold | None = None,
    memory: str | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    checkpoint: FilePath | None = None,
    **settings: Any,
) -> Consensus[FrameT]:
    """Fit the method of that name, or one with its settings; `gold` for those that can start from it.

    With `memory="2GB"`, give the names of files in place of judgments: they are read in pieces, and large arrays are
    kept in a working folder. With `engine="ray"`, joint methods run on the Ray cluster at `address`, or on one on this
    machine; `checkpoint` is a folder from which the fit goes on if it was stopped.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=5, annotators=4, votes=100, seed=0)
    >>> cr.fit("crowd-bt", study.judgments, prior=0.5).method
    'crowd-bt'
    """
    with placed_work(memory, engine, address, checkpoint, [method_name(name)]):
        return catalogue.fit(name, _read(judgments, memory), gold=gold, **settings)


def method_name(method: str | Method) -> str:
    """The name of a method; other things are refused later."""
    return method if isinstance(method, str) else getattr(getattr(method, "description", None), "name", "")


def _read(judgments: Any, memory: str | None) -> Any:
    """Judgments that are given as files, where memory is limited."""
    named = isinstance(judgments, str | os.PathLike | list | tuple)
    if memory is None or not named:
        return judgments
    from crowdrank import formats

    return formats.read(*([judgments] if isinstance(judgments, str | os.PathLike) else judgments))


@contextmanager
def placed_work(
    memory: str | None,
    engine: str,
    address: str | None,
    checkpoint: FilePath | None,
    methods: Sequence[str],
    *,
    as_tasks: bool = False,
) -> Iterator[None]:
    """The work inside runs within a limit of memory, and its sums, or its independent fits, on a cluster."""
    check_choice("engine", engine, ("local", "ray"))
    if engine != "ray" and (address or checkpoint):
        raise SettingError("address and checkpoint are those of the engine ray: add engine='ray' (--engine ray)")
    with ExitStack() as stack:
        if memory is not None:
            from crowdrank.scale.memory import limited_memory

            stack.enter_context(limited_memory(memory))
        if engine == "ray":
            _check_methods(methods, as_tasks)
            stack.enter_context(_on_ray(address, checkpoint, as_tasks))
        yield


def _check_methods(methods: Sequence[str], as_tasks: bool) -> None:
    for name in methods:
        if name in catalogue.ALL and name not in ON_RAY and not as_tasks:
            raise SettingError(
                f"{name} runs on one machine; on Ray run {', '.join(ON_RAY)}, and the rounds of a bootstrap "
                "(--bootstrap) of every method"
            )


@contextmanager
def _on_ray(address: str | None, folder: FilePath | None, as_tasks: bool) -> Iterator[None]:
    from crowdrank.numerics.engine import replacing
    from crowdrank.numerics.threads import parallel_map
    from crowdrank.scale.checkpoint import Checkpoint
    from crowdrank.scale.cluster import connected
    from crowdrank.scale.distributed import replacements

    checkpoint = None if folder is None else Checkpoint(folder)
    with connected(address, checkpoint) as cluster:
        replaced = replacements(cluster)
        with replacing({parallel_map: replaced[parallel_map]} if as_tasks else replaced):
            yield
    if checkpoint is not None:
        checkpoint.remove()
