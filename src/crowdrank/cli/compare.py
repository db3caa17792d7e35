"""`crowdrank compare`: several methods on one study, measured against gold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from crowdrank.cli import options, screen


def compare(
    files: options.Files,
    gold: Annotated[Path, typer.Option(metavar="FILE", help=options.GOLD, show_default=False)],
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="One method, or several separated by commas. Default: all methods that take these judgments.",
        ),
    ] = None,
    measure: options.Measures = None,
    folds: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NUMBER",
            help="Cross-validate methods that learn from gold: a file with the columns task and fold, "
            "or a number of random folds.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="How long each method may take; slower ones are left out.", min=0.001),
    ] = 20.0,
    out: options.Out = None,
    report: options.Report = None,
    column: options.Columns = None,
    left: options.Left = None,
    right: options.Right = None,
    top_k: options.TopK = None,
    ignore_unjudged: options.Ignore = False,
    skip_empty: options.SkipEmpty = False,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Compare methods on one study against gold: a leaderboard with significance marks.

    Example: crowdrank compare votes.csv --gold gold.csv --measure acc,tau
    """
    options.check_outputs([out], [*files, gold], report=report)
    from crowdrank import formats
    from crowdrank.evaluation import comparison

    study = options.JudgmentFiles(files, options.column_names(column, left, right), top_k)
    judgments, gold_values = study.read(), study.read_gold(gold)
    with screen.progress():
        result = comparison.compare(
            judgments,
            gold_values,
            options.comma_separated(method),
            options.comma_separated(measure),
            folds=_folds(folds),
            seed=seed,
            unjudged=options.unjudged(ignore_unjudged),
            skip_empty=skip_empty,
            limit=limit,
        )
    tables: dict[Path | None, object] = {out: result.table}
    if report:
        from crowdrank.report import compare_page

        tables[report] = compare_page(result, command=options.command_line()).encode()
    formats.write_files({path: table for path, table in tables.items() if path})
    if json:
        screen.print_json({"table": result.table.to_dicts(), "tests": result.tests.to_dicts(), "notes": result.notes})
        return
    screen.say(str(replace(result, notes=())))
    screen.show_notes(result.notes)
    screen.show_written({"leaderboard": out, "report": report})


def _folds(text: str | None) -> int | dict[str, str] | None:
    from crowdrank.formats import read_folds

    return None if text is None else int(text) if text.isdecimal() else read_folds(text)
