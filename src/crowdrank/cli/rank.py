"""`crowdrank rank`: rank the items of each task by judgments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdrank.cli import options, results, screen
from crowdrank.cli.place import Place
from crowdrank.cli.rank_outputs import (
    MethodToFit,
    Outputs,
    as_json,
    parts_as_json,
    report_page,
    show_written,
    write,
)

if TYPE_CHECKING:
    from crowdrank.consensus import Consensus
    from crowdrank.methods.protocols import Trained
    from crowdrank.study import Gold, Judgments


USUAL_ROUNDS = 200  # of the bootstrap, as in `cr.bootstrap`


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """The method that the user named, if any, and its settings."""

    name: str | None
    texts: Mapping[str, str]  # setting → its value as text
    seed: int


@dataclass(frozen=True, slots=True)
class TrainingFiles:
    """What a supervised method learns from, and the file of what it has learned."""

    judgments: options.JudgmentFiles
    gold: Path | None
    save: Path | None
    load: Path | None

    @property
    def inputs(self) -> list[Path]:
        return [*self.judgments.paths, *options.given(self.gold, self.load)]


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How many rounds of resampling, and of what."""

    rounds: int
    over: Any  # checked by `bootstrap`
    seed: int


def rank(
    files: options.Files,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="See `crowdrank methods`. Default: chosen by the judgments; a note says why.",
        ),
    ] = None,
    settings: options.MethodSettings = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Gold to start from; `crowdrank methods NAME` says whether a method can.",
            show_default=False,
        ),
    ] = None,
    train: Annotated[
        list[Path] | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="Judgments to learn from, for methods that learn from gold. May be repeated.",
            show_default=False,
        ),
    ] = None,
    train_gold: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Gold of the judgments to learn from.", show_default=False)
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what was learned to this .json file.", show_default=False)
    ] = None,
    load: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rank with what was learned and saved before.", show_default=False),
    ] = None,
    out: options.Out = None,
    annotators: options.AnnotatorsOut = None,
    qrels: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Write a grade for every item: TREC qrels (.qrels, .txt), or a table with the probability of each "
            "grade. May be repeated.",
            show_default=False,
        ),
    ] = None,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            metavar="ROUNDS",
            help="Intervals for any method, from this number of fits to resampled judgments. "
            "Default: no bootstrap (0), but 100 where lists are ranked by em-elo without --method; 200 with "
            "--bootstrap-over.",
            show_default=False,
        ),
    ] = None,
    bootstrap_over: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="What the bootstrap resamples: judgments, or annotators with all their judgments.",
            show_default="judgments",
        ),
    ] = None,
    neighbours: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write, for each item, the probability that it is better than the next item of the ranking.",
            show_default=False,
        ),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the consensus for the tool that exported the judgments: Label Studio's predictions, or "
            "Argilla's suggestions, as JSON.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Rank also within each category, that is for each value of this column; --out then has a column "
            "category, which is empty for the overall ranking. Of pairs, bradley-terry, thurstone, crowd-bt and "
            "crowd-thurstone estimate all categories in one fit, where categories with few votes borrow from the rest; "
            "elsewhere each category is fitted alone.",
            show_default=False,
        ),
    ] = None,
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="A number of each pair whose effect on votes is estimated, so that ranks do not depend on it: "
            "length_a-length_b (positive favours the left item), a single column, or family=family_a-family_b, which "
            "says which side has the annotator's family; or a column of --features. May be repeated.",
            show_default=False,
        ),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A table of the items (columns item, optionally task, and numbers such as length) for --covariate: "
            "what the left item of a pair has more than the right one.",
            show_default=False,
        ),
    ] = None,
    effects: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the effect of each covariate to this file.", show_default=False),
    ] = None,
    trust: options.Trust = None,
    csv_safe: options.CsvSafe = False,
    report: options.Report = None,
    report_gold: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Gold for the report alone: measures and calibration. The method does not see it.",
            show_default=False,
        ),
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw the scores with their intervals: .html, .svg, .png or .json.", show_default=False
        ),
    ] = None,
    column: options.Columns = None,
    left: options.Left = None,
    right: options.Right = None,
    top_k: options.TopK = None,
    scale: options.Scale = None,
    memory: options.Memory = None,
    engine: options.Engine = "local",
    address: options.Address = None,
    checkpoint: options.Checkpoint = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Rank the items of each task, and show which annotators to trust.

    Example: crowdrank rank votes.csv --set prior=0.5 --out ranking.csv
    """
    columns = options.column_names(column, left, right)
    words = options.comma_separated([scale]) if scale else None
    study = options.JudgmentFiles(files, columns, top_k, words, covariate or (), by, trust, features)
    chosen = MethodOptions(method, options.assignments(settings, "--set"), seed)
    training = TrainingFiles(options.JudgmentFiles(train or [], columns, top_k), train_gold, save, load)
    outputs = Outputs(out, annotators, neighbours, qrels or [], save, predictions, csv_safe, report, chart, effects)
    outputs.check([*files, *training.inputs, *options.given(gold, report_gold, trust, features)])
    _check_effects(covariate, effects, features)
    _check_training(method, training)
    _check_gold(method, training, gold)
    resampling = _resampling(bootstrap, bootstrap_over, seed)
    with Place(memory, engine, address, checkpoint).entered(method, as_tasks=resampling is not None):
        with screen.progress():
            judgments = _read(study)
        known = study.read_gold(gold) if gold else None
        known_to_report = study.read_gold(report_gold) if report_gold else None
        with screen.progress():
            to_fit = _method_to_fit(chosen, training, judgments, gold)
            if bootstrap is None and resampling is None and method is None:
                resampling = _resampling_of_chosen(to_fit, seed)
            pooled = bool(by) and resampling is None and _pools(to_fit, judgments)
            parts = study.read_by(by) if by and not pooled else {}
            judgments = judgments if pooled else _without_categories(judgments)
            consensus = _fitted(to_fit, judgments, known, resampling)
            consensus = replace(consensus, notes=(*consensus.notes, *to_fit.notes))
            of_parts = {name: _fitted(to_fit, part, known, resampling) for name, part in parts.items()}
            of_parts = results.pooled_parts(consensus, judgments) if pooled else of_parts
            page = report_page(consensus, to_fit, judgments, known_to_report, study.title) if report else None
        write(consensus, of_parts, to_fit, outputs, study, page)
        if json:
            screen.print_json({**as_json(consensus, to_fit), **parts_as_json(of_parts)})
        else:
            _show(consensus, judgments)
            if by:
                results.show_categories(by, of_parts, consensus.notes)
            show_written(outputs)


def _check_training(method: str | None, files: TrainingFiles) -> None:
    """Refuse an unknown method, and training options that do not go together, before anything is read."""
    from crowdrank.methods import catalogue
    from crowdrank.settings import SettingError

    if method is not None and method not in catalogue.ALL:
        catalogue.method(method)  # raises an error with the closest name
    train = bool(files.judgments.paths)
    if files.load is not None:
        if train or files.gold or files.save or method:
            raise SettingError(
                "--load ranks with what was learned before; remove --method, --train, --train-gold and --save"
            )
    elif method in catalogue.SUPERVISED:
        if not (train and files.gold):
            raise SettingError(
                f"{method} learns from gold before it ranks: give --train FILE and --train-gold FILE, or --load FILE"
            )
        if files.save is not None and files.save.suffix != ".json":
            raise SettingError(f"{files.save}: what was learned is written to a .json file; name it .json")
    elif train or files.gold or files.save:
        problem = (
            f"{method} does not learn from gold"
            if method
            else "--train, --train-gold and --save need a --method that learns from gold"
        )
        raise SettingError(f"{problem}; these methods do: {', '.join(catalogue.SUPERVISED)}")


def _check_effects(covariate: list[str] | None, file: Path | None, features: Path | None) -> None:
    from crowdrank.settings import SettingError

    if file is not None and not covariate:
        raise SettingError("--effects writes the effects of covariates, and there are none: name them with --covariate")
    if features is not None and not covariate:
        raise SettingError("--features is a table of covariates, and none is named: name its columns with --covariate")


def _pools(to_fit: MethodToFit, judgments: Judgments) -> bool:
    """Whether the method estimates all categories in one fit."""
    return judgments.kinds == ("pairs",) and "covariates" in to_fit.method.description.pair_columns


def _without_categories(judgments: Judgments) -> Judgments:
    return replace(judgments, pairs=replace(judgments.pairs, category=None), categories=None)


def _check_gold(method: str | None, files: TrainingFiles, gold: Path | None) -> None:
    """Refuse --gold where the method cannot start from it."""
    from crowdrank.methods import catalogue
    from crowdrank.settings import SettingError

    if gold is None:
        return
    if files.load or method in catalogue.SUPERVISED:
        raise SettingError("--gold is for methods that start from gold; give the gold to learn from as --train-gold")
    if method is not None and not catalogue.METHODS[method].description.starts_from_gold:
        raise SettingError(catalogue.no_gold(method))


def _read(study: options.JudgmentFiles) -> Judgments:
    from crowdrank.study import JudgmentError

    judgments = study.read()
    if not len(judgments):
        raise JudgmentError(f"{', '.join(map(str, study.paths))}: no judgments, only a header")
    return judgments


def _method_to_fit(
    chosen: MethodOptions, training: TrainingFiles, judgments: Judgments, gold: Path | None
) -> MethodToFit:
    """The method to fit: trained, loaded, named by the user, or the usual one for these judgments."""
    from crowdrank.methods import catalogue
    from crowdrank.methods.choice import choose_method

    if training.load:
        from crowdrank.saved import load  # here, not above: it imports all rankers

        trained = load(training.load)
        return MethodToFit(trained, asdict(trained.method))
    if chosen.name in catalogue.SUPERVISED:
        trained = _train(chosen, training)
        return MethodToFit(trained, asdict(trained.method))
    if gold and chosen.name is None:  # not every method could start from it
        name, reason = catalogue.usual_method(judgments), "it is the usual method for these judgments"
    else:
        name, reason = (chosen.name, "") if chosen.name else choose_method(judgments)
    method = catalogue.method(name, **options.parse_settings(catalogue.METHODS[name], chosen.texts, chosen.seed))
    settings = catalogue.settings_of(method)
    shown = {name: settings[name] for name in settings if name in chosen.texts or name == "seed"}
    return MethodToFit(method, shown, (f"{name} was chosen because {reason}",) if reason else ())


def _train(chosen: MethodOptions, training: TrainingFiles) -> Trained:
    from crowdrank import formats
    from crowdrank.methods import catalogue

    assert chosen.name is not None
    assert training.gold is not None  # by `_check_training`
    settings = options.parse_settings(catalogue.SUPERVISED[chosen.name], chosen.texts, chosen.seed)
    method = catalogue.supervised(chosen.name, **settings)
    return method.train(training.judgments.read(), formats.read_gold(training.gold))


def _resampling(rounds: int | None, over: str | None, seed: int) -> Bootstrap | None:
    """The bootstrap that the user asks for; to say only what to resample is enough."""
    if rounds == 0 or (rounds is None and over is None):
        return None
    return Bootstrap(USUAL_ROUNDS if rounds is None else rounds, over or "judgments", seed)


def _resampling_of_chosen(to_fit: MethodToFit, seed: int) -> Bootstrap | None:
    """The bootstrap that gives intervals to a method that was chosen by the judgments and has none itself."""
    from crowdrank.methods.choice import RESAMPLED, ROUNDS

    return Bootstrap(ROUNDS, "judgments", seed) if to_fit.method.description.name in RESAMPLED else None


def _fitted(to_fit: MethodToFit, judgments: Judgments, gold: Gold | None, resampling: Bootstrap | None) -> Consensus:
    """The consensus, with the intervals of the method itself or of a bootstrap."""
    method: Any = to_fit.method
    if resampling is not None:
        from crowdrank.evaluation.bootstrap import bootstrap

        rounds, over, seed = resampling.rounds, resampling.over, resampling.seed
        return bootstrap(method, judgments, over=over, rounds=rounds, seed=seed, gold=gold)
    from crowdrank.methods.catalogue import fit_method

    return fit_method(method, judgments, gold)


def _show(consensus: Consensus, judgments: Judgments) -> None:
    screen.say(f"{consensus.method}: {screen.in_words(judgments)}{results.convergence(consensus.fit)}\n")
    results.show_ranking(consensus)
    screen.say()
    if consensus.covariates is not None:
        results.show_covariates(consensus.covariates)
    results.show_annotators(consensus.annotators)
    if consensus.notes:
        screen.say()
        screen.show_notes(consensus.notes)
