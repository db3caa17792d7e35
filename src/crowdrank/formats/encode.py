"""From sources of columns to Judgments and Gold: strings become integer codes here, once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.convert import stacked_or_none, unshown_order
from crowdrank.formats.columns import NAMES, OF_PAIRS, Roles, kind_of, unused, value_of
from crowdrank.formats.names import Coded, Entries, Names
from crowdrank.formats.source import Source, as_text, shorten
from crowdrank.numerics.groups import run_starts
from crowdrank.study import (
    LEFT,
    RIGHT,
    TIE,
    UNNAMED_TASK,
    Codes,
    Floats,
    Frame,
    Gold,
    GoldKind,
    Grades,
    JudgmentError,
    Judgments,
    Kind,
    Pairs,
    Rankings,
    Vocabulary,
    ids,
)

TIE_WORDS = ("tie", "both_bad", "tie (bothbad)")  # arenas have several ways to say it
ALSO_TIES = ("Tie", "TIE", "draw", "Draw", "DRAW")  # unless an item is called so
NO_ANNOTATOR = "anonymous"
UNDECIDED = 2  # neither LEFT, RIGHT nor TIE
LEAST_NAMED = 0.5  # of its task's items that the usual list must name, or a note says what it means to be left out


@dataclass(slots=True)
class Part:
    """One source on its way in: its columns of ids coded by themselves, its numbers as they are."""

    kind: Kind | None  # None for gold
    source: Source
    roles: Roles
    coded: dict[str, Coded] = field(default_factory=dict)
    numbers: Floats = field(default_factory=lambda: np.zeros(0))
    outcome: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    of_pairs: dict[str, Floats] = field(default_factory=dict)  # weight and strength, where there are such columns

    @property
    def entry_roles(self) -> tuple[str, ...]:
        return ("left", "right") if self.kind == "pairs" else ("item",)


class Study:
    """The vocabulary that several parts share, built while they come in."""

    def __init__(self, *kinds: str) -> None:
        self.names = {kind: Names() for kind in kinds}
        self.parts: list[Part] = []

    def code(self, part: Part, role: str, *, of: str | None = None, column: str | None = None) -> None:
        """Take up a column of ids that every row must have; one of blanks alone is a cell left empty."""
        column = column or part.roles[role]
        coded = self.names[of or role].add(part.source.ids(column))
        blank = (coded.distinct.str.strip_chars() == "").to_numpy()
        if blank.any():
            part.source.refuse(blank[coded.number], lambda _: f"{column} is missing")
        part.coded[role] = coded

    def stand_in(self, part: Part, role: str, name: str) -> None:
        """One name for every row of a source that has no such column."""
        rows = len(part.coded[part.entry_roles[0]].number)
        distinct = self.names[role].add(pl.Series([name] * min(rows, 1), dtype=pl.String)).distinct
        part.coded[role] = Coded(distinct, np.zeros(rows, np.int32))

    def vocabulary(self, frame: Frame) -> Vocabulary:
        """All names, sorted, and all entries."""
        found = {kind: names.finish() for kind, names in self.names.items()}
        rows = sum(len(part.coded[role].number) for part in self.parts for role in part.entry_roles)
        self.entries = Entries(self._entry_columns(), rows, len(found["task"]), len(found["item"]))
        return Vocabulary(
            found["task"], found["item"], found.get("annotator", ids([])), self.entries.task, self.entries.item, frame
        )

    def _entry_columns(self) -> Iterator[tuple[Codes, Codes]]:
        """Task and item of every row that names an entry, one column at a time: memory is what large studies run out of."""
        for part in self.parts:
            for role in part.entry_roles:
                yield self.codes(part, "task"), self.names["item"].codes(part.coded[role])

    def codes(self, part: Part, role: str) -> Codes:
        return self.names[role].codes(part.coded[role])

    def entry(self, part: Part, role: str = "item") -> Codes:
        return self.entries.codes(self.codes(part, "task"), self.names["item"].codes(part.coded[role]))


def judgments_of(
    sources: Sequence[Source], columns: Mapping[str, str], *, top_k: bool | None = None, frame: Frame = "polars"
) -> Judgments:
    """All the judgments of some sources over one vocabulary."""
    study, notes = Study("task", "item", "annotator"), []
    for source in sources:
        part = _take_up(study, source, columns)
        if "annotator" not in part.roles:
            notes.append(f"{source.name} has no annotator column: all its judgments count as one annotator's")
        if part.kind != "pairs":
            notes += unused(source.name, source.columns, columns)
    vocabulary = study.vocabulary(frame)
    of_kind = {kind: [part for part in study.parts if part.kind == kind] for kind in ("grades", "pairs", "rankings")}
    rankings = _joined([_lists(study, part, top_k, notes) for part in of_kind["rankings"]])
    if top_k is None:  # who has said what it means to be left out need not be told
        notes += _left_out(rankings, vocabulary)
    notes += [note for kind, names in study.names.items() for note in names.differ_by_case(kind)]
    return Judgments(
        vocabulary=vocabulary,
        grades=Grades(
            *_stacked([_grades(study, part) for part in of_kind["grades"]], (np.int32, np.int32, np.float64))
        ),
        pairs=_all_pairs(study, of_kind["pairs"]),
        rankings=rankings,
        notes=tuple(notes),
    )


def _take_up(study: Study, source: Source, columns: Mapping[str, str]) -> Part:
    kind, roles = kind_of(source.name, source.columns, columns)
    part = Part(kind, source, roles)
    if kind == "pairs":
        _take_up_pairs(study, part)
    else:
        study.code(part, "item")
        part.numbers = source.numbers(roles["grade" if kind == "grades" else "rank"])
    for role, stand_in in (("task", UNNAMED_TASK), ("annotator", NO_ANNOTATOR)):
        if role in roles:
            study.code(part, role)
        else:
            study.stand_in(part, role, stand_in)
    if "list" in roles:
        part.coded["list"] = Names().add(source.ids(roles["list"]))
    study.parts.append(part)
    return part


def _take_up_pairs(study: Study, part: Part) -> None:
    """Left, right and outcome; where there are only winner and loser, the winner is left until the order is settled."""
    if "left" in part.roles:
        study.code(part, "left", of="item")
        study.code(part, "right", of="item")
        part.outcome = _outcomes(part)
    else:
        study.code(part, "left", of="item", column=part.roles["winner"])
        study.code(part, "right", of="item", column=part.roles["loser"])
        part.outcome = np.full(len(part.coded["left"].number), LEFT, dtype=np.int8)
    part.of_pairs = {role: _above_zero(part, role) for role in OF_PAIRS if role in part.roles}


def _above_zero(part: Part, role: str) -> Floats:
    """A column of numbers above 0. A tie prefers neither: its strength may be 0 or left empty, and says nothing."""
    column = part.roles[role]
    numbers = part.source.numbers(column, missing=True)
    if role == "strength":
        numbers = np.where((part.outcome == TIE) & ~(np.abs(numbers) > 0), 1.0, numbers)

    def not_above(row: int) -> str:
        return f"{column} is missing" if np.isnan(numbers[row]) else f"{column} {numbers[row]:g} is not above 0"

    part.source.refuse(~(numbers > 0), not_above)
    return numbers


def _outcomes(part: Part) -> NDArray[np.int8]:
    """Who won each pair. The winner is an item's id, a name of the column it stands in, or a word for a tie."""
    column, left, right = part.roles["winner"], part.coded["left"], part.coded["right"]
    winner = as_text(part.source.ids(column))
    outcome = _meant(part, winner)
    if (outcome == UNDECIDED).any():
        outcome = _meant(
            part, winner := winner.str.strip_chars()
        )  # as names are; here only if need be, which is faster

    def neither(row: int) -> str:
        return (
            f"{column} {shorten(winner[row])!r} is neither {shorten(left.name(row))!r} nor {shorten(right.name(row))!r}"
        )

    part.source.refuse(outcome == UNDECIDED, neither, f"where neither won, write {TIE_WORDS[0]!r}")
    return outcome


