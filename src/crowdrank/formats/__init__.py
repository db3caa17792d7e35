"""Reading and writing: judgments, gold and rankings from files and data frames, and to files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import narwhals as nw
import numpy as np
import polars as pl

from crowdrank.consensus import Consensus
from crowdrank.formats.categories import by_category
from crowdrank.formats.decode import gold_table, table_of, trec_table
from crowdrank.formats.encode import judgments_of
from crowdrank.formats.encode_gold import gold_of, scores_of
from crowdrank.formats.exports import sources_of
from crowdrank.formats.files import (
    PREFLIB,
    TREC_LETOR,
    kind_of,
    matching_files,
    notes_on_copies,
    of_file,
    refuse_same_files,
)
from crowdrank.formats.preflib_text import preflib_text
from crowdrank.formats.scales import check_scale
from crowdrank.formats.source import Source, as_text, of_frame
from crowdrank.formats.trec_letor import disambiguate_tags
from crowdrank.formats.vote_context import VoteContext
from crowdrank.formats.writing import packed, write_all
from crowdrank.study import FrameT, Gold, JudgmentError, Judgments

FilePath = str | os.PathLike[str]


def read(
    *paths: FilePath,
    columns: Mapping[str, str] | None = None,
    top_k: bool | None = None,
    scale: Sequence[str] | None = None,
    covariates: Sequence[str] = (),
    by: str | None = None,
    trusted: Sequence[Any] | str | None = None,
    features: FilePath | None = None,
) -> Judgments[pl.DataFrame]:
    """Judgments from files of any kinds, over one vocabulary.

    The columns show the kind: left, right, winner are pairs; item, grade are grades; item, rank are rankings; task and
    annotator are optional, and weight and strength for pairs. Names such as worker, model_a, query_id are understood;
    give others as `columns={"annotator": "user"}`. TREC runs are rankings by their tags (by the names of the files, if
    several use the same tag), ordered by score as in trec_eval; LETOR's files of ranks are rankings too.
    With `top_k=True`, items of a task that a ranking does not list rank below all that it lists; with `top_k=False`
    they are not compared. By default they rank below in TREC runs and LETOR's files, and are not compared elsewhere.
    What other tools export (Label Studio, Argilla, PrefLib, …: docs/formats.md) is recognised by its content; there
    `columns={"left": "data.answer_a"}` leads into nested parts. Grades in words need their order, from the worst to
    the best: `scale=["bad", "good"]`. `origin` and `notes` of the result say what was understood and left out.
    `-` is standard input; `votes/*.parquet` stands for all files that match. The same file may not be given twice; of
    copies `notes` say that they count twice.

    `covariates` of pairs are numbers that may sway a vote, as the lengths of two answers: `length_a-length_b` is the
    difference of two columns, `length` a column that is positive where it favours the left item, and
    `family=family_a-family_b` says which side has the value of the first column, such as the annotator's own family.
    With `features`, a table with the columns item and optionally task, they may also be columns of that table: what the
    left item has more than the right one.
    `by` is the column of categories within which items may be better or worse than overall. `trusted` are the
    annotators by whom the others are measured, or the name of a column that is yes or no (1 or 0, true or false).
    bradley-terry, thurstone, crowd-bt and crowd-thurstone use them.
    """
    of_items = None if features is None else of_file(features)
    context, given = VoteContext(covariates, by, trusted, of_items), columns or {}
    sources = _sources(paths, {**given, "by": by} if by else given)
    return judgments_of(sources, given, top_k=top_k, scale=check_scale(scale), context=context)


def read_by(
    *paths: FilePath,
    by: str,
    columns: Mapping[str, str] | None = None,
    top_k: bool | None = None,
    scale: Sequence[str] | None = None,
) -> dict[str, Judgments[pl.DataFrame]]:
    """The judgments of each category: the values of the column `by`, sorted; otherwise as `read`."""
    columns, words = columns or {}, check_scale(scale)
    parts = by_category(_sources(paths, {**columns, "by": by}), by)
    return {category: judgments_of(part, columns, top_k=top_k, scale=words) for category, part in parts.items()}


def _sources(paths: Sequence[FilePath], given: Mapping[str, str]) -> list[Source]:
    if not paths:
        raise JudgmentError("no file to read")
    paths = [found for path in paths for found in matching_files(path)]
    refuse_same_files(paths)
    first, *others = [source for path in paths for source in sources_of(path, "judgments", given)]
    return disambiguate_tags([replace(first, notes=(*first.notes, *notes_on_copies(paths))), *others])


@overload
def judgments(
    *frames: pl.DataFrame | pl.LazyFrame | Mapping[str, Any],
    columns: Mapping[str, str] | None = None,
    top_k: bool | None = None,
    covariates: Sequence[str] = (),
    by: str | None = None,
    trusted: Sequence[Any] | str | None = None,
    features: Any = None,
) -> Judgments[pl.DataFrame]: ...
@overload
def judgments(
    *frames: FrameT,
    columns: Mapping[str, str] | None = None,
    top_k: bool | None = None,
    covariates: Sequence[str] = (),
    by: str | None = None,
    trusted: Sequence[Any] | str | None = None,
    features: Any = None,
) -> Judgments[FrameT]: ...
def judgments(
    *frames: Any,
    columns: Mapping[str, str] | None = None,
    top_k: bool | None = None,
    covariates: Sequence[str] = (),
    by: str | None = None,
    trusted: Sequence[Any] | str | None = None,
    features: Any = None,
) -> Judgments:
    """Judgments from data frames of any library, as `read` reads them from files; results are frames like the first.

    >>> judgments({"annotator": ["ann"], "left": [1], "right": [2], "winner": [1]})
    Judgments(1 pairs; 1 tasks, 2 items, 1 annotators)
    """
    if not frames:
        raise JudgmentError("no data frame to read")
    numbered = [of_frame(frame, number if len(frames) > 1 else None) for number, frame in enumerate(frames, 1)]
    of_items = None if features is None else of_frame(features, None)[0]
    context = VoteContext(covariates, by, trusted, of_items)
    sources, frame = [source for source, _ in numbered], numbered[0][1]
    return judgments_of(sources, columns or {}, top_k=top_k, frame=frame, context=context)


def read_gold(*paths: FilePath, columns: Mapping[str, str] | None = None, scale: Sequence[str] | None = None) -> Gold:
    """Gold from files with the columns item, one of grade, score (higher is better) or rank, and optionally task.

    Gold may also be pairs (left, right, winner; or winner, loser): it measures rankings, by acc and tau. TREC qrels are
    gold too, and what exports of Label Studio and Toloka say is known.
    """
    if not paths:
        raise JudgmentError("no file to read")
    sources = [source for path in paths for source in sources_of(path, "truth", columns or {})]
    return gold_of(sources, columns or {}, scale=check_scale(scale))


def gold(*frames: Any, columns: Mapping[str, str] | None = None) -> Gold:
    """Gold from data frames, as `read_gold` reads it from files.

    >>> gold({"item": ["x", "y"], "grade": [2, 0]})
    Gold(2 grades over 1 tasks)
    """
    if not frames:
        raise JudgmentError("no data frame to read")
    numbered = [of_frame(frame, number if len(frames) > 1 else None) for number, frame in enumerate(frames, 1)]
    return gold_of([source for source, _ in numbered], columns or {}, frame=numbered[0][1])


def read_ranking(path: FilePath, columns: Mapping[str, str] | None = None) -> Consensus[pl.DataFrame]:
    """A ranking from a file with the columns item, score or rank, and optionally task; or from a TREC run.

    `crowdrank rank --out` writes such files.
    """
    return scores_of(of_file(path, "truth"), columns or {})


def read_folds(path: FilePath) -> dict[str, str]:
    """Task → fold from a file with these two columns; a task may occur several times, always in the same fold."""
    source = of_file(path)
    source.require("task", "fold")
    tasks, names = (as_text(source.ids(column)).str.strip_chars().to_list() for column in ("task", "fold"))
    folds: dict[str, str] = {}
    differs = [folds.setdefault(task, fold) != fold for task, fold in zip(tasks, names, strict=True)]
    source.refuse(
        np.array(differs), lambda row: f"task {tasks[row]!r} is also in fold {folds[tasks[row]]!r}; it must be in one"
    )
    return folds


def read_annotators(path: FilePath) -> list[str]:
    """The names in the column annotator of a file, each once."""
    source = of_file(path)
    source.require("annotator")
    return list(dict.fromkeys(as_text(source.ids("annotator")).str.strip_chars().to_list()))


def write(table: Consensus | Judgments | Gold | Any, path: FilePath, *, csv_safe: bool = False) -> None:
    """Write the ranking of a consensus, judgments of one kind, gold or a data frame; completely, or not at all.

    The name of the file decides its kind: .csv, .tsv, .jsonl, .parquet or .xlsx, each also with .gz or .zst. For TREC,
    a consensus or rankings are written as runs (.run, .txt), labels (`labels`), gold or grades as qrels (.qrels; gold
    also .txt). Rankings of one task may be a PrefLib file (.soc, .soi, .toc, .toi), grades a .cat file.
    `csv_safe` is for spreadsheets: in .csv and .tsv, texts that begin with =, +, - or @ get an apostrophe before them,
    so that no id is computed as a formula.
    """
    write_files({path: table}, csv_safe=csv_safe)


def write_files(tables: Mapping[FilePath, Any] | Mapping[Path, Any], *, csv_safe: bool = False) -> None:
    """Write several files: all of them, or none. Bytes are written as they are."""
    write_all(
        {
            Path(path): table if isinstance(table, bytes) else _as_file(table, Path(path))
            for path, table in tables.items()
        },
        csv_safe=csv_safe,
    )


def _as_file(table: Any, path: Path) -> pl.DataFrame | bytes:
    """A table as a frame, or as the content of a file that is no table."""
    kind, compression = kind_of(path)
    if kind in PREFLIB:
        return packed(preflib_text(table, path, kind).encode(), compression)
    if kind in TREC_LETOR:
        return trec_table(table, path, kind)
    if isinstance(table, Judgments):
        return table_of(table)
    if isinstance(table, Gold):
        return gold_table(table)
    frame = table.ranking if isinstance(table, Consensus) else table
    if isinstance(frame, pl.DataFrame):
        return frame
    return pl.DataFrame(
        {column.name: column.to_list() for column in nw.from_native(frame, eager_only=True).iter_columns()}
    )
