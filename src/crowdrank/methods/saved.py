"""Trained aggregators in files: JSON with nothing but numbers and texts, so that reading one runs no code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from crowdrank.formats import write_files
from crowdrank.methods import SUPERVISED, Trained
from crowdrank.study import JudgmentError

FORMAT = "crowdrank model 1"


def save(trained: Trained, path: str | os.PathLike[str]) -> None:
    """Write what was learned to a .json file; whole, or not at all."""
    write_files({path: as_bytes(trained)})


def as_bytes(trained: Trained) -> bytes:
    """What the file of a trained aggregator holds."""
    return json.dumps({"format": FORMAT, "method": trained.name, **trained.state()}, ensure_ascii=False).encode()


def load(path: str | os.PathLike[str]) -> Trained:
    """A trained aggregator from the file it was saved to."""
    try:
        state: Any = json.loads(Path(path).read_bytes())
        form = state["format"]
        if form == FORMAT:
            return SUPERVISED[state["method"]].restore(state)
    except OSError as error:
        raise JudgmentError(f"{path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError):
        raise JudgmentError(f"{path}: is not a whole trained model, as `rank --save` writes it") from None
    raise JudgmentError(f"{path}: is a {form!r}; this version reads {FORMAT!r}")
