"""`crowdrank predict`: rank items by their features, with a ranker that `train` has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from crowdrank.cli import options, results, screen


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A ranker, as `train --out` writes it.", show_default=False)
    ],
    features: options.Features,
    out: options.Out = None,
    csv_safe: options.CsvSafe = False,
    report: options.Report = None,
    leave_out: options.LeaveOut = None,
    column: options.Columns = None,
    json: options.Json = False,
) -> None:
    """Rank items by their features, with a ranker learned before.

    Example: crowdrank predict ranker.json features.csv --out ranking.csv
    """
    options.check_outputs([out], [model, features], trec=[out], report=report)
    from crowdrank import formats
    from crowdrank.learning.features import read_features
    from crowdrank.saved import load_ranker

    ranker = load_ranker(model)
    columns = options.assignments(column, "--column")
    not_features = options.comma_separated(leave_out) or []
    consensus = ranker.rank(read_features(features, columns=columns, leave_out=not_features))
    tables: dict[Path | None, Any] = {out: consensus}
    if report:
        from crowdrank.report import RankReport, rank_page

        tables[report] = rank_page(RankReport(consensus, command=options.command_line())).encode()
    formats.write_files({path: table for path, table in tables.items() if path}, csv_safe=csv_safe)
    if json:
        screen.print_json(
            {"method": consensus.method, "ranking": consensus.ranking.to_dicts(), "notes": consensus.notes}
        )
        return
    results.show_ranking(consensus)
    if consensus.notes:
        screen.say()
        screen.show_notes(consensus.notes)
    screen.show_written({"ranking": out, "report": report})
