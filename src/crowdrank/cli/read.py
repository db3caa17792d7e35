"""`crowdrank read`: what is understood of files of judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crowdrank.cli import options, screen

if TYPE_CHECKING:
    from crowdrank.study import Judgments

FIRST = 5  # judgments that are shown


def read(
    files: options.Files,
    column: options.Columns = None,
    left: options.Left = None,
    right: options.Right = None,
    top_k: options.TopK = None,
    scale: options.Scale = None,
    json: options.Json = False,
) -> None:
    """Show what is understood of files: the kind of judgments, the columns used, what is left out, the first rows.

    Example: crowdrank read export.json
    """
    words = options.comma_separated([scale]) if scale else None
    judgments = options.JudgmentFiles(files, options.column_names(column, left, right), top_k, words).read()
    first = {kind: _first(judgments, kind) for kind in judgments.kinds}
    if json:
        screen.print_json(
            {"files": judgments.origin, "counts": judgments.counts, "first": first, "notes": judgments.notes}
        )
        return
    for origin in judgments.origin:
        screen.say(origin)
    screen.say(screen.in_words(judgments))
    for kind, rows in first.items():
        screen.say()
        screen.show_table(f"the first rows of the {kind}", {name: [row[name] for row in rows] for name in rows[0]})
    if judgments.notes:
        screen.say()
        screen.show_notes(judgments.notes)


def _first(judgments: Judgments, kind: Any) -> list[dict[str, Any]]:
    """The first judgments of a kind, as rows of a file."""
    from crowdrank.formats.decode import table_of

    rows: list[dict[str, Any]] = table_of(judgments.only(kind)).head(FIRST).to_dicts()
    return rows
