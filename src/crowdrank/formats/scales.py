"""Grades in words: what is not a number needs an order, which only the user knows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from crowdrank.formats.source import Source, as_text, shorten
from crowdrank.settings import SettingError
from crowdrank.study import JudgmentError

MOST_WORDS = 12  # different words that a scale may be made of; more are not grades


def check_scale(scale: Sequence[str] | None) -> tuple[str, ...] | None:
    """The words for grades, from the worst to the best."""
    if scale is None:
        return None
    words = tuple(str(word).strip() for word in scale) if not isinstance(scale, str) else ()
    if len(words) < 2 or len(set(words)) < len(words) or not all(words):
        raise SettingError(f"scale is {scale!r}; it must be two or more different words, from the worst to the best")
    return words


def graded_by(source: Source, column: str, scale: Sequence[str] | None) -> Source:
    """A source whose words for grades are numbers: 0 for the first word of the scale, 1 for the next."""
    if scale is None:
        _refuse_words(source, column)
        return source
    text = as_text(source.load(column)).str.strip_chars()
    wrong = ~text.is_in(list(scale)).fill_null(False)
    source.refuse(
        wrong, lambda row: f"{column} {shorten(str(text[row]))!r} is not a word of the scale: {', '.join(scale)}"
    )
    numbers = text.replace_strict(list(scale), list(range(len(scale))), return_dtype=pl.Float64)
    return replace(source, load=lambda name: numbers if name == column else source.load(name))


def _refuse_words(source: Source, column: str) -> None:
    """Refuse a column of which no cell is a number: a few words are a scale that the user must order."""
    words = pl.Series(dtype=pl.String)
    for piece in source.pieces(column):
        values = piece.load(column)
        if values.dtype not in (pl.String, pl.Categorical, pl.Enum) or not len(values):
            return
        words = pl.concat([words, as_text(values).str.strip_chars().drop_nulls().unique()]).unique()
    words = words.filter(words != "").sort()
    if source.decimal_comma or not 1 < len(words) <= MOST_WORDS:
        return
    if words.cast(pl.Float64, strict=False).null_count() == len(words):
        shown = ", ".join(repr(shorten(word)) for word in words)
        example = shlex.quote(",".join(map(shorten, words)))
        raise JudgmentError(
            f"{source.name}: {column} is given in words ({shown}): say their order, from the worst to the best, with "
            f"--scale, for example --scale {example}"
        )
