"""`crowdrank evaluate`: a ranking measured against gold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdrank.cli import options, screen


def evaluate(
    ranking: Annotated[
        Path,
        typer.Argument(
            metavar="RANKING",
            help="File with the columns item, score or rank, and task if there are several tasks; or a TREC run.",
            show_default=False,
        ),
    ],
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help=options.GOLD, show_default=False)],
    measure: options.Measures = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the measures of every task to this file.", show_default=False),
    ] = None,
    csv_safe: options.CsvSafe = False,
    ignore_unjudged: options.Ignore = False,
    skip_empty: options.SkipEmpty = False,
    json: options.Json = False,
) -> None:
    """Measure a ranking against gold, per task and on average.

    Example: crowdrank evaluate ranking.csv gold.csv --measure ndcg@10,map
    """
    options.check_outputs([out], [ranking, gold])
    from crowdrank import formats
    from crowdrank.evaluation import evaluate as evaluation

    result = evaluation.evaluate(
        formats.read_ranking(ranking),
        formats.read_gold(gold),
        options.comma_separated(measure),
        unjudged=options.unjudged(ignore_unjudged),
        skip_empty=skip_empty,
    )
    if out:
        formats.write(result.per_task, out, csv_safe=csv_safe)
    if json:
        screen.print_json({"mean": result.mean, "per_task": result.per_task.to_dicts(), "notes": result.notes})
        return
    title = f"mean over {screen.counted(len(result.tasks), 'tasks')}"
    screen.show_table(title, {"measure": list(result.mean), "mean": list(result.mean.values())})
    screen.show_notes(result.notes)
    screen.show_written({"measures per task": out})
