"""`crowdrank compare` and `crowdrank evaluate`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdrank.cli import options, screen

GOLD = "File with item, one of grade, score or rank, and task."
Truth = Annotated[Path, typer.Option(metavar="FILE", help=GOLD, show_default=False)]


def compare(
    files: options.Files,
    gold: Truth,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="One method, or several with commas; by default all that take the judgments."
        ),
    ] = None,
    measure: options.Measures = None,
    folds: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NUMBER",
            help="Cross-validate methods that learn from gold: a file with task and fold, or so many folds at random.",
            show_default=False,
        ),
    ] = None,
    out: options.Out = None,
    column: options.Columns = None,
    top_k: options.TopK = None,
    ignore_unjudged: options.Ignore = False,
    skip_empty: options.SkipEmpty = False,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Compare methods on one study against gold: a leaderboard with significance marks.

    Example: crowdrank compare votes.csv --gold gold.csv --measure acc,tau
    """
    options.check_outputs([out], [*files, gold])
    from crowdrank import formats
    from crowdrank.evaluation import comparison

    judgments = formats.read(*files, columns=options.assignments(column, "--column"), top_k=top_k)
    truth = formats.read_gold(gold)
    with screen.progress():
        result = comparison.compare(
            judgments,
            truth,
            options.listed(method),
            options.listed(measure),
            folds=_folds(folds),
            seed=seed,
            unjudged=_unjudged(ignore_unjudged),
            skip_empty=skip_empty,
        )
    if out:
        formats.write(result.table, out)
    if json:
        screen.print_json({"table": result.table.to_dicts(), "tests": result.tests.to_dicts(), "notes": result.notes})
        return
    screen.say(str(replace(result, notes=())))
    screen.show_notes(result.notes)
    if out:
        screen.say(f"leaderboard written to {out}")


def _folds(text: str | None) -> int | dict[str, str] | None:
    from crowdrank.formats import read_folds

    return None if text is None else int(text) if text.isdecimal() else read_folds(text)


def evaluate(
    ranking: Annotated[
        Path, typer.Argument(metavar="RANKING", help="File with item, score or rank, and task.", show_default=False)
    ],
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help=GOLD, show_default=False)],
    measure: options.Measures = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the measures of every task to this file.", show_default=False),
    ] = None,
    ignore_unjudged: options.Ignore = False,
    skip_empty: options.SkipEmpty = False,
    json: options.Json = False,
) -> None:
    """Measure a ranking against gold, per task and on average.

    Example: crowdrank evaluate ranking.csv gold.csv --measure ndcg@10,map
    """
    options.check_outputs([out], [ranking, gold])
    from crowdrank import formats
    from crowdrank.evaluation.evaluate import evaluate as measured

    result = measured(
        formats.read_ranking(ranking),
        formats.read_gold(gold),
        options.listed(measure),
        unjudged=_unjudged(ignore_unjudged),
        skip_empty=skip_empty,
    )
    if out:
        formats.write(result.per_task, out)
    if json:
        screen.print_json({"mean": result.mean, "per_task": result.per_task.to_dicts(), "notes": result.notes})
        return
    title = f"mean over {screen.counted(len(result.tasks), 'tasks')}"
    screen.show_table(title, {"measure": list(result.mean), "mean": list(result.mean.values())})
    screen.show_notes(result.notes)
    if out:
        screen.say(f"measures per task written to {out}")


def _unjudged(ignore: bool) -> Any:
    return "ignore" if ignore else "nonrelevant"
