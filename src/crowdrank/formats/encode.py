"""From sources of columns to Judgments: names become integer codes here, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.convert import stacked_or_none, unshown_order
from crowdrank.formats.builder import Part, StudyBuilder
from crowdrank.formats.columns import NAMES, PAIR_COLUMNS, kind_of, unused
from crowdrank.formats.encode_lists import MOST_EQUAL, joined, lists_of_part, short_lists, stacked
from crowdrank.formats.names import Names
from crowdrank.formats.scales import graded_by
from crowdrank.formats.source import Source, as_text, shorten
from crowdrank.formats.times import as_seconds
from crowdrank.study import (
    LEFT,
    RIGHT,
    TIE,
    UNNAMED_TASK,
    Floats,
    Frame,
    Grades,
    JudgmentError,
    Judgments,
    Pairs,
)

TIE_WORDS = ("tie", "both_bad", "tie (bothbad)")  # the words that arenas use
ALSO_TIES = ("Tie", "TIE", "draw", "Draw", "DRAW")  # unless an item has this name
ALSO_SIDES = {"left": ("Left", "LEFT"), "right": ("Right", "RIGHT")}
LETTERS = {"A": LEFT, "a": LEFT, "B": RIGHT, "b": RIGHT}
NUMBERED = {"0", "1", "2", "-1", "0.0", "1.0", "2.0", "true", "false", "True", "False", "TRUE", "FALSE", *TIE_WORDS}
NO_ANNOTATOR = "anonymous"
LARGEST = 1e15  # grade, rank, weight or strength
TOO_LARGE = f"is too large; the limit is {LARGEST:g}: use other units"
UNDECIDED = 2  # neither LEFT, RIGHT nor TIE


def judgments_of(
    sources: Sequence[Source],
    columns: Mapping[str, str],
    *,
    top_k: bool | None = None,
    scale: Sequence[str] | None = None,
    frame: Frame = "polars",
) -> Judgments:
    """The judgments of all sources over one vocabulary; `scale` are the words for grades, the worst first."""
    study, notes = StudyBuilder("task", "item", "annotator"), list[str]()
    for source in sources:
        given = source.known_roles if source.tool else columns  # the readers of exports have used them already
        part = _add_source(study, source, given, scale)
        assert part.kind is not None
        notes += source.notes
        if "annotator" not in part.roles:
            nobody = "does not say who judged" if source.tool else "has no annotator column"
            notes.append(f"{source.name} {nobody}: all its judgments count as those of one annotator")
        notes += unused(source.name, source.columns, given, source.paths, part.kind)
        notes += _add_time(part, given)
    vocabulary = study.vocabulary(frame)
    of_kind = {kind: [part for part in study.parts if part.kind == kind] for kind in ("grades", "pairs", "rankings")}
    rankings = joined([lists_of_part(study, part, top_k, notes) for part in of_kind["rankings"]])
    if top_k is None:  # with --top-k or --no-top-k the user has decided what unlisted items mean
        notes += short_lists(rankings, vocabulary)
    notes += [note for kind, names in study.names.items() for note in names.differ_by_spelling(kind)]
    return Judgments(
        vocabulary=vocabulary,
        grades=_all_grades(study, of_kind["grades"]),
        pairs=_all_pairs(study, of_kind["pairs"]),
        rankings=rankings,
        notes=tuple(notes),
        origin=tuple(_origin(part) for part in study.parts),
    )


def _origin(part: Part) -> str:
    """What was understood of a source: the tool, the kind, and the columns used."""
    used = ", ".join(
        f"{role} = {column}" for role, column in (part.source.meaning or part.roles).items() if role != column
    )
    plain = [role for role, column in (part.source.meaning or part.roles).items() if role == column]
    columns = "; ".join(text for text in (", ".join(plain), used) if text)
    return f"{part.source.name}: {part.kind}{f' from {part.source.tool}' * bool(part.source.tool)} (columns {columns})"


def _add_time(part: Part, given: Mapping[str, str]) -> list[str]:
    """Add the times of judgments; a note if the column with that name holds none."""
    if "time" not in part.roles:
        return []
    column = part.roles["time"]
    seconds = as_seconds(part.source.load(column))
    if seconds is not None:
        part.time = seconds
        return []
    problem = f"{part.source.name}: column {column!r} holds no dates (such as 2024-05-31T12:00:00Z)"
    if "time" in given:
        raise JudgmentError(problem)
    return [f"{problem}: not used"]


def _times(parts: Sequence[Part]) -> Floats | None:
    return cast(
        "Floats | None", stacked_or_none([part.time for part in parts], [_rows(part) for part in parts], np.nan)
    )


def _rows(part: Part) -> int:
    return len(part.coded[part.entry_roles[0]].number)


def _add_source(study: StudyBuilder, source: Source, columns: Mapping[str, str], scale: Sequence[str] | None) -> Part:
    kind, roles = kind_of(source.name, source.columns, columns, source.paths)
    part = Part(kind, source, roles)
    if kind == "pairs":
        _add_pairs(study, part)
    else:
        study.code(part, "item")
        if kind == "grades":
            part.source = graded_by(source, roles["grade"], scale)
        part.numbers = _not_too_large(part, "grade" if kind == "grades" else "rank")
        if "weight" in roles:
            part.pair_columns["weight"] = _whole_numbers(part)
    for role, name in (("task", UNNAMED_TASK), ("annotator", NO_ANNOTATOR)):
        if role in roles:
            study.code(part, role)
        else:
            study.fill(part, role, name)
    if "list" in roles:
        part.coded["list"] = Names().add(source.ids(roles["list"]))
    study.parts.append(part)
    return part


def _add_pairs(study: StudyBuilder, part: Part) -> None:
    """Add left, right and outcome; of winner and loser, the winner stands on the left until the order is decided."""
    if "left" in part.roles:
        study.code(part, "left", of="item")
        study.code(part, "right", of="item")
        part.outcome = _outcomes(part)
    else:
        study.code(part, "left", of="item", column=part.roles["winner"])
        study.code(part, "right", of="item", column=part.roles["loser"])
        part.outcome = np.full(len(part.coded["left"].number), LEFT, dtype=np.int8)
    part.pair_columns = {role: _above_zero(part, role) for role in PAIR_COLUMNS if role in part.roles}


def _not_too_large(part: Part, role: str) -> Floats:
    """Grades or ranks; sums and squares of larger ones would not be finite."""
    column = part.roles[role]
    numbers = part.source.numbers(column)
    part.source.refuse(np.abs(numbers) > LARGEST, lambda row: f"{column} {numbers[row]:g} {TOO_LARGE}")
    return numbers


def _whole_numbers(part: Part) -> Floats:
    """How many equal rankings each stands for."""
    column, numbers = part.roles["weight"], _above_zero(part, "weight")
    part.source.refuse(
        (numbers != np.rint(numbers)) | (numbers > MOST_EQUAL),
        lambda row: (
            f"{column} {numbers[row]:g} must be a whole number of at most {MOST_EQUAL:,}: "
            "how many equal rankings this one stands for"
        ),
        "the setting `weights` of a method weighs annotators",
    )
    return numbers


def _above_zero(part: Part, role: str) -> Floats:
    """A column of numbers above 0. Ties have no strength: there it may be 0 or empty, and is not used."""
    column = part.roles[role]
    numbers = part.source.numbers(column, missing=True)
    if role == "strength":
        numbers = np.where((part.outcome == TIE) & ~(np.abs(numbers) > 0), 1.0, numbers)

    def message(row: int) -> str:
        if np.isnan(numbers[row]):
            return f"{column} is missing"
        return f"{column} {numbers[row]:g} {TOO_LARGE if numbers[row] > LARGEST else 'must be above 0'}"

    part.source.refuse(~((numbers >= 1 / LARGEST) & (numbers <= LARGEST)), message)
    return numbers


def _outcomes(part: Part) -> NDArray[np.int8]:
    """Who won each pair. The winner is an item's id, the name of its column (left, right), or a word for a tie."""
    column, left, right = part.roles["winner"], part.coded["left"], part.coded["right"]
    winner = as_text(part.source.ids(column))
    outcome = _decoded(part, winner)
    if (outcome == UNDECIDED).any():  # names have no blanks around them; to strip only if necessary is faster
        winner = winner.str.strip_chars()
        outcome = _decoded(part, winner)

    def message(row: int) -> str:
        items = f"neither {shorten(left.name(row))!r} nor {shorten(right.name(row))!r}"
        return f"{column} {shorten(winner[row])!r} is {items}"

    undecided = outcome == UNDECIDED
    advice = f"where neither won, write {TIE_WORDS[0]!r}"
    if undecided.any() and set(winner.unique()) <= NUMBERED:
        advice = "this does not say which item it means: write 'left' or 'right', or the id of the winner"
    part.source.refuse(undecided, message, advice)
    return outcome


