"""Crowds and items whose truth is known, to try methods on."""

from crowdrank.simulate.pairwise import Study as Study
from crowdrank.simulate.pairwise import pairs as pairs

__all__ = ["Study", "pairs"]
