"""The command: parse, call, print. Heavy imports wait until a command runs: `crowdrank --help` answers at once."""

from __future__ import annotations

import os
import sys

import typer

from crowdrank.cli import evaluate, methods, rank, simulate

app = typer.Typer(
    name="crowdrank",
    help="From judgments that cannot all be trusted to rankings that can.",
    epilog="Start with: crowdrank rank votes.csv --out ranking.csv --annotators annotators.csv",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("rank")(rank.rank)
app.command("compare")(evaluate.compare)
app.command("evaluate")(evaluate.evaluate)
app.command("methods")(methods.methods)
app.add_typer(simulate.app, name="simulate")

INTERRUPTED = 130


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version and leave.", is_eager=True)) -> None:
    if version:
        from crowdrank import __version__

        sys.stdout.write(f"crowdrank {__version__}\n")
        raise typer.Exit


def main() -> None:
    """Run the command; what is wrong with the input is said without a traceback, with exit status 2."""
    from crowdrank.settings import InputError

    try:
        app()
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("stopped; nothing was written\n")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
