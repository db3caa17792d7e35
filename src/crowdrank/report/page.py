"""One self-contained HTML page: no network, one embedded drawing library, nothing in it is run but our two scripts.

Everything that comes from data is escaped, the scripts are named by their hashes in the page's content security policy,
and charts are drawn without `eval`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from crowdrank.report.charts import visible
from crowdrank.settings import InputError

LONGEST = 80  # characters of an id that are shown, and those of its tooltip
LONGEST_TITLE = 400
LONGEST_WORD = 24  # letters that are not broken in a table
PRINTED_ROWS = 50
FEW_ROWS = 10  # need no search


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading; the parts of its body are HTML."""

    title: str
    body: Sequence[Html]

    @property
    def anchor(self) -> str:
        return "-".join("".join(c if c.isalnum() else " " for c in self.title.lower()).split())


def page(title: str, subtitle: str, lead: Sequence[Html], sections: Sequence[Section], footer: str) -> str:
    """The whole page as a text."""
    styles = files("crowdrank.report").joinpath("page.css").read_text(encoding="utf-8")
    own = files("crowdrank.report").joinpath("page.js").read_text(encoding="utf-8")
    shown = [section for section in sections if section.body]
    content = [*lead, *(_section(section) for section in shown)]
    scripts = [drawing_library(), own] if any("script class=" in part for part in content) else [own]
    sources = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data:"
    links = "".join(f'<a href="#{section.anchor}">{text(section.title)}</a>' for section in shown)
    return "".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{text(title)}</title><style>{styles}</style></head><body>",
            f'<header><h1>{text(title)}</h1><p class="dim">{text(subtitle)}</p>',
            f'<nav aria-label="Sections">{links}</nav></header><main>\n',
            "\n".join(content),
            f"</main><footer>{text(footer)}</footer>",
            *(f"<script>{script}</script>" for script in scripts),
            "</body></html>\n",
        ]
    )


