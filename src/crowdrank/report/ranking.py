"""Charts of a ranking: scores with intervals, neighbours, who won against whom, and how often they met."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.evaluation.neighbours import neighbours
from crowdrank.report.charts import altair, inline, labels, numbers, self_contained
from crowdrank.settings import InputError
from crowdrank.statistics.ratings import pairs_in_lists
from crowdrank.statistics.tiers import tiers
from crowdrank.study import Floats, Judgments, Pairs

TOP = 30
CELL, LARGE_CELL, FEW = 13, 26, 12  # height of a row of a heat map, larger where items are few
TICKS = 10  # of an axis: the default of a wide chart is three times as many
BLUE, ORANGE, GREEN, RED = "#3b7dd8", "#d97a1e", "#2e9d63", "#d64545"


def top_entries(consensus: Consensus, task: Any = None, top: int = TOP) -> NDArray[np.intp]:
    """The best entries of a task, of the first one unless it is named."""
    words = consensus.vocabulary
    found = [0] if task is None else np.flatnonzero(words.tasks == task).tolist()
    if not found:
        raise InputError(f"no task {task!r} in this study")
    order = consensus.best_first
    order = order[(words.entry_task[order] == found[0]) & (consensus.rank[order] > 0)]
    return np.asarray(order[:top])


def names_of(consensus: Consensus, entries: NDArray[np.intp]) -> list[str]:
    """The items of entries, as labels."""
    return labels(consensus.vocabulary.items[consensus.vocabulary.entry_item[entries]])


def intervals(consensus: Consensus, task: Any = None, top: int = TOP) -> Any:
    """An Altair chart of the best items of a task: scores with their intervals, tiers in alternating colours.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=5, annotators=4, votes=100, seed=0)
    >>> len(intervals(cr.fit("crowd-bt", study.judgments)).to_dict()["layer"])
    2
    """
    alt, entries = altair(), top_entries(consensus, task, top)
    names = names_of(consensus, entries)
    with_intervals = consensus.low is not None and consensus.high is not None
    columns: dict[str, Any] = {"item": names, "score": numbers(consensus.score[entries])}
    columns["rank"] = consensus.rank[entries].tolist()
    columns["tier"] = (tiers(consensus)[entries] if with_intervals else np.ones(len(entries), int)).tolist()
    columns["low"], columns["high"] = (
        numbers((consensus.score if ends is None else ends)[entries]) for ends in (consensus.low, consensus.high)
    )
    base = alt.Chart(inline(columns)).encode(y=alt.Y("item:N", sort=names, title=None))
    colour = alt.condition("datum.tier % 2 == 1", alt.value(BLUE), alt.value(ORANGE))
    hint = [
        "item:N",
        "rank:Q",
        "tier:Q",
        *(alt.Tooltip(f"{each}:Q", format=".3f") for each in ("score", "low", "high")),
    ]
    lines = base.mark_rule(strokeWidth=3, opacity=0.55).encode(
        x=alt.X("low:Q", title="score", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=TICKS)),
        x2="high:Q",
        color=colour,
        tooltip=hint,
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(x="score:Q", color=colour, tooltip=hint)
    return self_contained((lines + points).properties(width="container", height=19 * len(names)))


def neighbour_chances(consensus: Consensus, task: Any = None, top: int = TOP) -> Any:
    """An Altair chart: the probability that each of the best items is truly above the next."""
    alt, entries = altair(), top_entries(consensus, task, top)
    if len(entries) < 2:
        raise InputError("a task with one ranked item has no neighbours")
    import narwhals as nw

    table = nw.from_native(neighbours(consensus), eager_only=True)
    words = consensus.vocabulary
    mine = table.filter(nw.col("task") == words.tasks[words.entry_task[entries[0]]]).head(len(entries) - 1)
    names = labels(words.items[words.entry_item[entries]], longest=12)
    columns = {
        "pair": [f"{one} › {other}" for one, other in pairwise(names)],
        "probability": [None if value is None or value != value else value for value in mine["probability"].to_list()],
    }
    base = alt.Chart(inline(columns)).encode(y=alt.Y("pair:N", sort=columns["pair"], title=None))
    settled = alt.condition("datum.probability >= 0.95", alt.value(BLUE), alt.value(ORANGE))
    axis = alt.Axis(format="%", tickCount=TICKS, title="probability that the first is truly above the second")
    bars = base.mark_bar(height=9).encode(
        x=alt.X("probability:Q", scale=alt.Scale(domain=[0.5, 1], clamp=True), axis=axis),
        color=settled,
        tooltip=["pair:N", alt.Tooltip("probability:Q", format=".1%")],
    )
    return self_contained(bars.properties(width="container", height=19 * len(names)))


def meetings(judgments: Judgments, entries: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Among some entries: how often each won against each (a tie counts half), and how often they met."""
    pairs = judgments.pairs if len(judgments.pairs) else pairs_in_lists(judgments)[0]
    place = np.full(judgments.vocabulary.n_entries, -1)
    place[entries] = np.arange(len(entries))
    left, right, outcome = _within(pairs, place)
    n = len(entries)
    wins, met = np.zeros((n, n)), np.zeros((n, n))
    np.add.at(wins, (left, right), (outcome + 1) / 2)
    np.add.at(wins, (right, left), (1 - outcome) / 2)
    np.add.at(met, (left, right), 1)
    return wins, met + met.T


