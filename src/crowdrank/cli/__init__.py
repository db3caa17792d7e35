"""The command: parse, call, print. Heavy imports wait until a command runs: `crowdrank --help` answers at once."""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys

import typer

from crowdrank.cli import (
    compare,
    convert_file,
    describe,
    evaluate,
    methods,
    predict,
    rank,
    read,
    replay,
    report,
    serve,
    simulate,
    train,
    warm_up,
)
from crowdrank.cli import next as next_command

app = typer.Typer(
    name="crowdrank",
    help="Turn judgments that cannot all be trusted into rankings that can.",
    epilog="Example: crowdrank rank votes.csv --out ranking.csv",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("describe")(describe.describe)
app.command("rank")(rank.rank)
app.command("read")(read.read)
app.command("convert")(convert_file.convert)
app.command("train")(train.train)
app.command("predict")(predict.predict)
app.command("compare")(compare.compare)
app.command("evaluate")(evaluate.evaluate)
app.command("next")(next_command.next_questions)
app.command("replay")(replay.replay)
app.command("report")(report.report)
app.command("serve")(serve.serve)
app.command("methods")(methods.methods)
app.command("warm-up")(warm_up.warm_up)
app.add_typer(simulate.app, name="simulate")

INTERRUPTED = 130


@app.callback(invoke_without_command=True)
def _options(
    version: bool = typer.Option(False, "--version", metavar="", help="Print the version and exit.", is_eager=True),
    max_size: str = typer.Option(
        None, metavar="SIZE", help="How large a compressed file may become, for example 32GB.", show_default="8GB"
    ),
) -> None:
    if max_size:
        from crowdrank.formats.compressed import most_bytes

        os.environ["CROWDRANK_MAX_SIZE"] = max_size
        most_bytes()  # refuses what is no size
    if version:
        from crowdrank import __version__

        sys.stdout.write(f"crowdrank {__version__}\n")
        raise typer.Exit


def main() -> None:
    """Run the command. Bad input ends with exit status 2 and a message without a traceback."""
    from crowdrank.cli.screen import printable
    from crowdrank.settings import InputError

    _prepare_process()
    try:
        _run()
    except InputError as error:
        sys.stderr.write(f"{printable(str(error))}\n")
        sys.exit(2)
    except MemoryError as error:
        sys.stderr.write(f"not enough memory; ask for less, or run it where there is more. {error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        sys.exit(INTERRUPTED)


def _run() -> None:
    """Run the command, and write out what it printed."""
    try:
        try:
            app(prog_name="crowdrank")
        except SystemExit as leave:
            if leave.code == INTERRUPTED:  # which Typer makes of Ctrl-C
                raise KeyboardInterrupt from None
            raise
        finally:
            sys.stdout.flush()
    except OSError as error:  # files have errors of their own; this is standard output
        _drop_output()
        sys.stderr.write(f"cannot print: {error.strerror or error}\n")
        sys.exit(1)


def _drop_output() -> None:
    """Lead standard output nowhere, so that Python does not complain at the end about what it could not print."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _open_closed_streams() -> None:
    """Open standard streams that were closed (`>&-`): otherwise the next file that is opened takes their place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))


def _prepare_process() -> None:
    # Searching all imported modules for reference cycles took a third of the time of a small command.
    gc.set_threshold(1_000_000)
    atexit.register(gc.freeze)
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a '?' where a terminal cannot show a letter is better than no result
    if hasattr(signal, "SIGPIPE"):  # Windows has none
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough (`| head`) ends us without a word
