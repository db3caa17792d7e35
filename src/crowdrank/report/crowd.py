"""Charts of the annotators and of the judgments: quality, agreement, counts, and calibration against gold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.report.charts import altair, inline, labels, numbers, self_contained
from crowdrank.report.ranking import BLUE, GREEN, ORANGE, RED, TICKS
from crowdrank.statistics.description import StudyDescription
from crowdrank.statistics.tiers import chance_above
from crowdrank.study import Floats, Gold

VERDICTS = {
    "informative": GREEN, "weak": BLUE, "unclear": "#8a93a3", "random": ORANGE, "one-sided": "#a05fc4", "reversed": RED,
    "differs from the consensus": "#b0489c",
}  # fmt: skip
MOST_POINTS = 2000
MOST_PAIRS = 200_000


def annotator_quality(consensus: Consensus) -> Any:
    """An Altair chart: the quality of each annotator by the number of their judgments, coloured by verdict.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=5, annotators=4, votes=100, seed=0)
    >>> annotator_quality(cr.fit("crowd-bt", study.judgments)).to_dict()["mark"]["type"]
    'point'
    """
    alt, columns = altair(), consensus.annotator_columns
    some = slice(MOST_POINTS)
    data = {
        "annotator": labels(columns["annotator"][some]),
        "judgments": columns["judgments"][some].tolist(),
        "quality": numbers(columns["quality"][some]),
        "verdict": columns["verdict"][some].tolist(),
    }
    present = [word for word in VERDICTS if word in set(data["verdict"])]
    colour = alt.Scale(domain=present, range=[VERDICTS[word] for word in present])
    return self_contained(
        alt.Chart(inline(data))
        .mark_point(filled=True, size=60, opacity=0.75)
        .encode(
            x=alt.X("judgments:Q", scale=alt.Scale(type="log", nice=False, padding=12), title="judgments"),
            y=alt.Y("quality:Q", scale=alt.Scale(domain=[0, 1]), title="quality (½ is random)"),
            color=alt.Color("verdict:N", scale=colour, title=None, legend=alt.Legend(orient="top", columnPadding=24)),
            shape=alt.Shape("verdict:N", scale=alt.Scale(domain=present), title=None),
            tooltip=["annotator:N", "judgments:Q", alt.Tooltip("quality:Q", format=".3f"), "verdict:N"],
        )
        .properties(width="container", height=260)
    )


def agreement_with_others(description: StudyDescription) -> Any:
    """An Altair chart: how far each annotator agrees with the others, corrected for chance, by their judgments."""
    alt, columns = altair(), description.annotator_columns
    which = np.flatnonzero(columns["compared"] > 0)[:MOST_POINTS]
    data = {
        "annotator": labels(columns["annotator"][which]),
        "judgments": columns["judgments"][which].tolist(),
        "alpha": numbers(columns["alpha"][which]),
    }
    points = alt.Chart(inline(data)).mark_point(filled=True, size=60, opacity=0.7, color=BLUE)
    points = points.encode(
        x=alt.X("judgments:Q", scale=alt.Scale(type="log", nice=False, padding=12), title="judgments"),
        y=alt.Y("alpha:Q", title="alpha against the others (0 is chance)"),
        tooltip=["annotator:N", "judgments:Q", alt.Tooltip("alpha:Q", format=".3f")],
    )
    return self_contained(points.properties(width="container", height=260))


def judgment_counts(description: StudyDescription) -> Any:
    """An Altair chart: how many items, and how many annotators, have how many judgments."""
    panels = (chart.properties(width=340) for chart in count_charts(description))
    return self_contained(altair().hconcat(*panels))


def count_charts(description: StudyDescription) -> tuple[Any, Any]:
    """How many items have how many judgments, and how many annotators."""
    of_annotators = description.annotator_columns["judgments"]
    return _histogram(description.entry_judgments, "item", BLUE), _histogram(of_annotators, "annotator", ORANGE)


def _histogram(counts: Any, title: str, colour: str) -> Any:
    """How many things have how many judgments."""
    alt = altair()
    bars, edges = np.histogram(counts, bins=min(30, max(int(np.max(counts, initial=1)), 1)))
    data = {"from": edges[:-1].tolist(), "to": edges[1:].tolist(), "count": bars.tolist()}
    chart = alt.Chart(inline(data)).mark_bar(color=colour, opacity=0.85)
    x = alt.X("from:Q", bin="binned", title=f"judgments per {title}")
    chart = chart.encode(x=x, x2="to:Q", y=alt.Y("count:Q", title=f"{title}s"), tooltip=["from:Q", "to:Q", "count:Q"])
    return self_contained(chart.properties(width="container", height=170))


def calibration_table(consensus: Consensus, gold: Gold, bins: int = 10) -> dict[str, Floats]:
    """Stated probabilities that an item is above another, in bins, and how often gold says so."""
    rng = np.random.default_rng(0)
    if gold.kind == "pair":
        one, other = _sampled(*_scored(consensus, *gold.pairs_in(consensus.vocabulary)), rng)
        right = np.full(len(one), True)
    else:
        truth = gold.align(consensus.vocabulary)
        one, other = _sampled(*_pairs_with_gold(consensus, truth, rng), rng)
        right = truth[one] > truth[other]
    stated = chance_above(consensus, one, other)
    flip = stated < 0.5
    stated, right = np.where(flip, 1 - stated, stated), np.where(flip, ~right, right)
    which = np.minimum(((stated - 0.5) * 2 * bins).astype(int), bins - 1)
    count = np.bincount(which, minlength=bins)
    some = count > 0
    return {
        "stated": np.bincount(which, stated, bins)[some] / count[some],
        "observed": np.bincount(which, right, bins)[some] / count[some],
        "pairs": count[some].astype(np.float64),
    }


def _pairs_with_gold(consensus: Consensus, truth: Floats, rng: np.random.Generator) -> tuple[Any, Any]:
    """Pairs of scored entries of a task with different gold; of large tasks, those of some entries."""
    usable = np.flatnonzero(~np.isnan(truth) & ~np.isnan(consensus.score))
    task = consensus.vocabulary.entry_task[usable]
    starts = np.searchsorted(task, np.arange(len(consensus.vocabulary.tasks) + 1))
    ones, others = [], []
    for first, end in pairwise(starts):
        entries = usable[first:end]
        if len(entries) > 300:
            entries = np.sort(rng.choice(entries, 300, replace=False))
        above, below = np.triu_indices(len(entries), 1)
        ones.append(entries[above])
        others.append(entries[below])
    one, other = np.concatenate(ones), np.concatenate(others)
    differ = truth[one] != truth[other]
    return one[differ], other[differ]


def _scored(consensus: Consensus, one: Any, other: Any) -> tuple[Any, Any]:
    scored = ~np.isnan(consensus.score[one] + consensus.score[other])
    return one[scored], other[scored]


def _sampled(one: Any, other: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """A random sample where there are many pairs."""
    if len(one) <= MOST_PAIRS:
        return one, other
    keep = np.sort(rng.choice(len(one), MOST_PAIRS, replace=False))
    return one[keep], other[keep]


def calibration(consensus: Consensus, gold: Gold) -> Any:
    """An Altair chart: stated probability that an item is above another, and how often gold says so."""
    alt, table = altair(), calibration_table(consensus, gold)
    data = alt.Chart(inline(table))
    ends = alt.Chart(inline({"stated": [0.5, 1.0], "observed": [0.5, 1.0]}))
    axis = alt.Axis(format="%", tickCount=TICKS)
    x = alt.X("stated:Q", scale=alt.Scale(domain=[0.5, 1]), axis=axis, title="stated probability")
    y = alt.Y("observed:Q", scale=alt.Scale(zero=False), axis=axis, title="right by gold")
    hint = [alt.Tooltip("stated:Q", format=".1%"), alt.Tooltip("observed:Q", format=".1%"), "pairs:Q"]
    line = ends.mark_line(strokeDash=[4, 4], color="#8a93a3").encode(x=x, y=y)
    points = data.mark_line(point=alt.OverlayMarkDef(size=70), color=BLUE).encode(x=x, y=y, tooltip=hint)
    return self_contained((line + points).properties(width="container", height=240))
