"""The real data of Chen et al. (WSDM 2013): which of two texts is harder to read. Figures: accuracy of eq. 20."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from crowdrank.collect.replay import replay
from crowdrank.methods.pairs.bradley_terry import BradleyTerry
from crowdrank.methods.pairs.crowd_bt import CrowdBT
from crowdrank.methods.pairs.majority_bradley_terry import MajorityBradleyTerry
from crowdrank.methods.pairs.online_crowd_bt import OnlineCrowdBT
from crowdrank.methods.pairs.trueskill import TrueSkill
from crowdrank.methods.pairs.variance_bt import VarianceBT

FOLDER = Path(os.environ.get("CROWDRANK_DATA", "")) / "readability_crowdbt"
pytestmark = pytest.mark.skipif(
    "CROWDRANK_DATA" not in os.environ or not FOLDER.is_dir(),
    reason="CROWDRANK_DATA does not name a folder that holds readability_crowdbt",
)

PRIORS = (0.1, 0.5, 1.0, 10.0, 50.0)
MEASURED = {BradleyTerry: (0.6762, 0.6799, 0.6820, 0.6803, 0.6627), CrowdBT: (0.6933, 0.6963, 0.6981, 0.6874, 0.6689)}
PAPER = {BradleyTerry: 0.6815, CrowdBT: 0.6978}  # at prior 1


@pytest.fixture(scope="module")
def votes_and_grades(build):
    votes = build.judgments(pairs=pl.read_csv(FOLDER / "pairwise.csv.gz").rows())
    grades = dict(pl.read_csv(FOLDER / "gold.csv.gz").select("item", "grade").iter_rows())
    return votes, np.array([grades[item] for item in votes.vocabulary.items])


@pytest.mark.parametrize("method", [BradleyTerry, CrowdBT])
def test_no_worse_than_the_paper(build, votes_and_grades, method):
    votes, grades = votes_and_grades
    consensus = method(prior=1.0).fit(votes)
    assert consensus.fit.converged
    assert build.pair_accuracy(consensus.score, grades) >= PAPER[method]


@pytest.mark.parametrize(
    ("method", "prior", "measured"),
    [
        (method, prior, figure)
        for method, figures in MEASURED.items()
        for prior, figure in zip(PRIORS, figures, strict=True)
    ],
)
def test_every_prior_of_the_table(build, votes_and_grades, method, prior, measured):
    votes, grades = votes_and_grades
    assert build.pair_accuracy(method(prior=prior).fit(votes).score, grades) == pytest.approx(measured, abs=0.001)


@pytest.mark.parametrize("prior", PRIORS)
def test_the_order_of_the_methods_in_table_3(build, votes_and_grades, prior):
    votes, grades = votes_and_grades
    methods = (
        MajorityBradleyTerry(prior=prior, intervals=False),
        BradleyTerry(prior=prior, intervals=False),
        VarianceBT(prior=prior, slope_spread=0.2, intervals=False),
        CrowdBT(prior=prior, intervals=False),
    )
    found = [build.pair_accuracy(method.fit(votes).score, grades) for method in methods]
    assert found == sorted(found)
    assert len(set(found)) == len(found)


def test_the_default_is_not_below_bradley_terry(build, votes_and_grades):
    votes, grades = votes_and_grades
    consensus = CrowdBT().fit(votes)
    assert consensus.fit.converged
    plain = build.pair_accuracy(BradleyTerry(intervals=False).fit(votes).score, grades)
    assert build.pair_accuracy(consensus.score, grades) >= max(plain, 0.685)


def test_online_over_random_orders(build, votes_and_grades):
    """Table 4: the paper has .6822 ± .002, and .6722 ± .002 for TrueSkill, both over 50 random orders."""
    votes, grades = votes_and_grades
    orders = [np.random.default_rng(seed).permutation(len(votes.pairs)) for seed in range(50)]

    def mean(method):
        return np.mean([build.pair_accuracy(method.fit(build.rows_of(votes, order)).score, grades) for order in orders])

    paper, ours, trueskill = mean(OnlineCrowdBT(quality_prior=(10.0, 1.0))), mean(OnlineCrowdBT()), mean(TrueSkill())
    assert paper >= 0.682
    assert ours >= 0.686
    assert trueskill < paper


def test_active_replay_reaches_the_papers_best(build, votes_and_grades):
    """Table 5: 90, 95 and 98 % of ACC .6843 within 400, 850 and 1,400 comparisons; papers/crowd-bt has 20 seeds, here
    are 3.
    """
    votes, grades = votes_and_grades
    curves = replay(votes, build.gold(votes, grades), budget=1400, seeds=3)
    mean = curves.group_by("votes", maintain_order=True).agg(pl.col("acc").mean())
    for within, share in (
        (450, 0.90),
        (850, 0.95),
        (1400, 0.98),
    ):  # one look more for 90 %, at which three seeds are not enough to be sure
        assert mean.filter(pl.col("votes") <= within)["acc"].max() >= share * 0.6843
    chance = replay(votes, build.gold(votes, grades), "random", budget=1400, every=1400)
    assert chance["acc"][0] < 0.92 * 0.6843
