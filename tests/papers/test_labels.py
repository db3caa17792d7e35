"""Labels recovered from real judges' grades, against experts'."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.grading import as_gold

DATA = Path(os.environ.get("CROWDRANK_DATA", ""))
pytestmark = pytest.mark.skipif(
    "CROWDRANK_DATA" not in os.environ or not (DATA / "trec_rf10").is_dir(),
    reason="CROWDRANK_DATA does not name a folder that holds trec_rf10 and llmjudge24",
)


def kappa(one, other) -> float:
    """Cohen's, with quadratic weights."""
    apart = (one[:, None] - other[None, :]) ** 2
    return 1 - ((one - other) ** 2).mean() / apart.mean()


@pytest.mark.parametrize("name", ["trec_rf10", "llmjudge24"])
def test_nearer_to_the_experts_than_rounded_means(name):
    grades = pl.read_csv(DATA / name / "grades.csv.gz", infer_schema_length=None).filter(
        pl.col("grade").is_between(0, 3)
    )
    consensus = cr.fit("mean", cr.judgments(grades))
    truth = cr.read_gold(DATA / name / "gold.csv.gz").align(consensus.vocabulary)
    judged = truth >= 0  # NaN, where the experts said nothing, and broken links are not
    cut, rounded = as_gold(consensus).value[judged], np.rint(consensus.score[judged])
    assert kappa(cut, truth[judged]) > kappa(rounded, truth[judged]) + 0.03


@pytest.mark.parametrize(
    ("name", "accuracy", "loss"),
    # The best accuracy of crowd-kit's aggregators, and their smallest log-loss
    # (benchmarks/labels.py); the standard error of the accuracy is .009 and .0075.
    [("trec_rf10", 0.5136, 2.237), ("llmjudge24", 0.5424, 1.584)],
)
def test_labels_of_the_default_method_beside_those_of_other_tools(name, accuracy, loss):
    grades = pl.read_csv(DATA / name / "grades.csv.gz", infer_schema_length=None).filter(
        pl.col("grade").is_between(0, 3)
    )
    consensus = cr.fit("gda", cr.judgments(grades))
    truth = cr.read_gold(DATA / name / "gold.csv.gz").align(consensus.vocabulary)
    judged = (truth >= 0) & ~np.isnan(consensus.score)
    chance, true = consensus.label_chances[judged], truth[judged].astype(int)
    assert (chance.argmax(axis=1) == true).mean() > accuracy - 0.0075
    assert -np.log(chance[np.arange(len(true)), true]).mean() < loss
