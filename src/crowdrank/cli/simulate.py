"""`crowdrank simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdrank.cli import options, screen

if TYPE_CHECKING:
    from crowdrank.simulate import SimulatedStudy

app = typer.Typer(no_args_is_help=True)

Out = Annotated[Path, typer.Option(metavar="FILE", help="Write the judgments to this file.", show_default=False)]
Gold = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the true scores to this file.", show_default=False)
]
QualityOut = Annotated[
    Path | None,
    typer.Option(
        "--quality-out", metavar="FILE", help="Write the annotators' true quality to this file.", show_default=False
    ),
]
Items = Annotated[int, typer.Option(metavar="NUMBER", help="Items per task.")]
Annotators = Annotated[int, typer.Option(metavar="NUMBER", help="Annotators.")]
Tasks = Annotated[int, typer.Option(metavar="NUMBER", help="Tasks.")]
Spammers = Annotated[float, typer.Option(metavar="NUMBER", help="Share of annotators who answer at random.")]
Malicious = Annotated[float, typer.Option(metavar="NUMBER", help="Share of annotators who always report the opposite.")]


@app.callback()
def _group() -> None:
    """Make up crowds whose truth is known.

    Example: crowdrank simulate pairs --out votes.csv --gold gold.csv
    """


@app.command("pairs")
def pairs(
    out: Out,
    gold: Gold = None,
    quality_out: QualityOut = None,
    items: Items = 100,
    annotators: Annotators = 50,
    votes: Annotated[int, typer.Option(metavar="NUMBER", help="Votes in all.")] = 5000,
    tasks: Tasks = 1,
    quality: Annotated[
        str, typer.Option(metavar="ALPHA,BETA", help="Beta distribution of the quality of ordinary annotators.")
    ] = "10,1",
    spammers: Spammers = 0.0,
    malicious: Malicious = 0.0,
    spread: Annotated[float, typer.Option(metavar="NUMBER", help="Standard deviation of the true scores.")] = 2.0,
    ties: Annotated[float, typer.Option(metavar="NUMBER", help="How readily close items are called a tie.")] = 0.0,
    order_bias: Annotated[
        float, typer.Option(metavar="NUMBER", help="Log-odds by which the left item is preferred, whatever it is.")
    ] = 0.0,
    fatigue: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="How far quality falls towards a coin toss over an annotator's votes."),
    ] = 0.0,
    neighbours: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Compare only items this close in the true order.", show_default=False),
    ] = None,
    votes_per_pair: Annotated[int, typer.Option(metavar="NUMBER", help="How many annotators judge each pair.")] = 1,
    seed: options.Seed = 0,
) -> None:
    """Simulate a crowd that votes on pairs.

    Example: crowdrank simulate pairs --out votes.csv --gold gold.csv --ties 0.1
    """
    options.check_outputs([out, gold, quality_out])
    from crowdrank import simulate as crowds

    study = crowds.pairs(
        items,
        annotators,
        votes,
        tasks=tasks,
        quality=_two_numbers("quality", quality, like="10,1"),
        spammers=spammers,
        malicious=malicious,
        spread=spread,
        ties=ties,
        order_bias=order_bias,
        fatigue=fatigue,
        neighbours=neighbours,
        votes_per_pair=votes_per_pair,
        seed=seed,
    )
    _write(study, "votes", out, gold, quality_out)


@app.command("grades")
def grades(
    out: Out,
    gold: Gold = None,
    quality_out: QualityOut = None,
    items: Items = 100,
    annotators: Annotators = 50,
    labels: Annotated[int, typer.Option(metavar="NUMBER", help="How many annotators grade each item.")] = 5,
    tasks: Tasks = 1,
    scales: Annotated[
        str,
        typer.Option(metavar="NUMBERS", help="Grades of an annotator's scale; several with commas take turns: 2,5."),
    ] = "5",
    bias: Annotated[float, typer.Option(metavar="NUMBER", help="How far annotators differ in being generous.")] = 0.3,
    noise: Annotated[float, typer.Option(metavar="NUMBER", help="How far grades of the same relevance scatter.")] = 0.5,
    variety: Annotated[
        float, typer.Option(metavar="NUMBER", help="How far annotators differ in noise and habits.")
    ] = 0.3,
    experts: Annotated[
        float, typer.Option(metavar="NUMBER", help="Share of annotators with little noise and no bias.")
    ] = 0.0,
    spammers: Spammers = 0.0,
    malicious: Malicious = 0.0,
    difficulty: Annotated[
        float, typer.Option(metavar="NUMBER", help="How far items differ in being hard to grade.")
    ] = 0.0,
    gold_grades: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Write so many grades as gold, not scores.", show_default=False)
    ] = None,
    seed: options.Seed = 0,
) -> None:
    """Simulate a crowd that grades items.

    Example: crowdrank simulate grades --out votes.csv --gold gold.csv --labels 3
    """
    options.check_outputs([out, gold, quality_out])
    from crowdrank import simulate as crowds
    from crowdrank.settings import SettingError

    try:
        sizes = tuple(int(part) for part in scales.split(","))
    except ValueError:
        raise SettingError(f"scales is {scales!r}; it must be whole numbers with commas, like 2,5") from None
    study = crowds.grades(
        items,
        annotators,
        labels,
        tasks=tasks,
        scales=sizes,
        bias=bias,
        noise=noise,
        variety=variety,
        experts=experts,
        spammers=spammers,
        malicious=malicious,
        difficulty=difficulty,
        gold_grades=gold_grades,
        seed=seed,
    )
    _write(study, "grades", out, gold, quality_out)


@app.command("rankings")
def rankings(
    out: Out,
    gold: Gold = None,
    quality_out: QualityOut = None,
    items: Items = 10,
    annotators: Annotators = 10,
    tasks: Annotated[int, typer.Option(metavar="NUMBER", help="Tasks.")] = 50,
    theta: Annotated[
        str,
        typer.Option(
            metavar="LOW,HIGH", help="Range of the annotators' θ: far below 0 an expert, 0 guesses, above 0 malicious."
        ),
    ] = "-1.5,-0.2",
    share: Annotated[float, typer.Option(metavar="NUMBER", help="Share of the tasks that an annotator ranks.")] = 1.0,
    length: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Rank so many items of a task, drawn for every list.", show_default=False),
    ] = None,
    cut: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Lists end after so many items: top-k lists.", show_default=False),
    ] = None,
    swaps: Annotated[
        bool, typer.Option("--swaps", help="Draw distances, not lists: nearly perfect annotators.")
    ] = False,
    truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rank the items of this gold instead of made-up ones.", show_default=False),
    ] = None,
    seed: options.Seed = 0,
) -> None:
    """Simulate a crowd that ranks the items of each task (Mallows).

    Example: crowdrank simulate rankings --out lists.csv --gold gold.csv --theta=-0.5,0.1
    """
    options.check_outputs([out, gold, quality_out], [truth] if truth else [])
    from crowdrank import formats
    from crowdrank import simulate as crowds

    study = crowds.rankings(
        items,
        annotators,
        tasks=tasks,
        theta=_two_numbers("theta", theta, like="-1.5,-0.2"),
        share=share,
        length=length,
        top_k=cut,
        swaps=swaps,
        gold=formats.read_gold(truth) if truth else None,
        seed=seed,
    )
    _write(study, "rankings", out, gold, quality_out)


def _two_numbers(name: str, text: str, *, like: str) -> tuple[float, float]:
    from crowdrank.settings import SettingError

    try:
        first, second = (float(part) for part in text.split(","))
    except ValueError:
        raise SettingError(f"{name} is {text!r}; it must be two numbers with a comma, like {like}") from None
    return first, second


def _write(study: SimulatedStudy, what: str, out: Path, gold: Path | None, quality_out: Path | None) -> None:
    """Write the files that are wanted, and say so."""
    import polars as pl

    from crowdrank import formats

    names = [str(name) for name in study.judgments.vocabulary.annotators]
    known = {name: values for name, values in study.annotators.items() if values.ndim == 1}
    crowd = pl.DataFrame({"annotator": names, "quality": study.quality, **known}, strict=False)
    wanted = (
        (out, study.judgments, what),
        (gold, study.gold, f"true {study.gold.kind}s"),
        (quality_out, crowd, "true quality"),
    )
    formats.write_files({path: table for path, table, _ in wanted if path})
    screen.say(f"simulated {screen.in_words(study.judgments)}")
    for path, _, written in wanted:
        if path:
            screen.say(f"{written} written to {path}")


@app.command("spam")
def spam(
    files: options.Files,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Write the spoilt study to this file; of several kinds of judgment, each to FILE-grades, FILE-pairs, FILE-rankings.",
            show_default=False,
        ),
    ],
    share: Annotated[
        float, typer.Option(metavar="NUMBER", help="Annotators to add, as a share of those there are.")
    ] = 0.3,
    kind: Annotated[
        str,
        typer.Option(metavar="KIND", help="random: they answer by chance; malicious: the opposite of somebody else."),
    ] = "random",
    column: options.Columns = None,
    top_k: options.TopK = None,
    seed: options.Seed = 0,
) -> None:
    """Add annotators who spoil a study, to see what a method bears.

    Example: crowdrank simulate spam votes.csv --share 0.3 --out spoilt.csv
    """
    options.check_outputs([out], files)
    from crowdrank import formats
    from crowdrank import simulate as crowds

    judgments = formats.read(*files, columns=options.assignments(column, "--column"), top_k=top_k)
    spoilt = crowds.spam(judgments, share, kind, seed)  # type: ignore[arg-type]  # it says what is wrong with another kind
    base, _, ending = out.name.partition(".")
    kinds = spoilt.kinds if len(spoilt.kinds) > 1 else ()
    wanted = [(out.with_name(f"{base}-{each}.{ending}"), spoilt.only(each)) for each in kinds] or [(out, spoilt)]
    options.check_outputs([path for path, _ in wanted], files)
    formats.write_files(dict(wanted))
    added = len(spoilt.vocabulary.annotators) - len(judgments.vocabulary.annotators)
    screen.say(f"added {screen.counted(added, 'annotators')}: {screen.in_words(spoilt)}")
    for path, _ in wanted:
        screen.say(f"judgments written to {path}")
