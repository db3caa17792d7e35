"""`crowdrank methods`."""

from __future__ import annotations

import sys
from dataclasses import fields
from typing import Annotated, Any

import typer

from crowdrank.cli import options, screen


def methods(
    name: Annotated[str | None, typer.Argument(help="Show one method in full.", show_default=False)] = None,
    json: options.Json = False,
) -> None:
    """List the methods with what they take and their settings; or show one in full.

    Example: crowdrank methods crowd-bt
    """
    from crowdrank.methods import METHODS, method

    if name is not None:
        method(name)
    table = {key: describe(METHODS[key]) for key in ([name] if name else METHODS)}
    if json:
        screen.print_json(table)
    elif name:
        screen.say(
            f"{sys.modules[METHODS[name].__module__].__doc__}\nTakes: {table[name]['takes']}\nSettings: {table[name]['settings']}"
        )
    else:
        columns = {key: [row[key] for row in table.values()] for key in ("takes", "what it is")}
        screen.show_table("methods", {"method": list(table), **columns})
        screen.say("\n`crowdrank methods NAME` shows one in full, with its settings.")


def describe(method: type) -> dict[str, Any]:
    """A method in a few words: from its docstring, its settings, and what it takes."""
    summary = (sys.modules[method.__module__].__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
    return {
        "takes": ", ".join(method.takes),  # type: ignore[attr-defined]
        "settings": ", ".join(f"{field.name}={field.default}" for field in fields(method)) or "none",
        "what it is": summary,
    }
