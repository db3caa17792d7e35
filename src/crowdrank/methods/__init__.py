"""The methods, by name."""

from __future__ import annotations

import difflib
from dataclasses import fields
from inspect import signature
from typing import Any, ClassVar, Protocol

from crowdrank.consensus import Consensus
from crowdrank.methods.borda import Borda
from crowdrank.methods.bradley_terry import BradleyTerry
from crowdrank.methods.condorcet import Condorcet
from crowdrank.methods.cps import CPS
from crowdrank.methods.crowd_bt import CrowdBT
from crowdrank.methods.crowd_thurstone import CrowdThurstone
from crowdrank.methods.crowdagg import CrowdAgg
from crowdrank.methods.dawid_skene import DawidSkene
from crowdrank.methods.elo import Elo
from crowdrank.methods.em_elo import EMElo
from crowdrank.methods.gda import GDA
from crowdrank.methods.gda_pw import GDAPW
from crowdrank.methods.greedy_order import GreedyOrder
from crowdrank.methods.majority_bradley_terry import MajorityBradleyTerry
from crowdrank.methods.majority_vote import MajorityVote
from crowdrank.methods.mallows import Mallows
from crowdrank.methods.mean import Mean
from crowdrank.methods.median_rank import MedianRank
from crowdrank.methods.mpm import MPM
from crowdrank.methods.plackett_luce import PlackettLuce
from crowdrank.methods.rasch import Rasch
from crowdrank.methods.rrf import RRF
from crowdrank.methods.svp import SVP
from crowdrank.methods.thurstone import Thurstone
from crowdrank.methods.trueskill import TrueSkill
from crowdrank.methods.variance_bt import VarianceBT
from crowdrank.settings import SettingError
from crowdrank.study import Gold, Judgments, Kind


class Method(Protocol):
    """What every method looks like: a frozen dataclass of settings with a `fit`."""

    name: ClassVar[str]
    takes: ClassVar[tuple[Kind, ...]]

    def fit(self, judgments: Judgments) -> Consensus:
        """The consensus behind the judgments."""


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


def method(name: str, **settings: Any) -> Method:
    """The method of that name with these settings."""
    if name not in METHODS:
        raise SettingError(f"no method {name!r}{_nearest(name, METHODS)}; `crowdrank methods` lists them all")
    known = settings_names(name)
    for setting in settings:
        if setting not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise SettingError(f"{name} has no setting {setting!r}{_nearest(setting, known)}; {has}")
    return METHODS[name](**settings)


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
    return [field.name for field in fields(METHODS[name])]  # type: ignore[arg-type]


def takes_gold(chosen: type[Method]) -> bool:
    """Does its `fit` take gold?"""
    return "gold" in signature(chosen.fit).parameters


def no_gold(name: str) -> str:
    """What to say when gold is given to a method that has no use for it."""
    return f"{name} does not use gold; of the methods, {', '.join(other for other in METHODS if takes_gold(METHODS[other]))} do"


def _nearest(name: str, among: Any) -> str:
    near = difflib.get_close_matches(name, list(among), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
