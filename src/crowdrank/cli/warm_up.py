"""`crowdrank warm-up`: compile everything ahead."""

from __future__ import annotations

import time

from crowdrank.cli import screen


def warm_up() -> None:
    """Compile everything ahead, for images of containers: first calls then start at once.

    Example: RUN pip install crowdrank && crowdrank warm-up
    """
    from crowdrank import warming

    began = time.monotonic()
    screen.say("compiling everything takes a few minutes the first time")
    with screen.progress():
        ready = warming.warm_up()
    screen.say(f"{ready:,} kernels are ready after {time.monotonic() - began:.0f} s")
