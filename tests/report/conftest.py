"""A real Chromium. `make test` installs it where it may; a machine that must not skip these tests sets CI."""

import os
import shutil

import pytest

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser():
    path = chromium()
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs chromium: apt-get install chromium")
        pytest.skip("no chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


class Opened:
    """A page in the browser, and what went wrong in it."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.said, self.requests = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.said.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.goto(path.as_uri())
        self.page.wait_for_function(
            "[...document.querySelectorAll('.chart')].every((each) => each.dataset.drawn || each.textContent)",
            timeout=60_000,
        )

    def healthy(self):
        """Nothing was said on the console, nothing was asked of any host, and all charts are drawn."""
        assert self.said == []
        assert [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))] == []
        drawn = self.page.evaluate(
            "[...document.querySelectorAll('.chart')].map((e) => !!e.querySelector('svg path, svg rect'))"
        )
        assert all(drawn)
        return len(drawn)


@pytest.fixture
def opened(browser):
    """`opened(path, color_scheme="dark")`."""
    pages = []

    def open_page(path, **options):
        pages.append(Opened(browser, path, **options))
        return pages[-1]

    yield open_page
    for each in pages:
        each.context.close()
