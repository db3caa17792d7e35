"""The differences between two folders that `benchmarks/same_numbers.py take` wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

RENAMED: dict[str, str] = {}  # columns, fields, errors, methods: old name → new name
TOLERANCE = 1e-9  # relative
WORDS = ("notes", "screen")
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")
LONG = 200  # characters of a text from which on the numbers in it are compared as numbers: a model of LightGBM


def columns(value: Any, names: dict[str, str], path: str = "") -> Iterator[tuple[str, list[Any]]]:
    """The columns of a result by path, with new names; rows are turned into columns, what is nested is made flat."""
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        value = {key: [row.get(key) for row in value] for key in value[0]}
    if isinstance(value, dict):
        for key, part in value.items():
            yield from columns(part, names, f"{path}/{names.get(key, key)}".lstrip("/"))
        return
    while isinstance(value, list) and any(isinstance(part, list) for part in value):
        value = [leaf for part in value for leaf in (part if isinstance(part, list) else [part])]
    yield path, value if isinstance(value, list) else [value]


def difference(old: list[Any], new: list[Any]) -> float:
    """The largest relative difference between two columns; infinite where words, gaps or lengths differ.

    Numbers near 0 are measured by a thousandth of the column's median, or 1e-6: rounding leaves 1e-17 instead of 0.
    """
    if len(old) != len(new):
        return np.inf
    numbers = []
    for a, b in zip(old, new, strict=True):
        if isinstance(a, str) and isinstance(b, str) and len(a) > LONG and NUMBER.split(a) == NUMBER.split(b):
            numbers += zip(map(float, NUMBER.findall(a)), map(float, NUMBER.findall(b)), strict=True)
        elif not isinstance(a, str | None) and not isinstance(b, str | None):
            numbers.append((a, b))
        elif RENAMED.get(a, a) != b:
            return np.inf
    x, y = np.array(numbers, dtype=float).reshape(-1, 2).T
    differ, finite = (x != y) & ~(np.isnan(x) & np.isnan(y)), np.isfinite(x) & np.isfinite(y)
    if (differ & ~finite).any():
        return np.inf
    x, y = x[finite], y[finite]
    least = max(np.median(np.abs(x)) / 1000, 1e-6) if len(x) else 1.0
    return float((np.abs(x - y) / np.maximum(np.maximum(np.abs(x), np.abs(y)), least)).max(initial=0))


def compare(before: Path, after: Path) -> int:
    """Print what differs; 1 if anything does."""
    olds, news = ({str(path.relative_to(top))[:-5]: path for path in top.rglob("*.json")} for top in (before, after))
    olds = {"/".join(RENAMED.get(part, part) for part in name.split("/")): olds[name] for name in sorted(olds)}
    seen, failed, said, more, largest = 0, 0, 0, sorted(news.keys() - olds.keys()), (0.0, "")
    for name, path in olds.items():
        title = " ".join(name.rsplit("/", 1))
        if name not in news:
            print(title, "is missing")
            failed += 1
            continue
        old = dict(columns(json.loads(path.read_bytes()), RENAMED))
        new = dict(columns(json.loads(news[name].read_bytes()), {}))
        more += [f"{title}: {key}" for key in new.keys() - old.keys() if any(part is not None for part in new[key])]
        for key, column in old.items():
            if key.endswith("seconds"):  # what a fit took
                continue
            if set(key.split("/")) & set(WORDS):
                said += column != new.get(key)
                continue
            size = difference(column, new[key]) if key in new else np.inf
            seen, largest = seen + 1, max(largest, (size, f"{title}: {key}"))
            if size > TOLERANCE:
                failed += 1
                how = f"by {size:.1e}" if np.isfinite(size) else "in words, gaps or length"
                print(f"{title}: {key}", f"differs {how}" if key in new else "is missing")
    print(f"{seen:,} columns of {len(olds):,} results, {failed:,} differ; the largest: {largest[0]:.1e}", largest[1])
    print(f"information: {said:,} notes or screens changed, {len(more):,} results are new", *more[:20], sep="\n  ")
    return int(failed > 0 or not seen)
