"""The vocabulary of a study, built from several sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.formats.columns import Roles
from crowdrank.formats.names import Coded, Entries, Names
from crowdrank.formats.source import Source
from crowdrank.study import Codes, Floats, Frame, Kind, Vocabulary, ids


@dataclass(slots=True)
class Part:
    """One source while it is read: its ids coded within the source, its numbers as they are."""

    kind: Kind | None  # None for gold
    source: Source
    roles: Roles
    coded: dict[str, Coded] = field(default_factory=dict)
    numbers: Floats = field(default_factory=lambda: np.zeros(0))
    outcome: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    pair_columns: dict[str, Floats] = field(default_factory=dict)  # weight and strength, if there are such columns
    time: Floats | None = None
    seconds: Floats | None = None
    side: Floats = field(default_factory=lambda: np.zeros(0))  # of pairs: -1 where left and right were exchanged

    @property
    def entry_roles(self) -> tuple[str, ...]:
        return ("left", "right") if self.kind == "pairs" else ("item",)


class StudyBuilder:
    """The vocabulary that several parts share, built while they are read."""

    def __init__(self, *kinds: str) -> None:
        self.names = {kind: Names() for kind in kinds}
        self.parts: list[Part] = []

    def code(self, part: Part, role: str, *, of: str | None = None, column: str | None = None) -> None:
        """Add a column of ids that every row must have; blanks alone count as an empty cell."""
        column = column or part.roles[role]
        coded = self.names[of or role].add_pieces(piece.ids(column) for piece in part.source.pieces(column))
        blank = (coded.distinct.str.strip_chars() == "").to_numpy()
        if blank.any():
            part.source.refuse(blank[coded.number], lambda _: f"{column} is missing")
        part.coded[role] = coded

    def fill(self, part: Part, role: str, name: str) -> None:
        """Give every row of a source that has no such column the same name."""
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
        """Task and item of every row that names an entry, one column at a time to save memory."""
        for part in self.parts:
            for role in part.entry_roles:
                yield self.codes(part, "task"), self.names["item"].codes(part.coded[role])

    def codes(self, part: Part, role: str) -> Codes:
        """A column of ids in the codes of the study."""
        return self.names[role].codes(part.coded[role])

    def entry(self, part: Part, role: str = "item") -> Codes:
        """The entry of each row."""
        return self.entries.codes(self.codes(part, "task"), self.names["item"].codes(part.coded[role]))
