"""The methods, by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from inspect import signature
from typing import Any, ClassVar, Protocol, TypeVar

from crowdrank.consensus import Consensus
from crowdrank.methods.boosted import Boosted
from crowdrank.methods.borda import Borda
from crowdrank.methods.bradley_terry import BradleyTerry
from crowdrank.methods.condorcet import Condorcet
from crowdrank.methods.cps import CPS
from crowdrank.methods.crf import CRF
from crowdrank.methods.crowd_bt import CrowdBT
from crowdrank.methods.crowd_thurstone import CrowdThurstone
from crowdrank.methods.crowdagg import CrowdAgg
from crowdrank.methods.dawid_skene import DawidSkene
from crowdrank.methods.elo import Elo
from crowdrank.methods.em_elo import EMElo
from crowdrank.methods.ensemble import Ensemble
from crowdrank.methods.gda import GDA
from crowdrank.methods.gda_pw import GDAPW
from crowdrank.methods.greedy_order import GreedyOrder
from crowdrank.methods.majority_bradley_terry import MajorityBradleyTerry
from crowdrank.methods.majority_vote import MajorityVote
from crowdrank.methods.mallows import Mallows
from crowdrank.methods.mean import Mean
from crowdrank.methods.median_rank import MedianRank
from crowdrank.methods.mpm import MPM
from crowdrank.methods.online_crowd_bt import OnlineCrowdBT
from crowdrank.methods.plackett_luce import PlackettLuce
from crowdrank.methods.rasch import Rasch
from crowdrank.methods.rrf import RRF
from crowdrank.methods.svd import SVD
from crowdrank.methods.svp import SVP
from crowdrank.methods.thurstone import Thurstone
from crowdrank.methods.trueskill import TrueSkill
from crowdrank.methods.variance_bt import VarianceBT
from crowdrank.methods.weighted_borda import WeightedBorda
from crowdrank.methods.weighted_rrf import WeightedRRF
from crowdrank.settings import SettingError
from crowdrank.study import Gold, Judgments, Kind, check_judgments

M = TypeVar("M")


class Method(Protocol):
    """What every method looks like: a frozen dataclass of settings with a `fit`."""

    name: ClassVar[str]
    takes: ClassVar[tuple[Kind, ...]]

    def fit(self, judgments: Judgments) -> Consensus:
        """The consensus behind the judgments."""


class Trained(Protocol):
    """What a supervised method returns: it ranks as any method does, and can be saved."""

    @property
    def name(self) -> str:
        """The method's."""

    @property
    def takes(self) -> tuple[Kind, ...]:
        """The kinds of judgment it can use."""

    @property
    def method(self) -> Any:
        """The settings it was trained with."""

    def fit(self, judgments: Judgments) -> Consensus:
        """The consensus behind the judgments."""

    def state(self) -> dict[str, Any]:
        """What to save: numbers and texts only."""


class Supervised(Protocol):
    """A method that must learn from gold first: a frozen dataclass of settings with a `train`."""

    name: ClassVar[str]
    takes: ClassVar[tuple[Kind, ...]]

    def train(self, judgments: Judgments, gold: Gold, validation: Iterable[Any] | None = None) -> Trained:
        """Learn from the tasks with gold; `validation` names those to choose settings on instead."""

    @staticmethod
    def restore(state: Mapping[str, Any]) -> Trained:
        """What was trained before, from its `state`."""


METHODS: dict[str, type[Method]] = {
    "mean": Mean,
    "majority-vote": MajorityVote,
    "dawid-skene": DawidSkene,
    "rasch": Rasch,
    "gda": GDA,
    "gda-pw": GDAPW,
    "borda": Borda,
    "median-rank": MedianRank,
    "rrf": RRF,
    "bradley-terry": BradleyTerry,
    "thurstone": Thurstone,
    "majority-bradley-terry": MajorityBradleyTerry,
    "variance-bt": VarianceBT,
    "mpm": MPM,
    "crowd-bt": CrowdBT,
    "crowd-thurstone": CrowdThurstone,
    "online-crowd-bt": OnlineCrowdBT,
    "elo": Elo,
    "em-elo": EMElo,
    "trueskill": TrueSkill,
    "condorcet": Condorcet,
    "greedy-order": GreedyOrder,
    "svp": SVP,
    "plackett-luce": PlackettLuce,
    "mallows": Mallows,
    "crowdagg": CrowdAgg,
    "cps": CPS,
}
# Those that go by pairs write out all pairs of a list, and of an annotator's grades in a task.
OF_PAIRS = (
    "bradley-terry",
    "thurstone",
    "majority-bradley-terry",
    "variance-bt",
    "mpm",
    "crowd-bt",
    "crowd-thurstone",
    "online-crowd-bt",
    "elo",
    "em-elo",
    "trueskill",
    "greedy-order",
    "svp",
)
SUPERVISED: dict[str, type[Supervised]] = {
    "crf": CRF,
    "svd": SVD,
    "boosted": Boosted,
    "ensemble": Ensemble,
    "weighted-borda": WeightedBorda,
    "weighted-rrf": WeightedRRF,
}
ALL: dict[str, type[Method] | type[Supervised]] = {**METHODS, **SUPERVISED}
# Those of `crowdrank.learning`, which need features, by name alone: it stands above this package.
BY_FEATURES = (
    "listmle", "ltrma-d", "ltrma-mle", "ltrma-s1", "ltrma-s2", "ltrma-s3", "lregma", "lambdamart", "gda-pw-mart",
)  # fmt: skip

