"""What is known about votes beside who won: covariates, the category of each, and which annotators are trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.formats.categories import category_names, labels_of
from crowdrank.formats.source import Source, as_text, shorten
from crowdrank.settings import did_you_mean
from crowdrank.study import Codes, Floats, Ids, JudgmentError, Pairs, Vocabulary, ids

NAMES_SHOWN = 5
YES, NO = ("1", "1.0", "true", "yes"), ("0", "0.0", "false", "no", "")


@dataclass(frozen=True, slots=True)
class VoteContext:
    """The columns to read beside those of the votes; trusted annotators are named, or a column says who they are."""

    covariates: Sequence[str] = ()
    by: str | None = None
    trusted: Sequence[Any] | str | None = field(default=None)
    features: Source | None = None  # of the items, where covariates are differences between their columns

    @property
    def of_votes(self) -> list[str]:
        """The covariates that are columns of the votes."""
        return [name for name in self.covariates if self.features is None or name not in self.features.columns]

    def __post_init__(self) -> None:
        if isinstance(self.covariates, str):
            raise JudgmentError(f"covariates must be a list of names, not the text {self.covariates!r}")
        if twice := [name for at, name in enumerate(self.covariates) if name in self.covariates[:at]]:
            raise JudgmentError(f"covariate {twice[0]!r} is given twice")


def covariates_of(source: Source, names: Sequence[str]) -> Floats:
    """The covariates of every row, one column for each."""
    return np.stack([_covariate(source, name) for name in names], axis=1)


def differences_of_features(source: Source, names: Sequence[str], vocabulary: Vocabulary, pairs: Pairs) -> Floats:
    """What the left item of every pair has more than the right one, one column for each name."""
    source.require("item", *names)
    with_task = "task" in source.columns
    keys = [as_text(source.ids(each)).str.strip_chars().to_list() for each in ("task", "item")[not with_task :]]
    row_of: dict[tuple[str, ...], int] = {}
    repeated = [row_of.setdefault(key, row) != row for row, key in enumerate(zip(*keys, strict=True))]
    source.refuse(np.array(repeated, bool), lambda row: f"item {shorten(keys[-1][row])!r} has a second row")
    entries = vocabulary.tasks[vocabulary.entry_task], vocabulary.items[vocabulary.entry_item]
    wanted = list(zip(*(map(str, each) for each in entries[not with_task :]), strict=True))
    rows = np.array([row_of.get(key, -1) for key in wanted], np.int64)
    unknown = np.flatnonzero((rows < 0) & np.isin(np.arange(len(rows)), np.concatenate((pairs.left, pairs.right))))
    if len(unknown):
        what = " of task ".join(repr(shorten(name)) for name in reversed(wanted[unknown[0]]))
        more = f", and for {len(unknown) - 1:,} others" * (len(unknown) > 1)
        raise JudgmentError(f"{source.name}: there is no row for item {what}{more}: add what they have")
    values = np.stack([source.numbers(name, flags=True) for name in names], axis=1)[rows]
    return np.asarray(values[pairs.left] - values[pairs.right])


def _covariate(source: Source, text: str) -> Floats:
    """A column; the difference `a-b` of two; or `key=a-b`, which of two columns has the value of a third."""
    known = [*source.columns, *source.paths]
    if text in known:
        return source.numbers(text, flags=True)
    key, equals, rest = text.partition("=")
    for left, right in _differences(rest if equals else text):
        if {left, right} <= set(known) and (not equals or key in known):
            if not equals:
                return source.numbers(left, flags=True) - source.numbers(right, flags=True)
            values, one, other = (as_text(source.load(name)).str.strip_chars() for name in (key, left, right))
            own = [(values == side).fill_null(False).to_numpy().astype(np.float64) for side in (one, other)]
            return np.asarray(own[0] - own[1])
    if equals and key not in known:
        raise JudgmentError(f"{source.name}: covariate {text!r}: there is no column {key!r}{did_you_mean(key, known)}")
    hint = did_you_mean(text, known)
    raise JudgmentError(
        f"{source.name}: covariate {text!r} is no column, and no difference of two columns such as "
        f"length_a-length_b{hint}; the columns are {', '.join(known[:20])}"
    )


def _differences(text: str) -> list[tuple[str, str]]:
    """The two sides of every hyphen: names of columns may have hyphens too."""
    return [(text[:at].strip(), text[at + 1 :].strip()) for at, letter in enumerate(text) if letter == "-"]


def categories_of(sources: Sequence[Source], by: str) -> tuple[Ids, list[Codes]]:
    """The names of all categories, sorted, and the category of every row of each source; -1 where it has none."""
    labels = [labels_of(source, by) for source in sources]
    names = category_names(labels, by)
    code = {name: number for number, name in enumerate(names)}
    rows = [np.array([code.get(name, -1) for name in label.to_list()], np.int32) for label in labels]
    return ids(names), rows


def trusted_among(annotators: Ids, names: Sequence[Any]) -> tuple[NDArray[np.bool_], list[str]]:
    """Which annotators are trusted, and a note about names that nobody has."""
    wanted = {str(name).strip() for name in names}
    trusted = np.array([str(name) in wanted for name in annotators], bool)
    unknown = sorted(wanted.difference(map(str, annotators)))
    shown = ", ".join(shorten(name) for name in unknown[:NAMES_SHOWN])
    if not trusted.any():
        raise JudgmentError(f"none of the trusted annotators has given a judgment ({shown or 'no names'}): check them")
    more = f" and {len(unknown) - NAMES_SHOWN:,} more" * (len(unknown) > NAMES_SHOWN)
    return trusted, [f"trusted annotators without judgments: {shown}{more}"] if unknown else []


def named_in_column(tables: Sequence[tuple[Source, str]], column: str) -> list[str]:
    """The annotators for whom a column says yes, in tables with the names of their columns of annotators."""
    said: dict[str, str] = {}
    for source, annotator in tables:
        if column not in source.columns:
            hint = did_you_mean(column, source.columns)
            raise JudgmentError(f"{source.name}: there is no column {column!r} that says who is trusted{hint}")
        names = as_text(source.ids(annotator)).str.strip_chars().to_list()
        words = as_text(source.load(column)).str.strip_chars().str.to_lowercase().fill_null("").to_list()
        source.refuse(np.array([word not in YES + NO for word in words], bool), partial(_no_answer, column, words))
        earlier = [said.setdefault(name, word) for name, word in zip(names, words, strict=True)]
        changed = [(one in YES) != (other in YES) for one, other in zip(earlier, words, strict=True)]
        source.refuse(np.array(changed, bool), partial(_both_answers, column, names))
    return [name for name, word in said.items() if word in YES]


def _no_answer(column: str, words: Sequence[str], row: int) -> str:
    return f"{column} {shorten(words[row])!r} is neither yes nor no (1 or 0, true or false)"


def _both_answers(column: str, names: Sequence[str], row: int) -> str:
    return f"{column} says both yes and no of annotator {shorten(names[row])!r}"
