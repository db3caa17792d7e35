"""Where the fit of a command runs, and with how much memory."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """As the options of the command say."""

    memory: str | None
    engine: str
    address: str | None
    checkpoint: Path | None

    def entered(self, method: str | None, *, as_tasks: bool) -> AbstractContextManager[None]:
        """Everything within runs there; `as_tasks`: as many fits, each on one core."""
        from crowdrank.scale.fit import placed_work
        from crowdrank.settings import SettingError

        if self.engine == "ray" and method is None:
            raise SettingError("--engine ray needs --method: which method is the usual one is only known after reading")
        methods = [] if method is None else [method]
        return placed_work(self.memory, self.engine, self.address, self.checkpoint, methods, as_tasks=as_tasks)
