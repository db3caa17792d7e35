"""Charts of results, made with Altair: `chart.save("chart.html")`; and reports, each one self-contained HTML page.

They need the extra `report`. A chart is a function of a Consensus, Comparison or StudyDescription. A page is a text:
`Path("report.html").write_text(cr.report.rank_page(cr.report.RankReport(consensus, judgments)))`.
"""

from crowdrank.report.crowd import agreement_with_others as agreement_with_others
from crowdrank.report.crowd import annotator_quality as annotator_quality
from crowdrank.report.crowd import calibration as calibration
from crowdrank.report.crowd import judgment_counts as judgment_counts
from crowdrank.report.curves import grade_curves as grade_curves
from crowdrank.report.curves import narrowing as narrowing
from crowdrank.report.methods import leaderboard_chart as leaderboard_chart
from crowdrank.report.methods import method_agreement as method_agreement
from crowdrank.report.pages import compare_page as compare_page
from crowdrank.report.pages import describe_page as describe_page
from crowdrank.report.pages import replay_page as replay_page
from crowdrank.report.pages import train_page as train_page
from crowdrank.report.rank_page import RankReport as RankReport
from crowdrank.report.rank_page import rank_page as rank_page
from crowdrank.report.ranking import comparison_counts as comparison_counts
from crowdrank.report.ranking import intervals as intervals
from crowdrank.report.ranking import neighbour_chances as neighbour_chances
from crowdrank.report.ranking import win_rates as win_rates
from crowdrank.report.replay import replay_curves as replay_curves
from crowdrank.report.weights import annotator_weights as annotator_weights

__all__ = [
    "RankReport", "agreement_with_others", "annotator_quality", "annotator_weights", "calibration", "compare_page",
    "comparison_counts", "describe_page", "grade_curves", "intervals", "judgment_counts", "leaderboard_chart",
    "method_agreement", "narrowing", "neighbour_chances", "rank_page", "replay_curves", "replay_page", "train_page",
    "win_rates",
]  # fmt: skip
