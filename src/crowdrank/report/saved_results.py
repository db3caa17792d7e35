"""Results that were saved, as a Consensus again: `rank --json` and `rank --out` write them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.consensus import Consensus, Fit
from crowdrank.formats.compressed import decompressed
from crowdrank.formats.encode_gold import scores_of
from crowdrank.formats.files import kind_of
from crowdrank.formats.source import of_frame
from crowdrank.methods.intervals import independent_gap_error
from crowdrank.settings import InputError
from crowdrank.statistics.tiers import score_error
from crowdrank.study import Floats, Judgments, entries_in

IDS = {"task": pl.String, "item": pl.String, "annotator": pl.String}  # 007 stays 007
READERS: Mapping[str, Callable[[io.BytesIO], pl.DataFrame]] = {
    ".csv": lambda data: pl.read_csv(data, schema_overrides=IDS, infer_schema_length=None),
    ".tsv": lambda data: pl.read_csv(data, separator="\t", schema_overrides=IDS, infer_schema_length=None),
    ".jsonl": lambda data: pl.read_ndjson(data, infer_schema_length=None),
    ".parquet": pl.read_parquet,
}
ENTRY_COLUMNS = ("low", "high", "rank_low", "rank_high", "difficulty")


def saved_consensus(path: Path, annotators: Path | None = None, judgments: Judgments | None = None) -> Consensus:
    """The consensus in a file that `rank --json` or `rank --out` wrote, over the entries of `judgments` if given."""
    saved = _of_json(path) if path.suffix == ".json" else {"ranking": _rows(path)}
    if annotators is not None:
        saved["annotators"] = _rows(annotators)
    try:
        consensus = _consensus(saved)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: is not a result as `rank --json` or `rank --out` writes it: {error}") from None
    return consensus if judgments is None else _over(consensus, judgments)


def _of_json(path: Path) -> dict[str, Any]:
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(saved, dict) or not _are_rows(saved.get("ranking")):
        raise InputError(f"{path}: has no ranking; `crowdrank rank FILES --json > {path.name}` writes one")
    return saved


def _are_rows(part: Any) -> bool:
    return isinstance(part, list) and all(isinstance(row, dict) for row in part)


def _rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a table that crowdrank wrote."""
    kind, compression = kind_of(path)
    if kind not in READERS:
        raise InputError(f"{path}: a report needs a table: .csv, .tsv, .jsonl or .parquet, or the .json of rank --json")
    try:
        return READERS[kind](io.BytesIO(decompressed(path, path.read_bytes(), compression))).to_dicts()
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path}: is not such a table: {error}") from None


def _consensus(saved: Mapping[str, Any]) -> Consensus:
    rows: Sequence[Mapping[str, Any]] = saved["ranking"]
    if not rows or "item" not in rows[0]:
        raise InputError("has no items to show; a report is of a ranking, as `crowdrank rank FILES --out` writes it")
    frame = pl.DataFrame(rows, infer_schema_length=None)
    source, kind = of_frame(frame)
    plain = scores_of(source, {}, frame=kind)
    place = {(str(row.get("task", "all")), str(row["item"])): at for at, row in enumerate(rows)}
    words = plain.vocabulary
    names = zip(words.tasks[words.entry_task], words.items[words.entry_item], strict=True)
    order = [place[str(task), str(item)] for task, item in names]
    found: dict[str, Any] = {
        name: _column(rows, order, name) for name in ENTRY_COLUMNS if rows[0].get(name) is not None
    }
    for name in ("rank_low", "rank_high"):
        if name in found:
            found[name] = np.nan_to_num(found[name]).clip(0, len(rows)).astype(np.int32)
    consensus = replace(
        plain,
        method=saved.get("method", "a saved ranking"),
        fit=Fit(**saved.get("fit", {})),
        notes=tuple(saved.get("notes", ())),
        settings=saved.get("settings", {}),
        annotator_columns=_annotators(saved.get("annotators", [])),
        **found,
    )
    if consensus.low is None or consensus.high is None:
        return consensus
    return replace(consensus, gap_error=independent_gap_error(score_error(consensus), consensus.rank, words))


def _column(rows: Sequence[Mapping[str, Any]], order: Sequence[int], name: str) -> Floats:
    return np.array([np.nan if rows[at][name] is None else float(rows[at][name]) for at in order])


def _annotators(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns of annotators, numbers as numbers."""
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    return {
        column.name: column.to_numpy() if column.dtype.is_numeric() else np.array(column.to_list(), dtype=object)
        for column in frame.iter_columns()
    }


def _over(consensus: Consensus, judgments: Judgments) -> Consensus:
    """The same result in the codes of the judgments' entries."""
    where = entries_in(judgments.vocabulary, consensus.vocabulary)

    def moved(values: Any, missing: Any) -> Any:
        return None if values is None else np.append(values, missing)[where]

    floats = {name: moved(getattr(consensus, name), np.nan) for name in ("low", "high", "difficulty")}
    ranks = {name: moved(getattr(consensus, name), np.int32(0)) for name in ("rank_low", "rank_high")}
    found = replace(
        consensus,
        vocabulary=judgments.vocabulary,
        score=moved(consensus.score, np.nan),
        gap_error=None,
        **floats,
        **ranks,
    )
    if found.low is None:
        return found
    return replace(found, gap_error=independent_gap_error(score_error(found), found.rank, found.vocabulary))
