"""What people see: tables and notes on standard output, progress on standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

SECONDS_BEFORE_A_BAR = 0.5


def console() -> Console:
    """Standard output; plain text of a fixed width where it is not a terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def show_table(title: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """A table with numbers to the right and words to the left."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for name, values in columns.items():
        number = all(isinstance(value, int | float) or value is None for value in values)
        table.add_column(name, justify="right" if number else "left", header_style="dim", overflow="fold")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(_cell(value) for value in row))
    console().print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 1e5 else f"{value:.4g}"
    return escape(str(value).replace("\n", "⏎"))


def say(text: str = "") -> None:
    """A line of plain text."""
    console().print(escape(text), soft_wrap=True)


def show_notes(notes: Sequence[str]) -> None:
    """What the reader must know, in colour."""
    for note in notes:
        console().print(f"[yellow]note:[/yellow] {escape(note)}", soft_wrap=True)


def print_json(value: Any) -> None:
    """One JSON document; what is not a number is null."""
    sys.stdout.write(json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, default=str) + "\n")


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
    from rich.progress import Progress

    from crowdrank.numerics.progress import listening

    began, bar = time.monotonic(), Progress(console=Console(stderr=True), transient=True)
    bars: dict[str, Any] = {}

    def listener(what: str, done: int, at_most: int) -> None:
        if time.monotonic() - began < SECONDS_BEFORE_A_BAR:
            return
        bar.start()
        if what not in bars:
            bars[what] = bar.add_task(what)
        bar.update(bars[what], completed=done, total=at_most)

    try:
        with listening(listener):
            yield
    finally:
        bar.stop()
