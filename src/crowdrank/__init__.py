"""crowdrank: from judgments that cannot all be trusted to rankings that can."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name → where it lives. Imported when first used: `import crowdrank` stays fast.
_HOME = {
    "Borda": "methods.borda",
    "BradleyTerry": "methods.bradley_terry",
    "SVD": "methods.svd",
    "WeightedBorda": "methods.weighted_borda",
    "WeightedRRF": "methods.weighted_rrf",
    "Boosted": "methods.boosted",
    "Ensemble": "methods.ensemble",
    "CRF": "methods.crf",
    "Comparison": "evaluation.comparison",
    "Condorcet": "methods.condorcet",
    "Consensus": "consensus",
    "CrowdAgg": "methods.crowdagg",
    "CrowdBT": "methods.crowd_bt",
    "DawidSkene": "methods.dawid_skene",
    "EMElo": "methods.em_elo",
    "Elo": "methods.elo",
    "Evaluation": "evaluation.evaluate",
    "Fit": "consensus",
    "GDA": "methods.gda",
    "GDAPW": "methods.gda_pw",
    "Gold": "study",
    "GreedyOrder": "methods.greedy_order",
    "JudgmentError": "study",
    "Judgments": "study",
    "METHODS": "methods",
    "POLICIES": "collect.policies",
    "State": "collect.state",
    "next_questions": "collect.questions",
    "replay": "collect.replay",
    "stopping": "collect.stopping",
    "Thurstone": "methods.thurstone",
    "MajorityBradleyTerry": "methods.majority_bradley_terry",
    "MajorityVote": "methods.majority_vote",
    "VarianceBT": "methods.variance_bt",
    "MPM": "methods.mpm",
    "CrowdThurstone": "methods.crowd_thurstone",
    "Mean": "methods.mean",
    "Rasch": "methods.rasch",
    "SVP": "methods.svp",
    "RRF": "methods.rrf",
    "OnlineCrowdBT": "methods.online_crowd_bt",
    "PlackettLuce": "methods.plackett_luce",
    "Mallows": "methods.mallows",
    "MedianRank": "methods.median_rank",
    "CPS": "methods.cps",
    "SettingError": "settings",
    "TrueSkill": "methods.trueskill",
    "bootstrap": "evaluation.bootstrap",
    "compare": "evaluation.comparison",
    "evaluate": "evaluation.evaluate",
    "fit": "methods",
    "load": "saved",
    "load_ranker": "saved",
    "save": "saved",
    "Features": "learning.features",
    "GDAPWMART": "learning.gda_pw_mart",
    "LEARNERS": "learning",
    "LRegMA": "learning.lregma",
    "LambdaMART": "learning.lambdamart",
    "ListMLE": "learning.listmle",
    "LTRMAD": "learning.ltrma_d",
    "LTRMAMLE": "learning.ltrma_mle",
    "LTRMAS1": "learning.ltrma_s1",
    "LTRMAS2": "learning.ltrma_s2",
    "LTRMAS3": "learning.ltrma_s3",
    "Better": "learning.side",
    "Range": "learning.side",
    "Side": "learning.side",
    "read_side": "learning.side",
    "Ranker": "learning.ranker",
    "features": "learning.features",
    "learn": "learning",
    "read_features": "learning.features",
    "train": "methods",
    "SUPERVISED": "methods",
    "read_folds": "formats",
    "gold": "formats",
    "judgments": "formats",
    "labels": "grading",
    "neighbours": "evaluation.neighbours",
    "read": "formats",
    "read_gold": "formats",
    "read_ranking": "formats",
    "report": "",
    "simulate": "",
    "write": "formats",
}

__all__ = sorted([*_HOME, "__version__"])

if TYPE_CHECKING:
    from crowdrank import report as report
    from crowdrank import simulate as simulate
    from crowdrank.collect.policies import POLICIES as POLICIES
    from crowdrank.collect.questions import next_questions as next_questions
    from crowdrank.collect.replay import replay as replay
    from crowdrank.collect.state import State as State
    from crowdrank.collect.stopping import stopping as stopping
    from crowdrank.consensus import Consensus as Consensus
    from crowdrank.consensus import Fit as Fit
    from crowdrank.evaluation.bootstrap import bootstrap as bootstrap
    from crowdrank.evaluation.comparison import Comparison as Comparison
    from crowdrank.evaluation.comparison import compare as compare
    from crowdrank.evaluation.evaluate import Evaluation as Evaluation
    from crowdrank.evaluation.evaluate import evaluate as evaluate
    from crowdrank.evaluation.neighbours import neighbours as neighbours
    from crowdrank.formats import gold as gold
    from crowdrank.formats import judgments as judgments
    from crowdrank.formats import read as read
    from crowdrank.formats import read_folds as read_folds
    from crowdrank.formats import read_gold as read_gold
    from crowdrank.formats import read_ranking as read_ranking
    from crowdrank.formats import write as write
    from crowdrank.grading import labels as labels
    from crowdrank.learning import LEARNERS as LEARNERS
    from crowdrank.learning import learn as learn
    from crowdrank.learning.features import Features as Features
    from crowdrank.learning.features import features as features
    from crowdrank.learning.features import read_features as read_features
    from crowdrank.learning.gda_pw_mart import GDAPWMART as GDAPWMART
    from crowdrank.learning.lambdamart import LambdaMART as LambdaMART
    from crowdrank.learning.listmle import ListMLE as ListMLE
    from crowdrank.learning.lregma import LRegMA as LRegMA
    from crowdrank.learning.ltrma_d import LTRMAD as LTRMAD
    from crowdrank.learning.ltrma_mle import LTRMAMLE as LTRMAMLE
    from crowdrank.learning.ltrma_s1 import LTRMAS1 as LTRMAS1
    from crowdrank.learning.ltrma_s2 import LTRMAS2 as LTRMAS2
    from crowdrank.learning.ltrma_s3 import LTRMAS3 as LTRMAS3
    from crowdrank.learning.ranker import Ranker as Ranker
    from crowdrank.learning.side import Better as Better
    from crowdrank.learning.side import Range as Range
    from crowdrank.learning.side import Side as Side
    from crowdrank.learning.side import read_side as read_side
    from crowdrank.methods import METHODS as METHODS
    from crowdrank.methods import SUPERVISED as SUPERVISED
    from crowdrank.methods import fit as fit
    from crowdrank.methods import train as train
    from crowdrank.methods.boosted import Boosted as Boosted
    from crowdrank.methods.borda import Borda as Borda
    from crowdrank.methods.bradley_terry import BradleyTerry as BradleyTerry
    from crowdrank.methods.condorcet import Condorcet as Condorcet
    from crowdrank.methods.cps import CPS as CPS
    from crowdrank.methods.crf import CRF as CRF
    from crowdrank.methods.crowd_bt import CrowdBT as CrowdBT
    from crowdrank.methods.crowd_thurstone import CrowdThurstone as CrowdThurstone
    from crowdrank.methods.crowdagg import CrowdAgg as CrowdAgg
    from crowdrank.methods.dawid_skene import DawidSkene as DawidSkene
    from crowdrank.methods.elo import Elo as Elo
    from crowdrank.methods.em_elo import EMElo as EMElo
    from crowdrank.methods.ensemble import Ensemble as Ensemble
    from crowdrank.methods.gda import GDA as GDA
    from crowdrank.methods.gda_pw import GDAPW as GDAPW
    from crowdrank.methods.greedy_order import GreedyOrder as GreedyOrder
    from crowdrank.methods.majority_bradley_terry import MajorityBradleyTerry as MajorityBradleyTerry
    from crowdrank.methods.majority_vote import MajorityVote as MajorityVote
    from crowdrank.methods.mallows import Mallows as Mallows
    from crowdrank.methods.mean import Mean as Mean
    from crowdrank.methods.median_rank import MedianRank as MedianRank
    from crowdrank.methods.mpm import MPM as MPM
    from crowdrank.methods.online_crowd_bt import OnlineCrowdBT as OnlineCrowdBT
    from crowdrank.methods.plackett_luce import PlackettLuce as PlackettLuce
    from crowdrank.methods.rasch import Rasch as Rasch
    from crowdrank.methods.rrf import RRF as RRF
    from crowdrank.methods.svd import SVD as SVD
    from crowdrank.methods.svp import SVP as SVP
    from crowdrank.methods.thurstone import Thurstone as Thurstone
    from crowdrank.methods.trueskill import TrueSkill as TrueSkill
    from crowdrank.methods.variance_bt import VarianceBT as VarianceBT
    from crowdrank.methods.weighted_borda import WeightedBorda as WeightedBorda
    from crowdrank.methods.weighted_rrf import WeightedRRF as WeightedRRF
    from crowdrank.saved import load as load
    from crowdrank.saved import load_ranker as load_ranker
    from crowdrank.saved import save as save
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
