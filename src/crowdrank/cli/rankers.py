"""`crowdrank train` and `crowdrank predict`: rankers by features."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdrank.cli import options, screen
from crowdrank.cli.results import show_annotators, show_ranking

if TYPE_CHECKING:
    from crowdrank.learning.labels import TrainingData
    from crowdrank.learning.ranker import Ranker

Features = Annotated[
    Path,
    typer.Argument(
        metavar="FEATURES",
        help="Features of the items: a table with the columns task, item and numbers, or a LETOR or SVMlight file.",
        show_default=False,
    ),
]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns that are no features, with commas. May be repeated."),
]


def train(
    features: Features,
    judgments: Annotated[
        list[Path] | None,
        typer.Argument(metavar="JUDGMENTS", help="Files of judgments, as for `rank`.", show_default=False),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="See `crowdrank methods`: listmle, ltrma-mle, lambdamart, …")
    ] = "ltrma-mle",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method. May be repeated.")
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Learn from this gold instead of judgments.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the ranker to this file.", show_default=False)
    ] = None,
    annotators: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write what was learned about the annotators to this file.", show_default=False
        ),
    ] = None,
    side_information: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="What is known of annotators and tasks beforehand, as TOML.", show_default=False
        ),
    ] = None,
    leave_out: LeaveOut = None,
    column: options.Columns = None,
    top_k: options.TopK = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Learn to rank items by their features, from judgments that cannot all be trusted.

    Example: crowdrank train features.csv lists.csv --method ltrma-mle --out ranker.json
    """
    files = list(judgments or ())
    read_from = [path for path in (features, *files, gold, side_information) if path]
    options.check_outputs([annotators], read_from, models=[out])
    from crowdrank import formats
    from crowdrank.learning import catalogue as learning
    from crowdrank.learning.features import read_features
    from crowdrank.learning.ltrma.side_information import read_side
    from crowdrank.saved import as_bytes
    from crowdrank.settings import SettingError

    given = options.assignments(settings, "--set")
    if bool(files) == bool(gold):
        raise SettingError("give files of judgments to learn from, or --gold FILE; not both, and not neither")
    chosen = _learner(method, given, seed)
    columns = options.assignments(column, "--column")
    known = read_side(side_information) if side_information else None
    described = read_features(features, columns=_of_items(columns), leave_out=options.listed(leave_out) or [])
    data: TrainingData = formats.read_gold(gold) if gold else formats.read(*files, columns=columns, top_k=top_k)
    with screen.progress():
        ranker = learning.learn_with(chosen, described, data, known)
    tables: dict[Any, Any] = {annotators: ranker.annotators} if annotators else {}
    formats.write_files({**tables, out: as_bytes(ranker)} if out else tables)
    if json:
        screen.print_json(_as_json(ranker))
    else:
        _show(ranker, len(described), out, annotators)


def _learner(name: str, given: dict[str, str], seed: int) -> Any:
    from crowdrank.learning import catalogue as learning

    if name not in learning.LEARNERS:
        return learning.learner(name)  # which says what is wrong
    chosen = options.settings_of(learning.LEARNERS[name], given)
    if "seed" in getattr(learning.LEARNERS[name], "__dataclass_fields__", {}):
        chosen.setdefault("seed", seed)
    return learning.learner(name, **chosen)


def _of_items(columns: dict[str, str]) -> dict[str, str]:
    """The names of columns that features have, too."""
    return {role: name for role, name in columns.items() if role in ("task", "item")}


def _as_json(ranker: Ranker) -> dict[str, Any]:
    return {
        "method": ranker.name,
        "settings": asdict(ranker.method),  # type: ignore[call-overload]
        "fit": asdict(ranker.fit),
        "columns": ranker.columns,
        "annotators": ranker.annotators.to_dicts(),
        "notes": ranker.notes,
    }


def _show(ranker: Ranker, items: int, out: Path | None, annotators: Path | None) -> None:
    fit = ranker.fit
    end = (
        f"; {'converged' if fit.converged else 'NOT converged'} in {screen.counted(fit.steps, 'steps')}"
        if fit.steps
        else ""
    )
    screen.say(
        f"{ranker.name}: learned from {screen.counted(len(ranker.columns), 'columns')} of {screen.counted(items, 'items')}{end}\n"
    )
    if ranker.annotator_columns:
        show_annotators(ranker.annotators)
        screen.say()
    screen.show_notes(ranker.notes)
    for what, path in (("ranker", out), ("annotators", annotators)):
        if path:
            screen.say(f"{what} written to {path}")


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A ranker, as `train --out` writes it.", show_default=False)
    ],
    features: Features,
    out: options.Out = None,
    leave_out: LeaveOut = None,
    column: options.Columns = None,
    json: options.Json = False,
) -> None:
    """Rank items by their features, with a ranker learned before.

    Example: crowdrank predict ranker.json features.csv --out ranking.csv
    """
    options.check_outputs([out], [model, features], trec=[out])
    from crowdrank import formats
    from crowdrank.learning.features import read_features
    from crowdrank.saved import load_ranker

    ranker = load_ranker(model)
    columns = options.assignments(column, "--column")
    consensus = ranker.rank(read_features(features, columns=columns, leave_out=options.listed(leave_out) or []))
    if out:
        formats.write_files({out: consensus})
    if json:
        screen.print_json(
            {"method": consensus.method, "ranking": consensus.ranking.to_dicts(), "notes": consensus.notes}
        )
        return
    show_ranking(consensus)
    if consensus.notes:
        screen.say()
        screen.show_notes(consensus.notes)
    if out:
        screen.say(f"ranking written to {out}")
