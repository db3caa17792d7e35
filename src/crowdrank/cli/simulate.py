"""`crowdrank simulate`: studies of made-up crowds, whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdrank.cli import options, screen

if TYPE_CHECKING:
    from crowdrank.simulate import SimulatedStudy
    from crowdrank.study import Judgments

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


@dataclass(frozen=True, slots=True)
class StudyFiles:
    """The files to write a simulated study to."""

    judgments: Path
    gold: Path | None
    quality: Path | None

    def check(self, inputs: Sequence[Path] = ()) -> None:
        """Refuse, before the work, files that could not be written after it."""
        options.check_outputs([self.judgments, self.gold, self.quality], inputs)

    def write(self, study: SimulatedStudy, what: str) -> None:
        """Write the files that the user named, and say so."""
        import polars as pl

        from crowdrank import formats

        names = [str(name) for name in study.judgments.vocabulary.annotators]
        columns = {name: values for name, values in study.annotators.items() if values.ndim == 1}
        crowd = pl.DataFrame({"annotator": names, "quality": study.quality, **columns}, strict=False)
        tables = {self.judgments: study.judgments, self.gold: study.gold, self.quality: crowd}
        formats.write_files({path: table for path, table in tables.items() if path})
        screen.say(f"simulated {screen.in_words(study.judgments)}")
        screen.show_written({what: self.judgments, f"true {study.gold.kind}s": self.gold, "true quality": self.quality})


@app.callback()
def _group() -> None:
    """Simulate crowds whose true scores and qualities are known.

    Example: crowdrank simulate pairs --out votes.csv --gold gold.csv
    """


@app.command("pairs")
def pairs(
    out: Out,
    gold: Gold = None,
    quality_out: QualityOut = None,
    items: Items = 100,
    annotators: Annotators = 50,
    votes: Annotated[int, typer.Option(metavar="NUMBER", help="Total number of votes.")] = 5000,
    tasks: Tasks = 1,
    quality: Annotated[
        str, typer.Option(metavar="ALPHA,BETA", help="Beta distribution of the quality of ordinary annotators.")
    ] = "10,1",
    spammers: Spammers = 0.0,
    malicious: Malicious = 0.0,
    spread: Annotated[float, typer.Option(metavar="NUMBER", help="Standard deviation of the true scores.")] = 2.0,
    ties: Annotated[
        float, typer.Option(metavar="NUMBER", help="How often close items are called a tie: the larger, the more ties.")
    ] = 0.0,
    order_bias: Annotated[
        float, typer.Option(metavar="NUMBER", help="Log-odds by which the item on the left is preferred.")
    ] = 0.0,
    fatigue: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="How far quality falls towards random answers over an annotator's votes."),
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
    files = StudyFiles(out, gold, quality_out)
    files.check()
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
    files.write(study, "votes")


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
        typer.Option(
            metavar="NUMBERS",
            help="Number of grades on a scale. With several, separated by commas, annotators have them in turn: 2,5.",
        ),
    ] = "5",
    bias: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", help="Standard deviation of the annotators' bias: how far some grade higher than others."
        ),
    ] = 0.3,
    noise: Annotated[
        float, typer.Option(metavar="NUMBER", help="Standard deviation of grades of the same relevance.")
    ] = 0.5,
    variety: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="How far annotators differ in their noise and in their use of the scale."),
    ] = 0.3,
    experts: Annotated[
        float, typer.Option(metavar="NUMBER", help="Share of annotators with little noise and no bias.")
    ] = 0.0,
    spammers: Spammers = 0.0,
    malicious: Malicious = 0.0,
    difficulty: Annotated[
        float, typer.Option(metavar="NUMBER", help="How far items differ in how hard they are to grade.")
    ] = 0.0,
    gold_grades: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Write gold as grades, with this number of grades, instead of scores.",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = 0,
) -> None:
    """Simulate a crowd that grades items.

    Example: crowdrank simulate grades --out votes.csv --gold gold.csv --labels 3
    """
    files = StudyFiles(out, gold, quality_out)
    files.check()
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
    files.write(study, "grades")


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
            metavar="LOW,HIGH", help="Range of the annotators' θ: far below 0 reliable, 0 random, above 0 malicious."
        ),
    ] = "-1.5,-0.2",
    share: Annotated[float, typer.Option(metavar="NUMBER", help="Share of the tasks that an annotator ranks.")] = 1.0,
    length: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Rank this number of items of a task, drawn at random for every list.",
            show_default=False,
        ),
    ] = None,
    cut: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="Keep only the first items of a list, this many: top-k lists.", show_default=False
        ),
    ] = None,
    swaps: Annotated[
        bool,
        typer.Option(
            "--swaps",
            help="Swap neighbours at random up to a drawn distance (Wu et al. 2016): nearly perfect annotators.",
        ),
    ] = False,
    truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rank the items of this gold instead of simulated ones.", show_default=False),
    ] = None,
    seed: options.Seed = 0,
) -> None:
    """Simulate a crowd that ranks the items of each task (Mallows).

    Example: crowdrank simulate rankings --out lists.csv --gold gold.csv --theta=-0.5,0.1
    """
    files = StudyFiles(out, gold, quality_out)
    files.check(options.given(truth))
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
    files.write(study, "rankings")


def _two_numbers(name: str, text: str, *, like: str) -> tuple[float, float]:
    from crowdrank.settings import SettingError

    try:
        first, second = (float(part) for part in text.split(","))
    except ValueError:
        raise SettingError(f"{name} is {text!r}; it must be two numbers with a comma, like {like}") from None
    return first, second


@app.command("spam")
def spam(
    files: options.Files,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Write the study with the added annotators to this file; with several kinds of judgment, to "
            "FILE-grades, FILE-pairs, FILE-rankings.",
            show_default=False,
        ),
    ],
    share: Annotated[
        float, typer.Option(metavar="NUMBER", help="Annotators to add, as a share of the existing ones.")
    ] = 0.3,
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="random: they answer at random; malicious: they reverse the judgments of another annotator.",
        ),
    ] = "random",
    column: options.Columns = None,
    top_k: options.TopK = None,
    seed: options.Seed = 0,
) -> None:
    """Add spammers to a study, to see how robust a method is.

    Example: crowdrank simulate spam votes.csv --share 0.3 --out spammed.csv
    """
    options.check_outputs([out], files)
    from crowdrank import formats
    from crowdrank import simulate as crowds

    judgments = options.JudgmentFiles(files, options.assignments(column, "--column"), top_k).read()
    spammed = crowds.spam(judgments, share, kind, seed)  # type: ignore[arg-type]  # checked there
    tables = _one_kind_each(spammed, out)
    options.check_outputs(tables, files)
    formats.write_files(tables)
    added = len(spammed.vocabulary.annotators) - len(judgments.vocabulary.annotators)
    screen.say(f"added {screen.counted(added, 'annotators')}: {screen.in_words(spammed)}")
    for path in tables:
        screen.show_written({"judgments": path})


def _one_kind_each(judgments: Judgments, out: Path) -> dict[Path, Judgments]:
    """The files to write: `out`, or one for each of several kinds of judgment."""
    if len(judgments.kinds) <= 1:
        return {out: judgments}
    base, _, ending = out.name.partition(".")
    return {out.with_name(f"{base}-{kind}.{ending}"): judgments.only(kind) for kind in judgments.kinds}
