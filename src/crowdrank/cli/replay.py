"""`crowdrank replay`: how soon policies find the ranking, measured on recorded answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdrank.cli import options, screen

if TYPE_CHECKING:
    from crowdrank.collect.protocols import Policy

ROWS_SHOWN = 10  # about


def replay(
    files: options.Files,
    gold: Annotated[Path, typer.Option(metavar="FILE", help=options.GOLD, show_default=False)],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="One policy, or several separated by commas.", show_default="mutual-information"
        ),
    ] = None,
    gamma: options.Gamma = None,
    settings: options.PolicySettings = None,
    budget: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Answers to ask for. Default: all.", show_default=False)
    ] = None,
    every: Annotated[
        int, typer.Option(metavar="NUMBER", help="Measure the ranking each time after this number of answers.")
    ] = 50,
    seed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS", help="One seed, several separated by commas, or a range: 0-19.", show_default="0"
        ),
    ] = None,
    refit: Annotated[
        bool,
        typer.Option(
            "--refit/--no-refit",
            metavar="",
            help="Fit all answers again before each measurement, or only update by each answer.",
        ),
    ] = True,
    prior: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Virtual wins and losses of every item before the first answer. Default: learned from the answers.",
            show_default=False,
        ),
    ] = None,
    out: options.Out = None,
    chart: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the curves: .html, .svg, .png or .json.", show_default=False),
    ] = None,
    report: options.Report = None,
    column: options.Columns = None,
    json: options.Json = False,
) -> None:
    """Compare how soon policies find the ranking: each policy asks for recorded answers, every answer is used once, and
    the ranking is measured against gold.

    Several values of --gamma are compared side by side.

    Example: crowdrank replay votes.csv --gold gold.csv --budget 200
    """
    options.check_outputs([out], [*files, gold], chart=chart, report=report)
    texts = options.assignments(settings, "--set")
    from crowdrank import formats
    from crowdrank.collect.replay import replay as replay_policies
    from crowdrank.collect.state import State

    policies = _policies(options.comma_separated(policy) or ["mutual-information"], texts, gamma)
    judgments = options.JudgmentFiles(files, options.assignments(column, "--column")).read()
    gold_values = formats.read_gold(gold)
    with screen.progress():
        curves = replay_policies(
            judgments,
            gold_values,
            policies,
            budget=budget,
            every=every,
            seeds=_seeds(seed),
            refit=refit,
            start=State.start(judgments.vocabulary, prior=prior),
        )
    files_to_write: dict[Path | None, Any] = {out: curves}
    if chart:
        from crowdrank.report import replay_curves

        files_to_write[chart] = replay_curves(curves).to_bytes(chart.suffix.removeprefix("."))
    if report:
        from crowdrank.report import replay_page

        files_to_write[report] = replay_page(curves, command=options.command_line()).encode()
    formats.write_files({path: table for path, table in files_to_write.items() if path})
    if json:
        screen.print_json(curves.to_dicts())
        return
    _show_curves(curves)
    screen.show_written({"curves": out, "chart": chart, "report": report})


def _policies(names: list[str], texts: Mapping[str, str], gammas: list[float] | None) -> dict[str, Policy]:
    """The policies by their names in the result; each of several values of γ has a name of its own."""
    from dataclasses import fields

    from crowdrank.collect.policies import POLICIES, policy_of

    found = {}
    for name in names:
        if name not in POLICIES:
            policy_of(name)  # raises an error with the closest name
        own = {field.name for field in fields(POLICIES[name])}  # type: ignore[arg-type]
        # Of several policies, each takes the settings that it has; a single one must have them all.
        own_texts = {setting: text for setting, text in texts.items() if setting in own or len(names) == 1}
        settings = options.parse_settings(POLICIES[name], own_texts)
        for gamma in gammas if gammas and "gamma" in own else [None]:
            label = f"{name} gamma={gamma:g}" if gammas and len(gammas) > 1 and gamma is not None else name
            found[label] = policy_of(name, settings if gamma is None else {**settings, "gamma": gamma})
    return found


def _seeds(texts: list[str] | None) -> list[int]:
    from crowdrank.settings import SettingError

    seeds: list[int] = []
    for text in options.comma_separated(texts) or ["0"]:
        first, dash, last = text.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise SettingError(f"--seed {text}: write 3, 0,1,2 or 0-19")
        seeds += range(int(first), int(last) + 1) if dash else [int(first)]
    return seeds


def _show_curves(curves: Any) -> None:
    """Mean and standard deviation over the seeds, a column for each policy and about ten rows."""
    import polars as pl

    names = curves["policy"].unique(maintain_order=True).to_list()
    votes = curves["votes"].unique(maintain_order=True).to_list()
    shown = sorted({*votes[:: max(len(votes) // ROWS_SHOWN, 1)], *votes[-1:]})
    columns: dict[str, Any] = {"judgments": shown}
    for name in names:
        at = [curves.filter((pl.col("policy") == name) & (pl.col("votes") == vote))["acc"] for vote in shown]
        columns[name] = [f"{acc.mean():.4f}" + (f" ± {acc.std():.4f}" if len(acc) > 1 else "") for acc in at]
    screen.show_table("ACC", columns)
