"""`crowdrank rank`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdrank.cli import options, screen, training
from crowdrank.cli.results import show_annotators, show_ranking

if TYPE_CHECKING:
    from crowdrank.consensus import Consensus
    from crowdrank.methods.protocols import Method
    from crowdrank.study import Gold, Judgments


def rank(
    files: options.Files,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="See `crowdrank methods`; by default crowd-bt for pairs, borda for rankings, gda for grades.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method. May be repeated.")
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Gold that the method may start from.", show_default=False)
    ] = None,
    train: training.Train = None,
    train_gold: training.TrainGold = None,
    save: training.Save = None,
    load: training.Load = None,
    out: options.Out = None,
    annotators: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write what was learned about the annotators to this file.", show_default=False
        ),
    ] = None,
    qrels: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Write a grade for every item: TREC qrels (.qrels, .txt), or a table with the chance of each grade. May be repeated.",
            show_default=False,
        ),
    ] = None,
    bootstrap: Annotated[
        int,
        typer.Option(
            metavar="ROUNDS", help="Intervals for any method: from so many fits to resampled judgments. 0: none."
        ),
    ] = 0,
    bootstrap_over: Annotated[
        str, typer.Option(metavar="WHAT", help="What the bootstrap draws: judgments, or annotators with all they said.")
    ] = "judgments",
    neighbours: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write how surely neighbours of the ranking are told apart.", show_default=False
        ),
    ] = None,
    column: options.Columns = None,
    top_k: options.TopK = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Rank the items of each task, and say whom to trust.

    Example: crowdrank rank votes.csv --set prior=0.5 --out ranking.csv
    """
    read_from = [*files, *(train or ()), *(path for path in (gold, train_gold, load) if path)]
    options.check_outputs(
        [out, annotators, neighbours, *(qrels or [])], read_from, trec=[out, *(qrels or [])], models=[save]
    )
    given = options.assignments(settings, "--set")
    columns = options.assignments(column, "--column")
    from crowdrank import formats
    from crowdrank.methods import catalogue as methods
    from crowdrank.settings import SettingError
    from crowdrank.study import JudgmentError

    if method is not None and method not in methods.ALL:
        methods.method(method)
    training.check(method, train, train_gold, save, load)
    if gold is not None and (load or method in methods.SUPERVISED):
        raise SettingError("--gold is for methods that start from gold; what is learned from is --train-gold")
    if gold is not None and method is not None and not methods.METHODS[method].description.starts_from_gold:
        raise SettingError(methods.no_gold(method))
    judgments = formats.read(*files, columns=columns, top_k=top_k)
    if not len(judgments):
        raise JudgmentError(f"{', '.join(map(str, files))}: no judgments, only a header")
    with screen.progress():
        truth = formats.read_gold(gold) if gold else None
        ranker: Any  # a method, or what a supervised one has learned
        if load:
            ranker = training.loaded(load)
        elif method is not None and method in methods.SUPERVISED:
            ranker = training.learned(method, given, train or [], train_gold or Path(), columns, top_k, seed)
        else:
            ranker = _untrained(method or methods.usual_method(judgments), given, seed)
        consensus = _fitted(ranker, judgments, truth, bootstrap, bootstrap_over, seed)
    tables = {**_tables(consensus, out, annotators, neighbours), **_labels(consensus, qrels or [])}
    formats.write_files({**tables, save: training.as_bytes(ranker)} if save else tables)
    if json:
        used = asdict(getattr(ranker, "method", ranker))
        shown = (
            used
            if hasattr(ranker, "method")
            else {name: used[name] for name in used if name in given or name == "seed"}
        )
        screen.print_json(_as_json(consensus, shown))
    else:
        written = [("ranking", out), ("annotators", annotators), ("neighbours", neighbours), ("what was learned", save)]
        _show(consensus, judgments, [*written, *_named(qrels)])


def _untrained(name: str, given: dict[str, str], seed: int) -> Method:
    from crowdrank.methods import catalogue as methods

    chosen = options.settings_of(methods.METHODS[name], given)
    if "seed" in methods.settings_names(name):
        chosen.setdefault("seed", seed)
    return methods.method(name, **chosen)


def _fitted(method: Any, judgments: Judgments, gold: Gold | None, rounds: int, over: Any, seed: int) -> Consensus:
    """What the method finds by itself, or with the intervals of a bootstrap."""
    if rounds:
        from crowdrank.evaluation.bootstrap import bootstrap

        return bootstrap(method, judgments, over=over, rounds=rounds, seed=seed, gold=gold)
    from crowdrank.methods.catalogue import fit_method

    return fit_method(method, judgments, gold)


def _tables(consensus: Consensus, out: Path | None, annotators: Path | None, neighbours: Path | None) -> dict[Any, Any]:
    """What goes into which file."""
    tables: dict[Any, Any] = {out: consensus, annotators: consensus.annotators}
    if neighbours:
        from crowdrank.evaluation.neighbours import neighbours as disambiguate_tags

        tables[neighbours] = disambiguate_tags(consensus)
    return {path: table for path, table in tables.items() if path}


def _labels(consensus: Consensus, paths: Sequence[Path]) -> dict[Any, Any]:
    """Labels as qrels, or as a table with the chance of each grade, by the name of the file."""
    from crowdrank.formats.files import TREC_LETOR, kind_of
    from crowdrank.grading import as_gold, labels

    return {path: as_gold(consensus) if kind_of(path)[0] in TREC_LETOR else labels(consensus) for path in paths}


def _named(qrels: Sequence[Path] | None) -> list[tuple[str, Path]]:
    return [("grades", path) for path in qrels or []]


def _as_json(consensus: Consensus, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "method": consensus.method,
        "settings": settings,
        "fit": asdict(consensus.fit),
        "ranking": consensus.ranking.to_dicts(),
        "annotators": consensus.annotators.to_dicts(),
        "disconnected": consensus.disconnected,
        "notes": consensus.notes,
    }


def _show(consensus: Consensus, judgments: Judgments, written: Sequence[tuple[str, Path | None]]) -> None:
    fit = consensus.fit
    end = (
        f"; {'converged' if fit.converged else 'NOT converged'} in {screen.counted(fit.steps, 'steps')}"
        if fit.steps
        else ""
    )
    screen.say(f"{consensus.method}: {screen.in_words(judgments)}{end}\n")
    show_ranking(consensus)
    screen.say()
    show_annotators(consensus.annotators)
    if consensus.notes:
        screen.say()
        screen.show_notes(consensus.notes)
    for what, path in written:
        if path:
            screen.say(f"{what} written to {path}")