def _meant(part: Part, winner: pl.Series) -> NDArray[np.int8]:
    """What each text in the column of winners means, UNDECIDED where it means nothing."""
    left, right = part.coded["left"], part.coded["right"]
    known = pl.concat([left.distinct, right.distinct]).unique().sort()
    _refuse_tie_items(part, known)
    words = dict.fromkeys((*TIE_WORDS, *sorted(set(ALSO_TIES).difference(known))), TIE)
    for side, role in ((RIGHT, "right"), (LEFT, "left")):
        names = {part.roles[role], *NAMES[role]}.difference(known)  # an item that is called so comes first
        words |= dict.fromkeys(sorted(names), side)
    alphabet = pl.concat([known, pl.Series(list(words), dtype=pl.String)])
    said = winner.cast(pl.Enum(alphabet), strict=False).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
    meaning = np.full(len(alphabet) + 1, UNDECIDED, dtype=np.int8)  # the last is for what is not in the alphabet, -1
    meaning[len(known) : -1] = list(words.values())
    outcome: NDArray[np.int8] = meaning[said]
    for side, shown in ((RIGHT, right), (LEFT, left)):
        table = shown.distinct.cast(pl.Enum(alphabet)).to_physical().cast(pl.Int32).to_numpy()
        outcome[said == table[shown.number]] = side
    return outcome


