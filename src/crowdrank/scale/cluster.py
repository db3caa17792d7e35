"""A Ray cluster: actors that hold shards of the judgments and return sums, and tasks for independent fits.

An actor gets its shard from the object store when it is first asked for a sum of it, so one that was restarted on
another node goes on as if nothing had happened. Results are combined in the order of the shards.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any, TypeVar

from crowdrank.scale.checkpoint import Checkpoint
from crowdrank.settings import InputError, SettingError

Job = TypeVar("Job")
Done = TypeVar("Done")

MOST_SHARDS = 2  # that an actor keeps: fits alternate between few models


class ClusterError(InputError):
    """A cluster that cannot be used."""


class ShardHolder:
    """What an actor is: some shards, and the work on them."""

    def __init__(self) -> None:
        os.environ["CROWDRANK_THREADS"] = "1"  # there is an actor for every core
        self.shards: dict[Any, Any] = {}

    def run(self, key: Any, kind: type, shard: Sequence[Any], method: str, *arguments: Any) -> Any:
        """Call a method of a shard; `shard` is a reference, which is only fetched where the shard is not known yet."""
        import ray

        if key not in self.shards:
            if len(self.shards) >= MOST_SHARDS:
                del self.shards[next(iter(self.shards))]
            self.shards[key] = kind(*(_writable(part) for part in ray.get(shard[0])))
        return getattr(self.shards[key], method)(*(_writable(argument) for argument in arguments))

    def forget(self) -> None:
        """Free the memory of all shards."""
        self.shards.clear()


def _writable(value: Any) -> Any:
    """A copy of an array: those in the object store are read-only, and kernels are not compiled for them."""
    import numpy as np

    return np.array(value) if isinstance(value, np.ndarray) else value


_numbers = count()  # of models: actors are used by several fits


@cache
def _actors(_: str, number: int) -> list[Any]:
    """The actors of a connection to Ray, which is named by its job; a process needs seconds to start."""
    import ray

    # No CPU is reserved: an actor must find a place on the nodes that are left.
    options = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1, "scheduling_strategy": "SPREAD"}
    actor: Any = ray.remote(**options)(ShardHolder)  # type: ignore[call-overload]
    return [actor.remote() for _ in range(number)]


class Cluster:
    """A connected cluster."""

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        import ray

        self.ray, self.checkpoint = ray, checkpoint
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        self.n_workers = max(int(resources.get("CPU", 1)), 1)
        self.actors = _actors(ray.get_runtime_context().get_job_id(), self.n_workers)

    def share(self, kind: type, shards: Sequence[Sequence[Any]]) -> SharedModel:
        """Shards, each with an actor; `kind(*shard)` is what works on one."""
        return SharedModel(self, next(_numbers), kind, [self.ray.put(tuple(shard)) for shard in shards])

    def forget(self) -> None:
        """Free the memory of the actors; they stay for the next fit."""
        for actor in self.actors:
            actor.forget.remote()

    def map(self, work: Callable[[Job], Done], jobs: Iterable[Job]) -> Iterator[Done]:
        """`parallel_map` as tasks."""
        shared, waiting = self.ray.put(work), deque[Any]()
        task: Any = self.ray.remote(max_retries=-1)(_call)
        for job in jobs:
            waiting.append(task.remote(shared, job))
            if len(waiting) > 2 * self.n_workers:
                yield self.fetched(waiting.popleft())
        while waiting:
            yield self.fetched(waiting.popleft())

    def fetched(self, references: Any) -> Any:
        """Results from the cluster; errors as what they were there."""
        from ray.exceptions import RayError, RayTaskError

        try:
            return self.ray.get(references)
        except RayTaskError as error:
            if isinstance(error.cause, InputError):
                raise error.cause from None
            raise
        except RayError as error:
            raise ClusterError(f"the Ray cluster failed: {str(error).splitlines()[0]}") from None


def _call(work: Callable[[Job], Done], job: Job) -> Done:
    return work(job)


class SharedModel:
    """The shards of a model on a cluster."""

    def __init__(self, cluster: Cluster, number: int, kind: type, shards: Sequence[Any]) -> None:
        self.cluster, self.number, self.kind, self.shards = cluster, number, kind, shards

    def __call__(self, method: str, *arguments: Any, own: Sequence[Sequence[Any]] | None = None) -> list[Any]:
        """What a method of every shard returns, in the order of the shards; `own` are arguments of each shard."""
        cluster = self.cluster
        shared = [cluster.ray.put(argument) for argument in arguments]
        calls = []
        for number, shard in enumerate(self.shards):
            actor = cluster.actors[number % len(cluster.actors)]
            mine = own[number] if own else ()
            calls.append(actor.run.remote((self.number, number), self.kind, [shard], method, *shared, *mine))
        found: list[Any] = cluster.fetched(calls)
        return found

    def remembered(self, arguments: Sequence[Any], compute: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """What a step computes, or what it computed before the driver was stopped."""
        checkpoint = self.cluster.checkpoint
        return compute() if checkpoint is None else checkpoint.step((self.kind.__name__, *arguments), compute)


@contextmanager
def connected(address: str | None, checkpoint: Checkpoint | None) -> Iterator[Cluster]:
    """A cluster at an address, or one on this machine alone; one that the caller is connected to already is used."""
    try:
        import ray
    except ImportError:
        raise SettingError("the engine ray needs Ray: pip install 'crowdrank[scale]'") from None
    own = not ray.is_initialized()
    if own:
        try:
            # Without a dashboard, which nobody asked for; messages of workers stay in Ray's logs.
            ray.init(address=address, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError, RuntimeError) as error:
            where = f"no Ray cluster at {address}" if address else "Ray cannot be started"
            raise ClusterError(f"{where}: {str(error).splitlines()[0]}; start one with `ray start --head`") from None
    try:
        cluster = Cluster(checkpoint)
        yield cluster
        cluster.forget()
    finally:
        if own:
            ray.shutdown()
