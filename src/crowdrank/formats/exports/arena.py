"""Battles of models, as arenas and MT-bench publish them: model_a, model_b, and who won.

Votes by people who knew the models (`anony` is false) are left out. The models are ranked over all questions, unless
`--column task=question_id` says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import polars as pl

from crowdrank.formats.exports.tables import exported, mapped, with_columns, without
from crowdrank.formats.source import Source, as_text
from crowdrank.formats.trec_letor import Wanted

ARENA, BENCH = "an arena", "MT-bench"
MODELS = {"model_a", "model_b"}
ONE_HOT = {"winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": "tie"}
# Columns by which such a file is told from a table of ours with the names model_a and model_b.
OWN = {"question_id", "turn", "anony", "tstamp", "conversation_a", "evaluation_session_id", "conv_metadata", "prompt"}


def recognises(columns: set[str]) -> bool:
    """Whether a table holds battles."""
    return columns >= MODELS and (ONE_HOT.keys() <= columns or ("winner" in columns and bool(OWN & columns)))


def read(source: Source, given: Mapping[str, str], wanted: Wanted) -> list[Source]:
    """The votes of a file of battles."""
    if wanted == "truth":
        return [source]
    tool = BENCH if "turn" in source.columns and "anony" not in source.columns else ARENA
    roles = {"left": "model_a", "right": "model_b", "winner": "winner"}
    source, notes = without(source, "anony", ["false", "0"], "votes by people who saw the names of the models")
    if "winner" not in source.columns:
        source = with_columns(source, {"winner": _winner(source)})
    if named := [column for column in ("judge", "judge_hash") if column in source.columns]:
        source = with_columns(source, {named[0]: _annotators(source, named[0])})
        roles["annotator"] = named[0]
    if times := [column for column in ("tstamp", "timestamp") if column in source.columns]:
        roles["time"] = times[0]
    return [exported(source, tool, {**roles, **mapped(source, given)}, notes)]


def _winner(source: Source) -> pl.Series:
    """The winner from three columns of 0 and 1."""
    texts = {column: as_text(source.load(column)).str.strip_chars().str.to_lowercase() for column in ONE_HOT}
    won = np.stack([text.is_in(["1", "1.0", "true"]).fill_null(False).to_numpy() for text in texts.values()])
    known = np.stack([text.is_in(["0", "0.0", "false"]).fill_null(False).to_numpy() for text in texts.values()]) | won
    source.refuse(
        (won.sum(axis=0) != 1) | ~known.all(axis=0), lambda _: f"one of {', '.join(ONE_HOT)} must be 1, the others 0"
    )
    return pl.Series("winner", np.array(list(ONE_HOT.values()))[won.argmax(axis=0)], dtype=pl.String)


def _annotators(source: Source, column: str) -> pl.Series:
    """The annotator of each vote; MT-bench names a model and its prompt in a list."""
    names = source.load(column)
    if isinstance(names.dtype, pl.List):
        return names.cast(pl.List(pl.String)).list.join(":", ignore_nulls=True)
    text = as_text(names)
    return pl.Series(
        column, [_joined(name) if name and name.startswith("[") else name for name in text], dtype=pl.String
    )


def _joined(text: str) -> str:
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return ":".join(map(str, parts)) if isinstance(parts, list) else text
