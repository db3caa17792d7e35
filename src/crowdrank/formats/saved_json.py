"""Files that hold a trained model or a state: JSON of numbers and texts, so that reading one runs no code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from operator import methodcaller
from pathlib import Path
from typing import Any, TypeVar

from crowdrank.settings import InputError
from crowdrank.study import JudgmentError

T = TypeVar("T")


def saved_bytes(file_format: str, content: Mapping[str, Any]) -> bytes:
    """The content of a file of this format."""
    numbers = methodcaller("item")  # settings may be numbers of NumPy, which JSON does not know
    return json.dumps({"format": file_format, **content}, ensure_ascii=False, default=numbers).encode()


def load_saved(
    path: str | os.PathLike[str], file_format: str, what: str, restore: Callable[[Mapping[str, Any]], T]
) -> T:
    """What `restore` makes of a saved file; an error where the file has another format, or lacks something.

    `what` ends the message "is damaged, or is no …": what the file should be, and what writes it.
    """
    try:
        saved: Any = json.loads(Path(path).read_bytes())
        if saved["format"] != file_format:
            raise JudgmentError(f"is a {saved['format']!r}; this version reads {file_format!r}")
        return restore(saved)
    except OSError as error:
        raise JudgmentError(f"{path}: {error.strerror or error}") from None
    except InputError as error:
        raise type(error)(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError, IndexError):
        raise JudgmentError(f"{path}: is damaged, or is no {what}") from None
