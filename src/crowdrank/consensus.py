"""What a method returns: the ranking, how the fit ended, and what it learned about the annotators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from html import escape
from typing import Any, Generic, cast

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.forking import check_polars
from crowdrank.study import Floats, Frame, FrameT, Grades, JudgmentError, Vocabulary


@dataclass(frozen=True, slots=True)
class Fit:
    """How a fit ended. Methods with a closed form take no steps and have no objective."""

    steps: int = 0
    converged: bool = True
    objective: float | None = None  # log-posterior (or whatever the method maximises) at the end


@dataclass(frozen=True, eq=False)
class Consensus(Generic[FrameT]):
    """The ranking that the judgments of a study support, with intervals and the quality of the annotators.

    `ranking` and `annotators` are data frames of the same library as the judgments; the arrays are in the order of the
    vocabulary's entries.
    """

    vocabulary: Vocabulary
    method: str
    score: Floats  # per entry, higher is better; NaN where the method has no judgments to use
    annotator_columns: Mapping[str, NDArray[Any]]  # "annotator", "judgments", "quality", then what the method adds
    fit: Fit = Fit()
    low: Floats | None = None
    high: Floats | None = None
    rank_low: NDArray[np.int32] | None = None  # the interval of the rank
    rank_high: NDArray[np.int32] | None = None
    score_error: Floats | None = None  # standard errors, where intervals also contain what does not change the order
    gap_error: Floats | None = None  # standard error of the gap to the next entry of the task's ranking
    gap_chance: Floats | None = None  # after a bootstrap: how often the entry was above the next
    difficulty: Floats | None = None
    grade_values: Floats | None = None  # the possible true grades of the method, ascending
    grade_chances: Floats | None = None  # per entry, the chance of each of them; NaN where there are no judgments
    estimate_labels: Callable[[], Floats] | None = None  # how to get `label_chances`; few users need them
    component: NDArray[np.int32] | None = None  # per entry; comparisons do not connect components of a task
    notes: tuple[str, ...] = field(default=())  # what the reader of the result must know
    settings: Mapping[str, Any] = field(default_factory=dict)  # the values that the method chose itself
    grades: Grades | None = None  # those of the study, from which labels take their scale
    curve_columns: Mapping[str, NDArray[Any]] | None = None  # annotator, grade, mean, spread, weight: of graded models
    camp_columns: Mapping[str, NDArray[Any]] | None = None  # camp, task, item, rank, score: where there are camps
    draws: NDArray[np.float32] | None = None  # draw × entry: scores drawn from their posterior
    upright: float = 1.0  # the probability that `draws`, and not the same scores with the sign turned, are right
    covariate_columns: Mapping[str, NDArray[Any]] | None = None  # covariate, coefficient, low, high, …
    category_columns: Mapping[str, NDArray[Any]] | None = None  # category, task, item, rank, score, low, high, …
    rank_without: NDArray[np.int32] | None = None  # the ranks of the same method without covariates
    known_rank: InitVar[NDArray[np.int32] | None] = None  # the ranks of `score`, where they are computed already

    def __post_init__(self, known_rank: NDArray[np.int32] | None) -> None:
        for name, values in vars(self).items():
            if isinstance(values, np.ndarray):
                object.__setattr__(self, name, _read_only(values))
        # Not a field: `dataclasses.replace` with another score must not keep the ranks of this one.
        if known_rank is not None:
            self.__dict__["rank"] = _read_only(known_rank)

    @cached_property
    def rank(self) -> NDArray[np.int32]:
        """Rank of each entry within its task, 1 for the best; equal scores share the better rank; 0 if unscored."""
        return _read_only(rank_within(self.score, self.vocabulary.entry_task))

    @cached_property
    def label_chances(self) -> Floats | None:
        """Per entry, the chance of each grade given in the study, ascending, to be the true one."""
        return None if self.estimate_labels is None else self.estimate_labels()

    @cached_property
    def best_first(self) -> NDArray[np.intp]:
        """The entries task by task, each best first, those of equal score by their code, unscored ones last."""
        return best_first(self.rank, self.vocabulary.entry_task)

    @property
    def neighbours(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The entries that are followed by another in their task's ranking, and those that follow them."""
        return adjacent_entries(self.rank, self.vocabulary.entry_task, self.best_first)

    @property
    def ranking(self) -> FrameT:
        """A data frame with the columns task, item, rank, score, low, high; best first within each task."""
        frame: FrameT = self._ranking.clone().to_native()
        return frame  # a copy: whoever changes it does not change the result

    @cached_property
    def _ranking(self) -> nw.DataFrame[Any]:
        vocabulary = self.vocabulary
        nothing = np.full(vocabulary.n_entries, np.nan)
        columns = {
            "task": vocabulary.tasks[vocabulary.entry_task],
            "item": vocabulary.items[vocabulary.entry_item],
            "rank": self.rank,
            "score": self.score,
            "low": nothing if self.low is None else self.low,
            "high": nothing if self.high is None else self.high,
        }
        for name in ("rank_low", "rank_high", "rank_without", "difficulty"):
            if getattr(self, name) is not None:
                columns[name] = getattr(self, name)
        frame = frame_of({name: values[self.best_first] for name, values in columns.items()}, vocabulary.frame)
        if vocabulary.frame == "polars":
            if self.rank.all():  # nothing to blank: no query either, see `frame_of`
                return frame
            check_polars()
        ranks = [name for name in ("rank", "rank_low", "rank_high", "rank_without") if name in columns]
        ranked = nw.col("rank") > 0
        return frame.with_columns(nw.when(ranked).then(nw.col(name)).alias(name) for name in ranks)

    @property
    def annotators(self) -> FrameT:
        """A data frame with the columns annotator, judgments, quality, verdict, then what the method adds."""
        frame: FrameT = frame_of(self.annotator_columns, self.vocabulary.frame).to_native()
        return frame

    @property
    def curves(self) -> FrameT | None:
        """A data frame of what grades mean to annotators, or None: only models of grades have it.

        Columns: annotator, grade, mean, spread, weight. An annotator gives an item of relevance r a grade with a chance
        proportional to weight × N(r; mean, spread²).
        """
        return None if self.curve_columns is None else frame_of(self.curve_columns, self.vocabulary.frame).to_native()

    @property
    def camps(self) -> FrameT | None:
        """A data frame of the ranking of each camp (camp, task, item, rank, score), or None if there are no camps.

        Camp 1 agrees with the consensus, camp 2 ranks in the opposite way. `annotators` says who is in which.
        """
        return None if self.camp_columns is None else frame_of(self.camp_columns, self.vocabulary.frame).to_native()

    @property
    def covariates(self) -> FrameT | None:
        """A data frame with the coefficient of each covariate, or None if the study has none.

        Columns: covariate, coefficient (in log-odds for each standard deviation of the covariate), low, high, deviation
        (that standard deviation), per_unit, per_unit_low, per_unit_high (for each unit of the covariate).
        """
        return None if (found := self.covariate_columns) is None else frame_of(found, self.vocabulary.frame).to_native()

    @property
    def categories(self) -> FrameT | None:
        """A data frame of the ranking within each category, or None if the study has no categories.

        Columns: category, task, item, rank, score, low, high, then the deviation from the overall score with its
        interval (deviation, deviation_low, deviation_high) and the judgments of the item in the category.
        """
        if self.category_columns is None:
            return None
        found, task = self.category_columns, self.vocabulary.entry_task
        n = len(task)
        order = [
            start + best_first(found["rank"][start : start + n], task) for start in range(0, len(found["rank"]), n)
        ]
        rows = np.concatenate(order)
        columns = {name: column[rows] for name, column in found.items()}
        frame: FrameT = frame_of(columns, self.vocabulary.frame).to_native()
        return frame

    def unsure(self, width: float | None = None) -> FrameT:
        """The rows of `ranking` whose interval is wider than `width`, the widest first.

        More judgments help most there. By default `width` is four standard deviations of the study's scores: such an
        entry may be anywhere among the others. Entries without a score come first. Needs a method with intervals.
        """
        if self.low is None or self.high is None:
            raise JudgmentError(
                f"{self.method} has no intervals, so it cannot say which entries are uncertain: "
                "fit a method that has them, or use cr.bootstrap (rank --bootstrap 200), which works with every method"
            )
        wide = np.nan_to_num(self.high - self.low, nan=np.inf)[self.best_first]  # unscored entries come first
        limit = 4 * float(np.nanstd(self.score)) if width is None else width
        order = np.argsort(-wide, kind="stable")
        rows: FrameT = self._ranking[order[(wide > limit)[order]].tolist()].to_native()
        return rows

    @property
    def disconnected(self) -> dict[Any, int]:
        """The tasks whose comparisons are disconnected, with the number of their parts."""
        if self.component is None:
            return {}
        tasks, parts = parts_per_task(self.vocabulary, self.component)
        return dict(zip(self.vocabulary.tasks[tasks], parts.tolist(), strict=True))

    def _repr_html_(self) -> str:
        """For notebooks: the best of the ranking, and the notes."""
        return html_of(repr(self).split("\n", 1)[0], nw.from_native(cast(Any, self.ranking)).head(10), self.notes)

    def __repr__(self) -> str:
        vocabulary = self.vocabulary
        end = "converged" if self.fit.converged else "NOT converged"
        size = f"{vocabulary.n_entries:,} entries in {len(vocabulary.tasks):,} tasks"
        size += f", {len(vocabulary.annotators):,} annotators"
        lines = [
            f"Consensus by {self.method}: {size}; {end} in {self.fit.steps} steps",
            str(self._ranking.head(10).to_native()),
            *(f"note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)


def _read_only(values: NDArray[Any]) -> NDArray[Any]:
    """So that `score -= score.mean()` does not change a result by accident."""
    view = values.view()
    view.flags.writeable = False
    return view


def rank_within(score: Floats, group: NDArray[np.int32]) -> NDArray[np.int32]:
    """Competition ranks (1, 2, 2, 4) within each group, the highest score first; 0 where the score is NaN.

    Scores that agree to ten digits of the study's largest are equal: smaller differences are rounding.

    >>> rank_within(np.array([0.5, 2.0, 0.5, np.nan, 7.0]), np.array([0, 0, 0, 0, 1], dtype=np.int32)).tolist()
    [2, 1, 2, 0, 1]
    """
    rank = np.zeros(len(score), dtype=np.int32)
    scored = np.flatnonzero(~np.isnan(score))
    if not len(scored):
        return rank
    scale = np.abs(score[scored]).max() or 1.0
    scaled, group = score[scored] / scale, group[scored]
    # One whole number per row sorts several times as fast as two columns; 2⁻³⁶ is finer than the width of a tie.
    order = np.argsort((group.astype(np.int64) << 38) - np.rint(scaled * (1 << 36)).astype(np.int64))
    scaled, group = scaled[order], group[order]
    place = np.arange(len(order))
    new_group = np.r_[True, group[1:] != group[:-1]]
    # Compare neighbours, not rounded values: rounding would separate equal scores on both sides of a rounding edge.
    new_score = new_group | np.r_[True, scaled[:-1] - scaled[1:] > 1e-10]
    first_of_group = np.maximum.accumulate(np.where(new_group, place, 0))
    first_of_score = np.maximum.accumulate(np.where(new_score, place, 0))
    rank[scored[order]] = first_of_score - first_of_group + 1
    return rank


def best_first(rank: NDArray[np.int32], task: NDArray[np.int32]) -> NDArray[np.intp]:
    """The entries task by task, by ascending rank; those of equal rank by their code, unranked ones (0) last."""
    return np.lexsort((np.where(rank == 0, np.iinfo(np.int32).max, rank), task))


def adjacent_entries(
    rank: NDArray[np.int32], task: NDArray[np.int32], order: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The entries that are followed by another in their task's ranking, and those that follow them.

    `order` is that of `best_first`, where it is known.
    """
    order = best_first(rank, task) if order is None else order
    above, below = order[:-1], order[1:]
    both = (task[above] == task[below]) & (rank[below] > 0)
    return above[both], below[both]


def parts_per_task(vocabulary: Vocabulary, component: NDArray[np.int32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The tasks in more than one part, and in how many."""
    firsts = np.unique(component, return_index=True)[1]  # a component lies within one task
    parts = np.bincount(vocabulary.entry_task[firsts], minlength=len(vocabulary.tasks))
    return np.flatnonzero(parts > 1), parts[parts > 1]


def frame_of(columns: Mapping[str, NDArray[Any]], backend: Frame) -> nw.DataFrame[Any]:
    """A data frame of this library, with missing numbers as that library writes them."""
    data = {name: values.tolist() if values.dtype == object else values for name, values in columns.items()}
    if backend == "polars":
        # Without a query, which would wait for ever in a process forked from one that has used polars.
        return nw.from_native(pl.DataFrame([_series(name, part) for name, part in data.items()]))
    frame = nw.from_dict(data, backend=backend)
    floats = [name for name, values in columns.items() if values.dtype.kind == "f"]
    return frame.with_columns(nw.col(*floats).fill_nan(None)) if floats else frame


def _series(name: str, values: Any) -> pl.Series:
    """A column of a polars frame; names of several types, which polars cannot have in one, as texts."""
    try:
        return pl.Series(name, values, nan_to_null=True)
    except TypeError:
        return pl.Series(name, [str(value) for value in values])


def html_of(title: str, frame: nw.DataFrame[Any], notes: Iterable[str] = ()) -> str:
    """A small table for notebooks; everything is escaped."""

    def cell(value: Any) -> str:
        return "" if value is None else f"{value:.4f}" if isinstance(value, float) else escape(str(value)[:200])

    head = "".join(f"<th>{escape(name)}</th>" for name in frame.columns)
    body = "".join(f"<tr>{''.join(f'<td>{cell(value)}</td>' for value in row)}</tr>" for row in frame.rows())
    said = "".join(f"<li>{escape(note)}</li>" for note in notes)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if frame.columns else ""
    return f"<div><p><b>{escape(title)}</b></p>{table}{f'<ul>{said}</ul>' if said else ''}</div>"
