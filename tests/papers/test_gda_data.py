"""The data of Metrikov et al. (CIKM 2015) that is public, trec_rf10, and LLM judges, llmjudge24: figures against gold.

Per task, over tasks with a relevant document, only documents with gold; τ counts 0 where gold has one value only.
"""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import crowdrank as cr

FOLDER = Path(os.environ.get("CROWDRANK_DATA", ""))
pytestmark = pytest.mark.skipif(
    "CROWDRANK_DATA" not in os.environ or not (FOLDER / "trec_rf10").is_dir() or not (FOLDER / "llmjudge24").is_dir(),
    reason="CROWDRANK_DATA does not name a folder that holds trec_rf10 and llmjudge24",
)
BROKEN_LINK = -2


def tables(name):
    parts = (
        pl.read_csv(FOLDER / name / f"{kind}.csv.gz", schema_overrides={"task": pl.String})
        for kind in ("grades", "gold")
    )
    return [part.filter(pl.col("grade") != BROKEN_LINK) for part in parts]


def figures(consensus, gold):
    found = cr.evaluate(
        consensus,
        cr.gold(gold.select("task", "item", "grade")),
        ["map", "ndcg", "tau"],
        unjudged="ignore",
        skip_empty=True,
    )
    return np.nan_to_num(found.values[~np.isnan(found.values[:, 0])]).mean(axis=0)


@pytest.mark.parametrize(
    ("name", "method", "at_least"),
    [
        ("trec_rf10", "gda", (0.776, 0.820, 0.290)),
        ("trec_rf10", "gda-pw", (0.794, 0.829, 0.317)),
        ("llmjudge24", "gda", (0.795, 0.847, 0.438)),
        ("llmjudge24", "gda-pw", (0.792, 0.845, 0.432)),
    ],
)
def test_figures(name, method, at_least):
    grades, gold = tables(name)
    consensus = cr.fit(method, cr.judgments(grades))
    assert consensus.fit.converged
    assert (figures(consensus, gold) >= at_least).all()


def test_sharing_annotators_across_topics_pays():
    grades, gold = tables("trec_rf10")
    shared, apart = (figures(cr.fit("gda", cr.judgments(grades), quality_per=per), gold) for per in ("study", "task"))
    assert (shared > apart + 0.01).all()


def test_an_expert_and_a_random_annotator_among_the_crowd():
    """Unmarked: the consensus gains from the one, and takes no notice of the other."""
    grades, gold = tables("trec_rf10")
    entries = grades.select("task", "item").unique(maintain_order=True)
    expert = gold.join(entries, on=["task", "item"]).select(
        "task", pl.lit("expert").alias("annotator"), "item", "grade"
    )
    noise = np.random.default_rng(0).integers(0, 3, len(entries))
    random = entries.select("task", pl.lit("random").alias("annotator"), "item", pl.Series("grade", noise))
    consensus = cr.fit("gda", cr.judgments(pl.concat([grades, expert, random], how="vertical_relaxed")))
    informativeness = dict(consensus.annotators.select("annotator", "informativeness").iter_rows())
    assert informativeness["random"] < 0.01
    assert informativeness["expert"] > np.median(list(informativeness.values()))
    assert (figures(consensus, gold) > figures(cr.fit("gda", cr.judgments(grades)), gold) + 0.05).all()


def test_difficulty_from_two_halves_of_the_llm_judges():
    grades, _ = tables("llmjudge24")
    half = grades["annotator"].unique().sort().gather_every(2)
    found = [
        cr.fit(
            "gda-pw",
            cr.judgments(grades.filter(pl.col("annotator").is_in(half.implode()) == side)),
            difficulty=True,
            partners=8,
        )
        for side in (True, False)
    ]
    both = found[0].ranking.join(found[1].ranking, on=["task", "item"])
    assert np.corrcoef(both["difficulty"], both["difficulty_right"])[0, 1] > 0.5
