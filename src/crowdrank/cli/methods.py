"""`crowdrank methods`: all methods by family, or one in full."""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdrank.cli import options, screen

if TYPE_CHECKING:
    from crowdrank.methods.protocols import Description, Family

FAMILY_TITLES: dict[Family, str] = {
    "grades": "Grades",
    "pairs": "Pairs",
    "rankings": "Rankings",
    "supervised": "Learned from gold (`rank --train`)",
    "linear": "Linear rankers (`train`)",
    "trees": "Boosted rankers (`train`)",
    "ltrma": "Rankers with expertise (`train`)",
}
ALSO_NEEDED: dict[Family, str] = {  # besides judgments
    "supervised": "gold",
    "linear": "features",
    "trees": "features",
    "ltrma": "features",
}
SHARED_SETTINGS = {  # these need no comment in every method
    "max_iter": "the most steps the fit may take",
    "tol": "the step size below which the fit has converged",
    "intervals": "compute intervals of the scores",
    "seed": "seed of the random numbers",
}


def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show one method in full.", show_default=False)
    ] = None,
    json: options.Json = False,
) -> None:
    """List the methods by family; or show one in full, with its settings.

    Example: crowdrank methods crowd-bt
    """
    every = all_methods()
    if name is not None and name not in every:
        from crowdrank.learning.catalogue import learner

        learner(name)  # raises an error with the closest name
    shown = {name: every[name]} if name else every
    if json:
        screen.print_json({each: describe(method) for each, method in shown.items()})
    elif name:
        _show_one(every[name])
    else:
        _show_all([method.description for method in every.values()])


def all_methods() -> dict[str, type[Any]]:
    """Every method and ranker by name, the methods of a family together."""
    from crowdrank.learning.catalogue import LEARNERS
    from crowdrank.methods.catalogue import ALL

    return {**ALL, **LEARNERS}


def describe(method: type[Any]) -> dict[str, Any]:
    """A method as `--json` prints it."""
    about: Description = method.description
    return {
        "family": about.family,
        "takes": ", ".join(about.takes),
        "settings": ", ".join(f"{field.name}={field.default}" for field in fields(method)) or "none",
        "what it is": about.summary,
        "other names": ", ".join(about.other_names),
        "intervals": about.gives_intervals,
        "starts from gold": about.starts_from_gold,
        "depends on the order of votes": about.depends_on_order,
        "expands lists to pairs": about.expands_to_pairs,
    }


def inputs(about: Description) -> str:
    """What a method takes, in words."""
    kinds = ", ".join(about.takes)
    return f"{kinds}, and {ALSO_NEEDED[about.family]}" if about.family in ALSO_NEEDED else kinds


def properties(about: Description) -> dict[str, str]:
    """What the description says about a method, in words."""
    return {
        "takes": inputs(about),
        "other names": ", ".join(about.other_names) or "none",
        "gives intervals": yes_or_no(about.gives_intervals),
        "starts from gold": yes_or_no(about.starts_from_gold),
        "depends on the order of votes": yes_or_no(about.depends_on_order),
        "expands lists to pairs": yes_or_no(about.expands_to_pairs),
    }


def yes_or_no(holds: bool) -> str:
    """A truth value as people read it."""
    return "yes" if holds else "no"


def _show_all(every: list[Description]) -> None:
    for family, title in FAMILY_TITLES.items():
        of_family = [about for about in every if about.family == family]
        columns = {
            "method": [about.name for about in of_family],
            "takes": [inputs(about) for about in of_family],
            "intervals": [yes_or_no(about.gives_intervals) for about in of_family],
            "what it is": [about.summary for about in of_family],
        }
        screen.show_table(title, columns, longest=None, not_wrapped=["method"])
        screen.say()
    screen.say("`crowdrank methods NAME` shows one in full, with its settings.")


def _show_one(method: type[Any]) -> None:
    about: Description = method.description
    facts = properties(about)
    title = f"{about.name}: {about.summary}"
    screen.show_table(title, {"property": list(facts), "value": list(facts.values())}, longest=None, header=False)
    screen.say()
    screen.show_text((sys.modules[method.__module__].__doc__ or "").strip())
    meaning = meanings(method)
    values = {each.name: options.as_text(each.default) for each in fields(method)}
    if not values:
        screen.say("It has no settings.")
        return
    texts = [f"{name}={value}" for name, value in values.items()]
    screen.show_table("settings", {"--set": texts, "what it is": [meaning.get(name) for name in values]}, longest=None)


def meanings(method: type) -> dict[str, str]:
    """What each setting is, from the comment beside it."""
    beside = re.compile(r"^    (\w+): .* = (?:\(\n +)?.*?  # (.+)$", re.MULTILINE)
    # A method may inherit settings from another one.
    sources = [inspect.getsource(each) for each in reversed(method.__mro__[:-1])]
    return {**SHARED_SETTINGS, **dict(beside.findall("".join(sources)))}
