"""What was learned, in files: JSON with nothing but numbers and texts, so that reading one runs no code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from crowdrank.formats import write_files
from crowdrank.learning.catalogue import LEARNERS
from crowdrank.learning.ranker import Ranker
from crowdrank.methods.catalogue import SUPERVISED
from crowdrank.methods.protocols import Trained
from crowdrank.settings import SettingError
from crowdrank.study import JudgmentError

FORMAT = "crowdrank model 1"


def save(trained: Trained | Ranker, path: str | os.PathLike[str]) -> None:
    """Write what was learned to a .json file; whole, or not at all."""
    write_files({path: as_bytes(trained)})


def as_bytes(trained: Trained | Ranker) -> bytes:
    """What the file of a trained aggregator or a ranker holds."""
    return json.dumps({"format": FORMAT, "method": trained.name, **trained.state()}, ensure_ascii=False).encode()


def load(path: str | os.PathLike[str]) -> Trained:
    """A trained aggregator from the file it was saved to."""
    state = _state(path)
    if state["method"] in LEARNERS:
        raise JudgmentError(f"{path}: is a ranker, which ranks by features: cr.load_ranker or `crowdrank predict`")
    try:
        return SUPERVISED[state["method"]].restore(state)
    except SettingError as error:  # what to install, most often
        raise SettingError(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError):
        raise _not_whole(path) from None


def load_ranker(path: str | os.PathLike[str]) -> Ranker:
    """A ranker from the file it was saved to."""
    state = _state(path)
    if state["method"] in SUPERVISED:
        raise JudgmentError(f"{path}: ranks by judgments, not by features: cr.load or `crowdrank rank --load`")
    try:
        return Ranker.restore(LEARNERS[state["method"]], state)
    except SettingError as error:
        raise SettingError(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError):
        raise _not_whole(path) from None


def _state(path: str | os.PathLike[str]) -> Any:
    try:
        state: Any = json.loads(Path(path).read_bytes())
        form = state["format"]
        if form == FORMAT and state["method"]:
            return state
    except OSError as error:
        raise JudgmentError(f"{path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError):
        raise _not_whole(path) from None
    raise JudgmentError(f"{path}: is a {form!r}; this version reads {FORMAT!r}")


def _not_whole(path: str | os.PathLike[str]) -> JudgmentError:
    return JudgmentError(f"{path}: is not a whole trained model, as `rank --save` and `train --out` write it")
