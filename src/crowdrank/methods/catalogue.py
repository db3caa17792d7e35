"""The methods by name, with their settings; and what to say where there is no such method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar, cast

from crowdrank.catalogue import Catalogue
from crowdrank.consensus import Consensus
from crowdrank.methods.protocols import Description, GoldMethod, Method, Supervised, Trained
from crowdrank.settings import SettingError, check_setting_names, did_you_mean
from crowdrank.study import FrameT, Gold, Judgments, check_gold, check_judgments

M = TypeVar("M")

METHODS: Mapping[str, type[Method]] = Catalogue("methods.grades.", "methods.pairs.", "methods.rankings.")
SUPERVISED: Mapping[str, type[Supervised]] = Catalogue("methods.supervised.")
ALL: Mapping[str, type[Method] | type[Supervised]] = Catalogue("methods.")
BY_FEATURES: Mapping[str, Any] = Catalogue("learning.")  # rankers: imported only to say what they are called elsewhere


def method(name: str, **settings: Any) -> Method:
    """The method of that name with these settings."""
    if name in SUPERVISED:
        raise SettingError(
            f"{name} learns from gold before it ranks: cr.train({name!r}, judgments, gold) or "
            "`rank --train FILE --train-gold FILE`; to compare it with others, give folds"
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
        raise SettingError(f"no method {name!r}{_hint(name, [*ALL, *table])}; `crowdrank methods` lists them all")
    check_setting_names(name, settings, [field.name for field in fields(cast(Any, table[name]))])
    return table[name](**settings)


def train(
    name: str, judgments: Judgments, gold: Gold, *, validation: Iterable[Any] | None = None, **settings: Any
) -> Trained:
    """Train the supervised method of that name on the tasks that have gold; what comes back has a `fit` for any others.

    `validation` names tasks to choose settings on; without them the method holds some back where it has something to
    choose.
    """
    chosen = supervised(name, **settings)
    check_judgments(judgments)
    check_gold(gold)
    return chosen.train(judgments, gold, validation)


def usual_method(judgments: Judgments) -> str:
    """The method for a study whose user names none: pairs say most about annotators, then rankings, then grades.

    Runs of search systems are fused by `rrf`: each has its best items of many tasks, and puts all others below them.
    The lists of people get `plackett-luce`, which has intervals.
    """
    if "pairs" in judgments.kinds:
        return "crowd-bt"
    if "rankings" not in judgments.kinds:
        return "gda"
    runs = judgments.rankings.unlisted_below.all() and len(judgments.vocabulary.tasks) > 1
    return "rrf" if runs else "plackett-luce"


def fit(
    name: str | Method, judgments: Judgments[FrameT], *, gold: Gold | None = None, **settings: Any
) -> Consensus[FrameT]:
    """Fit the method of that name, or one with its settings; `gold` for those that can start from it.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=5, annotators=4, votes=100, seed=0)
    >>> cr.fit("crowd-bt", study.judgments, prior=0.5).method
    'crowd-bt'
    """
    if isinstance(name, str):
        return fit_method(method(name, **settings), judgments, gold)
    check_method(name)
    if settings:
        raise SettingError(f"give the settings to the method itself: {type(name).__name__}({', '.join(settings)}=…)")
    return fit_method(name, judgments, gold)


def check_method(given: Any) -> None:
    """Refuse anything but a method with its settings."""
    if not callable(getattr(given, "fit", None)) or isinstance(given, type):
        raise SettingError(f"a method is needed, by its name or as cr.CrowdBT(), not {given!r:.60}")


def fit_method(chosen: Method, judgments: Judgments, gold: Gold | None = None) -> Consensus:
    """Fit a method with its settings; gold is refused where it has no use for it."""
    if gold is None:
        return chosen.fit(judgments)
    if not chosen.description.starts_from_gold:
        raise SettingError(no_gold(chosen.description.name))
    return cast(GoldMethod, chosen).fit(judgments, gold=gold)


def settings_names(name: str) -> list[str]:
    """The settings of the method of that name."""
    return [field.name for field in fields(cast(Any, ALL[name]))]


def settings_of(chosen: Method | Supervised | Trained) -> dict[str, Any]:
    """The settings of a method by name."""
    return {field.name: getattr(chosen, field.name) for field in fields(cast(Any, chosen))}


def no_gold(name: str) -> str:
    """What to say when gold is given to a method that has no use for it."""
    others = [other for other, method in METHODS.items() if method.description.starts_from_gold]
    return (
        f"{name} does not use gold; these methods do: {', '.join(others)}; "
        "to measure its result against gold, use evaluate, or rank with --report and --report-gold"
    )


def names_elsewhere() -> dict[str, str]:
    """Names that methods have elsewhere → ours, or the method here that comes closest."""
    every: Iterable[Description] = (method.description for method in (*ALL.values(), *BY_FEATURES.values()))
    return {other: each.name for each in every for other in each.other_names}


def _hint(name: str, names: Sequence[str]) -> str:
    """What a method is called here that has another name elsewhere, or is misspelt."""
    written = "-".join(name.lower().replace("_", " ").split())
    ours = written if written in names or written in BY_FEATURES else names_elsewhere().get(written)
    if ours is None:
        return did_you_mean(written, names)
    how = ", which learns from features: `crowdrank train`, cr.learn" * (ours in BY_FEATURES and ours not in names)
    return f" (here it is {ours!r}{how})"
