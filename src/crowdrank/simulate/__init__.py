"""Simulated studies with known truth, to try methods on."""

from crowdrank.simulate.graded import grades as grades
from crowdrank.simulate.graded import regrade as regrade
from crowdrank.simulate.pairwise import pairs as pairs
from crowdrank.simulate.rankings import rankings as rankings
from crowdrank.simulate.spam import spam as spam
from crowdrank.simulate.study import SimulatedStudy as SimulatedStudy

__all__ = ["SimulatedStudy", "grades", "pairs", "rankings", "regrade", "spam"]
