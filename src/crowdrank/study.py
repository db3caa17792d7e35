"""The data of a study: its vocabulary, its judgments, and gold.

Strings become integer codes once, when data are read (`crowdrank.formats`). Everything here is NumPy arrays of codes;
an *entry* is an item within a task, and the entries of a task are contiguous.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Literal

import numpy as np
from numpy.typing import NDArray

from crowdrank.settings import InputError

Ids = NDArray[np.object_]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Frame = Literal["polars", "pandas", "pyarrow", "modin", "cudf"]

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    FrameT = TypeVar("FrameT", default=Any)  # the class of the data frames in results; where it is not known, any
else:
    from typing import TypeVar

    FrameT = TypeVar("FrameT")

LEFT, TIE, RIGHT = 1, 0, -1  # outcomes of a pair
UNNAMED_TASK = "all"  # the task of judgments that name none


class JudgmentError(InputError):
    """Judgments or gold that cannot be used."""


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The tasks, items and annotators of a study by name, and its entries by code."""

    tasks: Ids
    items: Ids
    annotators: Ids
    entry_task: Codes  # ascending: the entries of a task are contiguous
    entry_item: Codes  # ascending within a task
    frame: Frame = "polars"  # the library of the data frames in results

    @property
    def n_entries(self) -> int:
        return len(self.entry_task)

    @property
    def task_starts(self) -> NDArray[np.int64]:
        """Entries of task `t` are `task_starts[t]:task_starts[t + 1]`."""
        return np.searchsorted(self.entry_task, np.arange(len(self.tasks) + 1))


@dataclass(frozen=True, slots=True, eq=False)
class Grades:
    """Annotator `annotator[r]` gave entry `entry[r]` the grade `grade[r]`."""

    annotator: Codes
    entry: Codes
    grade: Floats
    time: Floats | None = None  # seconds since 1970, NaN where not known
    seconds: Floats | None = None  # how long each took, NaN where not known

    def __len__(self) -> int:
        return len(self.annotator)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Annotator `annotator[r]` was shown entries `left[r]` and `right[r]` and answered `outcome[r]`."""

    annotator: Codes
    left: Codes
    right: Codes
    outcome: NDArray[np.int8]  # LEFT, RIGHT or TIE
    weight: Floats | None = None  # how many votes each counts as; without weights, 1
    strength: Floats | None = None  # how strongly the winner is preferred, if given or derived from lists and grades
    time: Floats | None = None  # seconds since 1970, NaN where not known
    covariates: Floats | None = None  # one column for each of the study's covariates; positive favours the left entry
    category: Codes | None = None  # of the study's categories; -1 where a pair is in none
    seconds: Floats | None = None  # how long each took, NaN where not known

    def __len__(self) -> int:
        return len(self.annotator)


@dataclass(frozen=True, slots=True, eq=False)
class Rankings:
    """Lists of entries, best first. Rows of a list are contiguous and ascend by position; equal positions are ties."""

    list_annotator: Codes
    list_task: Codes
    unlisted_below: NDArray[np.bool_]  # per list: does it put the task's other items below all of its own?
    row_list: Codes
    entry: Codes
    position: Floats
    list_count: NDArray[np.int64] | None = None  # how many equal lists each stands for; without it, 1
    list_time: Floats | None = None  # seconds since 1970, NaN where not known
    list_seconds: Floats | None = None  # how long each list took, NaN where not known

    def __len__(self) -> int:
        return len(self.row_list)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many equal lists each list stands for."""
        return np.ones(len(self.list_annotator), np.int64) if self.list_count is None else self.list_count

    @property
    def list_starts(self) -> NDArray[np.int64]:
        """Rows of list `l` are `list_starts[l]:list_starts[l + 1]`."""
        return np.searchsorted(self.row_list, np.arange(len(self.list_annotator) + 1))


Kind = Literal["grades", "pairs", "rankings"]
PairColumn = Literal["weight", "strength", "covariates"]  # optional columns of pairs, which not every method uses
KINDS: tuple[Kind, ...] = ("grades", "pairs", "rankings")


