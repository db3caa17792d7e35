"""Reports opened in a browser."""

import pytest


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
