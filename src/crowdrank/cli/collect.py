"""`crowdrank next` and `crowdrank replay`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdrank.cli import options, screen

if TYPE_CHECKING:
    from crowdrank.collect.policies import Policy

Gamma = Annotated[
    list[float] | None,
    typer.Option(
        metavar="NUMBER",
        help="What is learned about annotators counts so many times (information-gain, top-k).",
        show_default="1",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Another setting of the policy. May be repeated."),
]


def next_questions(
    files: options.Files,
    annotator: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Who is at hand; may be repeated. By default whoever tells most.", show_default=False
        ),
    ] = None,
    count: Annotated[
        int, typer.Option(metavar="NUMBER", help="Questions for each of them; or in all, where nobody is named.")
    ] = 1,
    items: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The items in rotation, also new ones: item, perhaps task, perhaps owner, who is not asked about it.",
            show_default=False,
        ),
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="What an answer costs: annotator, cost. Gains are per unit.", show_default=False
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="random, least-compared, uncertainty, thompson, top-k; by default information-gain, of grades alone grades.",
            show_default=False,
        ),
    ] = None,
    gamma: Gamma = None,
    settings: Settings = None,
    repeat: Annotated[
        bool, typer.Option("--repeat", metavar="", help="Several annotators may get the same pair.")
    ] = False,
    budget: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="When to stop: so many judgments.", show_default=False)
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="When to stop: no interval is wider than this.", show_default=False),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="When to stop: so many best items of each task are decided.", show_default=False
        ),
    ] = None,
    sure: Annotated[float, typer.Option(metavar="SHARE", help="With --top: decided with this chance.")] = 0.95,
    out: options.Out = None,
    column: options.Columns = None,
    top_k: options.TopK = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """What to ask whom next, with the information each answer is expected to bring; and whether to ask on.

    Example: crowdrank next votes.csv --annotator ann --count 5
    """
    options.check_outputs([out], [*files, *(path for path in (items, costs) if path)])
    given = options.assignments(settings, "--set")
    from crowdrank import formats
    from crowdrank.collect import questions
    from crowdrank.formats.files import of_file

    if policy is not None:
        _policy(policy, given, gamma)  # mistakes are told before anything is read
    judgments = formats.read(*files, columns=options.assignments(column, "--column"), top_k=top_k)
    chosen = _policy(policy or questions.usual_policy(judgments), given, gamma)
    with screen.progress():
        found = questions.next_questions(
            judgments,
            annotator or None,
            count,
            policy=chosen,
            items=of_file(items) if items else None,
            cost=_costs(costs) if costs else None,
            repeat=repeat,
            seed=seed,
        )
        stop = _stopping(judgments, budget, width, top, sure, seed)
    if out:
        formats.write(found, out)
    if json:
        screen.print_json(
            {
                "policy": chosen.name,
                "questions": found.to_dicts(),
                "stopping": None if stop is None else stop.to_dicts(),
            }
        )
        return
    if len(found):
        screen.show_table(f"next questions by {chosen.name}", {name: found[name].to_list() for name in found.columns})
    else:
        screen.say("there is nothing left to ask")
    if stop is not None:
        screen.say()
        whole = {
            name: [None if more is None else int(more) for more in stop[name]]
            for name in stop.columns
            if name.startswith("more")
        }
        screen.show_table("when to stop", {name: stop[name].to_list() for name in stop.columns} | whole)
    if out:
        screen.say(f"questions written to {out}")


def _policy(name: str, given: Mapping[str, str], gamma: list[float] | None) -> Policy:
    from crowdrank.collect.policies import POLICIES, policy_of
    from crowdrank.settings import SettingError

    if gamma is not None and len(gamma) > 1:
        raise SettingError("--gamma may be given once")
    settings = options.settings_of(POLICIES[name], given) if name in POLICIES else {}
    return policy_of(name, {**settings, **({"gamma": gamma[0]} if gamma else {})})


def _costs(path: Path) -> dict[Any, float]:
    from crowdrank.formats.files import of_file

    source = of_file(path)
    source.require("annotator", "cost")
    return dict(zip(source.names("annotator"), source.numbers("cost").tolist(), strict=True))


def _stopping(judgments: Any, budget: int | None, width: float | None, top: int | None, sure: float, seed: int) -> Any:
    if budget is None and width is None and top is None:
        return None
    from crowdrank.collect.stopping import stopping

    return stopping(judgments, budget=budget, width=width, top_k=top, probability=sure, seed=seed)


def replay(
    files: options.Files,
    gold: Annotated[
        Path,
        typer.Option(metavar="FILE", help="File with item, one of grade, score or rank, and task.", show_default=False),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="One policy, or several with commas.", show_default="information-gain"),
    ] = None,
    gamma: Gamma = None,
    settings: Settings = None,
    budget: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Answers to ask for; by default all.", show_default=False)
    ] = None,
    every: Annotated[int, typer.Option(metavar="NUMBER", help="Answers between two looks at the ranking.")] = 50,
    seed: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBERS", help="One seed, several with commas, or a range: 0-19.", show_default="0"),
    ] = None,
    refit: Annotated[
        bool,
        typer.Option(
            "--refit/--no-refit", metavar="", help="Fit all answers anew at every look, or only update by each."
        ),
    ] = True,
    prior: Annotated[
        float, typer.Option(metavar="NUMBER", help="Virtual wins and losses of every item before the first answer.")
    ] = 4.0,
    out: options.Out = None,
    chart: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the curves: .html, .svg, .png or .json.", show_default=False),
    ] = None,
    column: options.Columns = None,
    json: options.Json = False,
) -> None:
    """How soon policies find the ranking: recorded answers, each used once, asked for by a policy and measured against
    gold.

    Several values of --gamma stand side by side. Example: crowdrank replay pool.csv --gold gold.csv --policy
    information-gain,random --budget 1000
    """
    options.check_outputs([out], [*files, gold], models=[chart])
    given = options.assignments(settings, "--set")
    from crowdrank import formats
    from crowdrank.collect.replay import replay as run
    from crowdrank.collect.state import State

    policies = _policies(options.listed(policy) or ["information-gain"], given, gamma)
    judgments = formats.read(*files, columns=options.assignments(column, "--column"))
    truth = formats.read_gold(gold)
    with screen.progress():
        start = State.start(judgments.vocabulary, prior=prior)
        curves = run(
            judgments, truth, policies, budget=budget, every=every, seeds=_seeds(seed), refit=refit, start=start
        )
    if chart:
        from crowdrank.report import replay_curves

        replay_curves(curves).save(str(chart))
    if out:
        formats.write(curves, out)
    if json:
        screen.print_json(curves.to_dicts())
        return
    _show_curves(curves)
    for what, path in (("curves", out), ("chart", chart)):
        if path:
            screen.say(f"{what} written to {path}")


def _policies(names: list[str], given: Mapping[str, str], gamma: list[float] | None) -> dict[str, Policy]:
    """The policies by what they are called in the result; several values of γ each under a name of their own."""
    from dataclasses import fields

    from crowdrank.collect.policies import POLICIES, policy_of

    found = {}
    for name in names:
        own = {field.name for field in fields(POLICIES[name])} if name in POLICIES else set()  # type: ignore[arg-type]
        texts = {setting: text for setting, text in given.items() if setting in own or len(names) == 1}
        settings = options.settings_of(POLICIES[name], texts) if own else texts
        for value in gamma if gamma and "gamma" in own else [None]:
            called = f"{name} gamma={value:g}" if gamma and len(gamma) > 1 and value is not None else name
            found[called] = policy_of(name, settings if value is None else {**settings, "gamma": value})
    return found


def _seeds(texts: list[str] | None) -> list[int]:
    from crowdrank.settings import SettingError

    seeds: list[int] = []
    for text in options.listed(texts) or ["0"]:
        first, dash, last = text.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise SettingError(f"--seed {text}: write 3, 0,1,2 or 0-19")
        seeds += range(int(first), int(last) + 1) if dash else [int(first)]
    return seeds


def _show_curves(curves: Any) -> None:
    """Mean and spread over the seeds at about ten places, a column for each policy."""
    import polars as pl

    names = curves["policy"].unique(maintain_order=True).to_list()
    votes = curves["votes"].unique(maintain_order=True).to_list()
    shown = sorted({*votes[:: max(len(votes) // 10, 1)], *votes[-1:]})
    columns: dict[str, Any] = {"judgments": shown}
    for name in names:
        at = [curves.filter((pl.col("policy") == name) & (pl.col("votes") == vote))["acc"] for vote in shown]
        columns[name] = [f"{acc.mean():.4f}" + (f" ± {acc.std():.4f}" if len(acc) > 1 else "") for acc in at]
    screen.show_table("ACC", columns)
