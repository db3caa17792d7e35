"""From sources of columns to Judgments: names become integer codes here, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.convert import stacked_or_none, unshown_order
from crowdrank.formats.builder import Part, StudyBuilder
from crowdrank.formats.columns import NAMES, PAIR_COLUMNS, kind_of, unused
from crowdrank.formats.names import Names
from crowdrank.formats.source import Source, as_text, shorten
from crowdrank.numerics.groups import run_starts
from crowdrank.study import (
    LEFT,
    RIGHT,
    TIE,
    UNNAMED_TASK,
    Floats,
    Frame,
    Grades,
    Judgments,
    Pairs,
    Rankings,
    Vocabulary,
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
LEAST_LISTED = 0.5  # share of its task's items that a typical list must name; below it a note says what that means


def judgments_of(
    sources: Sequence[Source], columns: Mapping[str, str], *, top_k: bool | None = None, frame: Frame = "polars"
) -> Judgments:
    """The judgments of all sources over one vocabulary."""
    study, notes = StudyBuilder("task", "item", "annotator"), []
    for source in sources:
        part = _add_source(study, source, columns)
        if "annotator" not in part.roles:
            notes.append(f"{source.name} has no annotator column: all its judgments count as those of one annotator")
        if part.kind != "pairs":
            notes += unused(source.name, source.columns, columns)
    vocabulary = study.vocabulary(frame)
    of_kind = {kind: [part for part in study.parts if part.kind == kind] for kind in ("grades", "pairs", "rankings")}
    rankings = _joined([_lists(study, part, top_k, notes) for part in of_kind["rankings"]])
    if top_k is None:  # with --top-k or --no-top-k the user has decided what unlisted items mean
        notes += _short_lists(rankings, vocabulary)
    notes += [note for kind, names in study.names.items() for note in names.differ_by_spelling(kind)]
    return Judgments(
        vocabulary=vocabulary,
        grades=Grades(
            *_stacked([_grades(study, part) for part in of_kind["grades"]], (np.int32, np.int32, np.float64))
        ),
        pairs=_all_pairs(study, of_kind["pairs"]),
        rankings=rankings,
        notes=tuple(notes),
    )


def _add_source(study: StudyBuilder, source: Source, columns: Mapping[str, str]) -> Part:
    kind, roles = kind_of(source.name, source.columns, columns)
    part = Part(kind, source, roles)
    if kind == "pairs":
        _add_pairs(study, part)
    else:
        study.code(part, "item")
        part.numbers = _not_too_large(part, "grade" if kind == "grades" else "rank")
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


def _all_pairs(study: StudyBuilder, parts: Sequence[Part]) -> Pairs:
    columns = _stacked([_pairs(study, part) for part in parts], (np.int32, np.int32, np.int32, np.int8))
    lengths = [len(part.outcome) for part in parts]
    return Pairs(
        *columns, *(stacked_or_none([part.pair_columns.get(role) for part in parts], lengths) for role in PAIR_COLUMNS)
    )


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


def _lists(study: StudyBuilder, part: Part, top_k: bool | None, notes: list[str]) -> Rankings:
    """The rows of a source as lists: one per task and annotator, or more if a column `list` separates them."""
    rank, entry = part.numbers, study.entry(part)
    part.source.refuse(
        rank < 0, lambda row: f"rank {rank[row]:g} is below 0; remove the rows of items that were not ranked"
    )
    task, annotator = study.codes(part, "task"), study.codes(part, "annotator")
    which = part.coded["list"].number if "list" in part.coded else np.zeros(len(entry), np.int32)
    order = np.lexsort((rank, entry, which, annotator, task))
    task, annotator, which, entry, rank = task[order], annotator[order], which[order], entry[order], rank[order]
    new_list = run_starts(task, annotator, which)
    again = np.r_[False, ~new_list[1:] & (np.diff(entry) == 0)][: len(order)]
    changed = again & np.r_[False, np.diff(rank) != 0][: len(order)]
    wrong = np.zeros(len(order), dtype=bool)
    wrong[order[changed]] = True
    advice = _two_ranks_advice(study, part) if changed.any() else ""
    part.source.refuse(
        wrong, lambda row: f"{shorten(part.coded['item'].name(row))!r} has another rank in the same list", advice
    )
    if again.any():
        notes.append(f"{part.source.name}: {again.sum():,} rows that repeat an item of their list were dropped")
    row_list = (np.cumsum(new_list) - 1).astype(np.int32)
    keep = np.flatnonzero(~again)
    keep = keep[np.lexsort((entry[keep], rank[keep], row_list[keep]))]
    return Rankings(
        list_annotator=annotator[new_list],
        list_task=task[new_list],
        unlisted_below=np.full(new_list.sum(), part.source.top_k if top_k is None else top_k),
        row_list=row_list[keep],
        entry=entry[keep],
        position=rank[keep],
    )


def _two_ranks_advice(study: StudyBuilder, part: Part) -> str:
    """What to do about an item with two ranks in a list."""
    of = " and ".join(part.roles[role] for role in ("task", "annotator", "list") if role in part.roles) or "file"
    meaning = f"a list is the rows of one {of}"
    if "list" in part.roles:
        return meaning
    rows = pl.DataFrame({role: study.codes(part, role) for role in ("task", "annotator", "item")}).with_columns(
        rank=part.numbers
    )
    free = [column for column in part.source.columns if column not in part.roles.values()]
    found = next((column for column in free if _separates_lists(as_text(part.source.load(column)), rows)), "NAME")
    return f"{meaning}; if a column separates several lists, name it with --column list={found}"


def _separates_lists(column: pl.Series, rows: pl.DataFrame) -> bool:
    """With this column as `list`: has no item two ranks in a list, and do lists have more than one row?"""
    rows = rows.with_columns(column.alias("list"))
    lists, places = ["task", "annotator", "list"], ["task", "annotator", "list", "item"]
    return rows.n_unique(places) == rows.n_unique() and 2 * rows.n_unique(lists) <= len(rows)


def _short_lists(lists: Rankings, vocabulary: Vocabulary) -> list[str]:
    """A note if a typical list names few of the items on the lists of its task."""
    whole = np.flatnonzero(~lists.unlisted_below)
    if not len(whole):
        return []
    task = vocabulary.entry_task[np.flatnonzero(np.bincount(lists.entry, minlength=vocabulary.n_entries))]
    named = np.bincount(task, minlength=len(vocabulary.tasks))[lists.list_task[whole]]
    length = np.diff(lists.list_starts)[whole]
    typical, all_named = int(np.median(length)), int(np.median(named))
    meaning = "items that a list does not name are treated as not compared with those it names"
    advice = "if they rank below, use --top-k (top_k=True); if not, --no-top-k"
    if np.median(length == 1) == 1 and all_named > 1:
        return [f"most lists name a single item, which compares nothing: {meaning}; {advice}"]
    if np.median(length / named) < LEAST_LISTED:
        together = f"{typical:,} of the {all_named:,} items on the lists of its task"
        return [f"a typical list names {together}: {meaning}; {advice}"]
    return []


def _joined(parts: Sequence[Rankings]) -> Rankings:
    """Several sets of lists as one; lists of different files stay separate."""
    shift, shifted = 0, []
    for part in parts:
        shifted.append(
            (
                part.list_annotator,
                part.list_task,
                part.unlisted_below,
                part.row_list + np.int32(shift),
                part.entry,
                part.position,
            )
        )
        shift += len(part.list_annotator)
    return Rankings(*_stacked(shifted, (np.int32, np.int32, np.bool_, np.int32, np.int32, np.float64)))


def _stacked(parts: Sequence[tuple[NDArray[Any], ...]], dtypes: Sequence[type]) -> list[Any]:
    """Tables concatenated column by column; without parts, empty columns."""
    if len(parts) == 1:
        return list(parts[0])
    return [np.concatenate([np.zeros(0, dtype), *(part[i] for part in parts)]) for i, dtype in enumerate(dtypes)]
