"""Codes become strings again: judgments and gold as the tables they are written as."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.formats.columns import OF_PAIRS
from crowdrank.formats.encode import TIE_WORDS
from crowdrank.study import LEFT, RIGHT, Codes, Gold, Ids, JudgmentError, Judgments, Vocabulary


def table_of(judgments: Judgments) -> pl.DataFrame:
    """The judgments of a study that holds one kind of them, as a table that reads back as the same study."""
    if len(judgments.kinds) > 1:
        raise JudgmentError(f"a file holds one kind of judgment; this study has {' and '.join(judgments.kinds)}")
    kind = judgments.kinds[0] if judgments.kinds else "pairs"
    return {"grades": _grades, "pairs": _pairs, "rankings": _rankings}[kind](judgments)


def gold_table(gold: Gold) -> pl.DataFrame:
    """Gold as task, item, and what it is."""
    words, value = gold.vocabulary, -gold.value if gold.kind == "rank" else gold.value
    return pl.DataFrame({**_entry(words, np.arange(words.n_entries)), gold.kind: value})


def _grades(judgments: Judgments) -> pl.DataFrame:
    words, grades = judgments.vocabulary, judgments.grades
    return _table(words, grades.entry, grades.annotator, grade=pl.Series(grades.grade))


def _pairs(judgments: Judgments) -> pl.DataFrame:
    words, pairs = judgments.vocabulary, judgments.pairs
    if taken := set(TIE_WORDS).intersection(map(str, words.items)):
        raise JudgmentError(f"an item is called {min(taken)!r}, which means a tie in a file of pairs; rename it")
    left, right = _names(words.items, words.entry_item[pairs.left]), _names(words.items, words.entry_item[pairs.right])
    outcome = pl.Series(pairs.outcome)
    frame = pl.DataFrame(
        {
            "task": _names(words.tasks, words.entry_task[pairs.left]),
            "annotator": _names(words.annotators, pairs.annotator),
            "left": left,
            "right": right,
        }
    )
    winner = pl.when(outcome == LEFT).then(left).when(outcome == RIGHT).then(right).otherwise(pl.lit(TIE_WORDS[0]))
    said = {name: getattr(pairs, name) for name in OF_PAIRS if getattr(pairs, name) is not None}
    return frame.with_columns(winner.alias("winner"), *(pl.Series(name, values) for name, values in said.items()))


def _rankings(judgments: Judgments) -> pl.DataFrame:
    words, lists = judgments.vocabulary, judgments.rankings
    frame = _table(words, lists.entry, lists.list_annotator[lists.row_list], rank=pl.Series(lists.position))
    return frame.with_columns(pl.Series("list", lists.row_list))


def _table(words: Vocabulary, entry: Codes, annotator: Codes, **value: pl.Series) -> pl.DataFrame:
    where = _entry(words, entry)
    return pl.DataFrame({"task": where["task"], "annotator": _names(words.annotators, annotator), "item": where["item"], **value})


def _entry(words: Vocabulary, entry: NDArray[np.integer]) -> dict[str, pl.Series]:
    return {"task": _names(words.tasks, words.entry_task[entry]), "item": _names(words.items, words.entry_item[entry])}


def _names(names: Ids, codes: Codes) -> pl.Series:
    return pl.Series([str(name) for name in names], dtype=pl.String).gather(codes.astype(np.int64))
