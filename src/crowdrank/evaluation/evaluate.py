"""A ranking measured against gold, by the measures of `crowdrank.evaluation.measures`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, frame_of, html_of
from crowdrank.evaluation.kernels import GradedLists
from crowdrank.evaluation.matching import Matching, match
from crowdrank.evaluation.measures import Measure, choose
from crowdrank.settings import check_choice
from crowdrank.study import Floats, Frame, Gold, Ids, JudgmentError, Judgments, check_gold

Unjudged = Literal["nonrelevant", "ignore"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The value of each measure in each task, and their means."""

    measures: tuple[str, ...]
    tasks: Ids
    values: Floats  # one row per task, one column per measure; NaN where a measure is undefined
    frame: Frame = "polars"  # the kind of data frame `per_task` is
    notes: tuple[str, ...] = field(default=())

    @property
    def mean(self) -> dict[str, float]:
        """Each measure's mean over the tasks in which it is defined; NaN where there are none."""
        return dict(zip(self.measures, mean_defined(self.values).tolist(), strict=True))

    @property
    def per_task(self) -> Any:
        """A data frame with the columns task, then one per measure."""
        return frame_of(
            {"task": self.tasks, **dict(zip(self.measures, self.values.T, strict=True))}, self.frame
        ).to_native()

    def _repr_html_(self) -> str:
        """For notebooks: the means, and the notes."""
        columns = {"measure": np.array(self.measures, dtype=object), "mean": np.array([*self.mean.values()])}
        return html_of(repr(self).split("\n", 1)[0], frame_of(columns, "polars"), self.notes)

    def __repr__(self) -> str:
        width = max(len(name) for name in self.measures)
        lines = [
            f"Evaluation: mean of {len(self.tasks):,} task{'s' * (len(self.tasks) != 1)}",
            *(f"  {name:<{width}}  {value:.4f}" for name, value in self.mean.items()),
            *(f"note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)


def evaluate(
    ranking: Any,
    gold: Gold,
    measures: str | Iterable[str] | None = None,
    *,
    unjudged: Unjudged = "nonrelevant",
    skip_empty: bool = False,
) -> Evaluation:
    """Measure a ranking against gold: each task first, then the mean over the tasks that both have.

    `ranking` is a Consensus, or a data frame with the columns item, score or rank (score, if it has both), and task
    where there are several. As in trec_eval, ranked items without gold are not relevant (`unjudged="ignore"` removes
    them from the lists), relevant items not ranked count as missed, and a task without relevant item counts 0
    (`skip_empty=True` excludes it from the means). Items without score are not retrieved. Equal scores (as in
    `Consensus.rank`) are ordered by item id, the later in the alphabet first. acc, tau and spearman treat ties
    as ties, and use only the items with both a score and gold; where gold has no two different values they are
    undefined, and excluded from the mean.

    >>> import crowdrank as cr
    >>> gold = cr.gold({"item": ["a", "b", "c"], "grade": [1, 0, 2]})
    >>> cr.evaluate({"item": ["c", "b", "a"], "rank": [1, 2, 3]}, gold, ["p@2", "mrr", "acc"])
    Evaluation: mean of 1 task
      p@2  0.5000
      mrr  1.0000
      acc  0.6667
    """
    check_choice("unjudged", unjudged, ("nonrelevant", "ignore"))
    check_gold(gold)
    if isinstance(ranking, Judgments):
        raise JudgmentError("judgments are no ranking: fit a method first, as in cr.fit('borda', judgments)")
    chosen = choose(measures, gold)
    consensus = ranking if isinstance(ranking, Consensus) else _consensus_of(ranking)
    matching = match(consensus.vocabulary, gold)
    return evaluate_matched(matching, consensus.rank, chosen, unjudged=unjudged, skip_empty=skip_empty)


def _consensus_of(frame: Any) -> Consensus:
    from crowdrank.formats.encode_gold import scores_of  # here, not above: a Consensus needs no reader
    from crowdrank.formats.source import of_frame

    source, kind = of_frame(frame)
    return scores_of(source, {}, frame=kind)


def evaluate_matched(
    matching: Matching, rank: NDArray[np.int32], chosen: Sequence[Measure], *, unjudged: Unjudged, skip_empty: bool
) -> Evaluation:
    """Measure one of several rankings of the same entries."""
    wanted = {measure.family.computed_from for measure in chosen}
    lists = matching.graded_lists(matching.order(rank), condensed=unjudged == "ignore") if "grades" in wanted else None
    orders = matching.orders(rank) if "orders" in wanted else None
    values = np.stack([measure.per_task(lists, orders) for measure in chosen], axis=1)
    notes = [*matching.notes, *_not_used(matching, rank, unjudged)]
    if lists is not None:
        graded = [column for column, measure in enumerate(chosen) if measure.family.computed_from == "grades"]
        notes += _empty_tasks(values, graded, lists, skip_empty)
    notes += _undefined(values, chosen)
    return Evaluation(
        tuple(measure.name for measure in chosen), matching.tasks, values, matching.vocabulary.frame, tuple(notes)
    )


def mean_defined(values: Floats) -> Floats:
    """The mean of each column over its rows that are not NaN; NaN where all are."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=0)
    total = np.where(defined, values, 0.0).sum(axis=0)
    mean: Floats = np.full(values.shape[1], np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def _not_used(matching: Matching, rank: NDArray[np.int32], unjudged: Unjudged) -> list[str]:
    """Notes on ranked items without gold, and on gold without a ranked item."""
    if not len(matching.better):
        return [*_without_gold(matching, rank, unjudged), *_not_retrieved(matching, rank)]
    count = matching.n_gold - int(matching.ranked_pairs(rank).sum())
    return [f"{count:,} of {matching.n_gold:,} gold pairs have an item that is not ranked: not used"] if count else []


def _without_gold(matching: Matching, rank: NDArray[np.int32], unjudged: Unjudged) -> list[str]:
    ranked = rank[matching.entry] > 0
    count = int((np.isnan(matching.gold) & ranked).sum())
    how = "treated as not relevant" if unjudged == "nonrelevant" else "removed from the lists"
    return [f"{count:,} of {int(ranked.sum()):,} ranked items have no gold: {how}"] if count else []


def _not_retrieved(matching: Matching, rank: NDArray[np.int32]) -> list[str]:
    known = matching.n_gold
    found = int(((rank[matching.entry] > 0) & ~np.isnan(matching.gold)).sum())
    return (
        [f"{known - found:,} of {known:,} items with gold are not ranked: they count as not retrieved"]
        if found < known
        else []
    )


def _empty_tasks(values: Floats, graded: list[int], lists: GradedLists, skip_empty: bool) -> list[str]:
    """A note on tasks without a relevant item; with `skip_empty` they are excluded from the measures of gain."""
    empty = np.flatnonzero(lists.relevant == 0)
    if not len(empty):
        return []
    if skip_empty:
        values[np.ix_(empty, np.array(graded))] = np.nan
    how = "excluded from the mean" if skip_empty else "they count 0"
    return [f"{len(empty):,} of {lists.n_tasks:,} tasks have no relevant item: {how}"]


def _undefined(values: Floats, chosen: Sequence[Measure]) -> list[str]:
    """A note on the tasks where measures of order are undefined."""
    ordered = [column for column, measure in enumerate(chosen) if measure.family.computed_from == "orders"]
    if not ordered:
        return []
    count = int(np.isnan(values[:, ordered]).any(axis=1).sum())
    names = ", ".join(chosen[column].name for column in ordered)
    return (
        [f"{count:,} of {len(values):,} tasks have no two ranked items of different gold: {names} undefined there"]
        if count
        else []
    )
