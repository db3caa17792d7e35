"""From codes back to names: judgments and gold as the tables that are written to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.formats.encode import TIE_WORDS
from crowdrank.formats.source import shorten
from crowdrank.grading import as_gold
from crowdrank.study import LEFT, RIGHT, Codes, Floats, Gold, Ids, JudgmentError, Judgments, Vocabulary


def table_of(judgments: Judgments) -> pl.DataFrame:
    """The judgments of a study with one kind of them, as a table that reads back as the same study."""
    if len(judgments.kinds) > 1:
        kinds = " and ".join(judgments.kinds)
        raise JudgmentError(
            f"a file holds one kind of judgment; this study has {kinds}: write each to its own file, "
            f"for example judgments.only({judgments.kinds[0]!r})"
        )
    kind = judgments.kinds[0] if judgments.kinds else "pairs"
    return {"grades": _grades, "pairs": _pairs, "rankings": _rankings}[kind](judgments)


def gold_table(gold: Gold) -> pl.DataFrame:
    """Gold as a table: task, item, and grade, score or rank; or task, winner and loser."""
    if gold.kind == "pair":
        better, worse = (_entry(gold.vocabulary, side) for side in (gold.better, gold.worse))
        return pl.DataFrame({"task": better["task"], "winner": better["item"], "loser": worse["item"]})
    vocabulary, value = gold.vocabulary, -gold.value if gold.kind == "rank" else gold.value
    return pl.DataFrame({**_entry(vocabulary, np.arange(vocabulary.n_entries)), gold.kind: value})


def trec_table(table: Any, path: Path, kind: str) -> pl.DataFrame:
    """A consensus as a TREC run, its labels or gold as qrels; names must not contain blanks there."""
    if isinstance(table, Consensus) and kind == ".qrels":
        frame = _qrels(as_gold(table), path)
    elif isinstance(table, Consensus):
        frame = _run(table)
    elif isinstance(table, Gold) and kind != ".run":
        frame = _qrels(table, path)
    elif isinstance(table, Judgments) and "rankings" in table.kinds and kind != ".qrels":
        frame = _runs(table, path)
    elif isinstance(table, Judgments) and "grades" in table.kinds and kind != ".run":
        frame = _qrels(_single_grades(table, path), path)
    else:
        raise JudgmentError(
            f"{path}: a TREC file can hold rankings (runs) or grades (qrels), not this table; "
            "name the file .csv or .parquet"
        )
    for name in ("task", "item"):
        blank = frame[name].str.contains(r"\s")
        if blank.any():
            example = shorten(frame[name].filter(blank)[0])
            raise JudgmentError(
                f"{path}: {name} {example!r} contains a blank, which separates columns in TREC files; "
                "name the file .csv or .parquet"
            )
    return frame


def _run(consensus: Consensus) -> pl.DataFrame:
    """The ranked items, best first; of equal scores, the item later in the alphabet first, as in trec_eval."""
    vocabulary, entry = consensus.vocabulary, np.flatnonzero(consensus.rank)
    frame = pl.DataFrame({**_entry(vocabulary, entry), "rank": consensus.rank[entry], "score": consensus.score[entry]})
    frame = frame.with_columns(pl.Series("code", vocabulary.entry_task[entry]))
    frame = frame.sort("code", "rank", "item", descending=[False, False, True])
    place = pl.int_range(1, pl.len() + 1).over("code").alias("rank")
    tag = "_".join(consensus.method.split())
    return frame.select("task", pl.lit("Q0").alias("Q0"), "item", place, "score", pl.lit(tag).alias("tag"))


def _runs(judgments: Judgments, path: Path) -> pl.DataFrame:
    """Rankings as runs, each annotator a tag; equal scores are ties."""
    vocabulary, lists = judgments.vocabulary, judgments.rankings
    frame = _table(vocabulary, lists.entry, lists.list_annotator[lists.row_list], rank=pl.Series(lists.position))
    whose = pl.DataFrame({"annotator": lists.list_annotator, "task": lists.list_task})
    if lists.list_count is not None or whose.is_duplicated().any():
        raise JudgmentError(
            f"{path}: a TREC run holds one ranking for each task and annotator; name the file .csv or .parquet"
        )
    tag = frame["annotator"].str.replace_all(r"\s+", "_")
    place = pl.int_range(1, pl.len() + 1).over("task", "annotator").alias("place")
    frame = frame.with_columns(place, tag.alias("tag"), (-pl.col("rank")).alias("score"))
    return frame.select("task", pl.lit("Q0").alias("Q0"), "item", "place", "score", "tag")


def _single_grades(judgments: Judgments, path: Path) -> Gold:
    """The grades of a study in which every entry has one."""
    vocabulary, grades = judgments.vocabulary, judgments.grades
    if len(grades) > len(np.unique(grades.entry)):
        raise JudgmentError(
            f"{path}: qrels hold one grade for each item, but some items have several; `crowdrank rank --qrels` makes "
            "one of them"
        )
    value = np.full(vocabulary.n_entries, np.nan)
    value[grades.entry] = grades.grade
    return Gold(vocabulary, value, "grade")


def _qrels(gold: Gold, path: Path) -> pl.DataFrame:
    vocabulary, known = gold.vocabulary, np.flatnonzero(~np.isnan(gold.value))
    grade = gold.value[known]
    if gold.kind != "grade" or (grade != np.rint(grade)).any():
        raise JudgmentError(f"{path}: qrels hold grades, which are whole numbers; name the file .csv or .parquet")
    where = _entry(vocabulary, known)
    return pl.DataFrame({"task": where["task"], "iteration": 0, "item": where["item"], "grade": grade.astype(np.int64)})


def _grades(judgments: Judgments) -> pl.DataFrame:
    vocabulary, grades = judgments.vocabulary, judgments.grades
    value = {"grade": pl.Series(grades.grade), **_time(grades.time), **_seconds(grades.seconds)}
    return _table(vocabulary, grades.entry, grades.annotator, **value)


def _pairs(judgments: Judgments) -> pl.DataFrame:
    vocabulary, pairs = judgments.vocabulary, judgments.pairs
    if taken := set(TIE_WORDS).intersection(map(str, vocabulary.items)):
        raise JudgmentError(
            f"an item is called {min(taken)!r}, but in a file of pairs this word means a tie; rename the item"
        )
    left, right = (
        _names(vocabulary.items, vocabulary.entry_item[pairs.left]),
        _names(vocabulary.items, vocabulary.entry_item[pairs.right]),
    )
    outcome = pl.Series(pairs.outcome)
    frame = pl.DataFrame(
        {
            "task": _names(vocabulary.tasks, vocabulary.entry_task[pairs.left]),
            "annotator": _names(vocabulary.annotators, pairs.annotator),
            "left": left,
            "right": right,
        }
    )
    winner = pl.when(outcome == LEFT).then(left).when(outcome == RIGHT).then(right).otherwise(pl.lit(TIE_WORDS[0]))
    optional = {"weight": pairs.weight, "strength": pairs.strength}
    columns = [pl.Series(name, values) for name, values in optional.items() if values is not None]
    return frame.with_columns(winner.alias("winner"), *columns, **_time(pairs.time), **_seconds(pairs.seconds))


def _rankings(judgments: Judgments) -> pl.DataFrame:
    vocabulary, lists = judgments.vocabulary, judgments.rankings
    frame = _table(vocabulary, lists.entry, lists.list_annotator[lists.row_list], rank=pl.Series(lists.position))
    weight = {} if lists.list_count is None else {"weight": pl.Series(lists.list_count[lists.row_list])}
    time = _time(None if lists.list_time is None else lists.list_time[lists.row_list])
    seconds = _seconds(None if lists.list_seconds is None else lists.list_seconds[lists.row_list])
    return frame.with_columns(pl.Series("list", lists.row_list), **weight, **time, **seconds)


def _time(seconds: Floats | None) -> dict[str, pl.Series]:
    """The column of times, as dates in UTC."""
    if seconds is None:
        return {}
    microseconds = pl.Series(np.where(np.isnan(seconds), 0, seconds * 1e6).round().astype(np.int64))
    dates = microseconds.cast(pl.Datetime("us")).dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
    return {"time": dates.set(pl.Series(np.isnan(seconds)), None)}


def _seconds(seconds: Floats | None) -> dict[str, pl.Series]:
    """The column of durations."""
    return {} if seconds is None else {"seconds": pl.Series(seconds, nan_to_null=True)}


def _table(vocabulary: Vocabulary, entry: Codes, annotator: Codes, **value: pl.Series) -> pl.DataFrame:
    where = _entry(vocabulary, entry)
    return pl.DataFrame(
        {"task": where["task"], "annotator": _names(vocabulary.annotators, annotator), "item": where["item"], **value}
    )


def _entry(vocabulary: Vocabulary, entry: NDArray[np.integer]) -> dict[str, pl.Series]:
    return {
        "task": _names(vocabulary.tasks, vocabulary.entry_task[entry]),
        "item": _names(vocabulary.items, vocabulary.entry_item[entry]),
    }


def _names(names: Ids, codes: Codes) -> pl.Series:
    return pl.Series([str(name) for name in names], dtype=pl.String).gather(codes.astype(np.int64))
