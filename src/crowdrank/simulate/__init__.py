"""Crowds and items whose truth is known, to try methods on."""

from crowdrank.simulate.graded import grades as grades
from crowdrank.simulate.graded import regrade as regrade
from crowdrank.simulate.pairwise import pairs as pairs
from crowdrank.simulate.rankings import rankings as rankings
from crowdrank.simulate.spam import spam as spam
from crowdrank.simulate.study import Study as Study

__all__ = ["Study", "grades", "pairs", "rankings", "regrade", "spam"]
