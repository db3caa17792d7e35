"""Where every method stands: one row each. Everything else that is known about a method is the `description` on its
class.

A method has the name of its module, with dashes for underscores. Its class is imported when it is first asked for, so
that `import crowdrank` stays fast and `from crowdrank import CrowdBT` loads no other method.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

T = TypeVar("T")

ROWS = (
    "methods.grades.mean.Mean",
    "methods.grades.majority_vote.MajorityVote",
    "methods.grades.dawid_skene.DawidSkene",
    "methods.grades.rasch.Rasch",
    "methods.grades.gda.GDA",
    "methods.grades.gda_pw.GDAPW",
    "methods.pairs.bradley_terry.BradleyTerry",
    "methods.pairs.thurstone.Thurstone",
    "methods.pairs.majority_bradley_terry.MajorityBradleyTerry",
    "methods.pairs.variance_bt.VarianceBT",
    "methods.pairs.mpm.MPM",
    "methods.pairs.crowd_bt.CrowdBT",
    "methods.pairs.crowd_thurstone.CrowdThurstone",
    "methods.pairs.online_crowd_bt.OnlineCrowdBT",
    "methods.pairs.elo.Elo",
    "methods.pairs.em_elo.EMElo",
    "methods.pairs.trueskill.TrueSkill",
    "methods.pairs.condorcet.Condorcet",
    "methods.pairs.greedy_order.GreedyOrder",
    "methods.pairs.svp.SVP",
    "methods.rankings.borda.Borda",
    "methods.rankings.median_rank.MedianRank",
    "methods.rankings.rrf.RRF",
    "methods.rankings.plackett_luce.PlackettLuce",
    "methods.rankings.mallows.Mallows",
    "methods.rankings.crowdagg.CrowdAgg",
    "methods.rankings.cps.CPS",
    "methods.supervised.crf.CRF",
    "methods.supervised.svd.SVD",
    "methods.supervised.boosted.Boosted",
    "methods.supervised.ensemble.Ensemble",
    "methods.supervised.weighted_borda.WeightedBorda",
    "methods.supervised.weighted_rrf.WeightedRRF",
    "learning.linear.listmle.ListMLE",
    "learning.linear.lregma.LRegMA",
    "learning.trees.lambdamart.LambdaMART",
    "learning.trees.gda_pw_mart.GDAPWMART",
    "learning.ltrma.ltrma_d.LTRMAD",
    "learning.ltrma.ltrma_mle.LTRMAMLE",
    "learning.ltrma.ltrma_s1.LTRMAS1",
    "learning.ltrma.ltrma_s2.LTRMAS2",
    "learning.ltrma.ltrma_s3.LTRMAS3",
)


class Catalogue(Mapping[str, type[T]]):
    """The methods of some packages, by name."""

    def __init__(self, *packages: str) -> None:
        self._rows = {_name(row): row for row in ROWS if row.startswith(packages)}

    def __getitem__(self, name: str) -> type[T]:
        found: type[T] = imported(self._rows[name])
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._rows  # without importing anything

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def imported(row: str) -> Any:
    """The object that a row names."""
    module, _, attribute = row.rpartition(".")
    return getattr(import_module(f"crowdrank.{module}"), attribute)


def _name(row: str) -> str:
    return row.split(".")[-2].replace("_", "-")
