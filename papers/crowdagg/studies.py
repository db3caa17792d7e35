"""The studies that the tables are made on: judgments, gold, and how they are evaluated."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import crowdrank as cr

GRADED = ("p@3", "p@10", "map", "ndcg@3", "ndcg@10", "rbp.95")  # of the columns of the paper's Table 2
ORDERED = ("tau", "acc")  # tau first: acc counts every tie as wrong


@dataclass(frozen=True)
class Data:
    """A study with its gold, and the measures that suit it."""

    judgments: cr.Judgments
    gold: cr.Gold
    measures: tuple[str, ...]
    how: dict[str, Any] = field(default_factory=dict)  # settings of the evaluation


def mirex() -> Data:
    """Pairs with ties over 11 tasks. The gold was made from these same votes: who follows the majority is right by
    definition.
    """
    votes = table("mirex2005_music/pairwise.csv.gz").drop("seconds", "hit")
    # Groups of equally similar pieces, the best first, as the five grades of the paper.
    grade = (5 - pl.col("rank")).clip(0).alias("grade")
    gold = table("mirex2005_music/gold.csv.gz").select("task", "item", grade)
    votes, gold = blind(votes, gold)
    return Data(cr.judgments(votes), cr.gold(gold), GRADED)


def trec(every: int = 1) -> Data:
    """Grades over 100 topics; broken links (-2) left out. Gold is known of one document in six: the others are left out
    of the lists.
    """
    grades, gold = (
        table(f"trec_rf10/{name}.csv.gz", task=pl.String).filter(pl.col("grade") >= 0) for name in ("grades", "gold")
    )
    if every > 1:
        kept = grades["task"].unique().sort()[::every].implode()
        grades, gold = grades.filter(pl.col("task").is_in(kept)), gold.filter(pl.col("task").is_in(kept))
    grades, gold = blind(grades, gold)
    return Data(cr.judgments(grades), cr.gold(gold), GRADED, {"unjudged": "ignore", "skip_empty": True})


def readability() -> Data:
    """Pairs over one task."""
    votes, gold = blind(table("readability_crowdbt/pairwise.csv.gz"), table("readability_crowdbt/gold.csv.gz"))
    return Data(cr.judgments(votes), cr.gold(gold), (*ORDERED, "ndcg@10"))


def preflib() -> Data:
    """Rankings over ten tasks; nobody is known to have voted twice, so votes of different tasks are of different
    annotators.
    """
    lists = table("preflib_truth/rankings.csv.gz").with_columns(
        annotator=pl.concat_str("task", "annotator", separator=" ")
    )
    return Data(cr.judgments(lists), cr.gold(table("preflib_truth/gold.csv.gz").drop("value")), ORDERED)


def wmt() -> Data:
    """Rankings of five systems a time by crowd workers, a task per sentence; gold is the mean share of systems that
    researchers put lower.
    """
    lists = table("wmt13_fr_en/rankings.csv.gz", task=pl.String).select("task", "annotator", "item", "rank", list="hit")
    crowd = pl.col("annotator").str.starts_with("turker")
    expert = cr.fit("borda", cr.judgments(lists.filter(~crowd))).ranking.select("task", "item", "score")
    both = pl.col("task").is_in(expert["task"].unique().implode())
    return Data(cr.judgments(lists.filter(crowd & both)), cr.gold(expert), ORDERED)


def letor() -> Data:
    """Lists of 25 search engines over 784 queries (MQ2008-agg); unlisted items rank below the listed ones."""
    lists = table("letor_mq2008_agg/rankings.csv.gz", task=pl.String, item=pl.String)
    gold = table("letor_mq2008_agg/gold.csv.gz", task=pl.String, item=pl.String).select("task", "item", "grade")
    lists, gold = blind(lists, gold)
    return Data(
        cr.judgments(lists, top_k=True),
        cr.gold(gold),
        ("p@3", "p@10", "map", "letor-ndcg@3", "letor-ndcg@5", "letor-ndcg@10"),
    )


def blind(judgments: pl.DataFrame, gold: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Items by other names. Ties go by name, and names tell: TREC's documents by name alone reach a MAP of .663,
    renamed .597.
    """
    columns = [name for name in ("item", "left", "right", "winner") if name in judgments.columns]
    names = sorted({name for column in columns for name in judgments[column]} | set(gold["item"]))
    number = np.random.default_rng(0).permutation(len(names))
    new = {name: name if name == "tie" else f"i{at:06}" for name, at in zip(names, number, strict=True)}
    return judgments.with_columns(pl.col(*columns).replace_strict(new)), gold.with_columns(
        pl.col("item").replace_strict(new)
    )


def table(name: str, **dtypes: Any) -> pl.DataFrame:
    """A file of the data folder."""
    folder = os.environ.get("CROWDRANK_DATA")
    if not folder or not Path(folder).is_dir():
        sys.exit("set CROWDRANK_DATA to the folder that holds mirex2005_music/, trec_rf10/ and the others")
    return pl.read_csv(Path(folder) / name, schema_overrides=dtypes, infer_schema_length=None)


STUDIES = {"mirex": mirex, "trec": trec, "readability": readability, "preflib": preflib, "wmt": wmt, "letor": letor}
