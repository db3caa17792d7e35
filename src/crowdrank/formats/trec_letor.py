"""TREC runs, TREC qrels and LETOR files: columns separated by blanks, no header. The first line shows which it is.

| kind | a line |
|---|---|
| TREC run | `task Q0 item rank score tag` |
| TREC qrels | `task 0 item grade` |
| LETOR, rank aggregation | `grade qid:task 1:rank 2:rank … #docid = item`, NULL where a list does not have the item |
| LETOR, features (SVMlight) | `grade qid:task 1:number 2:number … #docid = item` |

In files of features, missing features are 0, and items without a name get numbers.

A run is ordered by its scores, the highest first, as trec_eval does: its column of ranks is not used. Equal scores are
a tie. Items that a run or a list of LETOR does not list rank below those it lists (with Borda on MQ2008-agg, NDCG@1 is
.38; .16 if they are treated as not compared). In LETOR's files rank 1 is the best, although LETOR's web page says
otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.formats.source import ROWS_SHOWN, Source, shorten
from crowdrank.formats.table import BYTE_ORDER_MARK, check_text
from crowdrank.study import JudgmentError

FIRST_LINE = 100_000  # bytes in which the first line must end
RUN = ("task", "Q0", "item", "rank", "score", "annotator")
QRELS = ("task", "iteration", "item", "grade")
LINES = {
    "run": "task Q0 item rank score tag",
    "qrels": "task 0 item grade",
    "letor": "grade qid:task 1:rank 2:rank … #docid = item",
    "features": "grade qid:task 1:number 2:number … #docid = item",
}
NEITHER = (
    f"is neither a TREC run ({LINES['run']}), nor qrels ({LINES['qrels']}), nor a LETOR file; "
    "if it is a table, name it .csv or .tsv"
)
NOT_LISTED = "NULL"
LINES_AT_ONCE = 50_000  # of features: as text they take many times the memory of the numbers

Wanted = Literal["judgments", "truth", "features"]  # a LETOR file holds the truth, and judgments or features


@dataclass(frozen=True, slots=True)
class Run(Source):
    """A run as a source: each tag is an annotator, who ranks by the scores."""

    tags: tuple[str, ...] = ()


def read_trec_letor(path: Path, data: bytes, *, wanted: Wanted, otherwise: str | None = None) -> Source:
    """A file of one of these kinds; `otherwise` is the message if it is none of them."""
    first = data[:FIRST_LINE].removeprefix(BYTE_ORDER_MARK).lstrip()
    fields = (first.splitlines() or [b""])[0].split()
    if len(fields) > 1 and fields[1].startswith(b"qid:"):
        return _of_letor(path, _lines(path, data), wanted)
    if wanted == "features":
        raise JudgmentError(
            otherwise
            or f"{path}: is not a file of features: {LINES['features']}; if it is a table, name it .csv or .parquet"
        )
    if len(fields) == len(RUN):
        return _of_run(path, data, truth=wanted == "truth")
    if len(fields) == len(QRELS):
        return replace(_table(path, data, QRELS, "qrels"), columns=["task", "item", "grade"])
    if otherwise is None:
        check_text(path, data)
    raise JudgmentError(otherwise or f"{path}: {NEITHER}")


def _of_run(path: Path, data: bytes, *, truth: bool) -> Source:
    source = _table(path, data, RUN, "run")
    tags = sorted(source.ids("annotator").unique())
    if truth:
        if len(tags) > 1:
            raise JudgmentError(
                f"{path}: contains {len(tags):,} runs ({', '.join(map(shorten, tags[:3]))}, …); "
                "a ranking must be a single run: split the file"
            )
        return replace(source, columns=["task", "item", "score"])

    def load(column: str) -> pl.Series:
        return _ranks(source) if column == "rank" else source.load(column)

    return Run(source.name, ["task", "annotator", "item", "rank"], load, source.place, top_k=True, tags=tuple(tags))


def _ranks(run: Source) -> pl.Series:
    """The rank of each row by its score; equal scores share their mean rank."""
    frame = pl.DataFrame({"task": run.load("task"), "tag": run.load("annotator"), "score": run.numbers("score")})
    return frame.select(pl.col("score").rank("average", descending=True).over("task", "tag")).to_series().alias("rank")


def disambiguate_tags(sources: Sequence[Source]) -> list[Source]:
    """Runs of several files with the same tag get the names of their files instead."""
    uses = Counter(tag for source in sources if isinstance(source, Run) for tag in source.tags)
    shared = {tag for tag, count in uses.items() if count > 1}
    named = [source for source in sources if isinstance(source, Run) and shared.intersection(source.tags)]
    stems = [Path(run.name).name.split(".")[0] for run in named]
    names = stems if len(set(stems)) == len(stems) else [run.name for run in named]
    renamed = {id(run): _renamed(run, name) for run, name in zip(named, names, strict=True)}
    return [renamed.get(id(source), source) for source in sources]


def _renamed(run: Run, name: str) -> Source:
    """The run with the name of its file as its tag; before each tag, if it has several."""

    def load(column: str) -> pl.Series:
        values = run.load(column)
        if column != "annotator":
            return values
        return pl.repeat(name, len(values), eager=True) if len(run.tags) == 1 else name + ":" + values

    return replace(run, load=load)


def _of_letor(path: Path, lines: pl.DataFrame, wanted: Wanted) -> Source:
    parts = lines.select(
        "number",
        pl.col("line").str.extract(r"^(\S+)\s+qid:").alias("grade"),
        pl.col("line").str.extract(r"^\S+\s+qid:(\S+)").alias("task"),
        pl.col("line").str.extract(r"^\S+\s+qid:\S+\s*([^#]*)").str.strip_chars().alias("cells"),
        pl.col("line").str.extract(r"#\s*docid\s*=\s*(\S+)").alias("item"),
    )
    if wanted != "judgments" and parts["item"].null_count() == len(
        parts
    ):  # in SVMlight's own files items have no names
        parts = parts.with_columns(pl.int_range(1, pl.len() + 1).over("task").cast(pl.String).alias("item"))
    whole = _source(path, parts, ["task", "item", "grade"])
    broken = parts.select(pl.any_horizontal(pl.col("task", "item").is_null())).to_series()
    line = LINES["features" if wanted == "features" else "letor"]
    whole.refuse(broken, lambda _: f"is not a line of a LETOR file: {line}")
    if wanted == "features":
        return _letor_features(path, parts)
    return whole if wanted == "truth" else _letor_ranks(path, parts)


def _letor_features(path: Path, parts: pl.DataFrame) -> Source:
    """A column of numbers for every feature, called by its number."""
    pieces = [_numbered_cells(path, piece) for piece in parts.iter_slices(LINES_AT_ONCE)]
    width = max((int(column.max()) for _, column, _ in pieces if len(column)), default=0)
    values = np.zeros((len(parts), width))
    start = 0
    for row, column, value in pieces:
        values[start + row, column - 1] = value
        start += LINES_AT_ONCE
    known = {"task": parts["task"], "item": parts["item"]}

    def load(column: str) -> pl.Series:
        return known[column] if column in known else pl.Series(column, values[:, int(column) - 1])

    place = _source(path, parts, []).place
    return Source(str(path), [*known, *(str(number) for number in range(1, width + 1))], load, place)


def _numbered_cells(
    path: Path, parts: pl.DataFrame
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The row, the number of the feature and the value of every cell."""
    cells = parts.select("number", pl.col("cells").str.split(" ")).with_row_index("row").explode("cells")
    cells = cells.filter(pl.col("cells").fill_null("") != "").with_columns(
        pl.col("cells").str.extract(r"^(\d+):").cast(pl.Int64, strict=False).alias("column"),
        pl.col("cells").str.extract(r"^\d+:(.*)$").cast(pl.Float64, strict=False).alias("value"),
    )
    wrong = cells.select(~(pl.col("value").is_finite() & (pl.col("column") >= 1)).fill_null(False)).to_series()
    shown = cells["cells"]
    _source(path, cells, []).refuse(
        wrong, lambda row: f"{shorten(shown[row])!r} is not a feature number and a finite value, like 3:0.25"
    )
    return cells["row"].cast(pl.Int64).to_numpy(), cells["column"].to_numpy(), cells["value"].to_numpy()


