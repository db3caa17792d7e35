"""Checkpoints of a fit: the sums of every step, so that a driver that was stopped goes on where it was.

A fit is deterministic. To resume, the driver repeats its own steps with the sums that it has, which takes a moment, and
asks the cluster for the first one that is missing. The result has the same bits as that of a driver never stopped.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crowdrank.study import JudgmentError


class Checkpoint:
    """A folder with the results of the steps so far."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder, self.steps = Path(folder), 0
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise JudgmentError(f"{folder}: no folder for checkpoints can be made: {error.strerror}") from None

    def step(self, arguments: Sequence[Any], compute: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """The result of the next step: arrays and numbers."""
        self.steps += 1
        path, digest = self.folder / f"step-{self.steps:06}.npz", _digest(arguments)
        if path.exists():
            return self._read(path, digest)
        result = compute()
        aside = path.with_suffix(".part")
        try:
            with aside.open("wb") as file:
                np.savez(file, digest=digest, **{str(number): part for number, part in enumerate(result)})
            aside.replace(path)
        except OSError as error:
            aside.unlink(missing_ok=True)
            raise JudgmentError(f"{path}: cannot be written: {error.strerror or error}") from None
        return result

    def _read(self, path: Path, digest: str) -> tuple[Any, ...]:
        try:
            with zipfile.ZipFile(path) as archive:
                if archive.testzip() is not None:
                    raise ValueError("a checksum is wrong")
            with np.load(path, allow_pickle=False) as file:
                parts = {name: file[name] for name in file.files}
            of_fit = str(parts.pop("digest"))
            result = tuple(parts[str(number)][()] for number in range(len(parts)))
        except Exception as error:  # zipfile and NumPy have many for damaged files
            raise JudgmentError(f"{path}: is damaged; remove it, and the steps after it: {error}") from None
        if of_fit != digest:
            raise JudgmentError(
                f"{self.folder}: holds the checkpoints of another fit (other judgments, method, settings or number of "
                "workers); give another folder, or remove it"
            )
        return result

    def remove(self) -> None:
        """Remove the checkpoints of a fit that is done."""
        for path in self.folder.glob("step-*.npz"):
            path.unlink()
        if not any(self.folder.iterdir()):
            self.folder.rmdir()


def _digest(arguments: Sequence[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            digest.update(np.ascontiguousarray(argument).data)
        else:
            digest.update(repr(argument).encode())
    return digest.hexdigest()
