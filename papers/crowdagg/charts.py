"""Figures 2, 3 and 4 from result.csv, as SVG beside it: `python papers/crowdagg/charts.py`."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import polars as pl

HERE = Path(__file__).parent
MEASURE = {"mirex": "ndcg@10", "readability": "acc", "trec": "ndcg@10"}
TITLE = {
    "figure-3": "random annotators added",
    "figure-4": "malicious annotators added, who reverse others",
    "figure-4-gold": "malicious annotators added, who reverse gold",
}
SHORT = {"crowdagg(quality=equal)": "crowdagg, equal quality"}
# A colour for each method, crowdagg's the strongest; dashed are those that take all annotators to be alike.
COLOUR = {
    "crowdagg": "#d62728",
    "crowdagg, equal quality": "#d62728",
    "crowd-bt": "#1f77b4",
    "bradley-terry": "#1f77b4",
    "em-elo": "#2ca02c",
    "mpm": "#9467bd",
    "condorcet": "#8c564b",
    "greedy-order": "#e377c2",
    "dawid-skene": "#ff7f0e",
    "gda": "#bcbd22",
    "mean": "#7f7f7f",
    "borda": "#17becf",
}
ALIKE = ("crowdagg, equal quality", "bradley-terry", "condorcet", "greedy-order", "mean", "borda")
PAPERS = "crowdagg(contest=task, quality_prior=(1.0, 1.0), against=all)"


def robustness(results: pl.DataFrame, part: str) -> alt.HConcatChart:
    """A measure by the share of annotators added, a panel for each study."""
    cells = results.filter(pl.col("part") == part).with_columns(pl.col("row").replace(SHORT))
    shown = [name for name in COLOUR if name in cells["row"]]
    panels = (
        _panel(cells.filter(pl.col("data") == study), study, shown) for study in MEASURE if study in cells["data"]
    )
    return alt.hconcat(*panels, title=TITLE[part])


def _panel(cells: pl.DataFrame, study: str, shown: list[str]) -> alt.Chart:
    share = pl.col("column").str.extract(r" at (\d+)%").cast(pl.Float64)
    rows = cells.filter(pl.col("column").str.starts_with(f"{MEASURE[study]} at ")).select(
        share.alias("added"), "value", method="row"
    )
    return (
        alt.Chart(alt.InlineData(values=rows.to_dicts()), title=study, width=260, height=240)
        .mark_line()
        .encode(
            x=alt.X("added:Q", title="annotators added, % of those there are"),
            y=alt.Y("value:Q", title=MEASURE[study], scale=alt.Scale(zero=False)),
            color=alt.Color("method:N", scale=alt.Scale(domain=list(COLOUR), range=list(COLOUR.values()))),
            strokeDash=alt.StrokeDash(
                "method:N",
                scale=alt.Scale(domain=list(COLOUR), range=[[4, 3] if name in ALIKE else [1, 0] for name in COLOUR]),
                legend=alt.Legend(title=None, values=shown),
            ),
        )
    )


def quality(results: pl.DataFrame) -> alt.FacetChart:
    """How quality is distributed over the annotators, as estimated (lines) and in truth (bars)."""
    cells = results.filter((pl.col("part") == "figure-2") & pl.col("column").str.starts_with("quality "))
    tenth = cells.select(
        "value", method=pl.col("row").replace({PAPERS: "crowdagg, as in the paper"}), low=pl.col("column").str.slice(8)
    )
    tenth = tenth.with_columns(pl.col("low").cast(pl.Float64)).with_columns(high=pl.col("low") + 0.1)
    truth = tenth.filter(pl.col("method") == "truth").select("low", truth="value")
    rows = tenth.filter(pl.col("method") != "truth").join(truth, on="low")
    base = alt.Chart().encode(x=alt.X("low:Q", bin="binned", title="quality"), x2="high:Q")
    bars = base.mark_bar(color="#cccccc").encode(y=alt.Y("truth:Q", title="share of annotators"))
    lines = base.mark_bar(filled=False, color="#d62728", strokeWidth=2).encode(y="value:Q")
    return alt.layer(bars, lines, data=alt.InlineData(values=rows.to_dicts()), width=150, height=150).facet(
        alt.Facet("method:N", title=None, sort=None)
    )


def main() -> None:
    """All charts."""
    results = pl.read_csv(
        HERE / "result.csv", schema_overrides={"p": pl.Float64, "worse": pl.Boolean, "deviation": pl.Float64}
    )
    quality(results).save(HERE / "figure-2.svg")
    for part in TITLE:
        robustness(results, part).save(HERE / f"{part}.svg")


if __name__ == "__main__":
    main()
