"""What all charts share: Altair, imported only when needed, and data without a limit on rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
