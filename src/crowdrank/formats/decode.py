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
from crowdrank.study import LEFT, RIGHT, Codes, Gold, Ids, JudgmentError, Judgments, Vocabulary


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
    """Gold as a table: task, item, and grade, score or rank."""
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
    else:
        raise JudgmentError(
            f"{path}: a TREC file can hold a ranking (a run) or gold (qrels), not this table; "
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


def _qrels(gold: Gold, path: Path) -> pl.DataFrame:
    vocabulary, known = gold.vocabulary, np.flatnonzero(~np.isnan(gold.value))
    grade = gold.value[known]
    if gold.kind != "grade" or (grade != np.rint(grade)).any():
        raise JudgmentError(f"{path}: qrels hold grades, which are whole numbers; name the file .csv or .parquet")
    where = _entry(vocabulary, known)
    return pl.DataFrame({"task": where["task"], "iteration": 0, "item": where["item"], "grade": grade.astype(np.int64)})


def _grades(judgments: Judgments) -> pl.DataFrame:
    vocabulary, grades = judgments.vocabulary, judgments.grades
    return _table(vocabulary, grades.entry, grades.annotator, grade=pl.Series(grades.grade))


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
    return frame.with_columns(winner.alias("winner"), *columns)


def _rankings(judgments: Judgments) -> pl.DataFrame:
    vocabulary, lists = judgments.vocabulary, judgments.rankings
    frame = _table(vocabulary, lists.entry, lists.list_annotator[lists.row_list], rank=pl.Series(lists.position))
    return frame.with_columns(pl.Series("list", lists.row_list))


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
