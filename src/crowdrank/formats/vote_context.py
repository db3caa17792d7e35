"""What is known about votes beside who won: covariates, the category of each, and which annotators are trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.formats.categories import category_names, labels_of
from crowdrank.formats.source import Source, as_text, shorten
from crowdrank.settings import did_you_mean
from crowdrank.study import Codes, Floats, Ids, JudgmentError, ids

NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class VoteContext:
    """The columns to read beside those of the votes, and the names of trusted annotators."""

    covariates: Sequence[str] = ()
    by: str | None = None
    trusted: Sequence[Any] | None = field(default=None)

    def __post_init__(self) -> None:
        for name in ("covariates", "trusted"):
            if isinstance(getattr(self, name), str):
                raise JudgmentError(f"{name} must be a list of names, not the text {getattr(self, name)!r}")
        if twice := [name for at, name in enumerate(self.covariates) if name in self.covariates[:at]]:
            raise JudgmentError(f"covariate {twice[0]!r} is given twice")


def covariates_of(source: Source, names: Sequence[str]) -> Floats:
    """The covariates of every row, one column for each."""
    return np.stack([_covariate(source, name) for name in names], axis=1)


def _covariate(source: Source, text: str) -> Floats:
    """A column; the difference `a-b` of two; or `key=a-b`, which of two columns has the value of a third."""
    known = [*source.columns, *source.paths]
    if text in known:
        return source.numbers(text)
    key, equals, rest = text.partition("=")
    for left, right in _differences(rest if equals else text):
        if {left, right} <= set(known) and (not equals or key in known):
            if not equals:
                return source.numbers(left) - source.numbers(right)
            values, one, other = (as_text(source.load(name)).str.strip_chars() for name in (key, left, right))
            own = [(values == side).fill_null(False).to_numpy().astype(np.float64) for side in (one, other)]
            return np.asarray(own[0] - own[1])
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
