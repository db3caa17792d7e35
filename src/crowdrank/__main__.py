"""The command, and `python -m crowdrank`."""

import os
import signal

STOPPED = 130
SHOW_CURSOR = b"\x1b[?25h"  # a progress bar hides it


def main() -> None:
    """Run the command; Ctrl-C ends it at any moment."""
    signal.signal(signal.SIGINT, _stop)
    from crowdrank.cli import main as run

    run()


def _stop(*_: object) -> None:
    """End at once: an exception within an import or a callback would be printed, or lost."""
    os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + b"stopped\n")
    os._exit(STOPPED)


if __name__ == "__main__":
    main()
