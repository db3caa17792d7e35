"""The command, and `python -m crowdrank`."""

import signal


def main() -> None:
    """Run the command. Ctrl-C ends it without a word while it is still being imported."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from crowdrank.cli import main as run

    run()


if __name__ == "__main__":
    main()
