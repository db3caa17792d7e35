"""A chart of the weights of a trained aggregator: whose judgments it uses, ignores and reverses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.protocols import Trained
from crowdrank.methods.supervised.cells.linear import LinearAggregator
from crowdrank.methods.supervised.ensemble import EnsembleAggregator
from crowdrank.report.charts import altair, inline, self_contained
from crowdrank.settings import SettingError

ALL_OTHERS = "(all others)"


def annotator_weights(trained: Trained) -> Any:
    """An Altair chart of the weights of crf, svd and other linear aggregators, as in Figure 1 of the CRF paper.

    One square for each annotator and weight: its area is the size of the weight, white (outlined) is positive, black
    negative. Every kind of weight has its own scale of areas. `chart.save("weights.html")` writes a page, .svg or .png
    a picture.
    """
    linear = trained.crf if isinstance(trained, EnsembleAggregator) else trained
    if not isinstance(linear, LinearAggregator):
        raise SettingError(
            f"{trained.name} has no weights to show; crf, svd, ensemble, weighted-borda and weighted-rrf do"
        )
    alt = altair()
    black_and_white = alt.Scale(domain=["positive", "negative"], range=["white", "black"])
    squares = alt.Chart(inline(weight_columns(linear)), title=f"Weights of {trained.name}")
    return self_contained(
        squares.mark_square(stroke="black", strokeWidth=0.8, opacity=1)
        .encode(
            x=alt.X("annotator:N", sort=None, title="annotator"),
            y=alt.Y("weight:N", sort=None, title=None),
            size=alt.Size("size:Q", scale=alt.Scale(domain=[0, 1], range=[0, 350]), legend=None),
            fill=alt.Fill("sign:N", scale=black_and_white, title=None),
            tooltip=["annotator:N", "weight:N", alt.Tooltip("value:Q", format=".3f")],
        )
        .properties(width=alt.Step(22), height=alt.Step(30))
    )


def weight_columns(linear: LinearAggregator) -> dict[str, NDArray[Any]]:
    """A row for each weight: annotator, name, value, size relative to the largest of its kind, and sign."""
    names = np.array([*map(str, linear.annotators), ALL_OTHERS], dtype=object)
    shown = slice(None) if linear.weight[-1].any() else slice(-1)
    weight, names = linear.weight[shown].T, names[shown]
    largest = np.abs(weight).max(axis=1, initial=0.0, keepdims=True)
    return {
        "annotator": np.tile(names, len(weight)),
        "weight": np.repeat(np.array(linear.method.columns, dtype=object), len(names)),
        "value": weight.ravel(),
        "size": (np.abs(weight) / np.where(largest > 0, largest, 1.0)).ravel(),
        "sign": np.where(weight.ravel() >= 0, "positive", "negative").astype(object),
    }
