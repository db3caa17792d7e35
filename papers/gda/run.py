"""The tables and figures of the GDA paper on other data: `python papers/gda/run.py --table 2`.

Tables 2 and 3 are rankings from the crowd alone, and with an expert and a random annotator among them. Table 6 holds
the numbers behind Figure 6, Table 7 those behind Figure 7 (`rankers.py`). All figures are written beside this file as
SVG: 3 to 6 by a run of all tables.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
from scipy.stats import kendalltau, spearmanr

import crowdrank as cr

sys.path.insert(0, str(Path(__file__).parents[1]))
import rankers
from publish import Cell, data, publish

HERE = Path(__file__).parent
SETS = ("trec_rf10", "llmjudge24")
METHODS = ["majority-vote", "mean", "dawid-skene", "rasch", "gda", "gda-pw", cr.GDAPW(difficulty=True)]
MEASURES = ["map", "ndcg", "tau"]
EXPERT, RANDOM = "the expert", "a random annotator"


def grades(name: str) -> pl.DataFrame:
    """The crowd's grades; broken links, of which grade -2 tells, are no judgments of relevance."""
    return (
        pl.read_csv(data(name) / "grades.csv.gz")
        .filter(pl.col("grade") >= 0)
        .with_columns(pl.col("annotator").cast(pl.String))
    )


def gold(name: str) -> pl.DataFrame:
    """The experts' grades."""
    return pl.read_csv(data(name) / "gold.csv.gz").filter(pl.col("grade") >= 0)


def with_expert_and_random(name: str) -> pl.DataFrame:
    """The crowd, an annotator who gives the gold grades, and one who gives any of them at random to the same items."""
    known, crowd = gold(name), grades(name)
    rng = np.random.default_rng(0)
    guesses = known.with_columns(grade=pl.Series(rng.choice(known["grade"].unique().sort().to_numpy(), len(known))))
    told = [frame.with_columns(annotator=pl.lit(who)) for frame, who in ((known, EXPERT), (guesses, RANDOM))]
    return pl.concat([frame.select("task", "annotator", "item", "grade") for frame in (crowd, *told)])


def compared(number: int) -> Iterator[Cell]:
    """MAP, nDCG and Kendall's tau of every method on every data set, of documents with gold."""
    for name in SETS:
        judgments = cr.judgments(grades(name) if number == 2 else with_expert_and_random(name))
        table = cr.compare(
            judgments,
            cr.gold(gold(name)),
            methods=METHODS,
            measures=MEASURES,
            unjudged="ignore",
            skip_empty=True,
            limit=None,
        )
        print(table, "\n")
        for method, evaluation in table.evaluations.items():
            for measure in MEASURES:
                yield {"row": f"{name} {measure}", "column": method, "value": evaluation.mean[measure]}


def difficulty() -> Iterator[Cell]:
    """Figure 6: do two halves of the annotators agree which items are hard? Rank correlation, and of relevance for
    comparison.
    """
    for name in SETS:
        crowd = grades(name)
        who = crowd["annotator"].unique().sort().to_numpy()
        rng = np.random.default_rng(0)
        for _ in range(5):
            half = set(rng.permutation(who)[: len(who) // 2].tolist())
            halves = [crowd.filter(pl.col("annotator").is_in(half)), crowd.filter(~pl.col("annotator").is_in(half))]
            one, other = (cr.GDA(difficulty=True).fit(cr.judgments(part)).ranking for part in halves)
            both = one.join(other, on=["task", "item"], suffix=" other")
            for column in ("difficulty", "score"):
                found = spearmanr(both[column], both[f"{column} other"]).statistic
                yield {"row": f"{name} {column}", "column": "two halves", "value": float(found)}


def figures() -> None:
    """Figures 3 (curves), 4 (how informative annotators and grades are), 5 (against agreement with gold) and 6
    (difficulty).
    """
    for name in SETS:
        frame = with_expert_and_random(name)
        judgments = cr.judgments(frame)
        consensus = cr.GDA().fit(judgments)
        people = consensus.annotators.sort("informativeness", descending=True)
        middle = people["annotator"][len(people) // 4], people["annotator"][len(people) // 2]
        cr.report.grade_curves(consensus, [EXPERT, *middle, RANDOM]).save(HERE / f"figure-3-{name}.svg")
        informative(people).save(HERE / f"figure-4-{name}.svg")
        against_gold(people, frame, gold(name)).save(HERE / f"figure-5-{name}.svg")
        hard = cr.GDA(difficulty=True).fit(cr.judgments(grades(name))).ranking
        shown = hard.sample(min(len(hard), 2000), seed=0).select("score", "difficulty")
        points = alt.Chart(alt.InlineData(values=shown.to_dicts())).mark_circle(size=12, opacity=0.4)
        points.encode(x=alt.X("score:Q", title="relevance"), y="difficulty:Q").save(HERE / f"figure-6-{name}.svg")


def informative(people: pl.DataFrame) -> alt.VConcatChart:
    """How many annotators, and how many grades, are how informative."""
    base = alt.Chart(alt.InlineData(values=people.select("informativeness", "judgments").to_dicts())).mark_bar()
    nats = alt.X("informativeness:Q", bin=alt.Bin(maxbins=30), title="informativeness in nats")
    return alt.vconcat(
        base.encode(x=nats, y=alt.Y("count():Q", title="annotators")),
        base.encode(x=nats, y=alt.Y("sum(judgments):Q", title="grades")),
    )


def against_gold(people: pl.DataFrame, frame: pl.DataFrame, known: pl.DataFrame) -> alt.Chart:
    """Informativeness against Kendall's tau with gold, of annotators with at least ten items that have gold."""
    joined = frame.join(known, on=["task", "item"], suffix=" gold").group_by("annotator").agg("grade", "grade gold")
    rows = []
    for name, own, expert in joined.filter(pl.col("grade").list.len() >= 10).iter_rows():
        rows.append({"annotator": name, "tau": kendalltau(own, expert).statistic, "items": len(own)})
    table = pl.DataFrame(rows).filter(pl.col("tau").is_not_nan()).join(people, on="annotator")
    found = spearmanr(table["tau"], table["informativeness"]).statistic
    print(f"informativeness and agreement with gold, rank correlation over {len(table)} annotators: {found:.3f}")
    points = alt.Chart(alt.InlineData(values=table.to_dicts())).mark_circle(opacity=0.5)
    return points.encode(
        x=alt.X("tau:Q", title="Kendall's tau with gold"),
        y="informativeness:Q",
        size="items:Q",
        tooltip=["annotator:N"],
    )


if __name__ == "__main__":
    publish(HERE, {2: lambda: compared(2), 3: lambda: compared(3), 6: difficulty, 7: rankers.compared}, __doc__)
    if "--table" not in sys.argv:
        figures()
