"""`crowdrank simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdrank.cli import options, screen

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Make up crowds whose truth is known.

    Example: crowdrank simulate pairs --out votes.csv --gold gold.csv
    """


@app.command("pairs")
def pairs(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the votes to this file.", show_default=False)],
    gold: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the true scores to this file.", show_default=False)
    ] = None,
    quality_out: Annotated[
        Path | None,
        typer.Option(
            "--quality-out", metavar="FILE", help="Write the annotators' true quality to this file.", show_default=False
        ),
    ] = None,
    items: Annotated[int, typer.Option(metavar="NUMBER", help="Items per task.")] = 100,
    annotators: Annotated[int, typer.Option(metavar="NUMBER", help="Annotators.")] = 50,
    votes: Annotated[int, typer.Option(metavar="NUMBER", help="Votes in all.")] = 5000,
    tasks: Annotated[int, typer.Option(metavar="NUMBER", help="Tasks.")] = 1,
    quality: Annotated[
        str, typer.Option(metavar="ALPHA,BETA", help="Beta distribution of the quality of ordinary annotators.")
    ] = "10,1",
    spammers: Annotated[float, typer.Option(metavar="NUMBER", help="Share of annotators who answer at random.")] = 0.0,
    malicious: Annotated[float, typer.Option(metavar="NUMBER", help="Share of annotators who always report the opposite.")] = 0.0,
    spread: Annotated[float, typer.Option(metavar="NUMBER", help="Standard deviation of the true scores.")] = 2.0,
    ties: Annotated[float, typer.Option(metavar="NUMBER", help="How readily close items are called a tie.")] = 0.0,
    order_bias: Annotated[
        float, typer.Option(metavar="NUMBER", help="Log-odds by which the left item is preferred, whatever it is.")
    ] = 0.0,
    fatigue: Annotated[
        float, typer.Option(metavar="NUMBER", help="How far quality falls towards a coin toss over an annotator's votes.")
    ] = 0.0,
    neighbours: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Compare only items this close in the true order.", show_default=False)
    ] = None,
    votes_per_pair: Annotated[int, typer.Option(metavar="NUMBER", help="How many annotators judge each pair.")] = 1,
    seed: options.Seed = 0,
) -> None:
    """Simulate a crowd that votes on pairs.

    Example: crowdrank simulate pairs --out votes.csv --gold gold.csv --ties 0.1
    """
    options.check_outputs([out, gold, quality_out])
    import polars as pl

    from crowdrank import formats
    from crowdrank import simulate as crowds
    from crowdrank.settings import SettingError

    try:
        alpha, beta = (float(part) for part in quality.split(","))
    except ValueError:
        raise SettingError(f"quality is {quality!r}; it must be two numbers with a comma, like 10,1") from None
    study = crowds.pairs(
        items,
        annotators,
        votes,
        tasks=tasks,
        quality=(alpha, beta),
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
    names = [str(name) for name in study.judgments.vocabulary.annotators]
    wanted = ((out, study.judgments), (gold, study.gold), (quality_out, {"annotator": names, "quality": study.quality}))
    formats.write_files({path: pl.DataFrame(table) if isinstance(table, dict) else table for path, table in wanted if path})
    screen.say(f"simulated {screen.in_words(study.judgments)}")
    for (path, _), what in zip(wanted, ("votes", "true scores", "true quality"), strict=True):
        if path:
            screen.say(f"{what} written to {path}")


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
    share: Annotated[float, typer.Option(metavar="NUMBER", help="Annotators to add, as a share of those there are.")] = 0.3,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="random: they answer by chance; malicious: the opposite of somebody else.")
    ] = "random",
    column: options.Columns = None,
    top_k: options.TopK = False,
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
