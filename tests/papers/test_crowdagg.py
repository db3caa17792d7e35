"""The graded judgments of TREC's 2010 relevance feedback track: what CrowdAgg's settings are worth, by mean average
precision.
"""

import os
from pathlib import Path

import polars as pl
import pytest

import crowdrank as cr

FOLDER = Path(os.environ.get("CROWDRANK_DATA", "")) / "trec_rf10"
pytestmark = pytest.mark.skipif(
    "CROWDRANK_DATA" not in os.environ or not FOLDER.is_dir(),
    reason="CROWDRANK_DATA does not name a folder that holds trec_rf10",
)


@pytest.fixture(scope="module")
def study():
    def table(name):
        return pl.read_csv(FOLDER / f"{name}.csv.gz", schema_overrides={"task": pl.String}).filter(pl.col("grade") >= 0)

    return cr.judgments(table("grades")), cr.gold(table("gold"))


def mean_of(study, measure, **settings):
    judgments, gold = study
    consensus = cr.CrowdAgg(**settings).fit(judgments)
    assert consensus.fit.converged
    return cr.evaluate(consensus, gold, measure, unjudged="ignore", skip_empty=True).mean[measure]


@pytest.mark.parametrize(("contest", "known"), [("judged", 0.712), ("task", 0.695)])
def test_the_papers_way_reaches_what_a_prototype_did(study, contest, known):
    """Figures of an independent prototype, whose readings of eq. 6 differ in the last digits."""
    found = mean_of(study, "map", contest=contest, against="all", quality_prior=(1.0, 1.0))
    assert found == pytest.approx(known, abs=0.007)


def test_measured_by_the_others_quality_helps(study):
    """By a ranking that contains an annotator's own ballot it does not."""
    equal, by_all, by_others = (mean_of(study, "map", **how) for how in ({"quality": "equal"}, {"against": "all"}, {}))
    assert by_all < equal < by_others
    assert by_others > 0.75


def test_read_literally_the_first_ranking_is_upside_down(study):
    assert mean_of(study, "tau", quality="equal", contest="literal") < -0.2
