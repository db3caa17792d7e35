"""Charts of results, made with Altair: `chart.save("chart.html")`. They need the extra `report`."""

from crowdrank.report.curves import grade_curves as grade_curves
from crowdrank.report.curves import narrowing as narrowing
from crowdrank.report.replay import replay_curves as replay_curves
from crowdrank.report.weights import annotator_weights as annotator_weights

__all__ = ["annotator_weights", "grade_curves", "narrowing", "replay_curves"]
