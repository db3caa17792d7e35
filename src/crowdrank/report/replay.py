"""Accuracy by the number of answers: the curves of `replay`, as in Figure 5 of Chen et al. (WSDM 2013)."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from crowdrank.report.charts import altair, inline, self_contained
from crowdrank.report.ranking import TICKS


def replay_curves(curves: Any) -> Any:
    """An Altair chart of the result of `replay`: for each policy a line, the mean over the seeds, and a band from the
    lowest to the highest.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=10, annotators=5, votes=200, seed=0)
    >>> chart = replay_curves(cr.replay(study.judgments, study.gold, ["sorting", "random"], budget=100))
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['area', 'line']
    """
    alt = altair()
    table = nw.from_native(curves, eager_only=True)
    names = table["policy"].unique(maintain_order=True).to_list()
    opaque = alt.Legend(symbolOpacity=1)  # otherwise the legend is as pale as the bands
    by_policy = alt.Color("policy:N", sort=names, title=None, legend=opaque)
    base = alt.Chart(inline({name: table[name].to_list() for name in ("policy", "votes", "acc")})).encode(
        x=alt.X("votes:Q", title="judgments", axis=alt.Axis(tickCount=TICKS)), color=by_policy
    )
    acc = alt.Scale(zero=False)
    band = base.mark_area(opacity=0.15).encode(y=alt.Y("min(acc):Q", title="ACC", scale=acc), y2="max(acc):Q")
    line = base.mark_line().encode(
        y=alt.Y("mean(acc):Q", title="ACC", scale=acc), tooltip=["policy:N", "votes:Q", "mean(acc):Q"]
    )
    return self_contained(alt.layer(band, line).properties(width=480, height=300))
