"""`crowdrank report`: a report of saved results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdrank.cli import options, screen


def report(
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT", help="What `rank --json` printed (.json), or `rank --out` wrote.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The .html page to write.", show_default=False)],
    judgments: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="The judgments behind it, for all that needs them. May be repeated.",
            show_default=False,
        ),
    ] = None,
    annotators: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What `rank --annotators` wrote.", show_default=False)
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Gold: measures and calibration.", show_default=False)
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="The heading of the page.")] = "Ranking",
    column: options.Columns = None,
    top_k: options.TopK = None,
) -> None:
    """Write a report of a ranking that was saved before.

    Example: crowdrank report ranking.csv --judgments votes.csv --out report.html
    """
    files = judgments or []
    options.check_outputs([], [result, *files, *options.given(annotators, gold)], report=out)
    from crowdrank import formats
    from crowdrank.report import RankReport, rank_page
    from crowdrank.report.saved_results import saved_consensus

    columns = options.assignments(column, "--column")
    study = options.JudgmentFiles(files, columns, top_k).read() if files else None
    consensus = saved_consensus(result, annotators, study)
    truth = formats.read_gold(gold) if gold else None
    page = rank_page(RankReport(consensus, study, gold=truth, title=title, command=options.command_line()))
    formats.write_files({out: page.encode()})
    screen.show_written({"report": out})