def _letor_ranks(path: Path, parts: pl.DataFrame) -> Source:
    """A row for every item of every list."""
    cells = parts.with_columns(pl.col("cells").str.split(" ")).explode("cells").filter(pl.col("cells") != "")
    value = pl.col("cells").str.extract(r"^\d+:(.*)$").alias("rank")
    cells = cells.with_columns(pl.col("cells").str.extract(r"^(\d+):").alias("annotator"), value)
    cells = cells.filter(pl.col("rank").is_null() | (pl.col("rank") != NOT_LISTED))
    ranks = replace(_source(path, cells, ["task", "annotator", "item", "rank"]), top_k=True)
    wrong = ~cells["rank"].fill_null("").str.contains(r"^0*[1-9]\d*$")
    ranks.refuse(
        wrong,
        lambda row: f"{shorten(cells['cells'][row])!r} is not a list number and a rank, like 3:17 or 3:NULL",
    )
    return ranks


def _table(path: Path, data: bytes, names: tuple[str, ...], kind: str) -> Source:
    """The columns of a run or of qrels as texts."""
    data, schema = _single_blanks(_text(path, data)), dict.fromkeys(names, pl.String)
    try:
        frame = pl.read_csv(data, separator=" ", has_header=False, quote_char=None, schema=schema)
    except pl.exceptions.PolarsError:
        _refuse_widths(path, data, len(names), kind)
        rows = [line.decode().split(" ") if line else [None] * len(names) for line in data.split(b"\n")]
        frame = pl.DataFrame(rows, schema=schema, orient="row")
    frame = frame.with_row_index("number", offset=1)
    some = frame.filter(pl.any_horizontal(pl.col(names).is_not_null()))  # blank lines are not rows
    if some.select(pl.col(names[-1]).null_count()).item():
        _refuse_widths(path, data, len(names), kind)
    return _source(path, some, list(names))