def _decoded(part: Part, winner: pl.Series) -> NDArray[np.int8]:
    """The outcome for each text in the column of winners, UNDECIDED where the text is not known."""
    left, right = part.coded["left"], part.coded["right"]
    known = pl.concat([left.distinct, right.distinct]).unique().sort()
    _refuse_tie_items(part, known)
    words = dict.fromkeys((*TIE_WORDS, *sorted(set(ALSO_TIES).difference(known))), TIE)
    for side, role in ((RIGHT, "right"), (LEFT, "left")):
        names = {part.roles[role], *NAMES[role], *ALSO_SIDES[role]}
        words |= dict.fromkeys(sorted(names.difference(known)), side)  # an item with this name comes first
    if set(LETTERS).isdisjoint(known):  # B for the right one beside an item called A would be a guess
        words |= LETTERS
    alphabet = pl.concat([known, pl.Series(list(words), dtype=pl.String)])
    code = winner.cast(pl.Enum(alphabet), strict=False).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
    meaning = np.full(len(alphabet) + 1, UNDECIDED, dtype=np.int8)  # the last one is for -1, texts not in the alphabet
    meaning[len(known) : -1] = list(words.values())
    outcome: NDArray[np.int8] = meaning[code]
    for side, shown in ((RIGHT, right), (LEFT, left)):
        table = shown.distinct.cast(pl.Enum(alphabet)).to_physical().cast(pl.Int32).to_numpy()
        outcome[code == table[shown.number]] = side
    return outcome


