"""From sources of columns to Judgments: names become integer codes here, once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.convert import stacked_or_none, unshown_order
from crowdrank.formats.builder import Part, StudyBuilder
from crowdrank.formats.columns import NAMES, PAIR_COLUMNS, kind_of, unused
from crowdrank.formats.encode_lists import MOST_EQUAL, joined, lists_of_part, short_lists, stacked
from crowdrank.formats.names import Coded, Names
from crowdrank.formats.scales import graded_by
from crowdrank.formats.source import Source, as_text, shorten
from crowdrank.formats.source import joined as joined_pieces
from crowdrank.formats.text_table import TextTable
from crowdrank.formats.times import as_durations, as_seconds, from_any_start
from crowdrank.formats.vote_context import (
    VoteContext,
    categories_of,
    covariates_of,
    differences_of_features,
    named_in_column,
    trusted_among,
)
from crowdrank.study import (
    LEFT,
    RIGHT,
    TIE,
    UNNAMED_TASK,
    Codes,
    Floats,
    Frame,
    Grades,
    Ids,
    JudgmentError,
    Judgments,
    Pairs,
    Vocabulary,
)

TIE_WORDS = ("tie", "both_bad", "tie (bothbad)")  # the words that arenas use
# Unless an item has this name.
ALSO_TIES = ("Tie", "TIE", "draw", "Draw", "DRAW", "equal", "Equal", "EQUAL", "same", "Same", "SAME")
ALSO_SIDES = {"left": ("Left", "LEFT"), "right": ("Right", "RIGHT")}
LETTERS = {"A": LEFT, "a": LEFT, "B": RIGHT, "b": RIGHT}
NUMBERED = {"0", "1", "2", "-1", "0.0", "1.0", "2.0", "true", "false", "True", "False", "TRUE", "FALSE", *TIE_WORDS}
NO_ANNOTATOR = "anonymous"
LARGEST = 1e15  # grade, rank, weight or strength
TOO_LARGE = f"is too large; the limit is {LARGEST:g}: use other units"
UNDECIDED = 2  # neither LEFT, RIGHT nor TIE
NO_CONTEXT = VoteContext()


def judgments_of(
    sources: Sequence[Source],
    columns: Mapping[str, str],
    *,
    top_k: bool | None = None,
    scale: Sequence[str] | None = None,
    frame: Frame = "polars",
    context: VoteContext = NO_CONTEXT,
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
            advice = "" if source.tool else "; if a column says who judged, name it with --column annotator=NAME"
            notes.append(f"{source.name} {nobody}: all its judgments count as those of one annotator{advice}")
        notes += unused(source.name, source.columns, given, source.paths, part.kind)
        notes += [*_add_time(part, given), *_add_seconds(part, given)]
    vocabulary = study.vocabulary(frame)
    of_kind = {kind: [part for part in study.parts if part.kind == kind] for kind in ("grades", "pairs", "rankings")}
    rankings = joined([lists_of_part(study, part, top_k, notes) for part in of_kind["rankings"]])
    if top_k is None:  # with --top-k or --no-top-k the user has decided what unlisted items mean
        notes += short_lists(rankings, vocabulary)
    notes += [note for kind, names in study.names.items() for note in names.differ_by_spelling(kind)]
    pairs, categories = _with_context(_all_pairs(study, of_kind["pairs"]), of_kind["pairs"], vocabulary, context)
    trusted = None
    if context.trusted is not None:
        trusted, unknown = trusted_among(vocabulary.annotators, _trusted(study.parts, context.trusted))
        notes += unknown
    return Judgments(
        vocabulary=vocabulary,
        grades=_all_grades(study, of_kind["grades"]),
        pairs=pairs,
        rankings=rankings,
        covariates=tuple(context.covariates),
        categories=categories,
        trusted=trusted,
        notes=tuple(notes),
        origin=tuple(_origin(part) for part in study.parts),
    )


def _trusted(parts: Sequence[Part], names: Sequence[Any] | str) -> Sequence[Any]:
    """The names of the trusted annotators; a text is the column that says who they are."""
    if not isinstance(names, str):
        return names
    return named_in_column([(p.source, p.roles["annotator"]) for p in parts if "annotator" in p.roles], names)


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
    pieces = [piece.load(column) for piece in part.source.pieces(column)]
    seconds = [as_seconds(piece) for piece in pieces]
    if any(found is not None for found in seconds):
        part.time = cast(Floats, stacked_or_none(seconds, [len(piece) for piece in pieces], np.nan))
        if from_any_start(part.time) and "time" not in given:
            how = f"read as seconds, the smallest first; if they are durations, use --column seconds={column}"
            return [f"{part.source.name}: column {column!r} holds small numbers, no dates: {how}"]
        return []
    problem = f"{part.source.name}: column {column!r} holds no dates (such as 2024-05-31T12:00:00Z) and no numbers"
    if "time" in given:
        raise JudgmentError(problem)
    return [f"{problem}: not used"]


def _add_seconds(part: Part, given: Mapping[str, str]) -> list[str]:
    """Add how long judgments took; a note if the column with that name does not say it."""
    if "seconds" not in part.roles:
        return []
    column = part.roles["seconds"]
    pieces = [piece.load(column) for piece in part.source.pieces(column)]
    seconds = [as_durations(piece, column) for piece in pieces]
    if any(found is not None for found in seconds):
        part.seconds = cast(Floats, stacked_or_none(seconds, [len(piece) for piece in pieces], np.nan))
        return []
    problem = f"{part.source.name}: column {column!r} holds no durations (such as 12.5, or 0:00:12)"
    if "seconds" in given:
        raise JudgmentError(problem)
    return [f"{problem}: not used"]


def _times(parts: Sequence[Part], role: Literal["time", "seconds"] = "time") -> Floats | None:
    columns = [getattr(part, role) for part in parts]
    return cast("Floats | None", stacked_or_none(columns, [_rows(part) for part in parts], np.nan))


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
        lists = (piece.ids(roles["list"]) for piece in source.pieces(roles["list"]))
        part.coded["list"] = Names().add_pieces(lists)
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
    answers, found, start = _answers(part), [], 0
    for source in part.source.pieces(part.roles["winner"]):
        winner = as_text(source.ids(part.roles["winner"]))
        left, right = (
            Coded(part.coded[role].distinct, part.coded[role].number[start : start + len(winner)])
            for role in ("left", "right")
        )
        found.append(_piece_outcomes(part, source, answers, winner, left, right))
        start += len(winner)
    return joined_pieces(found)


def _piece_outcomes(
    part: Part, source: Source, answers: WinnerTexts, winner: pl.Series, left: Coded, right: Coded
) -> NDArray[np.int8]:
    """The outcomes of some rows."""
    outcome = answers.decoded(winner, left, right)
    if (outcome == UNDECIDED).any():  # names have no blanks around them; to strip only if necessary is faster
        winner = winner.str.strip_chars()
        outcome = answers.decoded(winner, left, right)

    def message(row: int) -> str:
        items = f"neither {shorten(left.name(row))!r} nor {shorten(right.name(row))!r}"
        return f"{part.roles['winner']} {shorten(winner[row])!r} is {items}"

    undecided = outcome == UNDECIDED
    advice = f"where neither won, write {TIE_WORDS[0]!r}"
    if undecided.any() and set(winner.unique()) <= NUMBERED:
        advice = "this does not say which item it means: write 'left' or 'right', or the id of the winner"
    source.refuse(undecided, message, advice)
    return outcome


class WinnerTexts(NamedTuple):
    """What the texts in the column of winners mean, for all rows of a table."""

    alphabet: TextTable
    meaning: NDArray[np.int8]  # of each text; the last one is for -1, texts not in the alphabet
    left: Codes  # the number of each left item in the alphabet
    right: Codes

    def decoded(self, winner: pl.Series, left: Coded, right: Coded) -> NDArray[np.int8]:
        """The outcome for each text, UNDECIDED where the text is not known."""
        code = self.alphabet.numbers(winner)
        outcome: NDArray[np.int8] = self.meaning[code]
        for side, table, shown in ((RIGHT, self.right, right), (LEFT, self.left, left)):
            outcome[code == table[shown.number]] = side
        return outcome


def _answers(part: Part) -> WinnerTexts:
    left, right = part.coded["left"], part.coded["right"]
    known = pl.concat([left.distinct, right.distinct]).unique().sort()
    _refuse_tie_items(part, known)
    words = dict.fromkeys((*TIE_WORDS, *sorted(set(ALSO_TIES).difference(known))), TIE)
    last = {role: re.split("[:.]", part.roles[role])[-1] for role in ("left", "right")}  # of INPUT:image_a: image_a
    for side, role in ((RIGHT, "right"), (LEFT, "left")):
        names = {part.roles[role], *NAMES[role], *ALSO_SIDES[role]}
        if last["left"] != last["right"]:
            names.add(last[role])
        words |= dict.fromkeys(sorted(names.difference(known)), side)  # an item with this name comes first
    if set(LETTERS).isdisjoint(known):  # B for the right one beside an item called A would be a guess
        words |= LETTERS
    alphabet = TextTable()
    alphabet.add(pl.concat([known, pl.Series(list(words), dtype=pl.String)]))
    meaning = np.full(len(known) + len(words) + 1, UNDECIDED, dtype=np.int8)
    meaning[len(known) : -1] = list(words.values())
    return WinnerTexts(alphabet, meaning, alphabet.numbers(left.distinct), alphabet.numbers(right.distinct))


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
    return Grades(annotator, entry, grade, _times(parts), _times(parts, "seconds"))


def _all_pairs(study: StudyBuilder, parts: Sequence[Part]) -> Pairs:
    types = np.int32, np.int32, np.int32, np.int8
    annotator, left, right, outcome = stacked([_pairs(study, part) for part in parts], types)
    lengths = [len(part.outcome) for part in parts]
    extra = (stacked_or_none([part.pair_columns.get(role) for part in parts], lengths) for role in PAIR_COLUMNS)
    weight, strength = extra
    time, seconds = _times(parts), _times(parts, "seconds")
    return Pairs(annotator, left, right, outcome, weight, strength, time, seconds=seconds)


def _with_context(
    pairs: Pairs, parts: Sequence[Part], vocabulary: Vocabulary, context: VoteContext
) -> tuple[Pairs, Ids | None]:
    """The pairs with their covariates and categories, and the names of the categories."""
    if not (context.covariates or context.by):
        return pairs, None
    if not parts:
        raise JudgmentError("covariates and categories belong to pairs, and there are none: leave them out")
    categories = None
    if context.covariates:
        pairs = replace(pairs, covariates=_covariates(pairs, parts, vocabulary, context))
    if context.by:
        categories, rows = categories_of([part.source for part in parts], context.by)
        pairs = replace(pairs, category=np.concatenate(rows))
    return pairs, categories


def _covariates(pairs: Pairs, parts: Sequence[Part], vocabulary: Vocabulary, context: VoteContext) -> Floats:
    """The covariates of all pairs, in the order in which they were named."""
    found: dict[str, Floats] = {}
    if of_votes := context.of_votes:
        columns = [covariates_of(part.source, of_votes) * part.side[:, None] for part in parts]
        found |= dict(zip(of_votes, np.concatenate(columns).T, strict=True))
    of_items = [name for name in context.covariates if name not in found]
    if of_items and context.features is not None:
        differences = differences_of_features(context.features, of_items, vocabulary, pairs)
        found |= dict(zip(of_items, differences.T, strict=True))
    return np.stack([found[name] for name in context.covariates], axis=1)


def _pairs(study: StudyBuilder, part: Part) -> tuple[NDArray[Any], ...]:
    left, right, outcome = study.entry(part, "left"), study.entry(part, "right"), part.outcome
    part.side = np.ones(len(left))
    part.source.refuse(left == right, lambda row: f"{shorten(part.coded['left'].name(row))!r} is compared with itself")
    if "left" not in part.roles:
        swap = unshown_order(left, right)
        part.side = np.where(swap, -1.0, 1.0)
        left, right, outcome = (
            np.where(swap, right, left),
            np.where(swap, left, right),
            np.where(swap, -outcome, outcome),
        )
    return study.codes(part, "annotator"), left, right, outcome
