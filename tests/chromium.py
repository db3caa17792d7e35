"""A real Chromium. `make test` installs it where it may; a machine that must not skip these tests sets CI."""

import os
import shutil

import pytest

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
# Colours that are half way to others have a contrast of their own.
END_TRANSITIONS = """document.getAnimations()
    .filter((each) => each.effect?.getComputedTiming().iterations !== Infinity).forEach((each) => each.finish())"""
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser():
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs chromium: apt-get install chromium")
        pytest.skip("no chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


def serious(page):
    """What axe-core finds serious on a page."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate(END_TRANSITIONS)
    found = Axe().run(page).response["violations"]
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in ("serious", "critical")]