def _within(pairs: Pairs, place: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    left, right = place[pairs.left], place[pairs.right]
    both = (left >= 0) & (right >= 0)
    return left[both], right[both], pairs.outcome[both].astype(np.float64)


def win_rates(consensus: Consensus, judgments: Judgments, task: Any = None, top: int = TOP) -> Any:
    """An Altair heat map of the best items: how often the item of the row won against that of the column."""
    entries = top_entries(consensus, task, top)
    wins, met = meetings(judgments, entries)
    return _heat_map(consensus, entries, np.where(met > 0, wins / np.maximum(met, 1), np.nan), met, rate=True)


def comparison_counts(consensus: Consensus, judgments: Judgments, task: Any = None, top: int = TOP) -> Any:
    """An Altair heat map of the best items: how often each two were compared."""
    entries = top_entries(consensus, task, top)
    met = meetings(judgments, entries)[1]
    return _heat_map(consensus, entries, np.where(met > 0, met, np.nan), met, rate=False)


def _heat_map(consensus: Consensus, entries: NDArray[np.intp], value: Floats, met: Floats, *, rate: bool) -> Any:
    alt, names = altair(), names_of(consensus, entries)
    rows, columns = np.nonzero(~np.isnan(value))
    data = {
        "item": [names[row] for row in rows],
        "against": [names[column] for column in columns],
        "value": value[rows, columns].tolist(),
        "compared": met[rows, columns].astype(int).tolist(),
    }
    scale = alt.Scale(scheme="redblue", domain=[0, 1]) if rate else alt.Scale(scheme="blues")
    height = len(names) * (CELL if len(names) > FEW else LARGE_CELL)
    # Vega would mark 1, 1.5 and 2 as 1, 2 and 2.
    whole = np.unique(np.linspace(np.nanmin(value), np.nanmax(value), 4).astype(int)).tolist()
    marks = {"format": "%"} if rate else {"format": "d", "values": whole}
    legend = alt.Legend(title=None, gradientLength=min(120, height), **marks)
    hint = ["item:N", "against:N", alt.Tooltip("value:Q", format=".0%" if rate else "d"), "compared:Q"]
    return self_contained(
        alt.Chart(inline(data))
        .mark_rect()
        .encode(
            x=alt.X("against:N", sort=names, title=None, axis=alt.Axis(labelAngle=-90, labelLimit=90)),
            y=alt.Y("item:N", sort=names, title=None, axis=alt.Axis(labelLimit=110)),
            color=alt.Color("value:Q", scale=scale, legend=legend),
            tooltip=hint,
        )
        .properties(width="container", height=height)
    )
