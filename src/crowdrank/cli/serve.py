"""`crowdrank serve`: collect judgments from people and LLM annotators, live."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdrank.cli import options


def serve(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="STUDY.toml", help="The study; several share one server.", show_default=False),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME. Default: a SQLite file beside the study.",
            show_default=False,
        ),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The address that annotators use, behind a proxy.", show_default=False),
    ] = None,
    host: Annotated[str, typer.Option(metavar="NAME", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="NUMBER", help="The port to listen on; 0 takes a free one.")] = 8000,
    processes: Annotated[
        int, typer.Option("--workers", metavar="NUMBER", help="Processes that answer; several need PostgreSQL.")
    ] = 1,
    demo: Annotated[
        bool, typer.Option("--demo", metavar="", help="A ready study with simulated annotators to switch on.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Serve a study: a page for annotators, a dashboard for its owner, and an API.

    Example: crowdrank serve study.toml
    """
    try:
        from crowdrank.server.start import ServeOptions, start
    except ModuleNotFoundError as error:
        from crowdrank.settings import InputError

        raise InputError(f"serve needs {error.name}: pip install 'crowdrank[serve]'") from None
    start(ServeOptions(tuple(files or ()), database, public_url, host, port, processes, demo, json))
