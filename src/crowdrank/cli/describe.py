"""`crowdrank describe`: what is in the data, before any method."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdrank.cli import options, screen

if TYPE_CHECKING:
    from crowdrank.statistics.description import StudyDescription

LEAST_AGREEING = 5
SHOWN = ("annotator", "judgments", "alpha", "agreement", "compared", "left_share", "ties", "seconds")


def describe(
    files: options.Files,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a row for each annotator to this file.", show_default=False),
    ] = None,
    report: options.Report = None,
    column: options.Columns = None,
    left: options.Left = None,
    right: options.Right = None,
    top_k: options.TopK = None,
    json: options.Json = False,
) -> None:
    """Show what is in the data, before any method: counts, agreement, warnings, and which method to use.

    Example: crowdrank describe votes.csv
    """
    options.check_outputs([out], files, report=report)
    from crowdrank import formats
    from crowdrank.statistics.description import describe as describe_judgments

    found = describe_judgments(options.JudgmentFiles(files, options.column_names(column, left, right), top_k).read())
    tables: dict[Path | None, object] = {out: found.annotators}
    if report:
        from crowdrank.report import describe_page

        tables[report] = describe_page(found, command=options.command_line()).encode()
    formats.write_files({path: table for path, table in tables.items() if path})
    if json:
        screen.print_json(found.as_dict())
        return
    _show(found)
    screen.show_written({"annotators": out, "report": report})


def _show(found: StudyDescription) -> None:
    given = " and ".join(screen.counted(count, kind) for kind, count in found.counts.items() if count)
    words = found.vocabulary
    by = screen.counted(len(words.annotators), "annotators")
    where = f"{screen.counted(len(words.items), 'items')} in {screen.counted(len(words.tasks), 'tasks')}"
    screen.say(f"{given or 'no judgments'} by {by} on {where}\n")
    _show_counts(found)
    _show_agreement(found)
    _show_shares(found)
    screen.show_notes(found.warnings, "warning")
    screen.show_notes(found.notes)
    if found.method:
        screen.say(f"use {found.method}: {found.reason}")


def _show_counts(found: StudyDescription) -> None:
    spreads = {"task": found.per_task, "item of a task": found.per_entry, "annotator": found.per_annotator}
    columns = {"per": list(spreads)} | {
        name.replace("_", " "): [getattr(spread, name) for spread in spreads.values()]
        for name in ("least", "lower_quartile", "median", "mean", "upper_quartile", "most")
    }
    screen.show_table("judgments", columns, digits=1)
    screen.say()


def _show_agreement(found: StudyDescription) -> None:
    compared = {kind: each for kind, each in found.agreement.items() if each.units}
    if not compared:
        return
    of = list(compared.values())
    screen.show_table(
        "agreement",
        {
            "kind": list(compared),
            "alpha": [None if each.alpha != each.alpha else each.alpha for each in of],
            "equal": [each.percent for each in of],
            "equal by chance": [each.by_chance for each in of],
            "judged by several": [each.units for each in of],
        },
    )
    screen.say()
    import polars as pl

    table = (
        pl.DataFrame(found.annotators)
        .filter(pl.col("alpha").is_not_null())
        .select(pl.col("^(" + "|".join(SHOWN) + ")$"))
    )
    if len(table) > 1:
        least = table.sort("alpha", nulls_last=True).head(LEAST_AGREEING)
        screen.show_table("annotators who agree least with the others", least.to_dict(as_series=False))
        screen.say()


def _show_shares(found: StudyDescription) -> None:
    facts = {
        "share of ties": found.ties,
        "share of votes for the left item, of those that are not ties": found.left_share,
        "overlap of two lists of a task": found.overlap,
        "seconds for a judgment, the median": found.seconds,
    }
    for text, value in facts.items():
        if value == value:
            screen.say(f"{text}: {value:.3f}")
    counts = {
        "judgments that repeat one of the same annotator": found.repeated,
        "contradictions within an annotator": found.contradicted,
        "items that won all their pairs": found.never_lost,
        "items that lost all their pairs": found.never_won,
    }
    for text, count in counts.items():
        if count:
            screen.say(f"{text}: {count:,}")
    screen.say()
