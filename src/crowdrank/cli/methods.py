"""`crowdrank methods`."""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdrank.cli import options, screen

if TYPE_CHECKING:
    from crowdrank.methods.protocols import Description

SHARED = {  # need no comment in every method
    "max_iter": "the most steps the fit may take",
    "tol": "the step at which the fit has converged",
    "intervals": "say how sure the scores are",
    "seed": "fixes everything random",
}


def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show one method in full.", show_default=False)
    ] = None,
    json: options.Json = False,
) -> None:
    """List the methods with what they take and their settings; or show one in full.

    Example: crowdrank methods crowd-bt
    """
    from crowdrank.learning.catalogue import LEARNERS, learner
    from crowdrank.methods.catalogue import ALL, SUPERVISED

    every: dict[str, type] = {**ALL, **LEARNERS}
    if name is not None and name not in every:
        learner(name)
    table = {key: describe(every[key]) for key in ([name] if name else every)}
    if json:
        screen.print_json(table)
    elif name:
        _show_one(every[name])
    else:
        more = {**dict.fromkeys(SUPERVISED, ", and gold to learn from"), **dict.fromkeys(LEARNERS, ", and features")}
        takes = [row["takes"] + more.get(key, "") for key, row in table.items()]
        columns = {"method": list(table), "takes": takes, "what it is": [row["what it is"] for row in table.values()]}
        screen.show_table("methods", columns, longest=None)
        screen.say("`crowdrank methods NAME` shows one in full, with its settings.")


def describe(method: type[Any]) -> dict[str, Any]:
    """A method in a few words."""
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


def _show_one(method: type) -> None:
    screen.show_text((sys.modules[method.__module__].__doc__ or "").strip())
    screen.say(f"Takes {describe(method)['takes']}.\n")
    meaning = meanings(method)
    values = {each.name: options.as_text(each.default) for each in fields(method)}
    if values:
        texts = [f"{name}={value}" for name, value in values.items()]
        screen.show_table(
            "settings", {"--set": texts, "what it is": [meaning.get(name) for name in values]}, longest=None
        )
    else:
        screen.say("It has no settings.")


def meanings(method: type) -> dict[str, str]:
    """What each setting is, as the comment beside it says."""
    beside = re.compile(r"^    (\w+): .* = (?:\(\n +)?.*?  # (.+)$", re.MULTILINE)
    sources = [
        inspect.getsource(each) for each in reversed(method.__mro__[:-1])
    ]  # settings may be those of another method
    return {**SHARED, **dict(beside.findall("".join(sources)))}
