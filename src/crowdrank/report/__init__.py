"""Pictures of results, as Altair charts: `chart.save("chart.html")`. They need the extra `report`."""

from crowdrank.report.curves import grade_curves as grade_curves
from crowdrank.report.curves import narrowing as narrowing

__all__ = ["grade_curves", "narrowing"]
