"""Files that hold a trained model or a state: JSON of numbers and texts, so that reading one runs no code.

A checksum finds accidents. It does not stop somebody who wants to deceive, who can write a new one: `restore` functions
check everything they use, with the functions here.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from crowdrank.consensus import Fit
from crowdrank.settings import InputError, is_number
from crowdrank.study import Codes, Floats, Ids, JudgmentError, ids

T = TypeVar("T")

CHECKSUM = "checksum"
LARGEST = 1e100  # number in a file: squares and sums of it are finite
LARGEST_ID = 2**127  # whole number that polars can hold


def saved_bytes(file_format: str, content: Mapping[str, Any]) -> bytes:
    """The content of a file of this format."""
    whole = {"format": file_format, **content}
    # Escaped, not UTF-8: an id may hold half a surrogate pair, which UTF-8 cannot write.
    return _json({"format": file_format, CHECKSUM: _checksum(whole), **content}).encode()


def load_saved(
    path: str | os.PathLike[str],
    file_format: str,
    what: str,
    restore: Callable[[Mapping[str, Any]], T],
    *,
    older: Sequence[str] = (),
) -> T:
    """What `restore` makes of a saved file; an error where the file has another format, or lacks something.

    `older` are the formats of earlier versions that `restore` reads too.
    `what` ends the message "is damaged, or is no …": what the file should be, and what writes it.
    """
    try:
        saved: Any = json.loads(Path(path).read_bytes())
        if saved["format"] not in (file_format, *older):
            raise JudgmentError(f"is a {str(saved['format'])[:40]!r}; this version reads {file_format!r}")
        if CHECKSUM in saved and saved.pop(CHECKSUM) != _checksum(saved):  # files of earlier versions have none
            raise JudgmentError(
                f"is damaged or was changed: its checksum is wrong; save it again (or remove {CHECKSUM!r}, if you "
                "changed it yourself)"
            )
        return restore(saved)
    except OSError as error:
        raise JudgmentError(f"{path}: {error.strerror or error}") from None
    except InputError as error:
        raise type(error)(f"{path}: {error}") from None
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError) as error:
        reason = f" ({error})" if type(error) is ValueError else ""
        raise JudgmentError(f"{path}: is damaged, or is no {what}{reason}") from None


def _checksum(content: Mapping[str, Any]) -> str:
    """Of the content, not of its bytes: a file may be indented for reading."""
    plain = {name: value for name, value in content.items() if name != CHECKSUM}
    return hashlib.sha256(_json(plain, sort_keys=True).encode()).hexdigest()


def _json(content: Mapping[str, Any], **options: Any) -> str:
    return json.dumps(content, default=lambda number: number.item(), **options)  # settings may be NumPy's numbers


def saved_numbers(value: Any, *shape: int, least: float = -LARGEST, most: float = LARGEST) -> Floats:
    """Finite numbers of this shape and within these limits."""
    found = np.array(value, dtype=np.float64)
    if found.shape != shape:
        raise ValueError("the lengths of the arrays do not fit together")
    if not (np.isfinite(found) & (least <= found) & (found <= most)).all():
        raise ValueError("a number is not finite, or out of range")
    return found


def saved_codes(value: Any, below: int) -> Codes:
    """Whole numbers from 0 on, below a limit."""
    if not all(type(code) is int and 0 <= code < below for code in value):
        raise ValueError("a code is out of range")
    return np.array(value, dtype=np.int32)


def saved_names(value: Any) -> Ids:
    """Names, all different: texts, numbers, true and false."""
    if not (isinstance(value, list) and all(isinstance(name, str | int | float) for name in value)):
        raise ValueError("names are neither texts nor numbers")
    if any(isinstance(name, int) and abs(name) >= LARGEST_ID for name in value):
        raise ValueError("a name is too large a number")
    if len({str(name) for name in value}) < len(value):
        raise ValueError("a name occurs twice")
    "".join(map(str, value)).encode()  # a ValueError where a name holds half of a surrogate pair
    return ids(value)


def saved_texts(value: Any) -> tuple[str, ...]:
    """A list of texts."""
    if not (isinstance(value, list) and all(isinstance(text, str) for text in value)):
        raise ValueError("a list of texts holds something else")
    "".join(value).encode()  # as in `saved_names`
    return tuple(value)


def saved_fit(value: Mapping[str, Any]) -> Fit:
    """How a fit ended."""
    fit = Fit(**value)
    whole = type(fit.steps) is int and type(fit.converged) is bool
    if not whole or not (fit.objective is None or is_number(fit.objective)):
        raise ValueError("how the fit ended is damaged")
    return fit
