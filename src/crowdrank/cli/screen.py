"""What people see: tables and notes on standard output, progress on standard error."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from crowdrank.study import Judgments

SECONDS_BEFORE_A_BAR = 0.5
CELL = 60  # characters of an id that are shown
PLAIN_WIDTH = 120  # of what goes to a file or a pipe, unless COLUMNS says otherwise


def console() -> Console:
    """Standard output; plain text of a fixed width where it is not a terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else PLAIN_WIDTH)


def show_table(title: str, columns: Mapping[str, Sequence[Any]], *, longest: int | None = CELL) -> None:
    """A table with numbers to the right and words, cut after `longest` characters, to the left."""
    # Not the table's own title, which would be wrapped at the width of the table.
    console().print(f"[bold]{escape(title)}[/bold]", soft_wrap=True)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name, values in columns.items():
        number = all(isinstance(value, int | float) or value is None for value in values)
        table.add_column(name, justify="right" if number else "left", header_style="dim", overflow="fold")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(_cell(value, longest) for value in row))
    console().print(table)


def _cell(value: Any, longest: int | None) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:z.4f}" if abs(value) < 1e5 else f"{value:.4g}"
    text = str(value).replace("\n", "⏎")
    return escape(text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…")


def counted(count: int, things: str) -> str:
    """So many things, in vocabulary.

    >>> counted(1200, "tasks"), counted(1, "tasks")
    ('1,200 tasks', '1 task')
    """
    return f"{count:,} {things.removesuffix('s') if count == 1 else things}"


def in_words(judgments: Judgments) -> str:
    """A study as a sentence would have it."""
    vocabulary = judgments.vocabulary
    given = " and ".join(counted(judgments.counts[kind], kind) for kind in judgments.kinds) or "no judgments"
    by = counted(len(vocabulary.annotators), "annotators")
    return f"{given} by {by} on {counted(len(vocabulary.items), 'items')} in {counted(len(vocabulary.tasks), 'tasks')}"


def say(text: str = "") -> None:
    """A line of plain text: wrapped on a terminal, left whole elsewhere."""
    console().print(escape(text), soft_wrap=not sys.stdout.isatty())


def show_text(text: str) -> None:
    """Paragraphs, filled to the width; what is indented or an example stays as it is."""
    for part in text.split("\n\n"):
        as_it_is = part.startswith((" ", ">>>"))
        console().print(escape(part if as_it_is else part.replace("\n", " ")) + "\n", soft_wrap=as_it_is)


def show_notes(notes: Sequence[str]) -> None:
    """What the reader must know, in colour: wrapped on a terminal, one line each elsewhere."""
    for note in notes:
        console().print(f"[yellow]note:[/yellow] {escape(note)}", soft_wrap=not sys.stdout.isatty())


def print_json(value: Any) -> None:
    """One JSON document; what is not a number is null."""
    universal = (sys.stdout.encoding or "").lower().replace(
        "-", ""
    ) == "utf8"  # elsewhere letters are written as \\uXXXX
    sys.stdout.write(json.dumps(_plain(value), ensure_ascii=not universal, allow_nan=False, default=str) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


@contextmanager
def progress() -> Iterator[None]:
    """A bar on standard error while the work inside runs, if it takes long and somebody is looking."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from crowdrank.numerics.progress import listening

    # No time left is shown: steps are counted against the most there may be, and most fits need few of them.
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
