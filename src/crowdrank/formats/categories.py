"""The rows of each category, for a ranking of each beside the overall one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from crowdrank.formats.source import Source, as_text, shorten
from crowdrank.settings import did_you_mean
from crowdrank.study import JudgmentError

MOST_CATEGORIES = 100


def by_category(sources: Sequence[Source], by: str) -> dict[str, list[Source]]:
    """The rows of all sources by their category, sorted; rows without a category are in none."""
    labels = [labels_of(source, by) for source in sources]
    names = category_names(labels, by)
    parts = {
        name: [
            replace(source.rows_where((label == name).fill_null(False).to_numpy()), notes=())
            for source, label in zip(sources, labels, strict=True)
            if (label == name).any()
        ]
        for name in names
    }
    if nowhere := sum(label.null_count() for label in labels):
        first = parts[names[0]]
        first[0] = replace(first[0], notes=(f"rows without {by}, which are in no category: {nowhere:,}",))
    return parts


def category_names(labels: Sequence[pl.Series], by: str) -> list[str]:
    """The categories of all sources, sorted."""
    names = sorted({name for label in labels for name in label.drop_nulls().unique()})
    if len(names) > MOST_CATEGORIES:
        raise JudgmentError(
            f"{by} has {len(names):,} values, as {shorten(names[0])!r} and {shorten(names[-1])!r}: --by is for at most "
            f"{MOST_CATEGORIES} categories; --column task={by} ranks within each"
        )
    if not names:
        raise JudgmentError(f"{by} is empty in all rows: there is no category")
    return names


def labels_of(source: Source, by: str) -> pl.Series:
    """The category of each row, null where it has none."""
    column = source.by or by
    known = [*source.columns, *source.paths]
    if not source.by and column not in known:
        hint = did_you_mean(by, known)
        raise JudgmentError(f"{source.name}: there is no column {by!r}{hint}; the columns are {', '.join(known[:20])}")
    text = as_text(source.load(column)).str.strip_chars()
    return text.set(text == "", None) if len(text) else text
