"""`crowdrank rank`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdrank.cli import options, screen

if TYPE_CHECKING:
    from crowdrank.consensus import Consensus
    from crowdrank.study import Judgments

TOP = 10
TASKS_SHOWN = 3
LEAST_TRUSTED = 5
VERDICTS_WORST_FIRST = ("reversed", "one-sided", "random", "weak", "unclear", "informative")


def rank(
    files: options.Files,
    method: Annotated[
        str | None,
        typer.Option(help="See `crowdrank methods`; by default crowd-bt for pairs, borda for rankings, mean for grades."),
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method.")] = None,
    gold: Annotated[Path | None, typer.Option(help="Gold that the method may start from.", show_default=False)] = None,
    out: options.Out = None,
    annotators: Annotated[
        Path | None, typer.Option(help="Write what was learned about the annotators to this file.", show_default=False)
    ] = None,
    column: options.Columns = None,
    top_k: options.TopK = False,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Rank the items of each task, and say whom to trust.

    Example: crowdrank rank votes.csv grades.parquet --method crowd-bt --set prior=0.5 --out ranking.csv
    """
    options.check_outputs([out, annotators], [*files, *([gold] if gold else [])])
    given = options.assignments(settings, "--set")
    columns = options.assignments(column, "--column")
    from crowdrank import formats, methods
    from crowdrank.settings import SettingError
    from crowdrank.study import JudgmentError

    if method is not None and method not in methods.METHODS:
        methods.method(method)
    if gold is not None and method is not None and not methods.takes_gold(methods.METHODS[method]):
        raise SettingError(methods.no_gold(method))
    judgments = formats.read(*files, columns=columns, top_k=top_k)
    if not len(judgments):
        raise JudgmentError(f"{', '.join(map(str, files))}: no judgments, only a header")
    name = method or _default(judgments)
    chosen = options.settings_of(methods.METHODS[name], given)
    if "seed" in methods.settings_names(name):
        chosen.setdefault("seed", seed)
    with screen.progress():
        truth = formats.read_gold(gold) if gold else None
        consensus = methods.fit(name, judgments, gold=truth, **chosen)
    formats.write_files({path: table for path, table in ((out, consensus), (annotators, consensus.annotators)) if path})
    if json:
        screen.print_json(_as_json(consensus, name, chosen))
    else:
        _show(consensus, judgments, out, annotators)


def _default(judgments: Judgments) -> str:
    """Pairs say most about annotators; rankings and grades by themselves have plain methods of their own."""
    return {"pairs": "crowd-bt", "rankings": "borda", "grades": "mean"}[
        judgments.kinds[-1 if "pairs" not in judgments.kinds else 0]
    ]


def _as_json(consensus: Consensus, name: str, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "method": name,
        "settings": settings,
        "fit": asdict(consensus.fit),
        "ranking": consensus.ranking.to_dicts(),
        "annotators": consensus.annotators.to_dicts(),
        "disconnected": consensus.disconnected,
        "notes": consensus.notes,
    }


def _show(consensus: Consensus, judgments: Judgments, out: Path | None, annotators: Path | None) -> None:
    import polars as pl

    fit, words = consensus.fit, consensus.vocabulary
    end = f"converged in {fit.steps} steps" if fit.converged else f"NOT converged in {fit.steps} steps"
    screen.say(f"{consensus.method} on {judgments!r}" + (f": {end}" if fit.steps else ""))
    screen.say()
    many = len(words.tasks) > 1
    top = consensus.ranking.filter(pl.col("rank") <= (3 if many else TOP))
    if many:
        top = top.filter(pl.col("task").is_in(list(words.tasks[:TASKS_SHOWN])))
    shown = [name for name in top.columns if (many or name != "task") and top[name].null_count() < len(top)]
    title = f"top of the first {TASKS_SHOWN} of {len(words.tasks):,} tasks" if many else "top of the ranking"
    screen.show_table(title, top.head(3 * TOP).select(shown).to_dict(as_series=False))
    screen.say()
    worst_first = pl.col("verdict").replace_strict(VERDICTS_WORST_FIRST, range(len(VERDICTS_WORST_FIRST)))
    least = consensus.annotators.sort(worst_first, pl.col("quality"), nulls_last=True).head(LEAST_TRUSTED)
    screen.show_table("annotators trusted least", least.to_dict(as_series=False))
    if consensus.notes:
        screen.say()
        screen.show_notes(consensus.notes)
    for path, what in ((out, "ranking"), (annotators, "annotators")):
        if path:
            screen.say(f"{what} written to {path}")