@dataclass(frozen=True, slots=True, eq=False)
class Judgments(Generic[FrameT]):
    """All judgments of a study: grades, pairs and rankings, any of them empty, over one vocabulary."""

    vocabulary: Vocabulary
    grades: Grades
    pairs: Pairs
    rankings: Rankings
    notes: tuple[str, ...] = ()  # about the data, from reading them
    origin: tuple[str, ...] = ()  # of each file or frame: what was understood
    covariates: tuple[str, ...] = ()  # the names of the columns of `pairs.covariates`
    categories: Ids | None = None  # the names of the categories of pairs, if there are any
    trusted: NDArray[np.bool_] | None = None  # per annotator: those by whom the others are measured

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of judgment in this study."""
        return tuple(kind for kind in KINDS if len(getattr(self, kind)))

    @property
    def has_effects(self) -> bool:
        """Whether votes have covariates, categories or trusted annotators, which need a larger model."""
        return any(each is not None for each in (self.pairs.covariates, self.pairs.category, self.trusted))

    @property
    def counts(self) -> dict[Kind, int]:
        """How many judgments of each kind there are; a ranking is one, however long."""
        return {"grades": len(self.grades), "pairs": len(self.pairs), "rankings": int(self.rankings.counts.sum())}

    def only(self, *kinds: Kind) -> Judgments:
        """The same study without its judgments of other kinds."""
        code, number = np.zeros(0, np.int32), np.zeros(0)
        nothing: dict[str, Any] = {
            "grades": Grades(code, code, number),
            "pairs": Pairs(code, code, code, np.zeros(0, np.int8)),
            "rankings": Rankings(code, code, np.zeros(0, bool), code, code, number),
        }
        return replace(self, **{other: table for other, table in nothing.items() if other not in kinds})

    def annotator_and_task(self) -> tuple[Codes, Codes]:
        """The annotator and the task of each judgment; a row of a ranking counts as one."""
        entry_task, lists = self.vocabulary.entry_task, self.rankings
        return (
            np.concatenate([self.grades.annotator, self.pairs.annotator, lists.list_annotator[lists.row_list]]),
            np.concatenate(
                [entry_task[self.grades.entry], entry_task[self.pairs.left], lists.list_task[lists.row_list]]
            ),
        )

    def per_annotator(self) -> NDArray[np.int64]:
        """How many judgments each annotator gave; a row of a ranking counts as one."""
        n, lists = len(self.vocabulary.annotators), self.rankings
        listed = np.bincount(lists.list_annotator, np.diff(lists.list_starts) * lists.counts, n).astype(np.int64)
        return np.asarray(
            np.bincount(self.grades.annotator, minlength=n) + np.bincount(self.pairs.annotator, minlength=n) + listed
        )

    def __len__(self) -> int:
        return len(self.grades) + len(self.pairs) + len(self.rankings)

    def _repr_html_(self) -> str:
        """For notebooks."""
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"<div><p><b>{escape(repr(self))}</b></p>{f'<ul>{notes}</ul>' if notes else ''}</div>"

    def __repr__(self) -> str:
        vocabulary, count = self.vocabulary, self.counts
        rows = ", ".join(f"{count[kind]:,} {kind}" for kind in self.kinds) or "empty"
        sizes = f"{len(vocabulary.tasks):,} tasks, {len(vocabulary.items):,} items"
        return f"Judgments({rows}; {sizes}, {len(vocabulary.annotators):,} annotators)"


def check_judgments(given: object) -> None:
    """Refuse anything but judgments, and say how to make them."""
    if isinstance(given, Judgments):
        return
    if isinstance(given, str | PathLike):
        raise JudgmentError(f"judgments are needed, not the name of a file: read it with cr.read({str(given)!r})")
    raise JudgmentError(
        f"judgments are needed, not {type(given).__name__}: make them from a data frame with cr.judgments(frame)"
    )


def check_gold(given: object) -> None:
    """Refuse anything but gold, and say how to make it."""
    if not isinstance(given, Gold):
        what = "judgments, which are what is judged by it" if isinstance(given, Judgments) else type(given).__name__
        raise JudgmentError(f"gold is needed, not {what}: make it with cr.gold(frame) or cr.read_gold('gold.csv')")


GoldKind = Literal["grade", "score", "rank", "pair"]


@dataclass(frozen=True, slots=True, eq=False)
class Gold:
    """The known true value of some entries: `value[e]`, higher is better (ranks are stored negated); or known pairs."""

    vocabulary: Vocabulary
    value: Floats  # NaN where it is not known, and everywhere if gold is pairs
    kind: GoldKind
    better: Codes = field(default_factory=lambda: np.zeros(0, np.int32))  # the entry of each pair that is better
    worse: Codes = field(default_factory=lambda: np.zeros(0, np.int32))  # and the other one

    def align(self, vocabulary: Vocabulary) -> Floats:
        """The gold value of each entry of another vocabulary, NaN where there is none. Ids match by their text."""
        if self.kind == "pair":
            raise JudgmentError(
                "this gold is pairs, which can measure a ranking but not be learned from: "
                "give grades, scores or ranks of items"
            )
        return np.append(self.value, np.nan)[entries_in(vocabulary, self.vocabulary)]

    def pairs_in(self, vocabulary: Vocabulary) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The better and the worse entry of each known pair whose entries both are in another vocabulary."""
        found = entries_in(self.vocabulary, vocabulary)
        better, worse = found[self.better], found[self.worse]
        both = (better >= 0) & (worse >= 0)
        return better[both], worse[both]

    def __len__(self) -> int:
        return len(self.better) if self.kind == "pair" else len(self.value)

    def __repr__(self) -> str:
        return f"Gold({len(self):,} {self.kind}s over {len(self.vocabulary.tasks):,} tasks)"


def entries_in(of: Vocabulary, into: Vocabulary) -> NDArray[np.int64]:
    """Each entry of one vocabulary as its code in another, -1 where it has no such entry. Ids match by their text."""
    task = recode_tasks(of.tasks, into.tasks)[of.entry_task]
    item = recode(of.items, into.items)[of.entry_item]
    keys = np.where((task < 0) | (item < 0), -1, task * len(into.items) + item)
    own = into.entry_task.astype(np.int64) * len(into.items) + into.entry_item
    found = np.searchsorted(own, keys)
    return np.where(np.append(own, -2)[found] == keys, found, -1)


def recode_tasks(tasks: Ids, into: Ids) -> NDArray[np.int64]:
    """As `recode`; if both have a single task and one of them is unnamed, the two are the same task."""
    if len(tasks) == len(into) == 1 and UNNAMED_TASK in (tasks[0], into[0]):
        return np.zeros(1, dtype=np.int64)
    return recode(tasks, into)


def recode(names: Ids, into: Ids) -> NDArray[np.int64]:
    """The code of each name in another list of names, -1 where it has none. Names match by their text (7 is '7')."""
    if len(names) == len(into) and bool(np.all(names == into)):
        return np.arange(len(names))
    code = {str(name): i for i, name in enumerate(into)}
    return np.fromiter((code.get(str(name), -1) for name in names), np.int64, len(names))


def ids(values: Any) -> Ids:
    """A list of names as an array of objects, whatever they are (an array of tuples stays one-dimensional)."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array
