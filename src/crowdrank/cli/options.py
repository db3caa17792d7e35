"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

if TYPE_CHECKING:
    from crowdrank.study import Gold, Judgments

GOLD = "File with the columns item, one of grade, score or rank, and task if there are several tasks; or known pairs."

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES",
        help="Files of judgments: .csv, .tsv, .jsonl, .parquet or .xlsx, each also with .gz or .zst; TREC runs; LETOR "
        "rank aggregation files; exports of other tools (docs/formats.md).",
        show_default=False,
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        help="Grades in words, from the worst to the best, separated by commas: bad,fair,good.",
        show_default=False,
    ),
]
Features = Annotated[
    Path,
    typer.Argument(
        metavar="FEATURES",
        help="Features of the items: a table with the columns task, item and numbers, or a LETOR or SVMlight file.",
        show_default=False,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=NAME",
        help="The name of a column in your file, for example annotator=user; in JSON also left=data.a. "
        "list=NAME is the column that separates several rankings by one annotator. May be repeated.",
    ),
]
Left = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The column of the left items of pairs; in JSON also data.answer_a."),
]
Right = Annotated[str | None, typer.Option(metavar="NAME", help="The column of the right items of pairs.")]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns that are not features, separated by commas. May be repeated."),
]
# A flag takes no value: nothing stands behind its name in the help.
TopK = Annotated[
    bool | None,
    typer.Option(
        "--top-k/--no-top-k",
        metavar="",
        help="Whether the items that a ranking does not list rank below those it lists. "
        "Default: yes for TREC runs and LETOR files, no for tables.",
        show_default=False,
    ),
]
MethodSettings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method. May be repeated.")
]
PolicySettings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the policy. May be repeated.")
]
Gamma = Annotated[
    list[float] | None,
    typer.Option(
        metavar="NUMBER",
        help="The weight of information about annotators, relative to information about items "
        "(mutual-information, information-gain, top-k).",
        show_default="0 for mutual-information, 1 for the others",
    ),
]
Json = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON document instead of tables.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result to this file.", show_default=False)]
CsvSafe = Annotated[
    bool,
    typer.Option(
        "--csv-safe",
        metavar="",
        help="For spreadsheets: in .csv and .tsv files, put an apostrophe before ids that begin with =, +, - or @, "
        "which would be computed as formulas.",
    ),
]
AnnotatorsOut = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write the quality and other estimates of the annotators to this file.", show_default=False
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a report: one .html page that needs no network.", show_default=False),
]
Trust = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE|COLUMN",
        help="Those by whom the others are measured: a file with the column annotator, or a column of the judgments "
        "that is yes or no.",
        show_default=False,
    ),
]
Seed = Annotated[
    int, typer.Option(metavar="NUMBER", min=0, help="Seed of the random numbers: the same seed, the same result.")
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Keep resident memory below this size, for example 4GB: files are read in pieces, and large arrays are "
        "kept in a working folder (in TMPDIR).",
        show_default="no limit",
    ),
]
Engine = Annotated[
    str, typer.Option(metavar="NAME", help="Where the fit runs: local, or on a Ray cluster: ray (docs/scale.md).")
]
Address = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="The Ray cluster. Default: one on this machine.", show_default=False),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="With --engine ray: keep every step here; if the command was stopped, it goes on from there.",
        show_default=False,
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="NAMES",
        help="One measure, or several separated by commas: ndcg@10,map. The measures are ndcg, trec-ndcg, letor-ndcg, "
        "p, recall, map, rbp, err and mrr, with @k for a depth, and acc, tau, spearman; docs/measures.md defines them.",
    ),
]
Ignore = Annotated[
    bool,
    typer.Option(
        "--ignore-unjudged", metavar="", help="Remove items without gold instead of counting them as not relevant."
    ),
]
SkipEmpty = Annotated[
    bool, typer.Option("--skip-empty", metavar="", help="Exclude tasks without a relevant item from the mean.")
]


@dataclass(frozen=True, slots=True)
class JudgmentFiles:
    """The files of a study, and how to read them."""

    paths: Sequence[Path]
    columns: Mapping[str, str] = field(default_factory=dict)  # role → the name of the column
    top_k: bool | None = None
    scale: Sequence[str] | None = None  # words for grades, from the worst to the best
    covariates: Sequence[str] = ()
    by: str | None = None  # the column of categories
    trust: Path | None = None  # a file that names annotators, or the name of a column
    features: Path | None = None  # a table of items with covariates

    @property
    def title(self) -> str:
        """The title of a report about them."""
        more = f" and {len(self.paths) - 1} more" * (len(self.paths) > 1)
        return f"Ranking of {self.paths[0].name}{more}"

    def read(self) -> Judgments:
        from crowdrank import formats

        trusted: list[str] | str | None = None
        if self.trust is not None:
            is_column = self.trust.name == str(self.trust) and not self.trust.suffix and not self.trust.exists()
            trusted = str(self.trust) if is_column else formats.read_annotators(self.trust)
        return formats.read(
            *self.paths,
            columns=self.columns,
            top_k=self.top_k,
            scale=self.scale,
            covariates=self.covariates,
            by=self.by,
            trusted=trusted,
            features=self.features,
        )

    def read_by(self, by: str) -> dict[str, Judgments]:
        """The judgments of each category."""
        from crowdrank import formats

        return formats.read_by(*self.paths, by=by, columns=self.columns, top_k=self.top_k, scale=self.scale)

    def read_gold(self, path: Path) -> Gold:
        """Gold from another file, or from what one of these files says is known."""
        from crowdrank import formats
        from crowdrank.formats.writing import followed

        inside = followed(path) in map(followed, self.paths)
        known = ("task", "item", "grade", "rank", "left", "right", "winner")
        columns = {role: name for role, name in self.columns.items() if role in known} if inside else {}
        return formats.read_gold(path, columns=columns, scale=self.scale if inside else None)


