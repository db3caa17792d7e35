"""What all charts share: Altair, imported only when needed; all rows of the data; pages that need nothing else.

Altair's own pages load scripts from another host, and write names into a script as they are: a name that holds
`</script>` ends it. The pages here hold the scripts, and no name can leave its place.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.formats import write_files
from crowdrank.settings import InputError

# From dark to light; readable for colour-blind people and in black and white.
SHADES = "viridis"

# Labels are measured with one font, and shown with another that may be wider.
ROOM = {"left": 24, "top": 5, "right": 24, "bottom": 5}
KINDS = ("html", "svg", "png", "pdf", "json")

# What no picture may hold (vl-convert ends the process): control characters, halves of surrogate pairs, unused codes.
NOT_DRAWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; \
style-src 'unsafe-inline'; img-src data: blob:">
<title>crowdrank</title>
</head>
<body>
<div id="chart"></div>
<script>{scripts}</script>
<script>vegaEmbed("#chart", {chart}, {{mode: "vega-lite", actions: {{export: true, source: false, compiled: false, \
editor: false}}}});</script>
</body>
</html>
"""


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


def self_contained(chart: Any) -> Any:
    """The chart, with pages that need nothing else."""
    kind: Any = type(chart)
    object.__setattr__(chart, "__class__", _self_contained_class(kind))  # Altair's own makes it a property
    return chart


@cache
def _self_contained_class(kind: Any) -> type:
    return type(kind.__name__, (SelfContained, kind), {"__module__": kind.__module__})


class SelfContained:
    """What the charts here do differently from Altair's."""

    def to_dict(self, *arguments: Any, **options: Any) -> Any:
        """The chart as JSON, whose texts can be drawn."""
        return _drawable(super().to_dict(*arguments, **options))  # type: ignore[misc]

    def to_html(self, *_: Any, **__: Any) -> str:
        """A page that shows the chart."""
        # In a script, < may begin its end; as \\u003c it is the same to JSON.
        chart = json.dumps(self.to_dict()).replace("<", "\\u003c")
        return PAGE.format(scripts=_scripts(), chart=chart)

    def save(self, fp: str | os.PathLike[str], format: str | None = None, **options: Any) -> None:  # noqa: A002
        """Write a page (.html), a picture (.svg, .png, .pdf) or .json; whole, or not at all."""
        write_files({Path(fp): self.to_bytes(format or Path(fp).suffix.removeprefix("."), **options)})

    def to_bytes(self, kind: str, **options: Any) -> bytes:
        """The content of a file of this kind."""
        check_kind(kind)
        if kind == "html":
            return self.to_html().encode()
        buffer: io.StringIO | io.BytesIO = io.StringIO() if kind in ("svg", "json") else io.BytesIO()
        shown: Any = self.properties(padding=ROOM) if kind == "svg" else self  # type: ignore[attr-defined]
        super(SelfContained, shown).save(buffer, format=kind, **options)  # type: ignore[misc]
        content = buffer.getvalue()
        return content.encode() if isinstance(content, str) else content

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, Any]:
        """The chart for notebooks, which draw it with scripts of their own."""
        chart = self.to_dict()
        version = chart["$schema"].rsplit("/v", 1)[1].split(".")[0]
        return {f"application/vnd.vegalite.v{version}+json": chart, "text/plain": repr(self)}


def check_chart_file(path: Path) -> None:
    """Refuse, before the work, a file that no chart could be written to after it."""
    check_kind(path.suffix.removeprefix("."))


def check_kind(kind: str) -> None:
    """Refuse kinds of file that charts cannot have, and say which library is missing."""
    if kind not in KINDS:
        raise InputError(f"a chart cannot be written as {kind!r}; name the file .{', .'.join(KINDS)}")
    altair()
    _vl_convert()


@cache
def _scripts() -> str:
    """The scripts that draw charts."""
    from altair.utils._importers import vl_version_for_vl_convert

    scripts: str = _vl_convert().javascript_bundle(vl_version=vl_version_for_vl_convert())
    return scripts.replace("</script", "<\\/script")


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ModuleNotFoundError:
        raise InputError("files of charts need vl-convert: pip install 'crowdrank[report]'") from None
    return vl_convert


def visible(text: str) -> str:
    """A text with the codes of characters that cannot be shown."""
    return NOT_DRAWN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _drawable(part: Any) -> Any:
    """A part of a chart in which all texts are visible."""
    if isinstance(part, str):
        return visible(part)
    if isinstance(part, dict):
        return {name: _drawable(value) for name, value in part.items()}
    return [_drawable(each) for each in part] if isinstance(part, list) else part


def labels(names: Iterable[Any], longest: int = 26) -> list[str]:
    """Ids as labels of a chart: cut in the middle if they are long, and still different from each other."""
    found: dict[str, int] = {}
    result = []
    for name in names:
        whole = visible(str(name)).replace("\n", "⏎")
        end = longest // 2
        short = whole if len(whole) <= longest else f"{whole[: longest - end - 1]}…{whole[-end:]}"
        found[short] = found.get(short, 0) + 1
        result.append(short if found[short] == 1 else f"{short} ({found[short]})")
    return result


def numbers(values: Any) -> list[float | None]:
    """Numbers as JSON has them: none for NaN and infinity."""
    return [float(value) if np.isfinite(value) else None for value in values]