def _refuse_tie_items(part: Part, known: pl.Series) -> None:
    """An item must not be called what means a tie."""
    if not set(TIE_WORDS).intersection(known):
        return
    left, right = part.coded["left"], part.coded["right"]
    on_left, on_right = (shown.distinct.is_in(TIE_WORDS).to_numpy()[shown.number] for shown in (left, right))

    def means_a_tie(row: int) -> str:
        name = (left if on_left[row] else right).name(row)
        return f"an item is called {name!r}, which means a tie in {part.roles['winner']!r}; rename it"

    part.source.refuse(on_left | on_right, means_a_tie)


def _grades(study: Study, part: Part) -> tuple[NDArray[Any], ...]:
    return study.codes(part, "annotator"), study.entry(part), part.numbers


def _all_pairs(study: Study, parts: Sequence[Part]) -> Pairs:
    columns = _stacked([_pairs(study, part) for part in parts], (np.int32, np.int32, np.int32, np.int8))
    lengths = [len(part.outcome) for part in parts]
    return Pairs(
        *columns, *(stacked_or_none([part.of_pairs.get(role) for part in parts], lengths) for role in OF_PAIRS)
    )


def _pairs(study: Study, part: Part) -> tuple[NDArray[Any], ...]:
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


def _lists(study: Study, part: Part, top_k: bool | None, notes: list[str]) -> Rankings:
    """The rows of a source as lists: one per task and annotator, or more where a column `list` tells them apart."""
    rank, entry = part.numbers, study.entry(part)
    part.source.refuse(rank < 0, lambda row: f"rank {rank[row]:g} is below 0; leave out items that were not ranked")
    task, annotator = study.codes(part, "task"), study.codes(part, "annotator")
    which = part.coded["list"].number if "list" in part.coded else np.zeros(len(entry), np.int32)
    order = np.lexsort((rank, entry, which, annotator, task))
    task, annotator, which, entry, rank = task[order], annotator[order], which[order], entry[order], rank[order]
    new_list = run_starts(task, annotator, which)
    again = np.r_[False, ~new_list[1:] & (np.diff(entry) == 0)][: len(order)]
    changed = again & np.r_[False, np.diff(rank) != 0][: len(order)]
    wrong = np.zeros(len(order), dtype=bool)
    wrong[order[changed]] = True
    cure = _cure(study, part) if changed.any() else ""
    part.source.refuse(
        wrong, lambda row: f"{shorten(part.coded['item'].name(row))!r} has another rank in the same list", cure
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


def _cure(study: Study, part: Part) -> str:
    """What to do about two ranks of one item in a list."""
    of = " and ".join(part.roles[role] for role in ("task", "annotator", "list") if role in part.roles) or "file"
    told = f"a list is the rows of one {of}"
    if "list" in part.roles:
        return told
    rows = pl.DataFrame({role: study.codes(part, role) for role in ("task", "annotator", "item")}).with_columns(
        rank=part.numbers
    )
    free = [column for column in part.source.columns if column not in part.roles.values()]
    apart = [column for column in free if _tells_apart(as_text(part.source.load(column)), rows)]
    return f"{told}; the column that tells several apart is named by --column list={apart[0] if apart else 'NAME'}"


def _tells_apart(column: pl.Series, rows: pl.DataFrame) -> bool:
    """Has no item two ranks within what the column has in common, and does that hold more than single rows?"""
    rows = rows.with_columns(column.alias("list"))
    lists, places = ["task", "annotator", "list"], ["task", "annotator", "list", "item"]
    return rows.n_unique(places) == rows.n_unique() and 2 * rows.n_unique(lists) <= len(rows)


def _left_out(lists: Rankings, vocabulary: Vocabulary) -> list[str]:
    """Say what it means where the usual list names few of the items that the lists of its task name together."""
    whole = np.flatnonzero(~lists.unlisted_below)
    if not len(whole):
        return []
    task = vocabulary.entry_task[np.flatnonzero(np.bincount(lists.entry, minlength=vocabulary.n_entries))]
    named = np.bincount(task, minlength=len(vocabulary.tasks))[lists.list_task[whole]]
    length = np.diff(lists.list_starts)[whole]
    usual, all_named = int(np.median(length)), int(np.median(named))
    meaning = "what a list leaves out is taken as not compared with what it names"
    cure = "if it stands below, say --top-k (top_k=True); if not, --no-top-k"
    if np.median(length == 1) == 1 and all_named > 1:
        return [f"most lists name one item alone, which compares nothing: {meaning}; {cure}"]
    if np.median(length / named) < LEAST_NAMED:
        return [
            f"the usual list names {usual:,} items of the {all_named:,} that its task's lists name together: {meaning}; {cure}"
        ]
    return []


def _joined(parts: Sequence[Rankings]) -> Rankings:
    """Several sets of lists as one; a list keeps to its file."""
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
    """Tables below each other, column by column; without parts, empty columns."""
    if len(parts) == 1:
        return list(parts[0])
    return [np.concatenate([np.zeros(0, dtype), *(part[i] for part in parts)]) for i, dtype in enumerate(dtypes)]


def gold_of(sources: Sequence[Source], columns: Mapping[str, str], *, frame: Frame = "polars") -> Gold:
    """Gold from some sources, all of the same kind."""
    vocabulary, value, kind = _values(sources, columns, ("grade", "score", "rank"), frame)
    return Gold(vocabulary, value, kind)


def scores_of(source: Source, columns: Mapping[str, str], *, frame: Frame = "polars") -> Consensus:
    """A ranking somebody made; items without a score or rank are not ranked."""
    vocabulary, value, _ = _values([source], columns, ("score", "rank"), frame, missing=True)
    return Consensus(vocabulary=vocabulary, method=source.name, score=value, annotator_columns={})


def _values(
    sources: Sequence[Source],
    columns: Mapping[str, str],
    kinds: Sequence[GoldKind],
    frame: Frame,
    *,
    missing: bool = False,
) -> tuple[Vocabulary, Floats, GoldKind]:
    """One value per entry, higher is better, and what kind it is."""
    study, found = Study("task", "item"), set[GoldKind]()
    for source in sources:
        kind, roles = value_of(source.name, source.columns, columns, kinds)
        found.add(kind)
        part = Part(None, source, roles)
        study.code(part, "item")
        study.code(part, "task") if "task" in roles else study.stand_in(part, "task", UNNAMED_TASK)
        part.numbers = source.numbers(roles[kind], missing=missing) * (-1 if kind == "rank" else 1)
        study.parts.append(part)
    if len(found) > 1:
        raise JudgmentError(f"{' and '.join(sorted(found))} are mixed; all files must give the same")
    vocabulary = study.vocabulary(frame)
    value = np.full(vocabulary.n_entries, np.nan)
    for part in study.parts:
        value[study.entry(part)] = part.numbers
    for part in study.parts:
        _refuse_contradictions(part, value[study.entry(part)])
    return vocabulary, value, found.pop()


def _refuse_contradictions(part: Part, kept: Floats) -> None:
    wrong = ~np.isclose(kept, part.numbers, rtol=0, atol=0, equal_nan=True)
    part.source.refuse(wrong, lambda row: f"{shorten(part.coded['item'].name(row))!r} has another value elsewhere")
