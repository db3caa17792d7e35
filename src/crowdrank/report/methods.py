"""Charts of a comparison of methods: measures with intervals, and how far methods agree with each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from crowdrank.evaluation.comparison import Comparison
from crowdrank.numerics.sums import sum_by
from crowdrank.report.charts import altair, inline, numbers, self_contained
from crowdrank.report.ranking import BLUE, ORANGE, TICKS
from crowdrank.settings import InputError
from crowdrank.study import Floats

ROUNDS = 2000
IN_WORDS = {
    "ndcg": "normalised discounted cumulative gain (1 if the best items come first)",
    "map": "mean average precision",
    "acc": "the share of pairs of items that are in the same order as in gold",
    "tau": "Kendall's rank correlation with gold",
    "spearman": "Spearman's rank correlation with gold",
}


def mean_interval(values: Floats, rounds: int = ROUNDS) -> tuple[float, float]:
    """The 95 % interval of a mean over tasks, by bootstrap; NaN with fewer than two tasks."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return float("nan"), float("nan")
    drawn = np.random.default_rng(0).choice(known, (rounds, len(known))).mean(axis=1)
    return float(np.quantile(drawn, 0.025)), float(np.quantile(drawn, 0.975))


def in_words(measures: Iterable[str]) -> str:
    """What measures are, as far as they are common ones."""
    said = [f"{name} is {IN_WORDS[kind]}" for name in measures if (kind := name.partition("@")[0]) in IN_WORDS]
    return f"{'; '.join(said)}." if said else ""


def not_worse(comparison: Comparison, measure: str) -> dict[str, bool]:
    """Which methods are not significantly worse than the best by a measure."""
    tests = comparison.test_columns
    worse = {
        str(method)
        for name, method, mark in zip(tests["measure"], tests["method"], tests["significant"], strict=True)
        if name == measure and mark
    }
    return {label: label not in worse for label in comparison.evaluations}


def leaderboard_chart(comparison: Comparison, measure: str | None = None) -> Any:
    """An Altair chart: the mean of a measure for each method with its 95 % interval over tasks, best first.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=5, annotators=4, votes=300, tasks=3, seed=0)
    >>> found = cr.compare(study.judgments, study.gold, ["elo", "crowd-bt"])
    >>> len(leaderboard_chart(found).to_dict()["layer"])
    2
    """
    alt, name = altair(), measure or comparison.measures[0]
    at = comparison.measures.index(name)
    labels = list(comparison.evaluations)
    mean = [comparison.evaluations[label].mean[name] for label in labels]
    ends = [mean_interval(comparison.evaluations[label].values[:, at]) for label in labels]
    good = not_worse(comparison, name)
    data = {
        "method": labels,
        "mean": numbers(mean),
        "low": numbers([low if low == low else value for (low, _), value in zip(ends, mean, strict=True)]),
        "high": numbers([high if high == high else value for (_, high), value in zip(ends, mean, strict=True)]),
        "group": ["best, or not significantly worse" if good[label] else "significantly worse" for label in labels],
    }
    base = alt.Chart(inline(data)).encode(
        y=alt.Y("method:N", sort=labels, title=None),
        color=alt.Color(
            "group:N",
            scale=alt.Scale(domain=["best, or not significantly worse", "significantly worse"], range=[BLUE, ORANGE]),
            legend=alt.Legend(orient="top", title=None, columnPadding=24),
        ),
        tooltip=["method:N", *(alt.Tooltip(f"{each}:Q", format=".4f") for each in ("mean", "low", "high"))],
    )
    x = alt.X("low:Q", title=name, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=TICKS))
    chart = base.mark_rule(strokeWidth=3, opacity=0.55).encode(x=x, x2="high:Q") + base.mark_point(
        filled=True, size=70, opacity=1
    ).encode(x="mean:Q")
    return self_contained(chart.properties(width="container", height=19 * len(labels)))


def rank_correlations(comparison: Comparison) -> Floats:
    """Spearman's correlation of the ranks of every two methods within tasks, over the entries that both rank."""
    if comparison.vocabulary is None:
        raise InputError("this comparison does not hold the rankings of its methods: compare them again")
    task, n_tasks = comparison.vocabulary.entry_task, len(comparison.vocabulary.tasks)
    ranks = [comparison.ranks[label].astype(np.float64) for label in comparison.evaluations]
    found = np.eye(len(ranks))
    for one in range(len(ranks)):
        for other in range(one):
            both = (ranks[one] > 0) & (ranks[other] > 0)
            count = np.maximum(np.bincount(task[both], minlength=n_tasks), 1)
            x, y = (
                values[both] - (sum_by(task[both], values[both], n_tasks) / count)[task[both]]
                for values in (ranks[one], ranks[other])
            )
            spread = float(np.sqrt((x @ x) * (y @ y)))
            found[one, other] = found[other, one] = float(x @ y) / spread if spread > 0 else np.nan
    return found


def method_agreement(comparison: Comparison) -> Any:
    """An Altair heat map: how far the rankings of every two methods agree (Spearman within tasks)."""
    alt, labels, value = altair(), list(comparison.evaluations), rank_correlations(comparison)
    rows, columns = np.nonzero(~np.isnan(value))
    data = {
        "method": [labels[row] for row in rows],
        "with": [labels[column] for column in columns],
        "correlation": value[rows, columns].tolist(),
    }
    return self_contained(
        alt.Chart(inline(data))
        .mark_rect()
        .encode(
            x=alt.X("with:N", sort=labels, title=None, axis=alt.Axis(labelAngle=-90)),
            y=alt.Y("method:N", sort=labels, title=None),
            color=alt.Color("correlation:Q", scale=alt.Scale(scheme="blues"), legend=alt.Legend(title=None)),
            tooltip=["method:N", "with:N", alt.Tooltip("correlation:Q", format=".3f")],
        )
        .properties(width="container", height=17 * len(labels))
    )
