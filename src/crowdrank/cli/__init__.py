"""The command: parse, call, print. Heavy imports wait until a command runs: `crowdrank --help` answers at once."""

from __future__ import annotations

import atexit
import gc
import io
import signal
import sys

import typer

from crowdrank.cli import compare, evaluate, methods, predict, rank, replay, simulate, train
from crowdrank.cli import next as next_command

app = typer.Typer(
    name="crowdrank",
    help="Turn judgments that cannot all be trusted into rankings that can.",
    epilog="Example: crowdrank rank votes.csv --out ranking.csv",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("rank")(rank.rank)
app.command("train")(train.train)
app.command("predict")(predict.predict)
app.command("compare")(compare.compare)
app.command("evaluate")(evaluate.evaluate)
app.command("next")(next_command.next_questions)
app.command("replay")(replay.replay)
app.command("methods")(methods.methods)
app.add_typer(simulate.app, name="simulate")

INTERRUPTED = 130


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", metavar="", help="Print the version and exit.", is_eager=True),
) -> None:
    if version:
        from crowdrank import __version__

        sys.stdout.write(f"crowdrank {__version__}\n")
        raise typer.Exit


def main() -> None:
    """Run the command. Bad input ends with exit status 2 and a message without a traceback."""
    from crowdrank.settings import InputError

    _prepare_process()
    try:
        app(prog_name="crowdrank")
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    except SystemExit as leave:
        if leave.code == INTERRUPTED:  # which Typer makes of Ctrl-C
            sys.stderr.write("stopped\n")
        raise


def _prepare_process() -> None:
    # Searching all imported modules for reference cycles took a third of the time of a small command.
    gc.set_threshold(1_000_000)
    atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a '?' where a terminal cannot show a letter is better than no result
    if hasattr(signal, "SIGPIPE"):  # Windows has none
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough (`| head`) ends us without a word
