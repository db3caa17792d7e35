"""Crowds and items whose truth is known, to try methods on."""

from crowdrank.simulate.pairwise import Study as Study
from crowdrank.simulate.pairwise import pairs as pairs
from crowdrank.simulate.spam import spam as spam

__all__ = ["Study", "pairs", "spam"]