# Names that methods have elsewhere → ours, or the one here that comes nearest.
ELSEWHERE = {
    "average": "mean",
    "mos": "mean",
    "mv": "majority-vote",
    "plurality": "majority-vote",
    "ds": "dawid-skene",
    "em": "dawid-skene",
    "glad": "dawid-skene",
    "mace": "dawid-skene",
    "irt": "rasch",
    "median": "median-rank",
    "reciprocal-rank-fusion": "rrf",
    "combsum": "rrf",
    "combmnz": "rrf",
    "bt": "bradley-terry",
    "btl": "bradley-terry",
    "bradley-terry-luce": "bradley-terry",
    "rank-centrality": "bradley-terry",
    "thurstone-mosteller": "thurstone",
    "noisy-bt": "crowd-bt",
    "noisy-bradley-terry": "crowd-bt",
    "glicko": "trueskill",
    "openskill": "trueskill",
    "copeland": "condorcet",
    "schulze": "condorcet",
    "ranked-pairs": "condorcet",
    "pl": "plackett-luce",
    "kemeny": "mallows",
    "kemeny-young": "mallows",
    "lambdarank": "lambdamart",
    "gbdt": "lambdamart",
    "ranknet": "listmle",
}


def method(name: str, **settings: Any) -> Method:
    """The method of that name with these settings."""
    if name in SUPERVISED:
        raise SettingError(
            f"{name} learns from gold before it ranks: cr.train({name!r}, judgments, gold) or `rank --train FILE --train-gold FILE`; "
            "to compare it with others, give folds"
        )
    return with_settings(METHODS, name, settings)


def supervised(name: str, **settings: Any) -> Supervised:
    """The supervised method of that name with these settings."""
    if name in METHODS:
        raise SettingError(f"{name} is not trained: it ranks as it is; {', '.join(SUPERVISED)} learn from gold")
    return with_settings(SUPERVISED, name, settings)


def with_settings(table: Mapping[str, type[M]], name: str, settings: Mapping[str, Any]) -> M:
    """The method of that name in a table of them, with these settings."""
    if name not in table:
        raise SettingError(f"no method {name!r}{_known_here(name, [*ALL, *table])}; `crowdrank methods` lists them all")
    known = [field.name for field in fields(table[name])]  # type: ignore[arg-type]
    for setting in settings:
        if setting not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise SettingError(f"{name} has no setting {setting!r}{_nearest(setting, known)}; {has}")
    return table[name](**settings)


def train(name: str, judgments: Judgments, gold: Gold, *, validation: Iterable[Any] | None = None, **settings: Any) -> Trained:
    """Train the supervised method of that name on the tasks that have gold; what comes back has a `fit` for any others.

    `validation` names tasks to choose settings on; without them the method holds some back where it has something to choose.
    """
    chosen = supervised(name, **settings)
    check_judgments(judgments)
    return chosen.train(judgments, gold, validation)


def usual_method(judgments: Judgments) -> str:
    """The method for a study whose user names none: pairs say most about annotators, then rankings, then grades."""
    usual = {"pairs": "crowd-bt", "rankings": "borda", "grades": "gda"}
    return next(name for kind, name in usual.items() if kind in judgments.kinds)


def fit(name: str, judgments: Judgments, *, gold: Gold | None = None, **settings: Any) -> Consensus:
    """Fit the method of that name; `gold` for those that can start from it.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=5, annotators=4, votes=100, seed=0)
    >>> cr.fit("crowd-bt", study.judgments, prior=0.5).method
    'crowd-bt'
    """
    return fit_method(method(name, **settings), judgments, gold)


def fit_method(chosen: Method, judgments: Judgments, gold: Gold | None = None) -> Consensus:
    """Fit a method with its settings; gold is refused where it has no use for it."""
    if gold is None:
        return chosen.fit(judgments)
    if not takes_gold(type(chosen)):
        raise SettingError(no_gold(chosen.name))
    return chosen.fit(judgments, gold=gold)  # type: ignore[call-arg]


def settings_names(name: str) -> list[str]:
    """The settings of the method of that name."""
    return [field.name for field in fields(ALL[name])]  # type: ignore[arg-type]


def takes_gold(chosen: type[Method]) -> bool:
    """Does its `fit` take gold?"""
    return "gold" in signature(chosen.fit).parameters


def no_gold(name: str) -> str:
    """What to say when gold is given to a method that has no use for it."""
    return f"{name} does not use gold; of the methods, {', '.join(other for other in METHODS if takes_gold(METHODS[other]))} do"


def _known_here(name: str, among: Sequence[str]) -> str:
    """What a method is called here that goes by another name elsewhere, or is misspelt."""
    written = "-".join(name.lower().replace("_", " ").split())
    ours = ELSEWHERE.get(written) or (written if written in among else None)
    if ours is None and written not in BY_FEATURES:
        return _nearest(written, among)
    ours = ours or written
    how = ", which learns from features: `crowdrank train`, cr.learn" * (ours in BY_FEATURES and ours not in among)
    return f" (here it is {ours!r}{how})"


def _nearest(name: str, among: Any) -> str:
    near = difflib.get_close_matches(name, list(among), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