def _refuse_tie_items(part: Part, known: pl.Series) -> None:
    """Refuse items whose name means a tie."""
    if not set(TIE_WORDS).intersection(known):
        return
    left, right = part.coded["left"], part.coded["right"]
    on_left, on_right = (shown.distinct.is_in(TIE_WORDS).to_numpy()[shown.number] for shown in (left, right))

    def message(row: int) -> str:
        name = (left if on_left[row] else right).name(row)
        return (
            f"an item is called {name!r}, but in the column {part.roles['winner']!r} this means a tie; rename the item"
        )

    part.source.refuse(on_left | on_right, message)


def _grades(study: StudyBuilder, part: Part) -> tuple[NDArray[Any], ...]:
    return study.codes(part, "annotator"), study.entry(part), part.numbers


def _all_grades(study: StudyBuilder, parts: Sequence[Part]) -> Grades:
    annotator, entry, grade = stacked([_grades(study, part) for part in parts], (np.int32, np.int32, np.float64))
    return Grades(annotator, entry, grade, _times(parts))


def _all_pairs(study: StudyBuilder, parts: Sequence[Part]) -> Pairs:
    types = np.int32, np.int32, np.int32, np.int8
    annotator, left, right, outcome = stacked([_pairs(study, part) for part in parts], types)
    lengths = [len(part.outcome) for part in parts]
    extra = (stacked_or_none([part.pair_columns.get(role) for part in parts], lengths) for role in PAIR_COLUMNS)
    weight, strength = extra
    return Pairs(annotator, left, right, outcome, weight, strength, _times(parts))


def _pairs(study: StudyBuilder, part: Part) -> tuple[NDArray[Any], ...]:
    left, right, outcome = study.entry(part, "left"), study.entry(part, "right"), part.outcome
    part.source.refuse(left == right, lambda row: f"{shorten(part.coded['left'].name(row))!r} is compared with itself")
    if "left" not in part.roles:
        swap = unshown_order(left, right)
        left, right, outcome = (
            np.where(swap, right, left),
            np.where(swap, left, right),
            np.where(swap, -outcome, outcome),
        )
    return study.codes(part, "annotator"), left, right, outcome
