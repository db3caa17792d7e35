"""The weights of a trained aggregator at a glance: whom it uses, ignores and turns around."""

from __future__ import annotations

from typing import Any

from crowdrank.methods import Trained
from crowdrank.methods.ensemble import EnsembleAggregator
from crowdrank.methods.linear import LinearAggregator
from crowdrank.settings import SettingError

ALL_OTHERS = "(all others)"


def weights_chart(trained: Trained) -> Any:
    """An Altair chart of the weights of crf, svd and their like, as Figure 1 of the CRF paper has them.

    One square for each annotator and weight: its area is the size of the weight, white (outlined) is positive, black negative. Every
    kind of weight has its own scale of areas. `chart.save("weights.html")` writes a page, .svg or .png a picture.
    """
    altair = _altair()
    linear = trained.crf if isinstance(trained, EnsembleAggregator) else trained
    if not isinstance(linear, LinearAggregator):
        raise SettingError(f"{trained.name} has no weights to show; crf, svd, ensemble, weighted-borda and weighted-rrf do")
    rows = weight_rows(linear)
    fields = {name: [row[name] for row in rows] for name in ("weight", "annotator", "value", "size", "sign")}
    data = altair.Data(values=[dict(zip(fields, values, strict=True)) for values in zip(*fields.values(), strict=True)])
    sign = altair.Scale(domain=["positive", "negative"], range=["white", "black"])
    return (
        altair.Chart(data, title=f"Weights of {trained.name}")
        .mark_square(stroke="black", strokeWidth=0.8, opacity=1)
        .encode(
            x=altair.X("annotator:N", sort=None, title="annotator"),
            y=altair.Y("weight:N", sort=None, title=None),
            size=altair.Size("size:Q", scale=altair.Scale(domain=[0, 1], range=[0, 350]), legend=None),
            fill=altair.Fill("sign:N", scale=sign, title=None),
            tooltip=["annotator:N", "weight:N", altair.Tooltip("value:Q", format=".3f")],
        )
        .properties(width=altair.Step(22), height=altair.Step(30))
    )


def weight_rows(linear: LinearAggregator) -> list[dict[str, Any]]:
    """One row for each weight: of whom, which, its value, its size as a share of the largest of its kind, and its sign."""
    names = [*map(str, linear.annotators), *([ALL_OTHERS] if linear.weight[-1].any() else [])]
    largest = abs(linear.weight).max(axis=0)
    return [
        {
            "annotator": name,
            "weight": column,
            "value": float(linear.weight[who, which]),
            "size": float(abs(linear.weight[who, which]) / (largest[which] or 1.0)),
            "sign": "positive" if linear.weight[who, which] >= 0 else "negative",
        }
        for which, column in enumerate(linear.method.columns)
        for who, name in enumerate(names)
    ]


def _altair() -> Any:
    try:
        import altair
    except ImportError:
        raise SettingError("charts need Altair, which is not installed: pip install 'crowdrank[report]'") from None
    return altair
