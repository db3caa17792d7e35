"""What all charts share: Altair, imported only when needed, and data without a limit on rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from crowdrank.settings import InputError

# From dark to light; readable for colour-blind people and in black and white.
SHADES = "viridis"


def altair() -> Any:
    """The chart library."""
    try:
        import altair
    except ModuleNotFoundError:
        raise InputError("charts need Altair: pip install 'crowdrank[report]'") from None
    return altair


def inline(columns: Mapping[str, Any]) -> Any:
    """Columns as the data of a chart, all of their rows."""
    return altair().InlineData(values=pl.DataFrame(columns).to_dicts())


def labels(names: Iterable[Any], longest: int = 40) -> list[str]:
    """Ids as labels of a chart: cut if they are long, and still different from each other."""
    found: dict[str, int] = {}
    result = []
    for name in names:
        whole = str(name).encode("utf-8", "replace").decode("utf-8").replace("\n", "⏎")
        short = whole if len(whole) <= longest else whole[: longest - 1] + "…"
        found[short] = found.get(short, 0) + 1
        result.append(short if found[short] == 1 else f"{short} ({found[short]})")
    return result


def numbers(values: Any) -> list[float | None]:
    """Numbers as JSON has them: none for NaN and infinity."""
    return [float(value) if np.isfinite(value) else None for value in values]
