"""The command: parse, call, print. Heavy imports wait until a command runs: `crowdrank --help` answers at once."""

from __future__ import annotations

import atexit
import gc
import io
import signal
import sys

import typer

from crowdrank.cli import collect, evaluate, methods, rank, rankers, simulate

app = typer.Typer(
    name="crowdrank",
    help="From judgments that cannot all be trusted to rankings that can.",
    epilog="Example: crowdrank rank votes.csv --out ranking.csv",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("rank")(rank.rank)
app.command("train")(rankers.train)
app.command("predict")(rankers.predict)
app.command("compare")(evaluate.compare)
app.command("evaluate")(evaluate.evaluate)
app.command("next")(collect.next_questions)
app.command("replay")(collect.replay)
app.command("methods")(methods.methods)
app.add_typer(simulate.app, name="simulate")

INTERRUPTED = 130


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", metavar="", help="Print the version and leave.", is_eager=True),
) -> None:
    if version:
        from crowdrank import __version__

        sys.stdout.write(f"crowdrank {__version__}\n")
        raise typer.Exit


def main() -> None:
    """Run the command; what is wrong with the input is said without a traceback, with exit status 2."""
    from crowdrank.settings import InputError

    _prepare_process()
    try:
        app()
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    except SystemExit as leave:
        if leave.code == INTERRUPTED:  # which Typer makes of Ctrl-C
            sys.stderr.write("stopped\n")
        raise


def _prepare_process() -> None:
    # Looking for cycles among all that is imported, again and again and once more at the end, took a third of a small command.
    gc.set_threshold(1_000_000)
    atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # better a '?' than no result, where a terminal does not know a letter
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough (`| head`) ends us without a word
