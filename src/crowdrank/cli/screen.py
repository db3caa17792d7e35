"""Tables and notes on standard output, progress on standard error."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from crowdrank.study import Judgments

SECONDS_BEFORE_A_BAR = 0.5
CELL = 60  # characters of an id that are shown
# What a terminal takes for orders: control characters, and marks that reverse the direction of writing.
ORDERS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
PLAIN_WIDTH = 120  # of what goes to a file or a pipe, unless COLUMNS says otherwise


def console() -> Console:
    """Standard output; plain text of a fixed width where it is not a terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else PLAIN_WIDTH)


def printable(text: str) -> str:
    """A text in which nothing is an order to the terminal: names come from files, and files from anybody."""
    return ORDERS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _markup(text: str) -> str:
    """A text as Rich prints it unchanged."""
    return escape(printable(text))


def show_table(
    title: str,
    columns: Mapping[str, Sequence[Any]],
    *,
    longest: int | None = CELL,
    header: bool = True,
    not_wrapped: Collection[str] = (),
    digits: int = 4,
) -> None:
    """Show a table with numbers to the right and words, cut after `longest` characters, to the left.

    `digits` are those after the point.
    """
    # The table's own title would be wrapped at the width of the table.
    console().print(f"[bold]{_markup(title)}[/bold]", soft_wrap=True)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=header)
    for name, values in columns.items():
        number = all(isinstance(value, int | float) or value is None for value in values)
        justify: Literal["right", "left"] = "right" if number else "left"
        no_wrap = name in not_wrapped
        table.add_column(_markup(name), justify=justify, header_style="dim", overflow="fold", no_wrap=no_wrap)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(_cell(value, longest, digits) for value in row))
    console().print(table)


def _cell(value: Any, longest: int | None, digits: int) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:z.{digits}f}" if abs(value) < 1e5 else f"{value:.4g}"
    text = str(value).replace("\n", "⏎")
    return _markup(text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…")


def counted(count: int, things: str) -> str:
    """A number of things, with the plural where it is not one.

    >>> counted(1200, "tasks"), counted(1, "tasks")
    ('1,200 tasks', '1 task')
    """
    return f"{count:,} {things.removesuffix('s') if count == 1 else things}"


def in_words(judgments: Judgments) -> str:
    """The size of a study in words."""
    vocabulary = judgments.vocabulary
    given = " and ".join(counted(judgments.counts[kind], kind) for kind in judgments.kinds) or "no judgments"
    by = counted(len(vocabulary.annotators), "annotators")
    return f"{given} by {by} on {counted(len(vocabulary.items), 'items')} in {counted(len(vocabulary.tasks), 'tasks')}"


def say(text: str = "") -> None:
    """Print a line of plain text: wrapped on a terminal, left whole elsewhere."""
    console().print(_markup(text), soft_wrap=not sys.stdout.isatty())


def show_text(text: str) -> None:
    """Print paragraphs, filled to the width; indented text and examples stay as they are."""
    for part in text.split("\n\n"):
        as_it_is = part.startswith((" ", ">>>"))
        console().print(escape(part if as_it_is else part.replace("\n", " ")) + "\n", soft_wrap=as_it_is)


def show_notes(notes: Sequence[str], what: str = "note") -> None:
    """Print notes about the result: wrapped on a terminal, one line each elsewhere."""
    for note in notes:
        console().print(f"[yellow]{what}:[/yellow] {_markup(note)}", soft_wrap=not sys.stdout.isatty())


def show_written(files: Mapping[str, Path | None]) -> None:
    """Print which files were written: what each holds → its path, if the user named one."""
    for what, path in files.items():
        if path:
            say(f"{what} written to {path}")


def print_json(value: Any) -> None:
    """Print one JSON document; NaN becomes null."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    # Other encodings cannot write every letter: there letters become \\uXXXX.
    text = json.dumps(_plain(value), ensure_ascii=not utf8, allow_nan=False, default=str)
    sys.stdout.write(ORDERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


@contextmanager
def progress() -> Iterator[None]:
    """Show a bar on standard error while the work inside runs, if it takes long and standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from crowdrank.numerics.progress import listening

    # The remaining time is not shown: steps are counted against their limit, and most fits need far fewer.
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    began, bar = time.monotonic(), Progress(*columns, console=Console(stderr=True), transient=True)
    bars: dict[str, Any] = {}

    def listener(what: str, done: int, at_most: int) -> None:
        if time.monotonic() - began < SECONDS_BEFORE_A_BAR:
            return
        bar.start()
        if what not in bars:
            bars[what] = bar.add_task(what)
        for inner in list(bars)[list(bars).index(what) + 1 :]:  # work inside an earlier step, which is over
            bar.remove_task(bars.pop(inner))
        bar.update(bars[what], completed=done, total=at_most)

    try:
        with listening(listener):
            yield
    finally:
        bar.stop()
