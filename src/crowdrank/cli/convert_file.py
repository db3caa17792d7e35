"""`crowdrank convert`: judgments from one kind of file to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdrank.cli import options, screen


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="A file of judgments, of any kind that is read.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="The file to write: .csv, .tsv, .jsonl, .parquet or .xlsx; .run or .qrels for TREC; .soc, .soi, .toc, "
            ".toi or .cat for PrefLib.",
            show_default=False,
        ),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Which judgments to write, where the file holds several kinds: grades, pairs or rankings. With pairs, "
            "also those that grades and rankings imply.",
            show_default=False,
        ),
    ] = None,
    column: options.Columns = None,
    left: options.Left = None,
    right: options.Right = None,
    top_k: options.TopK = None,
    scale: options.Scale = None,
    csv_safe: options.CsvSafe = False,
) -> None:
    """Write the judgments of a file as another kind of file.

    Example: crowdrank convert export.json votes.csv
    """
    from crowdrank import formats
    from crowdrank.convert import of_kind
    from crowdrank.formats.files import kind_of
    from crowdrank.settings import check_choice
    from crowdrank.study import KINDS

    kind_of(out)
    options.check_outputs([], [source], other=[out])
    if kind is not None:
        check_choice("kind", kind, KINDS)
    words = options.comma_separated([scale]) if scale else None
    judgments = options.JudgmentFiles([source], options.column_names(column, left, right), top_k, words).read()
    if kind is not None:
        judgments = of_kind(judgments, kind)  # type: ignore[arg-type]
    formats.write(judgments, out, csv_safe=csv_safe)
    screen.say(screen.in_words(judgments))
    if judgments.notes:
        screen.show_notes(judgments.notes)
    screen.show_written({"judgments": out})