@cache
def drawing_library() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, which defines `vegaEmbed`."""
    try:
        from vl_convert import javascript_bundle
    except ModuleNotFoundError:
        raise InputError("reports need Altair and vl-convert: pip install 'crowdrank[report]'") from None
    bundle: str = javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return "(() => {" + bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--") + "})();"


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _section(section: Section) -> str:
    return f'<section id="{section.anchor}"><h2>{text(section.title)}</h2>{"".join(section.body)}</section>'


def text(value: object) -> Html:
    """A value as text of a page; HTML stays as it is."""
    if isinstance(value, Html):
        return value
    return Html(escape(visible(str(value))))


def name(value: object) -> Html:
    """An id: cut if it is long, kept apart from the text around it whatever its direction."""
    whole = str(value)
    short = whole if len(whole) <= LONGEST else whole[: LONGEST - 1] + "…"
    hint = f' title="{text(whole[:LONGEST_TITLE])}"' if len(whole) > LONGEST else ""
    long = ' class="long"' if max(map(len, re.split(r"[\s/-]", short))) > LONGEST_WORD else ""
    return Html(f"<bdi{long}{hint}>{text(short)}</bdi>")


def paragraph(*parts: object, kind: str = "") -> Html:
    """A paragraph of texts and HTML."""
    return Html(f"<p{_class(kind)}>{''.join(map(text, parts))}</p>")


def with_code(value: str) -> Html:
    """Text with parts between backticks as code."""
    parts = text(value).split("`")
    return Html("".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts)))


def heading(title: str) -> Html:
    """A heading within a section."""
    return Html(f"<h3>{text(title)}</h3>")


def folded(title: str, parts: Iterable[Html]) -> Html:
    """Parts that are shown when asked for."""
    return Html(f"<details><summary>{text(title)}</summary>{''.join(parts)}</details>")


def box(*paragraphs: Html) -> Html:
    """The verdict: what a reader takes away."""
    return Html(f'<div class="verdict">{"".join(paragraphs)}</div>')


def tag(word: str, kind: str = "") -> Html:
    """A short word in a frame."""
    return Html(f'<span class="tag {kind}">{text(word)}</span>')


def listed(values: Iterable[object], kind: str = "notes") -> Html:
    """A list of sentences; nothing where there are none."""
    rows = "".join(f"<li>{text(value)}</li>" for value in values)
    return Html(f"<ul{_class(kind)}>{rows}</ul>" if rows else "")


def facts(values: Mapping[str, object]) -> Html:
    """Short facts side by side; those without a value are left out."""
    shown = {label: value for label, value in values.items() if value is not None and value == value}
    parts = "".join(f"<div><dt>{text(label)}</dt><dd>{cell(value)}</dd></div>" for label, value in shown.items())
    return Html(f'<dl class="facts">{parts}</dl>' if parts else "")


def code(command: str) -> Html:
    """A command or settings, as they are."""
    return Html(f"<pre>{text(command)}</pre>")


def side_by_side(*parts: Html) -> Html:
    """Two parts beside each other where there is room."""
    return Html(f'<div class="two">{"".join(parts)}</div>')


def figure(chart: Any, label: str, caption: str = "") -> Html:
    """An Altair chart; `label` says in words what it shows."""
    spec = json.dumps(chart.to_dict(), ensure_ascii=True, allow_nan=False)
    safe = spec.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Html(
        f'<figure><div class="chart" role="img" aria-label="{text(label)}"></div>'
        f"<figcaption>{text(caption or label)}</figcaption>"
        f'<script class="spec" type="application/json">{safe}</script></figure>'
    )


def cell(value: object) -> Html:
    """A number with three digits after the point, or what there is of a smaller one; or text."""
    if value is None or value != value:
        return Html("")
    if isinstance(value, bool):
        return Html("yes" if value else "no")
    if isinstance(value, float):
        usual = value == 0 or 5e-4 <= abs(value) < 1e5
        return Html(f"{value:.3f}" if usual else f"{value:.1g}" if abs(value) < 1 else f"{value:.4g}")
    return text(f"{value:,}" if isinstance(value, int) else value)


def table(
    key: str,
    columns: Mapping[str, Sequence[Any]],
    *,
    caption: str,
    searchable: bool = False,
    tasks: Sequence[Any] | None = None,
) -> Html:
    """A table that sorts by any column; `searchable` ones show 25 rows at a time. `tasks` are those of the rows."""
    numbers = [all(_is_number(value) for value in values) and len(values) > 0 for values in columns.values()]
    head = "".join(
        f'<th scope="col"{_class("n" * number)}><button type="button">{text(label)}</button></th>'
        for label, number in zip(columns, numbers, strict=True)
    )
    rows = []
    for at, values in enumerate(zip(*columns.values(), strict=True)):
        beyond = ' class="beyond"' if at >= PRINTED_ROWS else ""
        whose = "" if tasks is None else f' data-task="{text(str(tasks[at])[:LONGEST_TITLE])}"'
        cells = "".join(_td(value, number) for value, number in zip(values, numbers, strict=True))
        rows.append(f"<tr{beyond}{whose}>{cells}</tr>")
    tools = _tools(key, tasks) if searchable and len(rows) > FEW_ROWS else ""
    printed = f'<p class="printed dim">The first {PRINTED_ROWS} of {len(rows):,} rows are printed.</p>'
    return Html(
        f'{tools}<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}">'
        f'<table id="{key}-table" class="sortable"><caption>{text(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{printed * (len(rows) > PRINTED_ROWS)}"
    )


def _tools(key: str, tasks: Sequence[Any] | None) -> str:
    names = [] if tasks is None else list(dict.fromkeys(str(task)[:LONGEST_TITLE] for task in tasks))
    options = "".join(f'<option value="{text(each)}">{text(each[:LONGEST])}</option>' for each in names)
    choice = f'<label>Task<select><option value="">all</option>{options}</select></label>' if len(names) > 1 else ""
    return (
        f'<div class="tools" id="{key}-tools" hidden><label>Search<input type="search"></label>{choice}'
        "<button type=button>Show more</button><output></output></div>"
    )


def _td(value: Any, number: bool) -> str:
    if not number:
        return f"<td>{cell(value)}</td>"
    known = value is not None and value == value
    return f'<td class="n" data-v="{float(value)!r}">{cell(value)}</td>' if known else '<td class="n"></td>'


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
