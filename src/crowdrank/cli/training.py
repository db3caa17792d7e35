"""The part of `crowdrank rank` that learns from gold first, or takes up what was learned before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdrank.cli import options

if TYPE_CHECKING:
    from crowdrank.methods.protocols import Trained

Train = Annotated[
    list[Path] | None,
    typer.Option(
        "--train",
        metavar="FILE",
        help="Judgments to learn from, for methods that do. May be repeated.",
        show_default=False,
    ),
]
TrainGold = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Gold of the judgments to learn from.", show_default=False)
]
Save = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write what was learned to this .json file.", show_default=False)
]
Load = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Rank by what was learned and saved before.", show_default=False)
]


def check(
    method: str | None, train: Sequence[Path] | None, gold: Path | None, save: Path | None, load: Path | None
) -> None:
    """Refuse options that do not go together, before anything is read."""
    from crowdrank.methods.catalogue import METHODS, SUPERVISED
    from crowdrank.settings import SettingError

    if load is not None:
        if train or gold or save or method:
            raise SettingError(
                "--load ranks by what was learned before: --method, --train, --train-gold and --save have no place beside it"
            )
        return
    if method in SUPERVISED:
        if not (train and gold):
            raise SettingError(
                f"{method} learns from gold before it ranks: give --train FILE and --train-gold FILE, or --load FILE"
            )
        if save is not None and save.suffix != ".json":
            raise SettingError(f"{save}: what was learned is written to a .json file")
    elif (train or gold or save) and (method is None or method in METHODS):
        named = (
            f"{method} does not learn from gold"
            if method
            else "--train, --train-gold and --save need a --method that learns"
        )
        raise SettingError(f"{named}; {', '.join(SUPERVISED)} do")


def learned(
    method: str,
    texts: Mapping[str, str],
    train: Sequence[Path],
    gold: Path,
    columns: Mapping[str, str],
    top_k: bool | None,
    seed: int,
) -> Trained:
    """The method of that name, trained on these files."""
    from crowdrank import formats
    from crowdrank.methods import catalogue as methods

    settings = options.settings_of(methods.SUPERVISED[method], texts)
    if "seed" in methods.settings_names(method):
        settings.setdefault("seed", seed)
    chosen = methods.supervised(method, **settings)
    return chosen.train(formats.read(*train, columns=columns, top_k=top_k), formats.read_gold(gold))


def loaded(path: Path) -> Trained:
    """What was learned and saved before."""
    from crowdrank.saved import load  # here, not with the rest: it knows all rankers, which few need

    return load(path)


def as_bytes(trained: Trained) -> bytes:
    """What was learned, as it is saved."""
    from crowdrank.saved import as_bytes

    return as_bytes(trained)
