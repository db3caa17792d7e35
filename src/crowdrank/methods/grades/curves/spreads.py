"""How much the curves of annotators differ from the crowd's, and those of crowds from the usual ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdrank.study import Floats


class CurveSpread(NamedTuple):
    """How much curves differ, as standard deviations.

    Most differences concern all grades of an annotator together. Were those of each grade independent, few grades would
    fit any of them.
    """

    precision: float  # all slopes larger or smaller, by this share
    strictness: float  # the same grades at another relevance
    extremes: float  # a preference for the ends of the scale, or for its middle
    slope: float  # of each level by itself
    intercept: float

    def precision_matrix(self, slope: Floats) -> Floats:
        """The inverse covariance of slopes and intercepts around curves with these slopes."""
        bend = slope**2 - (slope**2).mean()
        eye = np.eye(len(slope))
        slopes = self.slope**2 * eye + self.precision**2 * np.outer(slope, slope)
        shift = self.strictness**2 * np.outer(slope, slope) + self.extremes**2 * np.outer(bend, bend)
        zero = np.zeros_like(eye)
        return np.linalg.inv(np.block([[slopes, zero], [zero, self.intercept**2 * eye + shift]]))


OF_ANNOTATORS = CurveSpread(precision=0.6, strictness=0.8, extremes=0.3, slope=0.1, intercept=0.2)  # around the crowd
OF_CROWDS = CurveSpread(precision=1.0, strictness=0.5, extremes=1.0, slope=0.1, intercept=0.1)  # around the start
