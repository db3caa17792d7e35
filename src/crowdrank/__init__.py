"""crowdrank: from judgments that cannot all be trusted to rankings that can."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name → where it lives. Imported when first used: `import crowdrank` stays fast.
_HOME = {
    "Borda": "methods.borda",
    "BradleyTerry": "methods.bradley_terry",
    "Comparison": "evaluation.comparison",
    "Consensus": "consensus",
    "CrowdBT": "methods.crowd_bt",
    "Evaluation": "evaluation.evaluate",
    "Fit": "consensus",
    "Gold": "study",
    "JudgmentError": "study",
    "Judgments": "study",
    "METHODS": "methods",
    "Mean": "methods.mean",
    "SettingError": "settings",
    "compare": "evaluation.comparison",
    "evaluate": "evaluation.evaluate",
    "fit": "methods",
    "gold": "formats",
    "judgments": "formats",
    "read": "formats",
    "read_gold": "formats",
    "read_ranking": "formats",
    "simulate": "",
    "write": "formats",
}

__all__ = sorted([*_HOME, "__version__"])

if TYPE_CHECKING:
    from crowdrank import simulate as simulate
    from crowdrank.consensus import Consensus as Consensus
    from crowdrank.consensus import Fit as Fit
    from crowdrank.evaluation.comparison import Comparison as Comparison
    from crowdrank.evaluation.comparison import compare as compare
    from crowdrank.evaluation.evaluate import Evaluation as Evaluation
    from crowdrank.evaluation.evaluate import evaluate as evaluate
    from crowdrank.formats import gold as gold
    from crowdrank.formats import judgments as judgments
    from crowdrank.formats import read as read
    from crowdrank.formats import read_gold as read_gold
    from crowdrank.formats import read_ranking as read_ranking
    from crowdrank.formats import write as write
    from crowdrank.methods import METHODS as METHODS
    from crowdrank.methods import fit as fit
    from crowdrank.methods.borda import Borda as Borda
    from crowdrank.methods.bradley_terry import BradleyTerry as BradleyTerry
    from crowdrank.methods.crowd_bt import CrowdBT as CrowdBT
    from crowdrank.methods.mean import Mean as Mean
    from crowdrank.settings import SettingError as SettingError
    from crowdrank.study import Gold as Gold
    from crowdrank.study import JudgmentError as JudgmentError
    from crowdrank.study import Judgments as Judgments


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'crowdrank' has no attribute {name!r}")
    if not _HOME[name]:
        return import_module(f"crowdrank.{name}")
    return getattr(import_module(f"crowdrank.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
