"""The methods, by name."""

from __future__ import annotations

import difflib
from dataclasses import fields
from typing import Any, ClassVar, Protocol

from crowdrank.consensus import Consensus
from crowdrank.methods.borda import Borda
from crowdrank.methods.bradley_terry import BradleyTerry
from crowdrank.methods.crowd_bt import CrowdBT
from crowdrank.methods.mean import Mean
from crowdrank.methods.settings import SettingError
from crowdrank.study import Gold, Judgments, Kind


class Method(Protocol):
    """What every method looks like: a frozen dataclass of settings with a `fit`."""

    name: ClassVar[str]
    takes: ClassVar[tuple[Kind, ...]]

    def fit(self, judgments: Judgments) -> Consensus:
        """The consensus behind the judgments."""


METHODS: dict[str, type[Method]] = {
    "mean": Mean,
    "borda": Borda,
    "bradley-terry": BradleyTerry,
    "crowd-bt": CrowdBT,
}


def method(name: str, **settings: Any) -> Method:
    """The method of that name with these settings."""
    if name not in METHODS:
        raise SettingError(f"no method {name!r}{_nearest(name, METHODS)}; `crowdrank methods` lists them all")
    known = [field.name for field in fields(METHODS[name])]  # type: ignore[arg-type]
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
    chosen = method(name, **settings)
    if gold is None:
        return chosen.fit(judgments)
    if not takes_gold(chosen):
        raise SettingError(f"{name} does not use gold; of the methods, {', '.join(n for n in METHODS if takes_gold(METHODS[n]))} do")
    return chosen.fit(judgments, gold=gold)  # type: ignore[call-arg]


def takes_gold(chosen: Method | type[Method]) -> bool:
    """Does its `fit` take gold?"""
    return "gold" in chosen.fit.__code__.co_varnames[: chosen.fit.__code__.co_argcount]


def _nearest(name: str, among: Any) -> str:
    near = difflib.get_close_matches(name, list(among), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
