"""Figure 7 of the GDA paper on other data: rankers learned from simulated graded crowds, on queries they have not seen.

Features and expert grades of LETOR; the crowd grades the expert grade of each document, as `crowdrank.simulate.regrade`
has it. Five folds: every query is ranked once, by rankers that learned from the crowd's grades of the queries of the
other folds. All trees are grown with the same settings. p is that of Fisher's randomisation test over queries, means of
all draws of the crowd, against gda-pw-mart, corrected for the number of comparisons (Holm).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
from publish import Cell, data

import crowdrank as cr
from crowdrank.evaluation.significance import holm, randomisation

SETS = {"letor_mq2008": "MQ2008", "letor3_ohsumed": "OHSUMED"}
DRAWS = 3
CROWD = {"labels": 3, "bias": 0.5, "noise": 0.7, "variety": 0.5, "spammers": 0.3}
GRADES_EACH = 60  # of an annotator
MEASURE = "ndcg@10"
OURS = "gda-pw-mart"
FROM_CROWD = {
    OURS: cr.GDAPWMART(),
    "gda-pw-mart, ndcg": cr.GDAPWMART(measure="ndcg"),
    "lambdamart, gda": cr.LambdaMART(labels="gda"),
    "lambdamart, EM": cr.LambdaMART(labels="dawid-skene"),
    "lambdamart, EM-smoothed": cr.LambdaMART(soft=True),
    "lambdamart, mean": cr.LambdaMART(labels="mean"),
    "lambdamart, random": cr.LambdaMART(labels="random"),
    "lregma": cr.LRegMA(),
}
BEST = "lambdamart, gold"
ON_GOLD = {"gda-pw-mart, gold": cr.GDAPWMART(), "gda-pw-mart, ndcg, gold": cr.GDAPWMART(measure="ndcg")}

Values = dict[str, dict[str, float]]  # by ranker and query


class Letor:
    """A data set of LETOR in five folds."""

    def __init__(self, name: str) -> None:
        table = pl.read_csv(data(name) / "features.csv.gz", schema_overrides={"task": pl.String, "item": pl.String})
        self.features = cr.features(table.drop("grade", "fold_part"))
        self.gold = table.select("task", "item", "grade", "fold_part")

    def folds(self) -> Iterator[tuple[cr.Features, cr.Gold, cr.Features, cr.Gold]]:
        """Features and gold of the queries to learn from, and of those to rank."""
        for part in self.gold["fold_part"].unique().sort():
            learned, ranked = (self.gold.filter((pl.col("fold_part") == part) == unseen) for unseen in (False, True))
            yield (*self._of(learned), *self._of(ranked))

    def _of(self, part: pl.DataFrame) -> tuple[cr.Features, cr.Gold]:
        return self.features.only(part["task"].unique().sort().to_list()), cr.gold(part.drop("fold_part"))


def crowd(gold: cr.Gold, seed: int) -> cr.Judgments:
    """Three grades for every document; three in ten annotators are spammers."""
    annotators = round(len(gold) * CROWD["labels"] / GRADES_EACH)
    return cr.simulate.regrade(gold, annotators=annotators, seed=seed, **CROWD).judgments


def unanimous(gold: cr.Gold) -> cr.Judgments:
    """Three annotators who all give the gold grade: labels as good as gold."""
    words = gold.vocabulary
    names = {"task": words.tasks[words.entry_task].tolist(), "item": words.items[words.entry_item].tolist()}
    told = pl.DataFrame({**names, "grade": gold.value})
    return cr.judgments(*(told.with_columns(annotator=pl.lit(who)) for who in ("ann", "bob", "cat")))


def per_query(ranker: cr.Ranker, features: cr.Features, gold: cr.Gold) -> dict[str, float]:
    """The measure of every query with a relevant document."""
    found = cr.evaluate(ranker.rank(features), gold, [MEASURE], skip_empty=True)
    return {task: value for task, value in zip(found.tasks, found.values[:, 0].tolist(), strict=True) if value == value}


def from_crowd(letor: Letor, draw: int) -> Values:
    """All rankers, each learned from the same crowd."""
    values: Values = {label: {} for label in FROM_CROWD}
    for number, (features, gold, unseen, truth) in enumerate(letor.folds()):
        judgments = crowd(gold, seed=100 * draw + number)
        for label, learner in FROM_CROWD.items():
            values[label] |= per_query(learner.learn(features, judgments), unseen, truth)
    return values


def from_gold(letor: Letor) -> Values:
    """The best there is, and ours where everybody gives the gold grade."""
    values: Values = {BEST: {}} | {label: {} for label in ON_GOLD}
    for features, gold, unseen, truth in letor.folds():
        values[BEST] |= per_query(cr.LambdaMART().learn(features, gold), unseen, truth)
        for label, learner in ON_GOLD.items():
            values[label] |= per_query(learner.learn(features, unanimous(gold)), unseen, truth)
    return values


def compared() -> Iterator[Cell]:
    """The mean of every ranker over the queries of every data set, for every draw of the crowd; and p, also of all
    queries together.
    """
    cells: list[Cell] = []
    differences = []
    for name, title in SETS.items():
        letor = Letor(name)
        draws, gold = [from_crowd(letor, draw) for draw in range(DRAWS)], from_gold(letor)
        for values in (*draws, gold):
            cells += [{"row": title, "column": label, "value": mean(of.values())} for label, of in values.items()]
        differences.append(apart(draws, gold))
        cells += tested(f"{title} p", differences[-1])
    picture([cell for cell in cells if cell["row"] in SETS.values()]).save(Path(__file__).parent / "figure-7.svg")
    yield from cells
    yield from tested(
        "both p", {label: np.concatenate([each[label] for each in differences]) for label in differences[0]}
    )


def apart(draws: list[Values], gold: Values) -> dict[str, np.ndarray]:
    """How far ours is above each other ranker on every query, mean of the draws; on gold, above LambdaMART on gold."""
    queries = sorted(gold[BEST])
    by_query = {
        label: np.mean([[draw[label][query] for query in queries] for draw in draws], axis=0) for label in FROM_CROWD
    }
    on_gold = {label: np.array([gold[label][query] - gold[BEST][query] for query in queries]) for label in ON_GOLD}
    return {label: by_query[OURS] - other for label, other in by_query.items() if label != OURS} | on_gold


def tested(row: str, differences: dict[str, np.ndarray]) -> Iterator[Cell]:
    """How likely differences as large are by chance; corrected for the number of rankers, those from the crowd and on
    gold apart.
    """
    p = randomisation(np.stack(list(differences.values()), axis=1))
    for part in (slice(-len(ON_GOLD)), slice(-len(ON_GOLD), None)):
        p[part] = holm(p[part])
    yield from (
        {"row": row, "column": label, "value": float(value)} for label, value in zip(differences, p, strict=True)
    )


def mean(values: Iterable[float]) -> float:
    """Of the queries."""
    return float(np.mean(list(values)))


def picture(cells: list[Cell]) -> alt.Chart:
    """A point for every draw, a bar for their mean."""
    base = alt.Chart(alt.InlineData(values=cells)).encode(
        y=alt.Y("column:N", sort=list(dict.fromkeys(cell["column"] for cell in cells)), title=None)
    )
    scale = alt.Scale(zero=False, padding=10)
    points = base.mark_circle(opacity=0.5).encode(x=alt.X("value:Q", title=MEASURE, scale=scale))
    ticks = base.mark_tick(thickness=3, size=16).encode(x=alt.X("mean(value):Q", title=MEASURE, scale=scale))
    return (points + ticks).facet(alt.Facet("row:N", title=None), columns=1).resolve_scale(x="independent")
