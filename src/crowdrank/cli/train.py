"""`crowdrank train`: learn a ranker from the features of items and judgments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdrank.cli import options, results, screen

if TYPE_CHECKING:
    from crowdrank.learning.labels import TrainingData
    from crowdrank.learning.ranker import Learner, Ranker


def train(
    features: options.Features,
    judgments: Annotated[
        list[Path] | None,
        typer.Argument(metavar="JUDGMENTS", help="Files of judgments, as for `rank`.", show_default=False),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="See `crowdrank methods`; for example listmle, ltrma-mle or lambdamart.")
    ] = "ltrma-mle",
    settings: options.MethodSettings = None,
    gold: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Learn from this gold instead of judgments.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the ranker to this file.", show_default=False)
    ] = None,
    annotators: options.AnnotatorsOut = None,
    csv_safe: options.CsvSafe = False,
    report: options.Report = None,
    side_information: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="What is already known about annotators and tasks, as TOML.", show_default=False
        ),
    ] = None,
    leave_out: options.LeaveOut = None,
    column: options.Columns = None,
    top_k: options.TopK = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Learn to rank items by their features, from judgments that cannot all be trusted.

    Example: crowdrank train features.csv lists.csv --out ranker.json
    """
    files = list(judgments or ())
    options.check_outputs(
        [annotators], options.given(features, *files, gold, side_information), other=[out], report=report
    )
    from crowdrank import formats
    from crowdrank.learning import catalogue as learning
    from crowdrank.learning.features import read_features
    from crowdrank.learning.ltrma.side_information import read_side
    from crowdrank.saved import as_bytes
    from crowdrank.settings import SettingError

    texts = options.assignments(settings, "--set")
    if bool(files) == bool(gold):
        raise SettingError("give files of judgments to learn from, or --gold FILE; one of the two, not both")
    chosen = _learner(method, texts, seed)
    columns = options.assignments(column, "--column")
    known = read_side(side_information) if side_information else None
    item_columns = {role: name for role, name in columns.items() if role in ("task", "item")}
    not_features = options.comma_separated(leave_out) or []
    described = read_features(features, columns=item_columns, leave_out=not_features)
    data: TrainingData = formats.read_gold(gold) if gold else options.JudgmentFiles(files, columns, top_k).read()
    with screen.progress():
        ranker = learning.learn_with(chosen, described, data, known)
    tables: dict[Any, Any] = {annotators: ranker.annotators} if annotators else {}
    if out:
        tables[out] = as_bytes(ranker)
    if report:
        from crowdrank.report import train_page

        tables[report] = train_page(ranker, command=options.command_line()).encode()
    formats.write_files(tables, csv_safe=csv_safe)
    if json:
        screen.print_json(_as_json(ranker))
    else:
        _show(ranker, len(described))
        screen.show_written({"ranker": out, "annotators": annotators, "report": report})


def _learner(name: str, texts: Mapping[str, str], seed: int) -> Learner:
    from crowdrank.learning.catalogue import LEARNERS, learner

    if name not in LEARNERS:
        return learner(name)  # raises an error with the closest names
    return learner(name, **options.parse_settings(LEARNERS[name], texts, seed))


def _as_json(ranker: Ranker) -> dict[str, Any]:
    return {
        "method": ranker.name,
        "settings": asdict(ranker.method),  # type: ignore[call-overload]
        "fit": asdict(ranker.fit),
        "columns": ranker.columns,
        "annotators": ranker.annotators.to_dicts(),
        "notes": ranker.notes,
    }


def _show(ranker: Ranker, items: int) -> None:
    learned = f"learned from {screen.counted(len(ranker.columns), 'columns')} of {screen.counted(items, 'items')}"
    screen.say(f"{ranker.name}: {learned}{results.convergence(ranker.fit)}\n")
    if ranker.annotator_columns:
        results.show_annotators(ranker.annotators)
        screen.say()
    screen.show_notes(ranker.notes)