def _source(path: Path, frame: pl.DataFrame, columns: list[str]) -> Source:
    """A frame whose column `number` is the line of each row."""
    place: Callable[[int], str] = lambda row: f"{path}:{frame['number'][row]}"  # noqa: E731
    return Source(str(path), columns, frame.get_column, place)


def _text(path: Path, data: bytes) -> bytes:
    check_text(path, data)
    data = data.removeprefix(BYTE_ORDER_MARK)
    return data if b"\n" in data else data.replace(b"\r", b"\n")


def _single_blanks(data: bytes) -> bytes:
    """One blank between columns, none at the ends of lines."""
    data = data.replace(b"\t", b" ").replace(b"\r\n", b"\n")
    if b"  " in data:
        data = re.sub(rb"  +", b" ", data)
    return data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _lines(path: Path, data: bytes) -> pl.DataFrame:
    """The lines that are not blank, with their numbers."""
    lines = _text(path, data).decode().splitlines()
    frame = pl.DataFrame({"line": pl.Series(lines, dtype=pl.String).str.strip_chars()}).with_row_index(
        "number", offset=1
    )
    return frame.filter(pl.col("line") != "")


def _refuse_widths(path: Path, data: bytes, width: int, kind: str) -> None:
    """Name the lines that have more or fewer columns."""
    found = [(number, len(line.split(b" "))) for number, line in enumerate(data.split(b"\n"), 1) if line]
    wrong = [(number, count) for number, count in found if count != width]
    messages = [
        f"{path}:{number}: this line has {count} columns, but a line must have {width}: {LINES[kind]}"
        for number, count in wrong[:ROWS_SHOWN]
    ]
    if len(wrong) > ROWS_SHOWN:
        messages.append(f"… and {len(wrong) - ROWS_SHOWN:,} more rows like these")
    if messages:
        raise JudgmentError("\n".join(messages))
