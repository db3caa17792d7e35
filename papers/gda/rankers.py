"""Figure 7 of the GDA paper on other data: rankers learned from simulated graded crowds, on queries they have not seen.

Features and expert grades of LETOR; the crowd grades the expert grade of each document, as `crowdrank.simulate.regrade` has it. Five folds:
every query is ranked once, by rankers that learned from the crowd's grades of four fifths of the others. All rankers are
grown with the same settings. p is that of Fisher's randomisation test over queries, means of all draws of the crowd, against
gda-pw-mart, corrected for the number of comparisons (Holm).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from publish import Cell, data

import crowdrank as cr
from crowdrank.evaluation.significance import holm, randomisation

SETS = {"letor_mq2008": "MQ2008", "letor3_ohsumed": "OHSUMED"}
DRAWS = 3
CROWD = {"labels": 3, "noise": 0.7, "spammers": 0.3}
GRADES_EACH = 60  # of an annotator
MEASURE = "ndcg@10"
OURS, BEST = "gda-pw-mart", "lambdamart, gold"
FROM_CROWD = {
    OURS: cr.GDAPWMART(),
    "lambdamart, gda": cr.LambdaMART(labels="gda"),
    "lambdamart, EM": cr.LambdaMART(labels="dawid-skene"),
    "lambdamart, EM-smoothed": cr.LambdaMART(soft=True),
    "lambdamart, mean": cr.LambdaMART(labels="mean"),
    "lambdamart, random": cr.LambdaMART(labels="random"),
    "lregma": cr.LRegMA(),
}


class Letor:
    """A data set of LETOR in five folds."""

    def __init__(self, name: str) -> None:
        text = {"task": pl.String, "item": pl.String}
        table = pl.read_csv(data(name) / "features.csv.gz", schema_overrides=text)
        self.features = cr.features(table.drop("grade", "fold_part"))
        self.gold = table.select("task", "item", "grade", "fold_part")
        self.parts = self.gold["fold_part"].unique().sort().to_list()

    def fold(self, part: str) -> tuple[cr.Features, cr.Gold, cr.Features, cr.Gold]:
        """Features and gold of the queries to learn from, and of those to rank."""
        test = pl.col("fold_part") == part
        gold = [self.gold.filter(where) for where in (~test, test)]
        features = [self.features.only(each["task"].unique().sort().to_list()) for each in gold]
        known = [cr.gold(each.drop("fold_part")) for each in gold]
        return features[0], known[0], features[1], known[1]

    def measured(self, ranker: cr.Ranker, features: cr.Features, gold: cr.Gold) -> dict[str, float]:
        """The measure of every query with a relevant document."""
        found = cr.evaluate(ranker.rank(features), gold, [MEASURE], skip_empty=True)
        return {task: value for task, value in zip(found.tasks, found.values[:, 0].tolist(), strict=True) if value == value}


def crowd(gold: cr.Gold, seed: int) -> cr.Judgments:
    """Three grades for every document, a third of the annotators being spammers."""
    annotators = round(len(gold) * CROWD["labels"] / GRADES_EACH)
    return cr.simulate.regrade(gold, annotators=annotators, seed=seed, **CROWD).judgments


def experts(gold: cr.Gold) -> cr.Judgments:
    """Three annotators who all give the gold grade: labels as good as gold."""
    words = gold.vocabulary
    frame = {"task": words.tasks[words.entry_task], "item": words.items[words.entry_item], "grade": gold.value}
    return cr.judgments(*(pl.DataFrame({**frame, "annotator": [who] * len(gold)}) for who in ("ann", "bob", "cat")))


def compared() -> Iterator[Cell]:
    """NDCG@10 of every ranker on every data set, mean of the queries, for every draw; and p against ours."""
    rows = []
    for name, title in SETS.items():
        letor = Letor(name)
        folds = [letor.fold(part) for part in letor.parts]
        values: dict[str, list[dict[str, float]]] = {}
        for draw in range(DRAWS):
            by_ranker: dict[str, dict[str, float]] = {}
            for number, (features, gold, unseen, truth) in enumerate(folds):
                judgments = crowd(gold, seed=draw * len(folds) + number)
                for label, learner in FROM_CROWD.items():
                    ranker = learner.learn(features, judgments)
                    by_ranker.setdefault(label, {}).update(letor.measured(ranker, unseen, truth))
            for label, by_query in by_ranker.items():
                values.setdefault(label, []).append(by_query)
                yield {"row": title, "column": label, "value": float(np.mean(list(by_query.values())))}
                rows.append({"data": title, "ranker": label, "value": float(np.mean(list(by_query.values())))})
        by_query: dict[str, float] = {}
        same: dict[str, float] = {}
        for features, gold, unseen, truth in folds:
            by_query.update(letor.measured(cr.LambdaMART().learn(features, gold), unseen, truth))
            same.update(letor.measured(cr.GDAPWMART().learn(features, experts(gold)), unseen, truth))
        values |= {BEST: [by_query], f"{OURS}, gold": [same]}
        for label in (BEST, f"{OURS}, gold"):
            yield {"row": title, "column": label, "value": float(np.mean(list(values[label][0].values())))}
            rows.append({"data": title, "ranker": label, "value": float(np.mean(list(values[label][0].values())))})
        yield from tested(title, values)
    picture(rows).save(Path(__file__).parent / "figure-7.svg")


def tested(title: str, values: dict[str, list[dict[str, float]]]) -> Iterator[Cell]:
    """P of the difference to ours from the crowd; on gold, of ours to LambdaMART's."""
    queries = sorted(values[OURS][0])
    mean = {label: np.mean([[draw[query] for query in queries] for draw in draws], axis=0) for label, draws in values.items()}
    others = [label for label in FROM_CROWD if label != OURS]
    p = holm(randomisation(np.stack([mean[OURS] - mean[label] for label in others], axis=1)))
    alone = randomisation((mean[f"{OURS}, gold"] - mean[BEST])[:, None])
    for label, value in [*zip(others, p, strict=True), (f"{OURS}, gold", alone[0])]:
        yield {"row": f"{title} p", "column": label, "value": float(value)}