def unjudged(ignore: bool) -> Literal["ignore", "nonrelevant"]:
    """What `--ignore-unjudged` means to `evaluate` and `compare`."""
    return "ignore" if ignore else "nonrelevant"


def column_names(columns: list[str] | None, left: str | None, right: str | None) -> dict[str, str]:
    """The columns that a user names: role → name."""
    sides = {role: name for role, name in (("left", left), ("right", right)) if name is not None}
    return {**assignments(columns, "--column"), **sides}


def assignments(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """`name=value` texts as a dict."""
    from crowdrank.settings import SettingError

    pairs = [text.partition("=") for text in texts or ()]
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise SettingError(f"{option} {name}{equals}{value}: write it as name=value")
        if [each for each, _, _ in pairs].count(name) > 1:
            raise SettingError(f"{option} {name} is given twice; give it once")
    return {name: value for name, _, value in pairs}


def parse_settings(method: type, texts: Mapping[str, str], seed: int | None = None) -> dict[str, Any]:
    """The settings of a method from their texts, by their declared types; and the seed, if the method has one."""
    types = get_type_hints(method)
    known = {each.name for each in fields(method)}
    settings = {name: _value(name, text, types[name]) if name in known else text for name, text in texts.items()}
    return {"seed": seed, **settings} if seed is not None and "seed" in known else settings


def _value(name: str, text: str, declared: Any) -> Any:
    from crowdrank.settings import SettingError

    if isinstance(declared, UnionType):
        if text.lower() == "none":
            return None
        declared = get_args(declared)[0]
    try:
        if declared is bool:
            return {"true": True, "yes": True, "false": False, "no": False}[text.lower()]
        if declared is float:
            return float(text)
        if declared is int:
            return int(text)
        if get_args(declared)[-1:] == (...,):
            return tuple(_weight(part) for part in text.split(","))
        if get_origin(declared) is tuple:
            parts = text.strip("()").split(",")
            if len(parts) != len(get_args(declared)):
                raise ValueError
            return tuple(float(part) for part in parts)
    except (KeyError, ValueError):
        raise SettingError(f"{name} is {text!r}; it must be {_wanted(declared)}") from None
    return text


def _weight(text: str) -> tuple[str, float]:
    name, colon, weight = text.rpartition(":")
    if not colon:
        raise ValueError
    return name.strip(), float(weight)


def _wanted(declared: Any) -> str:
    """What the text of a setting of this type must be."""
    if get_args(declared)[-1:] == (...,):
        return "names with numbers, like bm25:2,dense:0.5"
    words: dict[Any, str] = {bool: "true or false", float: "a number", int: "a whole number"}
    return words.get(declared, "numbers with commas, like 2,1")


def as_text(value: Any) -> str:
    """A setting as `--set` takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def comma_separated(texts: Sequence[str] | None) -> list[str] | None:
    """Values of a repeatable option, each of which may hold several, separated by commas."""
    return [part.strip() for text in texts for part in text.split(",") if part.strip()] if texts else None


def command_line() -> str:
    """The command as the user gave it."""
    import shlex
    import sys

    return shlex.join(["crowdrank", *sys.argv[1:]])


def given(*paths: Path | None) -> list[Path]:
    """Those of some optional files that the user named."""
    return [path for path in paths if path is not None]


def check_outputs(
    tables: Iterable[Path | None],
    inputs: Sequence[Path] = (),
    *,
    trec: Sequence[Path | None] = (),
    other: Iterable[Path | None] = (),
    chart: Path | None = None,
    report: Path | None = None,
) -> None:
    """Refuse, before the work, files that could not be written after it.

    Of the `tables`, only those in `trec` may be TREC files. `other` files (models) hold no tables.
    """
    from crowdrank.formats.files import TREC_LETOR, kind_of
    from crowdrank.formats.writing import check_writable, followed
    from crowdrank.settings import SettingError

    named_tables = given(*tables)
    for path in named_tables:
        if kind_of(path)[0] in TREC_LETOR and path not in trec:
            raise SettingError(f"{path}: a TREC file cannot hold this table; name it .csv, .tsv, .jsonl or .parquet")
    outputs = [*named_tables, *given(*other, chart, report)]
    for number, path in enumerate(outputs):
        check_writable(path)
        if followed(path) in map(followed, (*inputs, *outputs[:number])):
            raise SettingError(f"{path}: is named twice; give every file its own name")
    if report and report.suffix != ".html":
        raise SettingError(f"{report}: a report is one page; name it .html")
    for path in given(chart, report):
        from crowdrank.report.charts import check_chart_file

        check_chart_file(path)
