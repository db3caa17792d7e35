"""Hostile items are harmless, and the pages are light."""

import pytest

from crowdrank.server.routes.pages import PAGES

ANNOTATORS_PAGE = 100_000  # bytes, all files together


def test_hostile_items_are_text(server, visit):
    study = server["hostile"]
    view = visit(study.join)
    refused = []
    view.page.on("requestfailed", lambda request: refused.append((request.url, request.failure)))
    view.start()
    seen = {}
    for _ in range(5):  # of the six pairs of four items
        for card in view.page.locator(".card").all():
            seen[card.get_attribute("data-item")] = card.evaluate(
                """card => ({text: card.innerText, scripts: card.querySelectorAll('script').length,
                   pictures: [...card.querySelectorAll('img')].map((each) => each.src.slice(0, 15)),
                   sandbox: card.querySelector('iframe')?.getAttribute('sandbox'),
                   links: [...card.querySelectorAll('a')].map((each) => each.href)})"""
            )
        view.page.wait_for_timeout(100)  # what could run has the time to
        view.press("ArrowLeft")
    assert set(seen) == {"h0", "h1", "h2", "h3"}
    assert sum(each["scripts"] for each in seen.values()) == 0
    assert "<script>alert(1)</script>" in seen["h0"]["text"]
    assert "<img src=x onerror=alert(3)>" in seen["h0"]["text"]
    assert "<script>alert(2)</script>" in seen["h1"]["text"]
    assert seen["h1"]["links"] == ["http://elsewhere.test/p.png"]  # a link, which nobody follows unasked
    assert seen["h2"]["sandbox"] == ""  # allows nothing
    assert seen["h3"]["pictures"] == ["data:image/png;"]
    blocked = [text for text in view.said if "sandboxed" in text or "Content Security Policy" in text]
    assert view.said == blocked  # the browser says that it refused the frame's script; nothing ran
    asked = [url for url in view.requests if "elsewhere" in url]
    assert asked == [url for url, why in refused if why == "csp"]  # the policy stops them before they leave
    owner = visit(study.owner)
    owner.page.get_by_role("link", name="Items").click()
    owner.page.locator("#items").get_by_text("<script>alert(1)</script>").wait_for()
    owner.healthy(study.url)


def test_scripts_that_are_not_ours_do_not_run(server, visit):
    view = visit(server["pairs"].join)
    inject = "() => document.body.append(Object.assign(document.createElement('script'), {text: 'document.title = 1'}))"
    with view.page.expect_console_message(lambda message: "Content Security Policy" in message.text):
        view.page.evaluate(inject)
    assert view.page.title() != "1"


@pytest.mark.parametrize("name", ["pairs", "grades", "rankings"])
def test_the_annotators_page_is_light(name, server, visit):
    sizes = {}
    view = visit("about:blank")
    view.page.on("response", lambda answer: sizes.update({answer.url: len(answer.body())}))
    view.page.goto(server[name].join)
    view.start()
    ours = [size for url, size in sizes.items() if "/api/" not in url]
    assert len(ours) > 10
    assert sum(ours) < ANNOTATORS_PAGE


def test_files_are_short():
    assert {path.name: lines for path in PAGES.iterdir() if (lines := len(path.read_text().splitlines())) > 400} == {}
