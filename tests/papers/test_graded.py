"""The real grades the GDA paper's baselines are compared on: crowd workers of TREC 2010, LLM judges of 2024."""

import os
from pathlib import Path

import polars as pl
import pytest

import crowdrank as cr

FOLDER = Path(os.environ.get("CROWDRANK_DATA", ""))
SETS = ("trec_rf10", "llmjudge24")
pytestmark = pytest.mark.skipif(
    "CROWDRANK_DATA" not in os.environ or not all((FOLDER / name).is_dir() for name in SETS),
    reason=f"CROWDRANK_DATA does not name a folder that holds {' and '.join(SETS)}",
)


def measured(name, *methods):
    tables = [
        pl.read_csv(FOLDER / name / f"{table}.csv.gz").filter(pl.col("grade") != -2) for table in ("grades", "gold")
    ]
    judgments, gold = cr.judgments(tables[0]), cr.gold(tables[1])
    found = []
    for method in methods:
        consensus = method.fit(judgments)
        assert consensus.fit.converged
        found.append(cr.evaluate(consensus, gold, ["map", "ndcg", "tau"], unjudged="ignore", skip_empty=True).mean)
    return found


def test_a_crowd_of_workers():
    """The order of the paper's Table 2: Rasch and EM before the mean, the mean before majority vote."""
    methods = cr.MajorityVote(), cr.Mean(), cr.Rasch(intervals=False), cr.DawidSkene()
    majority, mean, rasch, dawid_skene = measured("trec_rf10", *methods)
    for measure in ("map", "ndcg", "tau"):
        assert majority[measure] < mean[measure] + 0.001
        assert rasch[measure] > mean[measure] + 0.02
        assert dawid_skene[measure] > mean[measure] + 0.02


def test_a_crowd_of_language_models():
    """Everybody judged everything: there is little to gain on the mean."""
    mean, dawid_skene = measured("llmjudge24", cr.Mean(), cr.DawidSkene(ordinal=True))
    assert all(dawid_skene[measure] > mean[measure] for measure in mean)
