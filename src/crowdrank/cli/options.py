"""Options that several commands share, and how their text is understood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES",
        help="Files of judgments: .csv, .tsv, .jsonl, .parquet, also .gz or .zst; TREC runs; LETOR's files of ranks.",
        show_default=False,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=NAME",
        help="A column by another name: annotator=user; list=hit where a column tells several rankings of one annotator apart. May be repeated.",
    ),
]
# A flag takes no value: nothing stands behind its name in the help.
TopK = Annotated[
    bool | None,
    typer.Option(
        "--top-k/--no-top-k",
        metavar="",
        help="Items that a ranking leaves out stand below all it lists; so they do in TREC's and LETOR's files, unless told.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", metavar="", help="Print for machines.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result to this file.", show_default=False)]
Seed = Annotated[int, typer.Option(metavar="NUMBER", help="Fixes everything random.")]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="NAMES",
        help="One measure, or several with commas: ndcg@10,map. There are ndcg, trec-ndcg, letor-ndcg, p, recall, map, rbp, err and mrr, "
        "with @k for a depth, and acc, tau, spearman; docs/measures.md says what each is.",
    ),
]
Ignore = Annotated[
    bool,
    typer.Option(
        "--ignore-unjudged", metavar="", help="Leave items without gold out instead of counting them irrelevant."
    ),
]
SkipEmpty = Annotated[
    bool, typer.Option("--skip-empty", metavar="", help="Leave tasks without a relevant item out of the mean.")
]


def assignments(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """`name=value` texts as a dict."""
    from crowdrank.settings import SettingError

    pairs = [text.partition("=") for text in texts or ()]
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise SettingError(f"{option} {name}{equals}{value}: write it as name=value")
    return {name: value for name, _, value in pairs}


def settings_of(method: type, texts: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a method from their texts, by their declared types."""
    types = get_type_hints(method)
    known = {field.name for field in fields(method)}
    return {name: _value(name, text, types[name]) if name in known else text for name, text in texts.items()}


def _value(name: str, text: str, declared: Any) -> Any:
    from crowdrank.settings import SettingError

    if isinstance(declared, UnionType):
        if text.lower() == "none":
            return None
        declared = get_args(declared)[0]
    try:
        if declared is bool:
            return {"true": True, "yes": True, "false": False, "no": False}[text.lower()]
        if declared is float:
            return float(text)
        if declared is int:
            return int(text)
        if get_args(declared)[-1:] == (...,):
            return tuple(_weight(part) for part in text.split(","))
        if get_origin(declared) is tuple:
            parts = text.strip("()").split(",")
            if len(parts) != len(get_args(declared)):
                raise ValueError
            return tuple(float(part) for part in parts)
    except (KeyError, ValueError):
        wanted = {bool: "true or false", float: "a number", int: "a whole number"}.get(
            declared, _wanted_tuple(declared)
        )
        raise SettingError(f"{name} is {text!r}; it must be {wanted}") from None
    return text


def _weight(text: str) -> tuple[str, float]:
    name, colon, weight = text.rpartition(":")
    if not colon:
        raise ValueError
    return name.strip(), float(weight)


def _wanted_tuple(declared: Any) -> str:
    return (
        "names with numbers, like bm25:2,dense:0.5"
        if get_args(declared)[-1:] == (...,)
        else "numbers with commas, like 2,1"
    )


def as_text(value: Any) -> str:
    """A setting as `--set` takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def listed(texts: Sequence[str] | None) -> list[str] | None:
    """Values of a repeatable option, each of which may hold several with commas."""
    return [part.strip() for text in texts for part in text.split(",") if part.strip()] if texts else None


def check_outputs(
    outputs: Sequence[Path | None],
    inputs: Sequence[Path] = (),
    trec: Sequence[Path | None] = (),
    models: Sequence[Path | None] = (),
) -> None:
    """Refuse, before the work, what could not be written after it; only those in `trec` may be TREC's files, `models` are no tables."""
    from crowdrank.formats.files import TREC_LETOR, kind_of
    from crowdrank.settings import SettingError

    wanted = [path for path in (*outputs, *models) if path is not None]
    for number, path in enumerate(wanted):
        if path not in models and kind_of(path)[0] in TREC_LETOR and path not in trec:
            raise SettingError(f"{path}: a TREC file cannot hold this table; name it .csv, .tsv, .jsonl or .parquet")
        if not path.parent.is_dir():
            raise SettingError(f"{path}: there is no folder {path.parent}")
        if path.is_dir():
            raise SettingError(f"{path}: is a folder")
        if path.resolve() in [other.resolve() for other in (*inputs, *wanted[:number])]:
            raise SettingError(f"{path}: is named twice; every file must have its own name")
