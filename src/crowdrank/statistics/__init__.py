"""Statistics of studies and results: agreement, misfit, reliability, tiers and fragility."""

from crowdrank.methods.choice import choose_method as choose_method
from crowdrank.statistics.description import describe as describe
from crowdrank.statistics.fragility import fragility as fragility
from crowdrank.statistics.misfit import misfit as misfit
from crowdrank.statistics.reliability import scale_separation_reliability as scale_separation_reliability
from crowdrank.statistics.reliability import split_half as split_half
from crowdrank.statistics.settled import settled as settled
from crowdrank.statistics.tiers import tiers as tiers

__all__ = [
    "choose_method", "describe", "fragility", "misfit", "scale_separation_reliability", "settled", "split_half",
    "tiers",
]  # fmt: skip
