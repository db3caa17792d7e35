"""Notes of several results: each once, with the names of those that have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NAMES_SHOWN = 5


def merged_notes(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Every note once: those of all methods alone, the others with the names of their methods.

    A note that begins with the name of its method is the same note for every method.

    >>> merged_notes({"elo": ["elo ignores ties", "few votes"], "mpm": ["mpm ignores ties"]})
    ['elo, mpm: ignores ties', 'elo: few votes']
    """
    having: dict[str, list[str]] = {}
    about_data = set()
    for label, some in notes.items():
        for note in dict.fromkeys(some):
            text = note.removeprefix(f"{label.partition('(')[0]} ")
            having.setdefault(text, []).append(label)
            if text == note:
                about_data.add(note)
    shared = [note for note, labels in having.items() if len(labels) == len(notes) and note in about_data]
    own = [f"{_named(labels)}: {note}" for note, labels in having.items() if note not in shared]
    return [*shared, *own]


def _named(labels: Sequence[str]) -> str:
    more = len(labels) - NAMES_SHOWN
    return ", ".join(labels[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
