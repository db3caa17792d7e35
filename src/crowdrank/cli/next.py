"""`crowdrank next`: what to ask whom next, and whether to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdrank.cli import options, screen

if TYPE_CHECKING:
    import polars as pl

    from crowdrank.collect.protocols import Policy
    from crowdrank.collect.state import State
    from crowdrank.study import Judgments


@dataclass(frozen=True, slots=True)
class StoppingRules:
    """When enough is known: the rules that the user named."""

    budget: int | None
    width: float | None
    top: int | None
    probability: float  # that the best `top` items are the right ones

    def forecast(self, judgments: Judgments, state: State | None, policy: Policy, seed: int) -> pl.DataFrame | None:
        """Whether each rule holds, and how many more judgments it will take; None without rules."""
        if self.budget is None and self.width is None and self.top is None:
            return None
        from crowdrank.collect.stopping import stopping

        found: pl.DataFrame = stopping(
            state or judgments,
            budget=self.budget,
            width=self.width,
            top_k=self.top,
            probability=self.probability,
            policy=policy,
            seed=seed,
        )
        return found


def next_questions(
    files: options.Files,
    annotator: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="An annotator who can be asked now. May be repeated. "
            "Default: those whose answers are expected to bring the most information.",
            show_default=False,
        ),
    ] = None,
    count: Annotated[
        int, typer.Option(metavar="NUMBER", help="Questions for each annotator named; in total if none is named.")
    ] = 1,
    items: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The items to ask about, new ones too: a table with the column item, and optionally task and "
            "owner (an annotator who is never asked about this item). Default: all items judged so far.",
            show_default=False,
        ),
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The cost of an answer by each annotator: a table with the columns annotator and cost. "
            "Gains are then per unit of cost.",
            show_default=False,
        ),
    ] = None,
    trust: options.Trust = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="mutual-information, information-gain, random, least-compared, uncertainty, thompson, top-k, asap, "
            "hybrid-mst, sorting, swiss, grades or rankings (a handful of items to rank). "
            "Default: mutual-information; grades if the study has only grades.",
            show_default=False,
        ),
    ] = None,
    gamma: options.Gamma = None,
    settings: options.PolicySettings = None,
    repeat: Annotated[
        bool, typer.Option("--repeat", metavar="", help="Allow several annotators to get the same question.")
    ] = False,
    outstanding: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Questions that were asked before and are not answered yet: a table with the columns annotator, left "
            "and right, as --out writes it.",
            show_default=False,
        ),
    ] = None,
    away: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An annotator who is not to be asked. May be repeated.", show_default=False),
    ] = None,
    most_share: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="The most that anyone may give of all judgments. "
            "Default: three times an equal share; no limit for annotators who are named.",
            show_default=False,
        ),
    ] = None,
    most_per_pair: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="The most that a pair may be asked in all. Default: 3, and 3 more for each round of all pairs.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Stop after this number of judgments in total.", show_default=False),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Stop when no interval is wider than this.", show_default=False),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="Stop when the best items of each task are known: this many.", show_default=False
        ),
    ] = None,
    sure: Annotated[
        float, typer.Option(metavar="SHARE", help="With --top: how probable it must be that they are the best.")
    ] = 0.95,
    out: options.Out = None,
    csv_safe: options.CsvSafe = False,
    column: options.Columns = None,
    left: options.Left = None,
    right: options.Right = None,
    top_k: options.TopK = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Choose what to ask whom next, with the information expected from each answer; and forecast when to stop.

    Example: crowdrank next votes.csv --annotator ann --count 5
    """
    options.check_outputs([out], [*files, *options.given(items, costs, trust, outstanding)])
    texts = options.assignments(settings, "--set")
    from crowdrank import formats
    from crowdrank.collect import questions
    from crowdrank.collect.state import State
    from crowdrank.formats.files import of_file

    if policy is not None:
        _policy(policy, texts, gamma)  # report mistakes before reading anything
    judgments = options.JudgmentFiles(files, options.column_names(column, left, right), top_k, trust=trust).read()
    chosen = _policy(policy or questions.usual_policy(judgments), texts, gamma)
    with screen.progress():
        state = State.start().refit(judgments) if chosen.asks != "grades" else None
        found = questions.next_questions(
            judgments,
            annotator or None,
            count,
            policy=chosen,
            items=of_file(items) if items else None,
            cost=_costs(costs) if costs else None,
            repeat=repeat,
            state=state,
            outstanding=of_file(outstanding) if outstanding else None,
            away=away or (),
            most_share=most_share,
            most_per_pair=most_per_pair,
            seed=seed,
        )
        stop = StoppingRules(budget, width, top, sure).forecast(judgments, state, chosen, seed)
    notes = _unknown(annotator or [], judgments)
    if out:
        formats.write(found, out, csv_safe=csv_safe)
    if json:
        stopping = None if stop is None else stop.to_dicts()
        screen.print_json({"policy": chosen.name, "questions": found.to_dicts(), "stopping": stopping, "notes": notes})
        return
    _show_questions(found, chosen.name)
    if stop is not None:
        _show_stopping(stop)
    screen.show_notes(notes)
    screen.show_written({"questions": out})


def _policy(name: str, texts: Mapping[str, str], gamma: list[float] | None) -> Policy:
    from crowdrank.collect.policies import POLICIES, policy_of
    from crowdrank.settings import SettingError

    if gamma is not None and len(gamma) > 1:
        raise SettingError("--gamma may be given once; `crowdrank replay` compares several values")
    settings = options.parse_settings(POLICIES[name], texts) if name in POLICIES else {}
    return policy_of(name, {**settings, **({"gamma": gamma[0]} if gamma else {})})


def _unknown(annotators: list[str], judgments: Judgments) -> list[str]:
    """Notes on annotators who have given no judgments: somebody new, or a mistake."""
    from crowdrank.settings import did_you_mean

    known = [str(name) for name in judgments.vocabulary.annotators]
    return [
        f"{name!r} has given no judgments yet{did_you_mean(name, known)}; these are questions for somebody new"
        for name in dict.fromkeys(annotators)
        if name not in known
    ]


def _costs(path: Path) -> dict[Any, float]:
    from crowdrank.formats.files import of_file

    source = of_file(path)
    source.require("annotator", "cost")
    return dict(zip(source.names("annotator"), source.numbers("cost").tolist(), strict=True))


def _show_questions(found: pl.DataFrame, policy: str) -> None:
    if len(found):
        screen.show_table(f"next questions by {policy}", found.to_dict(as_series=False))
    else:
        screen.say("there is nothing left to ask")


def _show_stopping(stop: pl.DataFrame) -> None:
    columns = stop.to_dict(as_series=False)
    counts = [name for name in columns if name.startswith("more")]
    whole = {name: [None if more is None else int(more) for more in columns[name]] for name in counts}
    screen.say()
    screen.show_table("when to stop", columns | whole)
